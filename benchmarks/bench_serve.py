"""``defrag serve`` under load on this machine.

Trains a model of the bundled Debian texts, then measures suggestions per CPU-second of the
workers, times to answer, and private memory per worker; at last some seconds of load during which
models are replaced many times, a worker is killed and a broken file takes the place of the model.
Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from defrag import TextClassifier, load, load_dataset

N_TEXTS = 2000
K = 10


@dataclass
class Outcome:
    """What a run found."""

    seconds: list[float] = field(default_factory=list)  # to each answer
    errors: list[str] = field(default_factory=list)  # answers that are not 200
    wrong: int = 0  # answers that are none of those expected
    cut: int = 0  # connections that ended without an answer; the request was sent again

    def note(self, client: _Client, head: bytes, body: bytes, right: list[Any] | None) -> None:
        """Add an answer; ``right`` are those that it may be, decoded."""
        self.seconds.append(time.perf_counter() - client.sent)
        if not head.startswith(b"HTTP/1.1 200"):
            self.errors.append(f"{head[:40]!r} {body[:200]!r}")
        elif right is not None and json.loads(body) not in right:
            self.wrong += 1

    def percentile(self, share: float) -> float:
        """Return a percentile of the times, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class _Client:
    def __init__(self, port: int) -> None:
        self.port = port
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, number: int, request: bytes) -> None:
        self.number, self.received, self.sent = number, b"", time.perf_counter()
        self.socket.sendall(request)

    def answer(self) -> tuple[bytes, bytes] | None:
        """Return head and body when they are there; None before that."""
        self.received += (piece := self.socket.recv(1 << 18))
        if not piece:
            raise ConnectionResetError
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return None
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return (head, body) if len(body) >= length else None


def requests_for(texts: list[str]) -> list[bytes]:
    """Return the bytes of one request per text."""
    bodies = [json.dumps({"text": text, "k": K}).encode() for text in texts]
    head = b"POST /v1/suggest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return [head + b"content-length: %d\r\n\r\n" % len(body) + body for body in bodies]


def put_load(
    port: int,
    requests: list[bytes],
    *,
    connections: int,
    seconds: float,
    expected: list[list[Any]] | None = None,
) -> Outcome:
    """Send requests in turn over some connections, each of which has one request at a time.

    ``expected`` has the answers that are right for each request, decoded.
    """
    outcome = Outcome()
    selector = selectors.DefaultSelector()
    clients = [_Client(port) for _ in range(connections)]
    turn = itertools.cycle(range(len(requests)))

    def ask(client: _Client, number: int, *, reconnect: bool = False) -> None:
        if reconnect:
            client.socket.close()
            client.connect()
        client.send(number, requests[number])
        selector.register(client.socket, selectors.EVENT_READ, client)

    for client in clients:
        ask(client, next(turn))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for key, _ in selector.select(0.1):
            client = key.data
            try:
                found = client.answer()
            except ConnectionError:
                outcome.cut += 1
                selector.unregister(client.socket)
                ask(client, client.number, reconnect=True)
                continue
            if found is None:
                continue
            outcome.note(client, *found, expected[client.number] if expected else None)
            selector.unregister(client.socket)
            ask(client, next(turn), reconnect=b"connection: close" in found[0].lower())
    for client in clients:
        client.socket.close()
    return outcome


def cpu_of(processes: list[int]) -> float:
    """Return the CPU time that processes have used, in seconds."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(model: Path, workers: int) -> Iterator[tuple[int, int]]:
    """Start a server; give its process and port."""
    command = ["defrag", "serve", str(model), "--port", "0", "--workers", str(workers)]
    server = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline() if server.stdout else ""
        yield server.pid, int(re.findall(r":(\d+)$", line.strip())[0])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def workers_of(supervisor: int) -> list[int]:
    """Return the grandchildren of a process: between are those that loaded the models."""
    found = [supervisor]
    for _ in range(2):
        lists = [Path(f"/proc/{one}/task/{one}/children").read_text() for one in found]
        found = list(map(int, " ".join(lists).split()))
    return found


def measure(port: int, workers: list[int], requests: list[bytes], seconds: float) -> None:
    """Print throughput and times of some numbers of connections."""
    put_load(port, requests, connections=8, seconds=seconds / 4)
    for connections in (1, 8, 64):
        before = cpu_of(workers)
        found = put_load(port, requests, connections=connections, seconds=seconds)
        rate = len(found.seconds) / (cpu_of(workers) - before)
        print(
            f"{connections} connections: {rate:6.0f} per CPU-second, p50 "
            f"{found.percentile(0.5):.2f} ms, p99 {found.percentile(0.99):.2f} ms, "
            f"{len(found.errors)} errors"
        )


def throughput(path: Path, requests: list[bytes], seconds: float) -> None:
    for workers in (1, 2, 4):
        with serving(path, workers) as (supervisor, port):
            found = workers_of(supervisor)
            if workers == 1:
                measure(port, found, requests, seconds)
            else:
                put_load(port, requests, connections=8 * workers, seconds=seconds)
            private = []
            for worker in found:
                memory = Path(f"/proc/{worker}/smaps_rollup").read_text()
                kilobytes = map(int, re.findall(r"Private_\w+: +(\d+)", memory))
                private.append(f"{sum(kilobytes) / 1024:.1f}")
            print(f"{workers} workers: {', '.join(private)} MB private each after {seconds:g} s")


def answers(model: Any, texts: list[str]) -> list[Any]:
    """Return what the server must answer with a model."""
    names, scores = model.predict_topk(texts, k=K)
    return [
        {"labels": [{"label": n, "score": s} for n, s in zip(*row, strict=True) if n]}
        for row in zip(names.tolist(), scores.tolist(), strict=True)
    ]


def endurance(
    one: Path, other: Path, folder: Path, texts: list[str], *, seconds: float, reloads: int
) -> None:
    """Load a server whose models, files and workers change meanwhile."""
    served = folder / "served.safetensors"
    shutil.copy(one, served)
    by_model = (answers(load(path), texts) for path in (one, other))
    right = list(map(list, zip(*by_model, strict=True)))

    def replace(source: Path) -> None:
        shutil.copy(source, folder / "next")
        (folder / "next").replace(served)

    with serving(served, 2) as (supervisor, port):
        events: list[tuple[float, Callable[[], object]]] = [
            (0.02, lambda: os.kill(workers_of(supervisor)[0], signal.SIGKILL)),
            (0.05, lambda: os.truncate(served, served.stat().st_size // 2)),
        ]
        events += [
            (0.15 + 0.75 * number / reloads, partial(replace, one if number % 2 else other))
            for number in range(reloads)
        ]
        start = time.monotonic()

        def disturb() -> None:
            for share, act in events:
                time.sleep(max(0.0, start + share * seconds - time.monotonic()))
                act()

        thread = threading.Thread(target=disturb)
        thread.start()
        requests = requests_for(texts)
        found = put_load(port, requests, connections=8, seconds=seconds, expected=right)
        thread.join()
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url) as answer:
            lines = answer.read().decode().splitlines()
    counters = dict(line.rsplit(" ", 1) for line in lines)
    print(
        f"{seconds:g} s, worker killed, file cut in place, {reloads} reloads: {len(found.seconds)} "
        f"answers, {len(found.errors)} errors, {found.wrong} wrong, {found.cut} connections cut; "
        f"p99 {found.percentile(0.99):.1f} ms; loads {counters['defrag_loads_total']}, failed "
        f"{counters['defrag_failed_loads_total']}, restarts "
        f"{counters['defrag_worker_restarts_total']}"
    )
    for error in found.errors[:3]:
        print(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--endurance", type=float, default=60.0, help="seconds; 0: none")
    parser.add_argument("--reloads", type=int, default=20, help="during these seconds")
    options = parser.parse_args()
    data = load_dataset("debian")
    texts, labels = data.texts("train")
    asked = data.texts("test")[0][:N_TEXTS]
    requests = requests_for(asked)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / "one.safetensors", folder / "other.safetensors"]
        for seed, path in enumerate(paths):
            TextClassifier(random_state=seed).fit(texts, labels).save(path)
        throughput(paths[0], requests, options.seconds)
        if options.endurance:
            endurance(*paths, folder, asked, seconds=options.endurance, reloads=options.reloads)


if __name__ == "__main__":
    main()
