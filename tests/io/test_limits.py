"""Small files that ask for much: compressed, declared wide, or damaged."""

import gzip
import io
import lzma
import tracemalloc
import zipfile
from functools import partial

import numpy as np
import pytest

from defrag.exceptions import FormatError, FormatWarning
from defrag.io import ReadLimits, read_groups, read_texts, read_xmc, write_npz
from defrag.io.files import InputStream
from defrag.io.npz import parse_npz
from defrag.io.xmc import read_features, read_labels, read_svmlight
from tests.data import read_data, read_npz, read_predictions
from tests.helpers.processes import run_python

HUGE = 2_000_000_000


def write_bomb(path, n_bytes, opener):
    """Write a compressed text of blanks, which is a long line of nothing."""
    with opener(path, "wb") as file:
        file.write(b"1 3 2\n0 1:1")
        for _ in range(n_bytes >> 20):
            file.write(b" " * (1 << 20))


@pytest.mark.slow
@pytest.mark.parametrize("opener", [gzip.open, lzma.open])
def test_compressed_bomb_is_refused(tmp_path, opener):
    path = tmp_path / "bomb"
    write_bomb(path, 100 << 20, opener)
    assert path.stat().st_size < 200_000
    with pytest.raises(FormatError, match=r"bomb: expands to more than 200 times its size"):
        read_xmc(path)
    X, _ = read_xmc(path, limits=ReadLimits(max_ratio=1e6))
    assert X.shape == (1, 3)


def test_compressed_file_is_bounded_in_bytes(tmp_path):
    path = tmp_path / "a.txt.gz"
    write_bomb(path, 5 << 20, gzip.open)
    assert read_xmc(path)[0].shape == (1, 3)
    with pytest.raises(FormatError, match=r"a.txt.gz: expands to more than 1000000 bytes"):
        read_xmc(path, limits=ReadLimits(max_bytes=1_000_000))


LIMITS = ReadLimits(max_ratio=10, max_bytes=10**9, max_columns=5000, max_lines=1000)
SMALL, LARGE = "expands to more than 10 times its size", "expands to more than 1000000000 bytes"


@pytest.mark.parametrize(
    ("check", "accepted", "refused", "rule"),
    [
        ("expansion", (1, 64 << 20), (1, (64 << 20) + 1), SMALL),
        ("expansion", (6_710_886, 64 << 20), (6_710_886, (64 << 20) + 1), SMALL),
        ("expansion", (6_710_887, 67_108_870), (6_710_887, 67_108_871), SMALL),
        ("expansion", (10**8, 10**9), (10**8, 10**9 + 1), LARGE),
        ("expansion", (10**9, 10**9), (10**9, 10**9 + 1), LARGE),
        ("columns", ("label", 5000, 0), ("label", 5001, 0), "5001 labels, but only 0 ent"),
        ("columns", ("label", 5000, 4), ("label", 5001, 4), "5001 labels, but only 4 ent"),
        ("columns", ("label", 5120, 5), ("label", 5121, 5), "5121 labels, but only 5 ent"),
        ("columns", ("label", 9216, 9), ("label", 9217, 9), "9217 labels, but only 9 ent"),
        ("lines", (1000, 1000, 1), (1001, 1001, 1), "1001 of 1001 lines are empty: pass other lim"),
        ("lines", (1001, 750, None), (1001, 751, None), "751 of 1001 lines are empty: pass other"),
        ("lines", (1008, 0, 63), (1009, 0, 63), "1009 lines in 63 compressed bytes: pass other"),
    ],
)
def test_sizes_are_accepted_up_to_bound(check, accepted, refused, rule):
    checked = getattr(LIMITS, f"check_{check}")
    checked("a.gz", *accepted)
    with pytest.raises(FormatError, match=f"a.gz: {rule}"):
        checked("a.gz", *refused)


LINES_OF_LITTLE = [b"\n", b" \r\n", b"\t\n" * 4 + b"1\n", b"0\n"]


@pytest.mark.parametrize("line", LINES_OF_LITTLE)
@pytest.mark.parametrize("reader", [read_data, read_predictions, read_groups, read_texts])
def test_compressed_lines_that_hold_little_are_refused(tmp_path, reader, line):
    path = tmp_path / "many.jsonl.gz"
    n_lines = (4 << 20) // len(line) * line.count(b"\n")
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"%d 3 4\n" % n_lines + line * (n_lines // line.count(b"\n")))
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"many\.jsonl\.gz: "):
        reader(path)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("line", LINES_OF_LITTLE[:3])
def test_lines_that_are_mostly_empty_are_refused(tmp_path, line):
    path = tmp_path / "many.txt"
    n_lines = (8 << 20) // len(line) * line.count(b"\n")
    path.write_bytes(b"%d 3 4\n" % n_lines + line * (n_lines // line.count(b"\n")))
    with pytest.raises(FormatError, match=r"many.txt: [0-9]+ of [0-9]+ lines are empty"):
        read_xmc(path)
    if line == b"\n":
        assert read_xmc(path, limits=ReadLimits(max_lines=1 << 24))[0].shape == (8 << 20, 3)


WIDE_TEXTS = {
    "labels": (read_xmc, f"1 3 {HUGE}\n0 1:1\n", "labels, but only 1 entries"),
    "features": (read_data, f"1 {HUGE} 3\n0 1:1\n", f"{HUGE} features, but"),
    "split features": (read_features, f"1 {HUGE}\n1:1\n", "features, but only"),
    "split labels": (read_labels, f"1 {HUGE}\n1:1\n", "labels, but only"),
    "predictions": (read_predictions, f"1 {HUGE}\n1:1\n", "labels, but only"),
    "svmlight": (partial(read_svmlight, zero_based=True), f"0 {HUGE}:1\n", f"{HUGE + 1} features"),
    "groups": (partial(read_groups, allow_missing=True), f"1\n1 {HUGE}\n",
               f"{HUGE + 1} features, but only 1 entries"),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE_TEXTS)
def test_columns_without_entries_are_refused(tmp_path, name):
    reader, text, message = WIDE_TEXTS[name]
    path = tmp_path / "wide"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"wide: .*{message}"):
        reader(path)


def test_requested_columns_are_given(tmp_path):
    path = tmp_path / "wide"
    path.write_text(f"1 3 {HUGE}\n0 1:1\n")
    assert read_xmc(path, n_labels=HUGE)[1].shape == (1, HUGE)
    assert read_data(path, limits=ReadLimits(max_columns=HUGE))[1].shape == (1, HUGE)
    write_npz(tmp_path / "a.npz", *read_xmc(path, n_labels=HUGE))
    with pytest.raises(FormatError, match=f"a.npz: {HUGE} labels, but only 1 entries"):
        read_npz(tmp_path / "a.npz")
    assert read_data(tmp_path / "a.npz", n_labels=HUGE)[1].shape == (1, HUGE)
    # A head of the largest public data set is read without a warning.
    path.write_text("1 337067 2812281\n0 1:1\n")
    assert read_data(path)[1].shape == (1, 2812281)


MEMORY = """
import resource, sys, time
from defrag.io import read_groups, read_word_vectors
start = time.process_time()
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
if sys.argv[1] == "groups":
    found = read_groups(sys.argv[2])
    assert len(found) == 0
else:
    words = [f"w{i}" for i in range(40_000)]
    try:
        read_word_vectors(sys.argv[2], words)
    except ValueError as error:
        assert "too few words" in str(error), error
    else:
        raise AssertionError("was read")
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024, round(time.process_time() - start, 2))
"""


@pytest.mark.slow
def test_millions_of_empty_groups_cost_little(tmp_path):
    n_groups = 4_000_000
    (tmp_path / "g").write_bytes(b"%d\n" % n_groups + b"0\n" * n_groups)
    megabytes, seconds = map(float, run_python("-c", MEMORY, "groups", tmp_path / "g").split())
    assert megabytes < 600
    assert seconds < 10


@pytest.mark.slow
def test_long_vector_makes_no_large_matrix(tmp_path):
    (tmp_path / "v").write_bytes(b"w7 " + b"1 " * 100_000 + b"\n")
    megabytes, _ = map(float, run_python("-c", MEMORY, "vectors", tmp_path / "v").split())
    assert megabytes < 400


@pytest.mark.parametrize(
    "reader", [read_xmc, read_data, read_features, read_labels, read_predictions]
)
def test_fewer_points_than_declared_are_an_error_unless_allowed(tmp_path, reader):
    path = tmp_path / "cut"
    path.write_text("3 2 2\n0 0:1\n" if reader is read_xmc else "3 2\n0:1\n")
    with pytest.raises(FormatError, match=r"declares 3 points, the file has 1; a truncated"):
        reader(path)
    with pytest.warns(FormatWarning, match="declares 3 points, the file has 1"):
        reader(path, allow_truncated=True)
    with pytest.raises(FormatError, match="declares 3 points, the file has 1"):
        reader(path, allow_truncated=True, strict=True)


def npz_bytes():
    X = np.array([[0, 0.5, 3], [2, 0, 0]], dtype=np.float32)
    parts = {"indptr": [0, 2, 3], "indices": [1, 2, 0], "data": X[X != 0], "shape": X.shape}
    target = io.BytesIO()
    np.savez_compressed(target, **{f"X_{name}": np.array(part) for name, part in parts.items()})
    return target.getvalue()


def test_archive_bomb_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    n_entries = 20_000_000
    whole = np.zeros(n_entries, dtype=np.int32), np.ones(n_entries, dtype=np.float32)
    np.savez_compressed(path, X_indptr=[0, n_entries], X_indices=whole[0], X_data=whole[1],
                        X_shape=[1, 1])  # fmt: skip
    assert path.stat().st_size < 400_000
    with pytest.raises(FormatError, match=r"a.npz: expands to more than 200 times its size"):
        read_npz(path)


def test_members_of_archive_are_bounded_together(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, np.ones((10, 50)))  # two arrays of 2,000 and 2,000 bytes, and small ones
    assert read_npz(path, limits=ReadLimits(max_bytes=6000))[0].nnz == 500
    with pytest.raises(FormatError, match=r"a.npz: expands to more than 3000 bytes"):
        read_npz(path, limits=ReadLimits(max_bytes=3000))


@pytest.mark.parametrize(
    ("kept", "copies", "names"),
    [(4, 1, r"\['X_data', 'X_indices', 'X_indptr', 'X_indptr', 'X_shape'\]"), (0, 300, "")],
)
def test_member_with_many_entries_is_refused(tmp_path, kept, copies, names):
    """A directory may list one member under many names, or one name many times."""
    whole = npz_bytes()
    end = whole.rindex(b"PK\x05\x06")
    start = int.from_bytes(whole[end + 16 : end + 20], "little")
    entry = whole[start : whole.index(b"PK\x01\x02", start + 4)]
    listed = (whole[start:end] if kept else b"") + entry * copies
    tail = bytearray(whole[end:])
    tail[8:12] = (kept + copies).to_bytes(2, "little") * 2
    tail[12:16] = len(listed).to_bytes(4, "little")
    (tmp_path / "a.npz").write_bytes(whole[:start] + listed + bytes(tail))
    with pytest.raises(FormatError, match=f"expected the arrays of X and Y, got {names}"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_refused(tmp_path, method):
    with (
        zipfile.ZipFile(io.BytesIO(npz_bytes())) as source,
        zipfile.ZipFile(tmp_path / "a.npz", "w", method) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with pytest.raises(FormatError, match="has a compression that numpy never uses"):
        read_npz(tmp_path / "a.npz")


def with_header(header):
    """Return an archive whose first array has another header."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(npz_bytes())) as source,
        zipfile.ZipFile(target, "w") as archive,
    ):
        for name in source.namelist():
            data = source.read(name)
            if name == "X_data.npy":
                size = int.from_bytes(data[8:10], "little")
                data = data[:8] + len(header).to_bytes(2, "little") + header + data[10 + size :]
            archive.writestr(name, data)
    return target.getvalue()


NO_ARRAY = "has a header that is not of a numeric array"
START = b"{'descr': '<f4', 'fortran_order': False, 'shape': "
HEADERS = [
    (START + b"(((((3,), }", NO_ARRAY),
    (START + b"(3,), } '''", NO_ARRAY),
    (START + b"(999999999999999999,), }", "declares 999999999999999999 items in 12 bytes"),
    (START + b"(" + b"9" * 5000 + b",), }", "Exceeds the limit"),
    (START.replace(b"<f4", b"<V99999999") + b"(3,), }", "has .V99999999 of shape"),
    (START.replace(b"<f4", b"|O") + b"(3,), }", "has object of shape"),
    (START.replace(b"<f4", b"nonsense") + b"(3,), }", "data type 'nonsense' not understood"),
    (START + b"(3,), " + b"(" * 60_000, NO_ARRAY),
    (b"", NO_ARRAY),
    (b"\xff\xfe", NO_ARRAY),
]


@pytest.mark.parametrize(("header", "message"), HEADERS)
def test_headers_of_arrays_are_not_evaluated(tmp_path, header, message):
    path = tmp_path / "a.npz"
    path.write_bytes(with_header(START + b"(3,), }"))
    assert read_npz(path)[0].nnz == 3
    path.write_bytes(with_header(header))
    with pytest.raises(FormatError, match=rf"a\.npz: .*{message}"):
        read_npz(path)


@pytest.mark.slow
def test_every_damaged_archive_is_a_format_error():
    """All single-byte changes to six values, and all truncations, of a compressed archive."""
    whole = npz_bytes()

    def is_refused(data):
        try:
            X, Y = parse_npz(InputStream(io.BytesIO(data), "a.npz"))
        except FormatError as error:
            assert str(error).startswith("a.npz: ")  # noqa: PT017 - the other outcome is a matrix
            return True
        np.testing.assert_array_equal(X.toarray(), [[0, 0.5, 3], [2, 0, 0]])
        assert Y is None
        return False

    n_refused = 0
    for i in range(len(whole)):
        for value in {whole[i] ^ 1, whole[i] ^ 0x80, 0, 255, 0x0E, 0x0C} - {whole[i]}:
            n_refused += is_refused(whole[:i] + bytes([value]) + whole[i + 1 :])
        assert is_refused(whole[:i])
    assert n_refused > 3 * len(whole)
