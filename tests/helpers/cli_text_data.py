"""Twenty-four documents in every form of texts, for the commands about texts."""

import json

import numpy as np

from tests.helpers.cli_data import enter_filled
from tests.helpers.cli_running import run_well

SUBJECTS = {
    "algebra": "matrix vector product sparse dense",
    "sorting": "quick merge sort order stable",
    "files": "copy move large disk folder",
    "http://a.org/x:1": "uri colon name label thing",
}
TABLE = "--text-column body --labels-column tags --label-separator ;"
BROKEN_PREDICTIONS = {
    "score-missing": "un:0.5\nun\n",
    "score-no-number": "un:0.5\nun:x\n",
    "score-nan": "un:nan\n",
    "label-twice": "un:0.5\tun:0.4\n",
    "ids-and-names": (
        '{"labels": ["un"], "scores": [1]}\n{"labels": [1], "scores": [1]}\n'
    ),
    "scores-missing": '{"labels": ["un"], "scores": []}\n',
    "label-true": '{"labels": [true], "scores": [1]}\n',
    "no-object": '{"labels": ["un"], "scores": [1]}\n[]\n',
    "no-json": '{"labels": ["un"], "scores": [1]}\n{\n',
}  # fmt: skip


def documents(n_texts=24):
    """Return texts of one or two subjects, by turns."""
    subjects = list(SUBJECTS)
    found = []
    for number in range(n_texts):
        labels = [subjects[number % 4], subjects[(number + number // 4 % 2) % 4]]
        words = " ".join(SUBJECTS[label] for label in labels).split()
        text = " ".join(np.random.default_rng(number).permutation(words)[:7])
        found.append({"text": text, "labels": sorted(set(labels))})
    return found


def write_lines(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


def _write_files(folder):
    """Write the documents in every form; all give the same model."""
    items = documents()
    write_lines(folder / "docs.jsonl", items)
    write_lines(folder / "docs", items)
    write_lines(folder / "bare.jsonl", [{"text": "quick sort"}, {"text": "unheard of"}])
    (folder / "train.txt").write_text("2 3 2\n0 1:1\n1 2:1\n")
    rows = [f"{number},{item['text']},{';'.join(item['labels'])}"
            for number, item in enumerate(items)]  # fmt: skip
    (folder / "docs.csv").write_text("\n".join(["id,body,tags", *rows]))
    lines = [f"{item['text']}\t{' '.join(f'<{one}>' for one in item['labels'])}" for item in items]
    (folder / "docs.tsv").write_text("\n".join(lines))
    (folder / "X.txt").write_text("".join(f"{item['text']}\n" for item in items))
    (folder / "Y.txt").write_text("".join(f"{' '.join(item['labels'])}\n" for item in items))
    (folder / "annif").mkdir()
    for number, item in enumerate(items):
        (folder / "annif" / f"{number:02}.txt").write_text(item["text"])
        (folder / "annif" / f"{number:02}.key").write_text("\n".join(item["labels"]))
    names = sorted(SUBJECTS)
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in names))
    lines = [f"{','.join(str(names.index(one)) for one in item['labels'])}\t{item['text']}"
             for item in items]  # fmt: skip
    (folder / "pecos.tsv").write_text("\n".join(lines))


def _write_refused_files(folder):
    """Write what commands refuse beside what they read, and models of texts and of a matrix."""
    _write_files(folder)
    write_lines(folder / "none.jsonl", [{"text": "sort", "labels": []}])
    (folder / "bad.jsonl").write_text('{"text": "a", "labels": []}\n{"text": 3}\n')
    (folder / "odd.csv").write_text(
        "\n".join(["text,labels", *(f"{item['text']},a b;c" for item in documents())])
    )
    (folder / "pecos.txt").write_text((folder / "pecos.tsv").read_text())
    (folder / "table.data").write_text("text,labels\nx,y\n")
    (folder / "nolabel.csv").write_text("id,text,topics\n1,x,y\n")
    (folder / "empty").mkdir()
    (folder / "pair").mkdir()
    for name in ("X.txt", "Y.txt"):
        (folder / "pair" / name).write_text((folder / name).read_text())
    (folder / "ft").write_text("__label__a text\n")
    (folder / "p").write_text("2 2\n0:1\n1:1\n")
    (folder / "p.names").write_text("un:0.9\tdeux:0.1\ndeux:0.8\n")
    (folder / "p.other").write_text("un:0.9\ntrois:0.8\n")
    (folder / "p.ids").write_text("2 2\n0:0.9 1:0.1\n1:0.8\n")
    (folder / "un.txt").write_text("un\ndeux\n")
    (folder / "twice.txt").write_text("un\nun\n")
    for name, content in BROKEN_PREDICTIONS.items():
        (folder / f"{name}.p").write_text(content)
    run_well("train", str(folder / "docs.jsonl"), str(folder / "texts.safetensors"))
    run_well("train", str(folder / "train.txt"), str(folder / "matrix.safetensors"))


def fill_folder(tmp_path, monkeypatch, *, refused=False):
    """Return a folder, made the current one, with the same documents in every form."""
    return enter_filled(_write_refused_files if refused else _write_files, tmp_path, monkeypatch)
