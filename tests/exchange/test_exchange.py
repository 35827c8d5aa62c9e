"""Exports open elsewhere; exports come back bit for bit; foreign files become stores; bad ones are one line."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cls_probe import VectorStore, anisotropy, export, import_vectors, layer_probe
from cls_probe.errors import ClsProbeError, InputError, MissingDependencyError, StoreError
from cls_probe.store import describe

N, WIDTH = 12, 5
TEXTS = ["plain", 'a "quoted", text', "tab\there", "line\nbreak", "ümläut 汉字", "nul\0inside", "plain"]
TEXTS += [f"text {i}" for i in range(N - len(TEXTS))]
LABELS = ["World", "10", "9"] * (N // 3)
ENDINGS = {"npz": "x.npz", "parquet": "x.parquet", "hdf5": "x.hdf5"}


def awkward(dtype):
    """Numbers that a rounding writer would lose: subnormal, largest, negative zero."""
    values = np.random.default_rng(0).normal(size=(N, 3, WIDTH)).astype(dtype)
    kind = np.finfo(dtype)
    values[0, 0] = [kind.smallest_subnormal, kind.max, -0.0, kind.eps, 1 / 3]
    return values


def planted_store(dtype=np.float32, **changes):
    given = {"labels": LABELS, "texts": TEXTS, "label_names": ["World", "9", "10"], **changes}
    return VectorStore.from_arrays(awkward(dtype), **given)


def same(store, other):
    assert other.layers == store.layers
    assert other.poolings == store.poolings
    assert (other.labels, other.texts, other.label_names) == (store.labels, store.texts, store.label_names)
    for layer in store.layers:
        for pooling in store.poolings:
            here, there = store.layer(layer, pooling=pooling), other.layer(layer, pooling=pooling)
            assert here.dtype == there.dtype
            assert here.tobytes() == there.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("to", ENDINGS)
def test_round_trip_is_bit_for_bit(to, dtype, tmp_path):
    store = planted_store(dtype)
    assert export(store, tmp_path / ENDINGS[to], to=to) == tmp_path / ENDINGS[to]
    back = import_vectors(tmp_path / ENDINGS[to], out=tmp_path / "store")
    same(store, back)
    back.verify()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", ENDINGS[to]]


@pytest.mark.parametrize("to", ENDINGS)
def test_round_trip_without_texts_and_labels_and_of_one_layer(to, tmp_path):
    store = VectorStore.from_arrays({4: awkward(np.float32)[:, 0], 6: awkward(np.float32)[:, 1]}, pooling="mean")
    export(store, tmp_path / ENDINGS[to], to=to, layers=[6])
    back = import_vectors(tmp_path / ENDINGS[to], out=tmp_path / "store")
    assert (back.layers, back.poolings, back.labels) == ((6,), ("mean",), None)
    assert back.layer(6, pooling="mean").tobytes() == store.layer(6, pooling="mean").tobytes()


def test_several_poolings_and_parts_come_back(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {f"{pooling}.{layer}": rng.normal(size=(5000, 2)) for pooling in ("cls", "mean") for layer in (0, 1)}
    np.savez(tmp_path / "a.npz", **arrays, y=np.arange(5000) % 3)
    store = import_vectors(tmp_path / "a.npz", out=tmp_path / "a")
    assert len(store.manifest.parts) == 2
    assert (store.poolings, store.layers, store.label_names) == (("cls", "mean"), (0, 1), ("0", "1", "2"))
    export(store, tmp_path / "b.parquet", to="parquet")
    same(store, import_vectors(tmp_path / "b.parquet", out=tmp_path / "b"))
    np.testing.assert_array_equal(store.layer(1, pooling="mean"), arrays["mean.1"])
    with pytest.raises(InputError, match="hdf5 holds vectors of one pooling; choose one of cls, mean"):
        export(store, tmp_path / "b.hdf5", to="hdf5")


def test_parquet_has_texts_labels_and_lists(tmp_path):
    export(planted_store(), tmp_path / "x.parquet", to="parquet")
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert list(frame.columns) == ["row", "text", "label", "cls.0", "cls.1", "cls.2"]
    assert frame["text"].tolist() == TEXTS
    np.testing.assert_array_equal(np.stack(frame["cls.2"].tolist()), awkward(np.float32)[:, 2])
    assert pq.ParquetFile(tmp_path / "x.parquet").schema.column(3).path.startswith("cls.0.list")


def test_npz_holds_no_objects(tmp_path):
    export(planted_store(), tmp_path / "x.npz", to="npz")
    with np.load(tmp_path / "x.npz") as archive:
        kinds = {name: archive[name].dtype.kind for name in archive.files}
    assert kinds == {
        **dict.fromkeys(["cls.0", "cls.1", "cls.2"], "f"),
        **dict.fromkeys(["text", "label", "label_names"], "U"),
    }
    store = planted_store(texts=[*TEXTS[:-1], "ends in nul\0"])
    with pytest.raises(InputError, match="row 11: the text ends in a NUL character, which npz drops"):
        export(store, tmp_path / "y.npz", to="npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_csv_has_a_column_for_each_dimension_and_loses_nothing(dtype, tmp_path):
    export(planted_store(dtype), tmp_path / "x.csv", to="csv", layers=[0])
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == TEXTS
    values = np.array([[row[f"cls.0.{i}"] for i in range(WIDTH)] for row in rows], dtype=dtype)
    assert values.tobytes() == awkward(dtype)[:, 0].tobytes()
    export(planted_store(), tmp_path / "y.csv", to="csv")
    assert (tmp_path / "y.csv").read_text(encoding="utf-8").split("\n")[0].endswith('"cls.2.4"')


def test_tensorboard_pair(tmp_path):
    export(planted_store(), tmp_path / "tb", to="tensorboard")
    names = ["metadata.tsv", "projector_config.pbtxt", "vectors.tsv"]
    assert sorted(path.name for path in (tmp_path / "tb").iterdir()) == names
    values = np.loadtxt(tmp_path / "tb/vectors.tsv", delimiter="\t", dtype=np.float32)
    np.testing.assert_array_equal(values, awkward(np.float32)[:, 2])
    lines = (tmp_path / "tb/metadata.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "row\ttext\tlabel"
    assert len(lines) == N + 1
    assert all(line.count("\t") == 2 for line in lines)
    assert 'tensor_path: "vectors.tsv"' in (tmp_path / "tb/projector_config.pbtxt").read_text()
    export(planted_store(), tmp_path / "two", to="tensorboard", layers=[1, 2])
    config = (tmp_path / "two/projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2
    assert 'tensor_name: "cls.1"\n  tensor_path: "vectors-cls.1.tsv"' in config
    export(VectorStore.from_arrays(awkward(np.float32)), tmp_path / "bare", to="tensorboard")
    assert (tmp_path / "bare/metadata.tsv").read_text() == "\n".join(map(str, range(N))) + "\n"


def test_tensorboard_reads_the_pair(tmp_path):
    plugin = pytest.importorskip(
        "tensorboard.plugins.projector.projector_plugin", reason="tensorboard is not installed"
    )
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    export(planted_store(), tmp_path / "tb", to="tensorboard")
    text = (tmp_path / "tb/projector_config.pbtxt").read_text(encoding="utf-8")
    (embedding,) = text_format.Parse(text, ProjectorConfig()).embeddings
    values = plugin._read_tensor_tsv_file(str(tmp_path / "tb" / embedding.tensor_path))
    np.testing.assert_array_equal(values, awkward(np.float32)[:, 2])


def test_hdf5_is_read_the_way_the_loaders_of_others_read_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    export(planted_store(), tmp_path / "x.hdf5", to="hdf5")
    with h5py.File(tmp_path / "x.hdf5") as file:
        index = json.loads(file.get("sentence_to_index")[0])
        assert list(index.values()) == [str(row) for row in range(N)]
        assert list(index)[6] == "plain (Occurrence 2)"
        assert file[index["plain"]].shape == (3, 1, WIDTH)
        rows = np.stack([np.asarray(file[row]) for row in index.values()])[:, :, 0]
    assert rows.tobytes() == awkward(np.float32).tobytes()


def test_hdf5_of_others(tmp_path):
    h5py = pytest.importorskip("h5py")
    values = awkward(np.float32)
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for row in range(N):
            file[str(row)] = values[row][:, None]
        file["sentence_to_index"] = [json.dumps({f"s{row}": str(row) for row in range(N)})]
        file["label"] = LABELS
    store = import_vectors(tmp_path / "a.hdf5", out=tmp_path / "a", pooling="last")
    assert (store.poolings, store.layers, store.texts[3], store.labels[:2]) == (
        ("last",),
        (0, 1, 2),
        "s3",
        ("World", "10"),
    )
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["embeddings"] = values[:, 0]
        file["labels"] = LABELS
    store = import_vectors(tmp_path / "b.h5", out=tmp_path / "b")
    assert store.layer(0).tobytes() == np.ascontiguousarray(values[:, 0]).tobytes()
    assert store.labels == tuple(LABELS)
    with h5py.File(tmp_path / "c.hdf5", "w") as file:
        file["0"] = np.zeros((3, 7, 4))
    with pytest.raises(InputError, match=r"row 0: the data set has shape \(3, 7, 4\); expected \(n_states, 1"):
        import_vectors(tmp_path / "c.hdf5", out=tmp_path / "c")
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        file["0"], file["2"] = np.zeros((3, 1, 4)), np.zeros((3, 1, 4))
    with pytest.raises(InputError, match="data set '1' is missing"):
        import_vectors(tmp_path / "d.hdf5", out=tmp_path / "d")


def test_npy_with_rows_gets_every_analysis(tmp_path):
    values = np.random.default_rng(0).normal(size=(400, 2, 8)).astype(np.float32)
    np.save(tmp_path / "v.npy", values)
    store = import_vectors(tmp_path / "v.npy", out=tmp_path / "store", rows="sample", pooling="mean")
    assert store.poolings == ("mean",)
    assert len(store.label_names) == 4
    assert "400 from v.npy" in describe(store)
    assert store.manifest.rows_sha256
    assert anisotropy(store, pooling="mean").layers == (0, 1)
    assert layer_probe(store, pooling="mean", layers=[1], control=False, baselines=False).accuracy[0] < 0.5
    with pytest.raises(StoreError, match="holds a store already; name another folder, or replace it with --overwrite"):
        import_vectors(tmp_path / "v.npy", out=tmp_path / "store")
    assert import_vectors(tmp_path / "v.npy", out=tmp_path / "store", overwrite=True).labels is None
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    with pytest.raises(StoreError, match="exists and is not a vector store"):
        import_vectors(tmp_path / "v.npy", out=tmp_path / "full", overwrite=True)


def test_a_frame_of_others(tmp_path):
    frame = pd.DataFrame({"sentence": TEXTS, "class": LABELS, "embedding": list(awkward(np.float32)[:, 1]), "n": 1})
    frame.to_parquet(tmp_path / "f.parquet")
    store = import_vectors(tmp_path / "f.parquet", out=tmp_path / "store")
    assert (store.texts, store.labels) == (tuple(TEXTS), tuple(LABELS))
    np.testing.assert_array_equal(store.layer(0), awkward(np.float32)[:, 1])


def write_bad(folder):
    values = awkward(np.float32)
    broken = values.copy()
    broken[7, 2, 3] = np.nan
    np.savez(folder / "nan.npz", vectors=broken)
    np.savez(folder / "objects.npz", vectors=values, text=np.array(TEXTS, dtype=object))
    np.savez(folder / "two.npz", a=values, b=values)
    np.savez(folder / "none.npz", label=np.arange(3))
    np.savez(folder / "kinds.npz", **{"cls.0": values[:, 0], "cls.1": values[:, 1].astype(np.float16)})
    np.savez(folder / "shapes.npz", **{"cls.0": values[:, 0], "mean.0": values[:, 0, :3]})
    np.savez(folder / "labels.npz", vectors=values, label=np.arange(3))
    np.savez(folder / "pairs.npz", vectors=values, text_pair=np.array(["a"]))
    np.savez(folder / "numbers.npz", vectors=values, text=np.arange(N))
    np.save(folder / "flat.npy", values[0, 0])
    np.save(folder / "array.npz.npy", values)
    (folder / "array.npz.npy").rename(folder / "array.npz")
    (folder / "text.parquet").write_text("no parquet")
    (folder / "text.npz").write_text("no archive")
    (folder / "text.hdf5").write_text("no hdf5")
    vectors = [[1.0, 2.0], None, [3.0, 4.0]]
    pd.DataFrame({"v": vectors}).to_parquet(folder / "hole.parquet")
    pd.DataFrame({"v": [[1.0, 2.0], [1.0]]}).to_parquet(folder / "ragged.parquet")


BAD = {
    "nan.npz": "nan.npz: layer 2, row 7: the vector is not finite",
    "objects.npz": r"array 'text' cannot be read .*; save strings as np.array\(texts, dtype=str\)",
    "two.npz": "holds several arrays of numbers \\('a', 'b'\\); expected arrays named POOLING.LAYER such as cls.0",
    "none.npz": "holds no vectors; expected arrays named",
    "kinds.npz": "vectors are float16 and float32; expected one number format",
    "shapes.npz": "poolings have other shapes",
    "labels.npz": "12 rows of vectors but 3 labels",
    "pairs.npz": "12 rows of vectors but 1 second texts",
    "numbers.npz": "row 0: the text is 0; expected a string",
    "flat.npy": r"the vectors have shape \(5,\) and type float32; expected numbers, \(n_rows, hidden_size\)",
    "array.npz": "holds a single array; expected an archive, so name it .npy",
    "text.parquet": "not a readable parquet file",
    "text.npz": "not a readable .npz file",
    "text.hdf5": "not a readable hdf5 file",
    "hole.parquet": "row 1: column 'v' holds no vector; expected 2 as in row 0",
    "ragged.parquet": "row 1: column 'v' holds 1 numbers; expected 2 as in row 0",
    "gone.npz": "no such file; expected a file of vectors",
    "x.pt": "the ending '.pt' is not known; expected .npy, .npz, .parquet, .hdf5, .h5",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_line_and_leave_nothing(name, tmp_path):
    write_bad(tmp_path)
    with pytest.raises(InputError, match=BAD[name]) as error:
        import_vectors(tmp_path / name, out=tmp_path / "store")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.npz", {"to": "pickle"}, "to is 'pickle'; expected one of npz, parquet, csv, tensorboard, hdf5"),
        ("x.npz", {"to": "parquet"}, r"x.npz: ends in '.npz'; expected a name ending in '.parquet' for parquet"),
        ("no/x.npz", {"to": "npz"}, "no: no such folder; make it first"),
        ("x.npz", {"to": "npz", "layers": [9]}, "layer 9 is not in the store; it holds layers 0 to 2"),
        ("x.npz", {"to": "npz", "pooling": "mean"}, "pooling 'mean' is not in the store; it holds cls"),
        ("file", {"to": "tensorboard"}, "file: is a file; expected a folder for tensorboard"),
        ("folder.csv", {"to": "csv"}, "folder.csv: is a folder; expected a file name"),
    ],
)
def test_bad_exports_leave_nothing(name, options, message, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ClsProbeError, match=message):
        export(planted_store(), tmp_path / name, **options)
    assert sorted(tmp_path.iterdir()) == before


def test_without_h5py_both_ways_say_so_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    (tmp_path / "x.hdf5").touch()
    calls = [
        lambda: export(planted_store(), tmp_path / "y.hdf5", to="hdf5"),
        lambda: import_vectors(tmp_path / "x.hdf5", out=tmp_path / "store"),
    ]
    for call in calls:
        with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[hdf5\]'"):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["x.hdf5"]
