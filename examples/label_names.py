"""Labels with names in two languages: found by name, and changed without training."""

from defrag import TextClassifier, Thesaurus, load_dataset

texts, labels = load_dataset("debian").texts("train", 10_000)
concepts = [
    {"id": "python3", "name": {"en": "Python", "fi": "Python-kieli"}, "type": "language"},
    {"id": "perl", "name": {"en": "Perl", "fi": "Perl-kieli"}, "type": "language"},
    {"id": "libgtk-3-0t64", "name": {"en": "GTK windows", "fi": "GTK-ikkunat"}, "scheme": "desk"},
]
model = TextClassifier(random_state=0).fit(texts, labels, thesaurus=Thesaurus.of(concepts))
text = "python library for gtk desktop applications"


def show(what: str, labels: list[str]) -> None:
    """Print labels by their names."""
    print(f"{what}: {', '.join(model.label_name(label, 'fi') or label for label in labels)}")


show("all labels", model.predict_topk([text], k=3)[0][0])
show("named ones", model.predict_topk([text], k=2, allow=["type=language", "scheme=desk"])[0][0])
show("no languages", model.predict_topk([text], k=3, deny=["type=language"])[0][0])
print("gtk windoes:", model.find_labels("gtk windoes")[0].label)
later = [{"id": "python3", "replaced_by": "python4"}, {"id": "python4", "name": {"fi": "Python 4"}}]
model.add_labels(Thesaurus.of(later))
show("a year later", model.predict_topk([text], k=3)[0][0])
