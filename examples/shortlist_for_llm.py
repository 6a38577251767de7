"""A shortlist for a language model: 20 likely labels of thousands, ready to paste into a prompt.

No prompt holds all labels. The best 20 of a cheap model hold most of the true ones, and the
language model only has to choose.
"""

from defrag import TextClassifier, load_dataset

data = load_dataset("debian")
model = TextClassifier(random_state=0).fit(*data.texts("train", 10_000))
texts, labels = data.texts("test", 2000)
learnt = set(model.classes_)
known = [learnt & {*row} for row in labels]  # the others cannot be found
print(f"{len(learnt):,} labels")

names, _ = model.predict_topk(texts, k=50)
for k in (5, 20, 50):
    hits = sum(len({*found[:k]} & row) for found, row in zip(names, known, strict=True))
    print(f"the best {k} hold {hits / sum(map(len, known)):.0%} of the true labels")

print(f"""
Choose the labels that fit the text. Answer with names from the list only.
Text: {texts[0]}
Labels: {", ".join(names[0, :20])}""")
