"""Show why a text gets a label, and which words the model associates with the label."""

from defrag import TextClassifier, load_dataset

model = TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 10_000))
text = "gtk desktop application to view photos and images"

why = model.explain(text, "libgtk-3-0t64")  # or explain(text): the best label
print(why)
word = why.top(1)[0]
print(f"without {word.name!r} the score would be {word.without:.2f} instead of {why.score:.2f}")

learnt = model.label_features(why.label, n=5)
print(f"words of {why.label}: {', '.join(learnt.names)}")
