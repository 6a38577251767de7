"""Rankings in which labels stand for others, row by row."""


def redirect(labels, scores, current, k):
    """Return what ``defrag.text._labels.redirect`` keeps of each row, as triples."""
    rows = []
    for row in zip(labels.tolist(), scores.tolist(), strict=True):
        kept = {}
        for label, score in zip(*row, strict=True):
            if label >= 0 and current[label] >= 0:
                kept.setdefault(int(current[label]), (score, label))
        rows.append([(now, *kept[now]) for now in kept][:k])
    return rows
