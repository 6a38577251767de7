"""Small corpora of labelled texts."""

import numpy as np

TOPICS = {
    "algebra": "matrix vector linear sparse dense eigenvalue",
    "sorting": "sort quick merge heap order compare",
    "network": "socket packet router address port protocol",
    "größe": "größe höhe breite länge tiefe maß",
}


def make_texts(n_texts=120, seed=0, topics=TOPICS):
    """Return texts about one or two topics, and the topics."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_texts):
        chosen = rng.choice(list(topics), size=rng.integers(1, 3), replace=False)
        words = [w for topic in chosen for w in rng.choice(topics[topic].split(), 4)]
        texts.append(" ".join(rng.permutation([*words, *rng.choice(["the", "of", "a"], 3)])))
        labels.append(sorted(chosen.tolist()))
    return texts, labels


def ids(model):
    """Return the features of a vectoriser by name."""
    return {name: number for number, name in enumerate(model.get_feature_names_out().tolist())}
