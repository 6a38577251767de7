"""Bad text: every broken rule has a message with file, line, rule and value, within a second."""

import contextlib
import functools
import gzip
import lzma
import os
import re
import threading
import time

import pytest

from defrag import _native
from defrag.exceptions import FormatError, FormatWarning
from defrag.io import ReadLimits, read_groups, read_word_vectors, read_xmc
from defrag.io.xmc import read_features, read_labels, read_svmlight
from tests.data import read_data, read_predictions

HEADER = "the header must be 'points features labels'"
PAIR = "a feature index must be a whole number >= 0, got "
LABEL = "labels must be whole numbers >= 0 with commas between them, got "

BAD_FILES = {
    "empty file": (b"", ": the file is empty"),
    "only a comment": (b"# nothing\n", ": there is no header, only comments"),
    "blank header": (b"\n0 1:1\n", f":1: {HEADER}, got 0 numbers"),
    "header of one number": (b"3\n", f":1: {HEADER}, got 1 numbers"),
    "header of two numbers": (b"3 4\n", f":1: {HEADER}, got 2 numbers"),
    "header of four numbers": (b"3 4 5 6\n", f":1: {HEADER}, got 4 numbers"),
    "negative header": (b"-3 4 5\n", f":1: {HEADER}, whole numbers >= 0, got '-3'"),
    "float header": (b"3 4.0 5\n", f":1: {HEADER}, whole numbers >= 0, got '4.0'"),
    "hexadecimal header": (b"3 0x4 5\n", f":1: {HEADER}, whole numbers >= 0, got '0x4'"),
    "word in header": (b"3 many 5\n", f":1: {HEADER}, whole numbers >= 0, got 'many'"),
    "header 2^31": (b"3 2147483648 5\n", ":1: the header declares '2147483648', more than a"),
    "header 2^63": (b"9223372036854775808 4 5\n", ":1: the header declares '9223372036854775808',"),
    "header 10^30": (b"1%s 4 5\n" % (b"0" * 30), ":1: the header declares '1000000000000000000000"),
    "feature index too large": (b"1 900 9\n0 905:1\n",
                                ":2: feature index 905, but the header declares 900"),
    "feature index one too large": (b"1 9 9\n0 9:1\n", ":2: feature index 9, but the header decl"),
    "label index too large": (b"1 9 9\n77 1:1\n", ":2: label index 77, but the header declares 9"),
    "later label too large": (b"1 9 9\n1,9 1:1\n", ":2: label index 9, but the header declares 9"),
    "negative feature index": (b"1 9 9\n0 -1:1\n", f":2: {PAIR}'-1:1'"),
    "negative label": (b"1 9 9\n-1 1:1\n", f":2: {LABEL}'-1'"),
    "overflowing index": (b"1 9 9\n0 99999999999999999999:1\n", ":2: feature index of more"),
    "overflowing label": (b"1 9 9\n99999999999999999999 1:1\n", ":2: label index of more"),
    "line number": (b"9 9 9\n0 1:1\n\n# x\n 1:1\n0 -1:1\n", f":6: {PAIR}'-1:1'"),
    "blank after comma": (b"1 9 9\n1, 2 1:1\n", f":2: {LABEL}'1,'"),
    "two commas": (b"1 9 9\n1,,2 1:1\n", f":2: {LABEL}'1,,2'"),
    "leading comma": (b"1 9 9\n,1 1:1\n", f":2: {LABEL}',1'"),
    "float label": (b"1 9 9\n1.0 1:1\n", f":2: {LABEL}'1.0'"),
    "label with value": (b"1 9 9\n1,2:1 1:1\n", f":2: {LABEL}'1,2:1'"),
    "label list in the middle": (b"1 9 9\n1 2:1 1,2\n", f":2: {PAIR}'1,2'"),
    "no value": (b"1 9 9\n0 3:\n", ":2: feature 3 has a colon, but no value: '3:'"),
    "blank after colon": (b"1 9 9\n0 3: 4\n", ":2: feature 3 has a colon, but no value: '3:'"),
    "no index": (b"1 9 9\n0 :4\n", f":2: {PAIR}':4'"),
    "no index in the first column": (b"1 9 9\n:4\n", f":2: {PAIR}':4'"),
    "two values": (b"1 9 9\n0 3:4:5\n", ":2: the value of feature 3 must be a number, got '4:5'"),
    "nan": (b"1 9 9\n0 3:NaN\n", ":2: the value of feature 3 must be a finite float, got 'NaN'"),
    "inf": (b"1 9 9\n0 3:-inf\n", ":2: the value of feature 3 must be a finite float, got '-inf'"),
    "1e400": (b"1 9 9\n0 3:1e400\n", ":2: the value of feature 3 must be a finite float, got '1e4"),
    "1e39": (b"1 9 9\n0 3:1e39\n", ":2: the value of feature 3 must be a finite float, got '1e39'"),
    "sum overflows": (b"1 9 9\n0 3:3e38 3:3e38\n", ":2: the values of feature 3 add up to more"),
    "hexadecimal": (b"1 9 9\n0 3:0x1p3\n", ":2: the value of feature 3 must be a number, got '0x"),
    "underscore": (b"1 9 9\n0 3:1_000\n", ":2: the value of feature 3 must be a number, got '1_"),
    "decimal comma": (b"1 9 9\n0 3:1,5\n", ":2: the value of feature 3 must be a number, got '1,"),
    "only a sign": (b"1 9 9\n0 3:-\n", ":2: the value of feature 3 must be a number, got '-'"),
    "only a point": (b"1 9 9\n0 3:.\n", ":2: the value of feature 3 must be a number, got '.'"),
    "two signs": (b"1 9 9\n0 3:--1\n", ":2: the value of feature 3 must be a number, got '--1'"),
    "no exponent": (b"1 9 9\n0 3:1e\n", ":2: the value of feature 3 must be a number, got '1e'"),
    "NUL byte": (b"1 9 9\n0 3:1\0\n", r":2: the value of feature 3 must be a number, got '1\x00'"),
    "not UTF-8": (b"1 9 9\n0 \xff:1\n", rf":2: {PAIR}'\xff:1'"),
    "BOM inside": (b"1 9 9\n\xef\xbb\xbf0 1:1\n", rf":2: {LABEL}'\xef\xbb\xbf0'"),
    "carriage return inside": (b"1 9 9\r0 1:1\n", rf":1: {HEADER}, whole numbers >= 0, got '9\x0d"),
    "form feed": (b"1 9 9\n0\f1:1\n", rf":2: {LABEL}'0\x0c1:1'"),
    "binary": (b"\x7fELF\x02\x01\x01\x00", rf":1: {HEADER}, whole numbers >= 0, got '\x7fELF"),
    "qid": (b"1 9 9\n0 qid:1 3:1\n", f":2: {PAIR}'qid:1'"),
    "text": (b"1 9 9\nhello world\n", f":2: {LABEL}'hello'"),
    "long token": (b"1 9 9\n0 " + b"x" * 1000, f":2: {PAIR}'{'x' * 40}...'"),
}  # fmt: skip


@pytest.fixture
def timer():
    start = time.process_time()
    yield
    # Milliseconds, unless something is quadratic; sanitizers are slow.
    assert time.process_time() - start < 5.0


def test_huge_header_costs_no_memory(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"99999999999999999 2147483647 2147483647\n0 1:1\n")
    limits = ReadLimits(max_columns=2**31)
    with pytest.warns(FormatWarning, match="declares 99999999999999999 points, the file has 1"):
        X, Y = read_xmc(path, allow_truncated=True, limits=limits)
    assert X.shape == Y.shape == (1, 2**31 - 1)


@pytest.mark.usefixtures("timer")
@pytest.mark.parametrize(
    "line", [b"0 " + b"1:1 " * 2_500_000, b"9" * 10_000_000, b" " * 10_000_000]
)
def test_line_of_ten_megabytes_is_read(tmp_path, line):
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 9 9\n" + line)
    if line.startswith(b"9"):
        with pytest.raises(FormatError, match=":2: label index of more than 18 digits: '9999"):
            read_xmc(path)
    elif line.startswith(b"0"):
        with pytest.warns(FormatWarning, match=":2: 2499999 features are repeated"):
            X, _ = read_xmc(path)
        assert X[0, 1] == 2_500_000
    else:
        X, _ = read_xmc(path)
        assert X.nnz == 0


@pytest.mark.usefixtures("timer")
@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_damaged_compressed_files_are_refused(tmp_path, compress):
    whole = compress(b"3 9 9\n" + b"0,1 1:0.123 2:1\n" * 3)
    path = tmp_path / "train.txt.z"
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"the compressed data are truncated|the header must"):
            read_xmc(path)
    n_read = 0
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :])
        with contextlib.suppress(FormatError):
            read_xmc(path)
            n_read += 1
    assert n_read < len(whole) * 0.2


@pytest.mark.usefixtures("timer")
def test_folders_and_devices_are_refused(tmp_path):
    with pytest.raises(FormatError, match="is a directory, not a file"):
        read_xmc(tmp_path)
    with pytest.raises(FormatError, match="/dev/zero: is a device, not a file"):
        read_xmc("/dev/zero")
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        read_xmc(tmp_path / "missing.txt")


@pytest.mark.usefixtures("timer")
@pytest.mark.parametrize(("read", "seconds"), [(read_data, 0.0), (read_xmc, 0.8)])
def test_writer_of_fifo_is_awaited(tmp_path, read, seconds):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def write():
        with fifo.open("wb") as file:
            time.sleep(seconds)
            file.write(b"1 2 2\n1 0:1\n")

    writer = threading.Thread(target=write)
    writer.start()
    X, _ = read(fifo)
    writer.join()
    assert X.nnz == 1


@pytest.mark.usefixtures("timer")
def test_fifo_without_writer_is_refused(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(FormatError, match="is a FIFO without a writer"):
        read_xmc(fifo)


def test_file_that_shrinks_while_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "train.txt"
    path.write_bytes(b"1000 9 9\n" + b"1 1:1\n" * 1000)
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", 64)
    fed = []
    feed = _native.TextParser.feed

    def feed_and_shrink(parser, text):
        fed.append(text)
        if len(fed) == 2:
            os.truncate(path, 100)
        feed(parser, text)

    monkeypatch.setattr(_native.TextParser, "feed", feed_and_shrink)
    with pytest.raises(FormatError, match="the header declares 1000 points, the file has"):
        read_xmc(path, strict=True)


def word_vectors(path):
    return read_word_vectors(path, ["cat", "cat 1"])


def svmlight(*, zero_based=True, **options):
    return functools.partial(read_svmlight, zero_based=zero_based, **options)


OTHER_FILES = [
    (read_groups, b"", ": the file is empty"),
    (read_groups, b"x\n", ":1: expected whole numbers >= 0, got 'x'"),
    (read_groups, b"1 2\n", ":1: the first line must be the number of groups, got 2"),
    (read_groups, b"2\n1 0\n", ":1: 2 groups declared, but there are 1"),
    (read_groups, b"1\n1 0\n1 1\n", ":1: 1 groups declared, but there are 2"),
    (read_groups, b"1\n2 0\n", ":2: group of size 2, but 1 features"),
    (read_groups, b"2\n1 0\n\n1 1\n", ":1: 2 groups declared"),
    (read_groups, b"2\n\n1 1\n", ":2: a group must begin with its size"),
    (read_groups, b"1\n1 -1\n", ":2: expected whole numbers >= 0, got '1 -1'"),
    (read_groups, b"1\n1 99999999999999999999\n", ":2: a number of more than 18 digits"),
    (read_groups, b"1\n1 999999999999\n", ":2: feature index 999999999999 is too large"),
    (read_groups, b"1\n1 2147483000\n", ": 2147483001 features, but only 1 entries"),
    (read_groups, b"1\n1 9000\n", ": 9001 features, but feature 0 is in no group"),
    (read_groups, b"2\n2 0 1\n1 1\n", ":3: feature 1 is in a group already"),
    (read_groups, b"2\n1 0\n1 2\n", ": 3 features, but feature 1 is in no group"),
    (read_groups, b"2\n1 0\n2 2 2\n", ":3: feature 2 is in a group already"),
    (read_groups, b"100000000000000000\n1 0\n", ":1: 100000000000000000 groups declared"),
    (read_predictions, b"1 2\n0:1 0:2\n", ":2: label 0 has two scores"),
    (read_predictions, b"1 2\n5:1\n", ":2: label index 5, but the header declares 2"),
    (read_predictions, b"1 2\n1:nan\n", ":2: the value of label 1 must be a finite float"),
    (read_predictions, b"1\n", ":1: the header must be 'points labels', got 1 numbers"),
    (word_vectors, b"", ": the file is empty"),
    (word_vectors, b"cat\n", ":1: expected a word and the numbers of its vector"),
    (word_vectors, b"5 2\n", ":1: a header, but no vector"),
    (word_vectors, b"5 999999999999\ncat 1 2\n", ":2: expected a word and 2147483648 number"),
    (word_vectors, b"cat 1 2\ndog 1\n", ":2: expected a word and 2 numbers, got 2 parts"),
    (word_vectors, b"cat 1 x\n", ":1: expected a finite number, got 'x'"),
    (word_vectors, b"cat 1 nan\n", ":1: expected a finite number, got 'nan'"),
    (word_vectors, b"cat 1 1_0\n", ":1: expected a finite number, got '1_0'"),
    (word_vectors, b"2 2\ncat 1  2\n", ":2: expected 2 numbers, got 1"),
    (word_vectors, b"cat 1 #\n", ":1: expected 2 numbers, got 1"),
    (read_features, b"1 2 3\n", ":1: the header must be 'points features', got 3 numbers"),
    (read_features, b"1 3\n1,2 1:1\n", ":2: " + PAIR + "'1,2'"),
    (read_labels, b"1 2 3\n", ":1: the header must be 'points labels', got 3 numbers"),
    (read_labels, b"1 3\n3:1\n", ":2: label index 3, but the header declares 3"),
    (read_labels, b"1 3\n2:nan\n", ":2: the value of label 2 must be a finite float"),
    (read_labels, b"1 3\n2,1\n", ":2: a label index must be a whole number >= 0, got '2,1'"),
    (svmlight(), b"", ": the file is empty"),
    (svmlight(zero_based=False), b"1 0:1\n", ":1: feature index 0, but the ids of this"),
    (svmlight(), b"0 2147483647:1\n",
     ":1: feature index 2147483647, but a matrix has at most 2147483647 columns"),
    (svmlight(), b"+1 1:1\n", f":1: {LABEL}'+1'"),
    (svmlight(n_features=5), b"1 5:1\n", ":1: feature index 5, but n_f"),
    (svmlight(n_labels=5), b"7 1:1\n", ":1: label index 7, but n_labels is 5"),
]  # fmt: skip


@pytest.mark.usefixtures("timer")
@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [*((read_xmc, *one) for one in BAD_FILES.values()), *OTHER_FILES],
    ids=[*BAD_FILES, *(message for *_, message in OTHER_FILES)],
)
def test_broken_rule_is_named(tmp_path, reader, text, message):
    path = tmp_path / "a"
    path.write_bytes(text)
    with pytest.raises(FormatError, match="^" + re.escape(f"{path}{message}")):
        reader(path)
