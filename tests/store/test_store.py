"""The store: round trip, refusal of what is damaged or of another origin."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cls_probe.errors import InputError, StoreError
from cls_probe.store import Manifest, StoreWriter, VectorStore, describe
from cls_probe.store.manifest import IDENTITY, fingerprint

N_ROWS, WIDTH = 10, 4


def manifest(**changes):
    base = Manifest(
        model="m",
        weights_sha256="w" * 64,
        config_sha256="c" * 64,
        tokenizer_sha256="t" * 64,
        rows_sha256="r" * 64,
        n_layers=1,
        layers=(0, 1),
        hidden_size=WIDTH,
        poolings=("cls",),
        dtype="float32",
        store_dtype="float32",
        max_length=8,
        n_rows=N_ROWS,
        label_names=("a", "b"),
        part_size=4,
        versions={"cls-probe": "0"},
    )
    return replace(base, **changes)


def vectors():
    return np.arange(N_ROWS * 2 * WIDTH, dtype=np.float32).reshape(N_ROWS, 2, WIDTH)


def columns(rows):
    return {
        "text": [f"text {i}" for i in rows],
        "text_pair": None,
        "label": ["ab"[i % 2] for i in rows],
        "n_tokens": np.array(rows, dtype=np.int32),
        "truncated": np.array(rows) > 8,
    }


def write(folder, parts=None):
    with StoreWriter.begin(folder, manifest()) as writer:
        for rows in writer.missing[:parts]:
            both = {("cls", layer): vectors()[rows.start : rows.stop, layer] for layer in (0, 1)}
            writer.write(rows, columns(rows), both)
        if not writer.missing:
            writer.finish()


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_round_trip(tmp_path):
    write(tmp_path / "s")
    store = VectorStore.open(tmp_path / "s")
    assert [path.name for path in sorted((tmp_path / "s").iterdir())] == [
        "manifest.json",
        *(f"part-0000{i}.arrow" for i in range(3)),
    ]
    for layer in (0, 1):
        assert store.layer(layer).dtype == np.float32
        assert (store.layer(layer) == vectors()[:, layer]).all()
        assert [len(batch) for batch in store.batches(layer)] == [4, 4, 2]
        assert (np.concatenate(list(store.batches(layer))) == vectors()[:, layer]).all()
    assert store.texts == tuple(f"text {i}" for i in range(N_ROWS))
    assert store.text_pairs is None
    assert store.codes.tolist() == [0, 1] * 5
    assert store.n_tokens.tolist() == list(range(N_ROWS))
    assert store.truncated.tolist() == [False] * 9 + [True]
    store.verify()
    assert Manifest.read(tmp_path / "s") == store.manifest
    assert "1 rows (10.0%) at 8 tokens; the longest has 9" in describe(store)


def test_other_tools_read_the_parts(tmp_path):
    write(tmp_path / "s")
    frame = pa.ipc.open_file(str(tmp_path / "s" / "part-00001.arrow")).read_pandas()
    assert list(frame) == ["row", "text", "label", "n_tokens", "truncated", "cls.0", "cls.1"]
    assert frame["row"].tolist() == [4, 5, 6, 7]
    assert (np.stack(frame["cls.1"]) == vectors()[4:8, 1]).all()


def test_vectors_are_read_only_and_one_part_is_not_copied(tmp_path):
    store = VectorStore.from_arrays(vectors())
    with pytest.raises(ValueError, match="read-only"):
        store.layer(0)[0, 0] = 1
    write(tmp_path / "s")
    with pytest.raises(ValueError, match="read-only"):
        VectorStore.open(tmp_path / "s").layer(1)[0, 0] = 1
    assert np.shares_memory(store.layer(1), next(store.batches(1)))


def test_an_interrupted_store_is_refused_and_resumes_to_the_same_bytes(tmp_path):
    write(tmp_path / "whole")
    write(tmp_path / "broken", parts=1)
    (tmp_path / "broken" / ".part-00001.arrow.tmp").write_bytes(b"half a part")
    with pytest.raises(StoreError, match=r"unfinished, 4 of 10 rows are there; run the extraction again"):
        VectorStore.open(tmp_path / "broken")
    with StoreWriter.begin(tmp_path / "broken", manifest()) as writer:
        assert writer.missing == [range(4, 8), range(8, 10)]
        with pytest.raises(StoreError, match="2 parts are missing"):
            writer.finish()
    write(tmp_path / "broken")
    assert files(tmp_path / "broken") == files(tmp_path / "whole")


def test_a_part_of_wrong_size_is_written_again_on_resume(tmp_path):
    write(tmp_path / "whole")
    write(tmp_path / "broken", parts=2)
    (tmp_path / "broken" / "part-00000.arrow").write_bytes(b"short")
    with StoreWriter.begin(tmp_path / "broken", manifest()) as writer:
        assert writer.missing == [range(0, 4), range(8, 10)]
    write(tmp_path / "broken")
    assert files(tmp_path / "broken") == files(tmp_path / "whole")


def damage(folder, how):
    first, second = (folder / f"part-0000{i}.arrow" for i in (0, 1))
    if how == "missing":
        first.unlink()
    elif how == "truncated":
        first.write_bytes(first.read_bytes()[:-1])
    elif how == "swapped":
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)
    elif how == "garbage":
        first.write_bytes(bytes(first.stat().st_size))
    elif how == "another run":
        content = json.loads((folder / "manifest.json").read_text())
        content["rows_sha256"] = "x" * 64
        (folder / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "part-00000.arrow: part 0 is missing"),
        ("truncated", "part-00000.arrow: part 0 has"),
        ("swapped", "part-00000.arrow: belongs to another store or place"),
        ("garbage", "part-00000.arrow: part 0 is damaged"),
        ("another run", "part-00000.arrow: belongs to another store"),
    ],
)
def test_damage_is_named_on_opening(tmp_path, how, message):
    write(tmp_path / "s")
    damage(tmp_path / "s", how)
    with pytest.raises(StoreError) as caught:
        VectorStore.open(tmp_path / "s")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_flipped_bit_is_found_by_verify(tmp_path):
    write(tmp_path / "s")
    path = tmp_path / "s" / "part-00002.arrow"
    data = bytearray(path.read_bytes())
    data[data.index(vectors()[8, 1].tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"part-00002.arrow: part 2 \(rows 8 to 9\) does not match its checksum"):
        VectorStore.open(tmp_path / "s").verify()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 2}', "store format 2; this version reads format 1"),
        ("{", "damaged manifest"),
        ("[]", "damaged manifest"),
        ('{"format": 1}', "damaged manifest"),
    ],
)
def test_manifests_that_cannot_be_read(tmp_path, content, message):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=message):
        VectorStore.open(tmp_path)


def test_no_store_at_all(tmp_path):
    with pytest.raises(StoreError, match=r"not a vector store \(no manifest.json\); make one with: clsprobe extract"):
        VectorStore.open(tmp_path / "nothing")


@pytest.mark.parametrize("key", IDENTITY)
def test_every_identity_key_changes_the_fingerprint_and_is_named(key):
    here = manifest()
    other = {"layers": (1,), "poolings": ("mean",), "n_rows": 11, "max_length": 9, "part_size": 5}.get(key, "other")
    wanted = {name: getattr(here, name) for name in IDENTITY}
    assert here.difference(wanted) is None
    assert here.fingerprint == fingerprint(wanted)
    wanted[key] = other
    assert here.difference(wanted) == (key, getattr(here, key), other)
    assert fingerprint(wanted) != here.fingerprint


def test_all_layers_is_the_same_as_every_layer_named():
    here = manifest()
    wanted = {name: getattr(here, name) for name in IDENTITY}
    assert here.difference({**wanted, "layers": None}) is None
    assert manifest(layers=(1,)).difference({**wanted, "layers": None}) == ("layers", (1,), (0, 1))


def test_from_arrays_takes_every_usual_form():
    array = vectors()
    by_layer = VectorStore.from_arrays({3: array[:, 0], 1: array[:, 1]}, pooling="mean")
    assert by_layer.layers == (1, 3)
    assert (by_layer.layer(3, pooling="mean") == array[:, 0]).all()
    assert VectorStore.from_arrays(array[:, 0]).layers == (0,)
    assert VectorStore.from_arrays(array.astype(np.float16)).layer(0).dtype == np.float16
    assert VectorStore.from_arrays(array.astype(int)).layer(0).dtype == np.float64
    store = VectorStore.from_arrays(array, labels=[1, 10] * 5, label_names=None)
    assert store.label_names == ("1", "10")
    assert VectorStore.from_arrays(array, labels=[10, 9] * 5).label_names == ("9", "10")
    assert VectorStore.from_arrays(array, labels=["x", "y"] * 5, label_names=["y", "x"]).codes.tolist() == [1, 0] * 5


def nan_at(row, layer):
    array = vectors()
    array[row, layer, 2] = np.nan
    return array


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (nan_at(7, 1), {}, r"layer 1, row 7: the vector is not finite \(1 such rows\)"),
        (np.zeros((2, 2, 2, 2)), {}, r"vectors have shape \(2, 2, 2, 2\); expected \(n_rows, n_states, hidden_size\)"),
        (np.zeros(5), {}, r"vectors have shape \(5,\)"),
        (np.zeros((0, 4)), {}, "none of them 0"),
        ({}, {}, "vectors hold no layer"),
        ({-1: np.ones((2, 2))}, {}, "layer -1: layers are numbered from 0"),
        ({0: np.ones((2, 2)), 1: np.ones((3, 2))}, {}, r"layer 1: vectors have shape \(3, 2\); expected \(2, 2\)"),
        ([["a", "b"]], {}, "vectors are not an array of numbers"),
        (np.ones((3, 2)), {"labels": ["a"]}, "3 rows of vectors but 1 labels"),
        (np.ones((3, 2)), {"texts": ["a"]}, "3 rows of vectors but 1 texts"),
        (np.ones((2, 2)), {"labels": ["a", None]}, "labels, row 1: the label is missing"),
        (np.ones((2, 2)), {"labels": ["a", "b"], "label_names": ["a"]}, "label 'b' is not among the label names given"),
    ],
)
def test_arrays_that_cannot_be_used(array, options, message):
    with pytest.raises(InputError, match=message):
        VectorStore.from_arrays(array, **options)


def test_layers_poolings_and_labels_that_are_not_there():
    store = VectorStore.from_arrays({0: np.ones((2, 2)), 2: np.ones((2, 2))})
    with pytest.raises(InputError, match="layer 1 is not in the store; it holds layers 0, 2"):
        store.layer(1)
    with pytest.raises(InputError, match="pooling 'mean' is not in the store; it holds cls"):
        store.layer(0, pooling="mean")
    with pytest.raises(InputError, match="no layer was asked for"):
        store.select_layers([])
    with pytest.raises(InputError, match="the store has no labels"):
        _ = store.codes


def test_a_read_only_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(StoreError, match="cannot be written"),
        StoreWriter.begin(tmp_path / "file" / "s", manifest()),
    ):
        pass


def test_a_store_has_one_writer_at_a_time(tmp_path):
    with (
        StoreWriter.begin(tmp_path / "s", manifest()),
        pytest.raises(StoreError, match="another process is writing this store; wait until it ends, or name another"),
        StoreWriter.begin(tmp_path / "s", manifest()),
    ):
        pass
    (tmp_path / "s" / ".lock").write_text("")  # left by a process that died
    write(tmp_path / "s")
    assert not (tmp_path / "s" / ".lock").exists()


def test_codes_are_the_places_of_the_labels_in_every_part(tmp_path):
    names = ("z", "a", "never", "m")
    labels = ["m", "m", "z", "m", "a", "a", "a", "a", "z", "m"]
    with StoreWriter.begin(tmp_path, manifest(label_names=names)) as writer:
        for rows in writer.missing:
            both = {("cls", layer): vectors()[rows.start : rows.stop, layer] for layer in (0, 1)}
            writer.write(rows, {"label": labels[rows.start : rows.stop]}, both)
        writer.finish()
    codes = VectorStore.open(tmp_path).codes
    assert codes.tolist() == [names.index(label) for label in labels]
    assert codes.dtype == np.int64


def test_a_store_written_by_the_first_version_stays_readable():
    """The golden store of format 1; its parts are never written anew."""
    store = VectorStore.open(Path(__file__).parent / "golden" / "format-1")
    store.verify()
    for layer in (0, 1):
        assert (store.layer(layer) == vectors()[:, layer]).all()
    assert store.texts == tuple(f"text {i}" for i in range(N_ROWS))
    assert store.codes.tolist() == [0, 1] * 5
    assert store.n_tokens.tolist() == list(range(N_ROWS))
    assert store.truncated.tolist() == [False] * 9 + [True]
    assert replace(store.manifest, parts=(), complete=False) == manifest()
