"""A shortlist for a language model: the candidates that hold 90% of the labels within reach.

No prompt holds all labels. The model says how many candidates it takes, and how sure that is; the
language model only has to choose among them.
"""

from defrag import TextClassifier, load_dataset

data = load_dataset("debian")
model = TextClassifier(random_state=0).fit(*data.texts("train", 10_000))
texts, labels = data.texts("test", 2000)
print(f"{len(model.classes_):,} labels; promised: {model.promise(0.9)}")

held = [{one.label for one in row} for row in model.shortlist(texts, 0.9)]
within = [{*row} for row in model.predict_topk(texts, k=1000)[0]]
reachable = [best & {*row} for best, row in zip(within, labels, strict=True)]
found = sum(len(row & best) for row, best in zip(held, reachable, strict=True))
print(f"found on other texts: {found / sum(map(len, reachable)):.1%}")

candidates = model.shortlist(texts[:1], 0.5, words=2)[0]
lines = [f"- {one.label} (suggested by: {', '.join(one.words)})" for one in candidates]
print(f"""
Choose the labels that fit the text. Answer with names from the list only.
Text: {texts[0]}
Labels:
{chr(10).join(lines)}""")
