"""``defrag serve`` as a process."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from defrag import LabelTree, TextClassifier
from tests.helpers.processes import environment

SECONDS = 300


def save_model(path, labels="ffss"):
    """Write a model of texts of files and sorting, whose labels are letters."""
    model = TextClassifier(LabelTree(), random_state=0)
    model.fit(["large files", "copy files", "merge sorting", "quick sorting"], list(labels))
    model.save(path)
    return path


class Running:
    """A server that listens on this machine."""

    def __init__(self, process, port):
        self.process = process
        self.port = port

    def get(self, path, body=None):
        """Return what is at a path, or the answer to a JSON body."""
        content = None if body is None else json.dumps(body).encode()
        url, headers = f"http://127.0.0.1:{self.port}{path}", {"content-type": "application/json"}
        request = urllib.request.Request(url, content, headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - on loopback
            return answer.read().decode()

    def counter(self, name):
        """Return a counter of /metrics without labels."""
        line = re.search(rf"^defrag_{name} ([0-9.e+]+)$", self.get("/metrics"), re.MULTILINE)
        return int(float(line[1]))

    def best(self, text):
        best = json.loads(self.get("/v1/suggest", {"text": text, "k": 1}))
        return best["labels"][0]["label"]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def workers(self):
        return [
            worker
            for generation in children(self.process.pid)
            for worker in children(generation)
        ]  # fmt: skip


def children(process):
    found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


@contextlib.contextmanager
def running(*arguments, stderr=subprocess.PIPE, n_files=None):
    """Start a server and end it; arguments are those of ``defrag serve``."""
    command = [sys.executable, "-m", "defrag", "serve", *map(str, arguments), "--port", "0"]
    if n_files is not None:
        command = ["sh", "-c", f'ulimit -n {n_files}; exec "$@"', "sh", *command]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment()
    )
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"serving .* at http://127\.0\.0\.1:(\d+)\n", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield Running(process, int(found.group(1)))
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.communicate(timeout=SECONDS)


def wait_until(condition, seconds=SECONDS):
    """Wait for something that takes a while on a busy machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def exchange(connection, content=b""):
    """Send bytes, and return all that comes until the server closes."""
    if content:
        connection.sendall(content)
    received = b""
    while piece := connection.recv(1 << 16):
        received += piece
    return received


def request_bytes(body, *, headers=b""):
    """Return the bytes of a request for suggestions."""
    content = json.dumps(body).encode()
    return (
        b"POST /v1/suggest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        + headers + b"content-length: %d\r\n\r\n" % len(content) + content
    )  # fmt: skip
