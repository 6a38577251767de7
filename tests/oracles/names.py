"""Names in texts, sentence by sentence, and a logistic regression by its gradient."""

import re

import numpy as np

from tests.oracles.words import split_words

MAX_WORDS = 40


def stem_of(word):
    """Return a word without the "s", "es" or "y" of its end; sizes count bytes."""
    size = len(word.encode())
    if size < 4:
        return word
    for pattern, rest in ((r"y$", ""), (r"ies$", ""), (r"(us|ss)$", None)):
        if re.search(pattern, word):
            return word if rest is None else re.sub(pattern, rest, word)
    if size >= 5 and re.search(r"[xshz]es$", word):
        return word[:-2]
    return word.removesuffix("s")


def sentences(text):
    """Yield the stems of each sentence, and whether it is in the title."""
    line = text.find("\n")
    has_lines = -1 < line < len(text) - 1
    for found in re.finditer(r"(?s)(.*?)(\n|[.!?;:](?=[ \n]|\Z)|\Z)", text):
        if not found[0]:
            continue
        title = found.start() < line if has_lines else found.start() == 0
        stems = [stem_of(word) for word in split_words(found[0])]
        for begin in range(0, len(stems), MAX_WORDS):
            yield stems[begin : begin + MAX_WORDS], title


def span_of(stems, wanted, anchor):
    """Return the first and last word of the densest place, as seen from the rarest stem."""
    best = None
    for at in (i for i, stem in enumerate(stems) if stem == anchor):
        near = {i: (abs(i - at), i) for i in range(len(stems))}
        places = [at] + [
            min((i for i in near if stems[i] == other), key=near.get) for other in wanted - {anchor}
        ]
        if best is None or max(places) - min(places) < best[1] - best[0]:
            best = min(places), max(places)
    return best


def find_names(names, text):
    """Return (times, title, inside, first, cover, density) by name."""
    wanted = [set(map(stem_of, split_words(name))) for name in names]
    order = {}  # of stems, for ties of the rarest
    for stems in (split_words(name) for name in names):
        for stem in map(stem_of, stems):
            order.setdefault(stem, len(order))
    anchors = [
        min(own, key=lambda stem: (sum(stem in one for one in wanted), order[stem]), default=None)
        for own in wanted
    ]
    n_words, hits = 0, {}
    for stems, title in sentences(text):
        here = {
            i: span_of(stems, own, anchors[i])
            for i, own in enumerate(wanted)
            if own and own <= set(stems)
        }
        phrases = [(a, b) for i, (a, b) in here.items() if b > a and len(wanted[i]) > b - a]
        for i, (a, b) in here.items():
            inside = any(c <= a and b <= d and d - c > b - a for c, d in phrases)
            n_own = len(wanted[i])
            hits.setdefault(i, []).append(
                (n_words + a, title, inside, n_own / len(stems), n_own / (b - a + 1))
            )
        n_words += len(stems)
    return {
        i: (
            len(own),
            any(one[1] for one in own),
            all(one[2] for one in own),
            own[0][0] / n_words,
            max(one[3] for one in own),
            max(one[4] for one in own),
        )
        for i, own in hits.items()
    }


def evidence(names, naming, texts, scale):
    """Return numbers by text and label: log-odds, and logs of texts, rank and labels found."""
    usual = (naming.hits.sum() + 0.5) / (naming.texts.sum() + 1.0)
    number = {label: place for place, label in enumerate(names.classes)}
    gone = set(np.flatnonzero(names.thesaurus.withdrawn).tolist())
    owners = [
        -1 if concept in gone else number.get(names.thesaurus.ids[concept], -1)
        for concept in names.thesaurus.name_concepts.tolist()
    ]
    result = {}
    for row, text in enumerate(texts):
        best = {}
        for name in find_names(list(names.names), text):
            seen, right = scale * naming.texts[name], scale * naming.hits[name]
            link = (right + 2.0 * usual) / (seen + 2.0)
            if owners[name] >= 0:
                best.setdefault(owners[name], []).append((-link, name, seen))
        ranked = sorted((min(own)[0], label, min(own)[2]) for label, own in best.items())[:50]
        for place, (link, label, seen) in enumerate(ranked):
            logit = np.log(-link) - np.log1p(link)
            result[row, label] = logit, np.log1p(seen), np.log1p(place), np.log1p(len(best))
    return dict(sorted(result.items()))


def candidates(labels, scores, found):
    """Return the kind and the numbers of each candidate, by text and label."""
    result = {}
    ranked = {
        (row, int(label)): place
        for row, own in enumerate(labels) for place, label in enumerate(own) if label >= 0
    }  # fmt: skip
    new = {
        (int(r), int(k)): i for i, (r, k) in enumerate(zip(found.rows, found.labels, strict=True))
    }
    for row, label in sorted({*ranked, *new}):
        points = found.points[label]
        place, at = ranked.get((row, label)), new.get((row, label))
        numbers = [0.0] * 5
        if place is not None:
            score, best = np.clip(np.float64(scores[row, [place, 0]]), 1e-6, [1 - 1e-6, 1.0])
            log = np.log(score)
            numbers = [log, log * log, np.log1p(place), score, np.log(best)]
        seen = np.log1p(points)
        more = [0.0] * len(found.numbers) if at is None else found.numbers[:, at].tolist()
        numbers += [seen, seen**2, seen * numbers[0], *more, more[0] * numbers[0], more[0] * seen]
        kind = (1 if at is not None else 0) if place is not None else 2 if points > 0 else 3
        result[row, label] = kind, numbers
    return result


def logistic_gradient(weights, numbers, truth, penalty):
    """Return the gradient of the penalised loss on standardised numbers, by weight."""
    spreads = numbers.std(axis=1)
    columns = (numbers - numbers.mean(axis=1, keepdims=True)) / spreads[:, None]
    slopes = weights[1:] * spreads
    logits = weights[0] + weights[1:] @ numbers
    error = 1.0 / (1.0 + np.exp(-logits)) - truth
    return np.append(error.sum(), columns @ error + penalty * slopes)
