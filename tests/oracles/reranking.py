"""Oracle of re-ranking."""


def rank_candidates(labels, log_scores, cosines, bonus, *, strength, weight, k):
    """Sort the candidates of one row."""
    items = [
        (-(log + strength * cosine + weight * bonus[label]), label, column)
        for column, (label, log, cosine) in enumerate(zip(labels, log_scores, cosines, strict=True))
        if label >= 0
    ]
    columns = [column for _, _, column in sorted(items)[:k]]
    return columns + [-1] * (k - len(columns))
