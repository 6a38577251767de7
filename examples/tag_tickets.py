"""Tag support tickets: learn from a file that Excel exported, write a CSV file with tags.

    python tag_tickets.py [TICKETS.csv]

The file has the columns ``text`` and ``labels``; several labels are separated by commas. It is read
as "CSV" (semicolons, Windows characters) and as "Unicode text" (tabs, UTF-16).
"""

import csv
import random
import sys
import tempfile
from pathlib import Path

from defrag import TextClassifier
from defrag.io import read_texts

PROBLEMS = {
    "billing": ["invoice is wrong", "charged twice", "refund has not arrived"],
    "login": ["cannot sign in", "password reset fails", "code is never sent"],
    "printer": ["printer jams", "prints blank pages", "toner is empty"],
}
ENDINGS = ["since Monday", "please help", "again", "after the update", "in the café"]

folder = Path(tempfile.mkdtemp())
if len(sys.argv) > 1:
    tickets = Path(sys.argv[1])
else:  # tickets with one problem or two
    draw, tickets = random.Random(0), folder / "tickets.csv"  # noqa: S311 - no secret
    rows = []
    for _ in range(300):
        tags = draw.sample(sorted(PROBLEMS), draw.choice([1, 1, 2]))
        text = " and ".join(draw.choice(PROBLEMS[tag]) for tag in tags)
        rows.append((f"{text} {draw.choice(ENDINGS)}", ",".join(tags)))
    with tickets.open("w", newline="", encoding="cp1252") as file:
        csv.writer(file, delimiter=";").writerows([("Text", "Labels"), *rows])

texts, labels = read_texts(tickets, label_separator=",", encoding="cp1252")
with (folder / "tickets.tsv").open("w", newline="", encoding="utf-16") as file:
    rows = [(t, ",".join(names)) for t, names in zip(texts, labels, strict=True)]
    csv.writer(file, delimiter="\t").writerows([("Text", "Labels"), *rows])
assert read_texts(folder / "tickets.tsv", label_separator=",") == (texts, labels)  # noqa: S101
model = TextClassifier(random_state=0).fit(texts, labels)

new = ["my invoice is wrong again", "cannot sign in and the printer jams", "hello"]
rows = [(text, ";".join(tags)) for text, tags in zip(new, model.predict(new), strict=True)]
with (folder / "tagged.csv").open("w", newline="") as file:
    csv.writer(file).writerows([("text", "labels"), *rows])
print((folder / "tagged.csv").read_text(), end="")  # a text without known words gets no tag
