"""The container: what is written can be read, and what breaks a rule is refused by name."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import numpy as safetensors_numpy

from defrag.exceptions import ModelFormatError
from defrag.persistence._container import (
    DTYPES,
    MAX_HEADER_BYTES,
    read_model_file,
    write_model_file,
)
from tests.helpers.model_drafts import Draft, assemble

ARRAYS = {
    "ids": np.arange(6, dtype=np.int32).reshape(2, 3),
    "weights": np.array([0.5, -1.0]),
    "names/bytes": np.frombuffer("häuser".encode(), dtype=np.uint8),
    "members/0/empty": np.zeros((0, 4), dtype=np.float32),
}


@pytest.fixture
def draft(tmp_path):
    write_model_file(tmp_path / "good", {"model": {"a": 1}}, ARRAYS)
    return Draft((tmp_path / "good").read_bytes())


def base_is_a_map(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


@pytest.mark.parametrize("mmap", [True, False])
def test_read_returns_what_was_written(tmp_path, mmap):
    path = tmp_path / "model.safetensors"
    write_model_file(path, {"model": {"ä": [1.5, None]}}, ARRAYS)
    description, arrays = read_model_file(path, mmap=mmap)
    assert description == {"model": {"ä": [1.5, None]}}
    assert set(arrays) == set(ARRAYS)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name], strict=True)
        assert not array.flags.writeable
        assert array.flags.aligned
        assert base_is_a_map(array) == mmap


def test_safetensors_package_reads_the_file(tmp_path):
    path = tmp_path / "model.safetensors"
    write_model_file(path, {"model": 1}, ARRAYS)
    found = safetensors_numpy.load_file(path)
    assert set(found) == set(ARRAYS)
    for name, array in found.items():
        np.testing.assert_array_equal(array, ARRAYS[name], strict=True)


def test_file_of_the_safetensors_package_is_read(tmp_path):
    path = tmp_path / "model.safetensors"
    metadata = {"description": json.dumps({"library": "defrag", "format_version": 1, "model": 2})}
    safetensors_numpy.save_file(ARRAYS, path, metadata)
    description, arrays = read_model_file(path)
    assert description == {"model": 2}
    np.testing.assert_array_equal(arrays["weights"], ARRAYS["weights"])


def test_bytes_do_not_depend_on_insertion_order(tmp_path):
    write_model_file(tmp_path / "a", {"x": 1, "y": {"b": 1, "a": 2}}, ARRAYS)
    backwards = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    write_model_file(tmp_path / "b", {"y": {"a": 2, "b": 1}, "x": 1}, backwards)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_strided_and_big_endian_arrays_are_written_contiguous(tmp_path):
    strange = {
        "big_endian": np.arange(5, dtype=">i4"),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10, dtype=np.int16)[::-3],
    }
    write_model_file(tmp_path / "a", {}, strange)
    _, arrays = read_model_file(tmp_path / "a")
    for name, array in strange.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].flags.c_contiguous


_shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
_arrays = st.sampled_from(sorted(DTYPES)).flatmap(lambda code: hnp.arrays(DTYPES[code], _shapes))


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,4}(/[0-9]{1,2})?", fullmatch=True), _arrays))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_write_and_read_is_the_identity(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("model") / "a"
    write_model_file(path, {"model": 0}, arrays)
    _, found = read_model_file(path)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
    first = path.read_bytes()
    write_model_file(path, {"model": 0}, found)  # over the file that is mapped
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda crc: crc[1:], "the description is damaged: its checksum is .*, not"),
        (lambda crc: crc[:9] + "0" + crc[17:], "array 'ids' is damaged: its checksum is"),
        (lambda crc: crc[:-1] + "g", "array 'weights' is damaged: .*, not '.*g'"),
        (lambda crc: crc[:-9], "there must be 5 checksums, got 4"),
        (lambda _: "", "the description is damaged"),
    ],
)
def test_checksums_must_be_those_of_the_arrays(tmp_path, change, message):
    path = tmp_path / "a"
    write_model_file(path, {"model": {"a": 1}}, ARRAYS)
    draft = Draft(path.read_bytes())
    draft.metadata = {**draft.written, "checksums": change(draft.written["checksums"])}
    path.write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match=message):
        read_model_file(path)


@pytest.mark.parametrize("offset", [0, 4])
def test_a_flipped_bit_of_a_long_array_is_refused(tmp_path, offset):
    path = tmp_path / "a"
    first = np.zeros(offset, dtype=np.uint8)
    array = np.random.default_rng(0).integers(0, 256, (5 << 19) + 3, dtype=np.uint8)
    write_model_file(path, {}, {"a": first, "b": array})
    whole = path.read_bytes()
    assert read_model_file(path)[1]["b"].tobytes() == array.tobytes()
    for place in range(len(whole) - len(array), len(whole), 99_991):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ModelFormatError, match="array 'b' is damaged: its checksum is"):
            read_model_file(path)
    mebibyte = 1 << 20
    path.write_bytes(whole[: -2 * mebibyte] + whole[-mebibyte:] + whole[-2 * mebibyte : -mebibyte])
    with pytest.raises(ModelFormatError, match="array 'b' is damaged: its checksum is"):
        read_model_file(path)


def test_checksum_covers_name_type_and_shape(tmp_path):
    path = tmp_path / "a"
    write_model_file(path, {"model": 1}, ARRAYS)
    whole = path.read_bytes()
    for old, new in (
        (b"weights", b"weighty"),
        (b'"ids":{"dtype":"I32"', b'"ids":{"dtype":"U32"'),
        (b"[2,3]", b"[3,2]"),
        (b"[0,4]", b"[0,5]"),
    ):
        assert whole.count(old) == 1
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(ModelFormatError, match="is damaged: its checksum"):
            read_model_file(path)


def entry(name, **changes):
    return lambda draft: draft.header[name].update(changes)


def described(**changes):
    return lambda draft: draft.description.update(changes)


def described_as(text):
    return lambda draft: setattr(draft, "description", text)


def metadata(value):
    return lambda draft: setattr(draft, "metadata", value)


def renamed(name):
    return lambda draft: draft.header.update({name: draft.header.pop("ids")})


# weights: 0..16, ids: 16..40, names/bytes: 40..47; the payload has 47 bytes
BROKEN = [
    (metadata([]), "one 'description' as its metadata"),
    (metadata({}), "one 'description' as its metadata"),
    (metadata({"description": "{}", "format": "pt"}), "one 'description'"),
    (metadata({"format": "pt"}), "is this a model of defrag"),
    (metadata({"description": 3}), "description must be text, got 3"),
    (described_as("{"), "the description is not JSON: .* at character 1"),
    (described_as(""), "the description is not JSON"),
    (described_as("[1]"), r"description must be a JSON object, got \[1\]"),
    (described_as('{"a":1,"a":2}'), "description has the key 'a' twice"),
    (described_as('{"a":NaN}'), "a number that is not finite: 'NaN'"),
    (described_as('{"a":-Infinity}'), "not finite: '-Infinity'"),
    (described_as('{"a":1e999}'), "not finite: '1e999'"),
    (described_as(f'{{"a":{2**63}}}'), "beyond 64 bits: '9223372036854775808'"),
    (described_as('{"a":' + "7" * 9999 + "}"), r"64 bits: '7+\.\.\."),
    (described_as("[" * 200_000), "the description is nested too deeply"),
    (lambda d: d.description.pop("library"), "must be 'defrag', got None"),
    (described(library="torch"), "library must be 'defrag', got 'torch'"),
    (lambda d: d.description.pop("format_version"), "int >= 1, got None"),
    (described(format_version=0), "format_version must be an int >= 1, got 0"),
    (described(format_version=1.0), "must be an int >= 1, got 1.0"),
    (described(format_version=True), "must be an int >= 1, got True"),
    (described(format_version=2), "has format version 2, .* reads up to 1"),
    (renamed(""), "name of an array must be .* got ''"),
    (renamed("Ids"), "name of an array must be .* got 'Ids'"),
    (renamed("../ids"), r"name of an array must be .* got '\.\./ids'"),
    (renamed("ids\n"), r"name of an array must be .* got 'ids\\n'"),
    (renamed("käse"), r"name of an array must be .* got 'k\\xe4se'"),
    (renamed("\ud800"), r"name of an array must be .* got '\\ud800'"),
    (renamed("a" * 201), r"at most 200, got 'a+\.\.\.$"),
    (lambda d: d.header.update(ids=7), "'ids' must have dtype, shape .* got 7"),
    (lambda d: d.header["ids"].pop("shape"), "'ids' must have dtype, shape"),
    (entry("ids", order="C"), "'ids' must have dtype, shape and data_offsets"),
    (entry("ids", dtype="I33"), "dtype of array 'ids' .* got 'I33'"),
    (entry("names/bytes", dtype="BOOL"), "'names/bytes' .* got 'BOOL'"),
    (entry("ids", dtype="BF16"), "dtype of array 'ids' .* got 'BF16'"),
    (entry("ids", dtype=["I32"]), r"dtype of array 'ids' .* got \['I32'\]"),
    (entry("ids", shape=6), "shape of array 'ids' .* got 6"),
    (entry("ids", shape=[-2, -3]), r"ints >= 0, got \[-2, -3\]"),
    (entry("ids", shape=[6.0]), r"shape of array 'ids' .* got \[6\.0\]"),
    (entry("ids", shape=[True, 6]), r"shape of array 'ids' .* got \[True, 6\]"),
    (entry("ids", shape=[1, 1, 1, 2, 3]), "at most 4 ints"),
    (entry("ids", shape=[2**62, 6]), r"'ids' is too large: \[46"),
    (entry("ids", shape=[0, 2**62]), "shape of array 'ids' is too large"),
    (entry("ids", shape=[2, 4]), "'ids' needs 32 bytes, .* data_offsets have 24"),
    (entry("ids", shape=[5]), "'ids' needs 20 bytes, .* data_offsets have 24"),
    (entry("ids", data_offsets=[16]), r"begin <= end, both ints >= 0, got \[16\]"),
    (entry("ids", data_offsets=[16, 40, 47]), "begin <= end, both ints >= 0"),
    (entry("ids", data_offsets="16"), "begin <= end, both ints >= 0, got '16'"),
    (entry("ids", data_offsets=[-8, 16]), "begin <= end, both ints >= 0"),
    (entry("ids", data_offsets=[40, 16]), r"begin <= end, .* got \[40, 16\]"),
    (entry("ids", data_offsets=[32, 56]), "array 'ids' ends at 56, but the payload has 47 bytes"),
    (entry("ids", data_offsets=[2**62, 2**62 + 24]), "the payload has 47 bytes"),
    (entry("ids", data_offsets=[17, 41]), r"array 'ids' must start at a multiple of 4, got \d+"),
    (entry("ids", data_offsets=[12, 36]), "array 'ids' begins at 12, inside the array before it"),
    (
        entry("ids", data_offsets=[20, 44]),
        "array 'ids' begins at 20, but the array before it ends at 16",
    ),
    (lambda d: d.header.pop("weights"), "the array before it ends at 0"),
    (lambda d: d.header.pop("names/bytes"), "the arrays end at 40, but the payload has 47 bytes"),
    (lambda d: d.payload.extend(b"!"), "the arrays end at 47, but the payload has 48 bytes"),
    (lambda d: d.payload.pop(), "ends at 47, but the payload has 46 bytes"),
]

GOOD = b'{"__metadata__":{"description":"{\\"library\\":\\"defrag\\",\\"format_version\\":1}"}}'
BROKEN_BYTES = [
    (b"", "at least 8 bytes, got 0"),
    (b"\0" * 7, "at least 8 bytes, got 7"),
    (bytes(8), "the header is not JSON"),
    (b"\x1f\x8b" + bytes(20), "is compressed"),  # by gzip
    (b"\xfd7zXZ\0" + bytes(20), "is compressed"),  # by xz
    (b"\x80\x04\x95\x10\0\0\0\0\0\0\0" + bytes(20), "is this a model file"),  # a pickle
    (b"\xff" * 8 + GOOD, "at most 4194304 bytes, got 18446744073709551615"),
    (assemble(GOOD, length=2**63), "got 9223372036854775808"),
    (assemble(GOOD, length=MAX_HEADER_BYTES + 1), "got 4194305"),
    (assemble(GOOD, length=4096), "header has 4096 bytes, but the file"),
    (assemble(GOOD, length=len(GOOD) + 1), "but the file ends after"),
    (assemble(GOOD, length=len(GOOD) - 1), "the header is not JSON"),
    (assemble(b"{}"), "one 'description' as its metadata"),
    (assemble(b"[]"), r"header must be a JSON object, got \[\]"),
    (assemble(b"1e400"), "the header has a number that is not finite"),
    (assemble(b'{"\xff":1}'), "the header is not UTF-8 at byte 2"),
    (assemble(GOOD.decode().encode("utf-16")), "the header is not UTF-8"),
    (assemble(b"\xef\xbb\xbf" + GOOD), "the header is not JSON"),
    (assemble(GOOD[:-1] + b",}"), "the header is not JSON"),
    (assemble(GOOD + GOOD), "the header is not JSON: Extra data"),
    (assemble(b'{"a":1,"b":2,"b":3}'), "header has the key 'b' twice"),
    (assemble(b'{"a":' * 100_000), "the header is nested too deeply"),
    (assemble(GOOD + b"\0" * 8), "the header is not JSON: Extra data"),
    (assemble(GOOD, b"1"), "arrays end at 0, but the payload has 1"),
]


def short(value):
    """Return a message, or what bytes begin with; functions are numbered."""
    return None if callable(value) else str(value)[:40]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize(("broken", "message"), [*BROKEN, *BROKEN_BYTES], ids=short)
def test_broken_rule_is_named(tmp_path, draft, broken, message, mmap):
    path = tmp_path / "bad.safetensors"
    if callable(broken):
        broken(draft)
    path.write_bytes(draft.to_bytes() if callable(broken) else broken)
    with pytest.raises(ModelFormatError, match=message) as caught:
        read_model_file(path, mmap=mmap)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable()
    assert len(text) < len(str(path)) + 250


def test_folders_pipes_and_stdin_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        read_model_file(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        read_model_file(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", "/dev/zero"):
        with pytest.raises(ModelFormatError, match="is not a regular file"):
            read_model_file(path)
    with pytest.raises(ModelFormatError, match="<stdin>: a model is read from a file"):
        read_model_file("-")


@pytest.mark.parametrize(
    ("name", "arrays", "description", "message"),
    [
        ("a.gz", {}, {}, "cannot be compressed, got .*a.gz"),
        ("a", {"Bad": np.zeros(1)}, {}, "array 'Bad' of float64"),
        ("a", {"a//b": np.zeros(1)}, {}, "array 'a//b' of float64"),
        ("a", {"a": np.zeros(1, bool)}, {}, "array 'a' of bool"),
        ("a", {"a": np.zeros(1, object)}, {}, "array 'a' of object"),
        ("a", {"a": np.zeros(1, complex)}, {}, "array 'a' of complex128"),
        ("a", {"a": np.zeros((1,) * 5)}, {}, "array 'a' of float64 and 5 axes"),
        ("a", {}, {"a": float("nan")}, "not JSON compliant"),
        ("a", {}, {"a": "x" * MAX_HEADER_BYTES}, "at most 4194304 bytes"),
    ],
)
def test_writer_refuses_what_reader_refuses(tmp_path, name, arrays, description, message):
    with pytest.raises(ValueError, match=message):
        write_model_file(tmp_path / name, description, arrays)
    assert not list(tmp_path.iterdir())


def test_no_descriptor_stays_open_after_errors(tmp_path, draft):
    path = tmp_path / "good"
    bad = tmp_path / "bad"
    bad.write_bytes(draft.to_bytes()[:-1])
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, does not walk
    for _ in range(5):
        read_model_file(path)
        with pytest.raises(ModelFormatError, match="payload"):
            read_model_file(bad)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same
