"""Our classifiers beside PECOS, omikuji and napkinXC: time, accuracy and size in one run.

CPU seconds, one thread, the same files for all, every prediction judged by
``defrag.metrics``. The peers are installed in an environment of their own on first use.
Then the floors that the library promises, each with what was measured.

    python benchmarks/bench_peers.py [--repeats N] [--only NAME ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import common  # noqa: F401 - says where the data sets are
from defrag import load_dataset
from peer_floors import print_floors
from peer_runs import OURS, PEERS, PEERS_VENV, Result, peers_python, prepare, run_ours, run_peer

DATA = ("eurlex-4k", "debian", "tibkat-core")


def run(names: list[str], repeats: int, venv: Path) -> dict[str, dict[str, Result]]:
    """Run the named methods on the named data sets, and print each as it ends."""
    peers = [name for name in PEERS if name in names]
    ours = [name for name in OURS if name in names]
    python = peers_python(venv) if peers else None
    results: dict[str, dict[str, Result]] = {}
    for data_name in [name for name in DATA if name in names]:
        data = load_dataset(data_name)
        rows = results[data_name] = {}
        print_head(data_name)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            prepare(folder, data)
            for name in [*ours, *peers]:
                if python is not None and name in PEERS:
                    rows[name] = run_peer(name, python, folder, data, repeats)
                else:
                    rows[name] = run_ours(name, folder, data, repeats)
                print_row(name, rows[name])
    return results


def print_head(data_name: str) -> None:
    print(
        f"\n{data_name:<17} {'train s':>8} {'batch ms':>9} {'row ms':>7} {'MB':>7}   "
        f"{'P@1/3/5':<19} {'PSP@1/3/5':<19}"
    )


def print_row(name: str, result: Result) -> None:
    values = ["/".join(f"{result.metrics[f'{kind}@{k}']:.2f}" for k in (1, 3, 5))
              for kind in ("P", "PSP")]  # fmt: skip
    print(
        f"{name:<17} {result.train_cpu:>8.2f} {result.predict_ms:>9.4f} "
        f"{result.single_row_ms:>7.3f} {result.model_bytes / 1e6:>7.2f}   "
        f"{values[0]:<19} {values[1]:<19}",
        flush=True,
    )


def main() -> None:
    known = [*DATA, *PEERS, *OURS]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=1, help="the least time of so many runs")
    parser.add_argument("--only", nargs="+", choices=known, default=known, metavar="NAME",
                        help="data sets and methods: " + ", ".join(known))  # fmt: skip
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--peers-venv", type=Path, default=PEERS_VENV)
    arguments = parser.parse_args()
    # Naming only data sets means all methods, and the other way round.
    names = set(arguments.only)
    for group in (set(DATA), {*PEERS, *OURS}):
        names |= group if not names & group else set()
    results = run([n for n in known if n in names], arguments.repeats, arguments.peers_venv)
    print_floors(results)
    if arguments.json is not None:
        values = {data: {name: result.to_dict() for name, result in rows.items()}
                  for data, rows in results.items()}  # fmt: skip
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
