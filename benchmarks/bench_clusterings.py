"""Clusterings of features side by side: what they lose, what they cost, what Parabel makes of them.

The table of the paper's section 4 (EURLex-4K, K = 512 by its balance factor, 625 = d / 8 and 1,024
by its stopping rule), with the baselines that it left out; then debian and tibkat-core at d / 8.
On EURLex-4K every method gets three trees of Parabel, on one clustering and on three; on the others
one tree. Results are appended to a file as they come, and what the file has is not run again.

    python benchmarks/bench_clusterings.py [--output FILE] [--print] [eurlex-4k[:K] ...]
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from typing import Any

from sklearn.base import clone

from common import cpu_seconds
from defrag import Agglomerated, Defrag, Hybrid, Parabel, load_dataset, metrics
from defrag.agglomeration.rivals import BCLS, ITDC, LSC, SCBC, HashGroups, RandomGroups, TopFeatures
from defrag.trees.seeds import member_seeds
from word_vectors import word_vectors

WORD_VECTORS = "DEFRAG-G"
METHODS: dict[str, Any] = {
    "DEFRAG-X": Defrag(),
    "DEFRAG-XY": Defrag("xy"),
    "DEFRAG-N": Defrag(split="ndcg"),
    WORD_VECTORS: Defrag(),
    "Hybrid": Hybrid(),
    "ITDC": ITDC(),
    "ITDC, label start": ITDC(start="label"),
    "SCBC, balance 0.1": SCBC(balance=0.1),
    "SCBC, balance 1": SCBC(balance=1.0),
    "LSC": LSC(),
    "BCLS": BCLS(),
    # By the loss of information on the training data of another set, Bibtex.
    "BCLS, tuned": BCLS(penalty=0.03, variance=0.3),
    "random groups": RandomGroups(),
    "random, energy": RandomGroups(scale="energy"),
    "hashing": HashGroups(),
    "top by energy": TopFeatures(),
    "top by information": TopFeatures("information"),
}
# Table 1, on EURLex-4K: LMI, balance, entropy, seconds, and P@1/3/5.
PAPER = {
    "DEFRAG-X": ["0.37", "1.11", "0.99", "1.8", "79.0/65.7/54.5"],
    "ITDC, label start": ["0.47", "inf", "0.87", "42", "73.9/59.6/49.2"],
    "SCBC, balance 0.1": ["0.39", "321", "0.75", "33", "72.0/59.5/49.4"],
    "LSC": ["0.60", "130", "0.93", "342", "71.4/58.7/48.7"],
    "BCLS": ["0.50", "inf", "0.91", "150", "74.1/61.0/50.5"],
}
SETS = ["eurlex-4k:512", "eurlex-4k:625", "eurlex-4k:1024", "debian:5164", "tibkat-core:14264"]


def precisions(model: Any, data: Any, groups: Any = None) -> list[float]:
    X, rows = data.train.X, data.test.X
    if groups is not None:
        X, rows = groups.transform(X), groups.transform(rows)
    labels, _ = model.fit(X, data.train.Y).predict_topk(rows)
    report = metrics.evaluate(data.test.Y, labels)
    return [report[f"P@{k}"] for k in (1, 3, 5)]


def measure(method: Any, data: Any, n_trees: int) -> dict[str, Any]:
    """Cluster once and measure the groups; then train on one clustering, and on one per tree."""
    X, Y = data.train.X, data.train.Y
    # The seed of the first member, so that one clustering is what Agglomerated would do.
    seed = {"random_state": member_seeds(0, 1)[0]}
    try:
        seconds, groups = cpu_seconds(clone(method).set_params(**seed).fit, X, Y)
    except ValueError as error:
        return {"refused": str(error)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = metrics.evaluate_clustering(X, Y, groups.labels_)
    n_clusters = groups.n_clusters_
    result: dict[str, Any] = {
        "seconds": seconds,
        "rounds": groups.n_iter_,
        "LMI": found["LMI"],
        "LMI_paper": found["LMI_paper"],
        "balance": metrics.balance(groups.labels_, n_clusters),
        "entropy": metrics.normalised_entropy(groups.labels_, n_clusters),
        "nnz": groups.transform(X).nnz / X.shape[0],
        "peak_mb": peak,
        "P_1": precisions(Parabel(n_trees, **seed), data, groups),
    }
    if n_trees > 1:
        model = Agglomerated(Parabel(n_trees), method, random_state=0)
        result["P_3"] = precisions(model, data)
    return result


def run(output: Path, places: list[str], names: list[str]) -> None:
    done = {(one["set"], one["method"]) for one in read(output)}
    data: Any = None
    for place in places:
        folder, _, groups = place.partition(":")
        n_trees = 3 if folder == "eurlex-4k" else 1
        for name in names:
            if (place, name) in done or (name, folder) == (WORD_VECTORS, "eurlex-4k"):
                continue
            if data is None or data.name != folder:
                data = load_dataset(folder)
            if name == "all features":
                found = {"P_1": precisions(Parabel(n_trees, random_state=0), data)}
            else:
                method = clone(METHODS[name]).set_params(n_clusters=int(groups), random_state=0)
                if name == WORD_VECTORS:
                    method.set_params(representation=word_vectors(data.train.X))
                found = measure(method, data, n_trees)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"set": place, "method": name, **found}) + "\n")


def read(output: Path) -> list[dict[str, Any]]:
    if not output.exists():
        return []
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


def show(output: Path, places: list[str]) -> None:
    """Print a table of Markdown per data set and number of groups."""
    records = read(output)
    for place in places:
        found = {one["method"]: one for one in records if one["set"] == place}
        titles = ["method", "LMI", "(paper's)", "balance", "entropy", "CPU s", "nnz/row", "P@1/3/5"]
        several = place.startswith("eurlex")
        titles += ["three clusterings"] if several else []
        print(f"\n{place}\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for name in ["all features", *METHODS]:
            if name in found:
                print(row_of([name, *cells_of(found[name])], len(titles)))
            if several and name in PAPER:
                lmi, *others, precisions = PAPER[name]
                print(row_of(["... in Table 1", "", lmi, *others, "", precisions], len(titles)))


def row_of(cells: list[str], width: int) -> str:
    return f"| {' | '.join((cells + [''] * width)[:width])} |"


def cells_of(found: dict[str, Any]) -> list[str]:
    if "refused" in found:
        return [found["refused"]]
    clustering = [""] * 6
    if "LMI" in found:
        clustering = [
            *(f"{found[key]:.3f}" for key in ("LMI", "LMI_paper")),
            f"{found['balance']:.1f}",
            f"{found['entropy']:.3f}",
            *(f"{found[key]:.1f}" for key in ("seconds", "nnz")),
        ]
    keys = [key for key in ("P_1", "P_3") if key in found]
    return clustering + ["/".join(f"{p:.1f}" for p in found[key]) for key in keys]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("clusterings.jsonl"))
    parser.add_argument("--print", action="store_true", help="only print what the file has")
    parser.add_argument("--methods", nargs="*", default=["all features", *METHODS])
    parser.add_argument("sets", nargs="*", default=SETS)
    options = parser.parse_args()
    if not options.print:
        run(options.output, options.sets, options.methods)
    show(options.output, options.sets)


if __name__ == "__main__":
    main()
