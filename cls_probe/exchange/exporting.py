"""From a store to files that other tools open."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError, MissingDependencyError
from cls_probe.store import VectorStore
from cls_probe.store.manifest import new_file
from cls_probe.store.write import record_batch

SUFFIXES = {"npz": ".npz", "parquet": ".parquet", "csv": ".csv", "tensorboard": "", "hdf5": ".hdf5"}
"""Format -> ending of its file; tensorboard is a folder."""
_ONE_LAYER = ("csv", "tensorboard")
"""Formats of text, which hold the last layer unless asked for more."""

Vectors = dict[tuple[str, int], NDArray[Any]]


def export(
    store: VectorStore,
    path: str | Path,
    *,
    to: Literal["npz", "parquet", "csv", "tensorboard", "hdf5"],
    layers: Sequence[int] | None = None,
    pooling: Sequence[str] | str | None = None,
) -> Path:
    """Write vectors, texts and labels of a store to a file that other tools open.

    npz: arrays ``cls.0``, ``cls.1``, ... (n_rows, hidden_size), and ``text``, ``text_pair``, ``label``, ``label_names``
    as strings. parquet: one column each, vectors as lists, which embedding-atlas, pandas, polars, DuckDB and R open.
    csv: one column for each dimension, ``cls.6.0``, ``cls.6.1``, ... tensorboard: a folder with vectors.tsv (one for
    each layer, where there are several), metadata.tsv and projector_config.pbtxt for the Embedding Projector; white
    space in texts becomes single spaces. hdf5: what AllenNLP and NeuroX read, one data set for each row, ``0``, ``1``,
    ..., (n_states, 1, hidden_size), and ``sentence_to_index``; texts and labels lie in ``cls_probe`` as JSON.

    Numbers are never rounded: npz, parquet and hdf5 come back bit for bit by :func:`import_vectors`.

    Parameters
    ----------
    store
        What to write.
    path
        File to write, or to replace, with the ending of its format; for tensorboard a folder.
    to
        Format.
    layers
        States to write; all by default, for csv and tensorboard the last one.
    pooling
        Vectors to write; all by default; hdf5 takes one.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    InputError
        A format, layer, pooling or path that cannot be used.
    MissingDependencyError
        hdf5 without the package h5py.

    """
    path = Path(path)
    _check_path(path, to)
    vectors = _choose(store, to, layers, pooling)
    writers: dict[str, Callable[[VectorStore, Vectors, Path], None]] = {
        "npz": _to_npz,
        "parquet": _to_parquet,
        "csv": _to_csv,
        "hdf5": _to_hdf5,
    }
    if to == "tensorboard":
        _to_tensorboard(store, vectors, path)
    else:
        with _written(path) as temporary:
            writers[to](store, vectors, temporary)
    return path


def load_h5py() -> Any:
    """Import h5py; MissingDependencyError when it is not there."""
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError(
            "hdf5 needs the package h5py; install it with: pip install 'cls-probe[hdf5]'"
        ) from error
    return h5py


def _check_path(path: Path, to: str) -> None:
    if to not in SUFFIXES:
        raise InputError(f"to is {to!r:.60}; expected one of {', '.join(SUFFIXES)}")
    if to == "hdf5":
        load_h5py()
    if to == "tensorboard":
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: is a file; expected a folder for tensorboard")
    elif path.suffix.lower() != SUFFIXES[to]:
        raise InputError(f"{path}: ends in {path.suffix!r}; expected a name ending in {SUFFIXES[to]!r} for {to}")
    elif path.is_dir():
        raise InputError(f"{path}: is a folder; expected a file name")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder; make it first")


def _choose(store: VectorStore, to: str, layers: Sequence[int] | None, pooling: Sequence[str] | str | None) -> Vectors:
    poolings = store.poolings if pooling is None else (pooling,) if isinstance(pooling, str) else tuple(pooling)
    if to == "hdf5" and len(poolings) != 1:
        raise InputError(f"hdf5 holds vectors of one pooling; choose one of {', '.join(poolings)}")
    if to in _ONE_LAYER and layers is None:
        layers = store.layers[-1:]
    chosen = [(name, layer) for name in poolings for layer in store.select_layers(layers, pooling=name)]
    return {(name, layer): store.layer(layer, pooling=name) for name, layer in chosen}


def _columns(store: VectorStore) -> dict[str, tuple[str, ...]]:
    """Texts, second texts and labels, where there are any."""
    columns = {"text": store.texts, "text_pair": store.text_pairs, "label": store.labels}
    return {name: values for name, values in columns.items() if values is not None}


def _to_npz(store: VectorStore, vectors: Vectors, path: Path) -> None:
    arrays: dict[str, Any] = {f"{pooling}.{layer}": values for (pooling, layer), values in vectors.items()}
    columns = _columns(store)
    if store.labels is not None:
        columns["label_names"] = store.label_names
    for name, values in columns.items():
        cut = next((row for row, value in enumerate(values) if value.endswith("\0")), None)
        if cut is not None:
            raise InputError(f"row {cut}: the {name} ends in a NUL character, which npz drops; export to parquet")
        arrays[name] = np.array(values, dtype=np.str_)
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _to_parquet(store: VectorStore, vectors: Vectors, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    identity = {"label_names": store.label_names, "model": store.manifest.model}
    batch = record_batch(range(store.n_rows), _columns(store), vectors, identity=identity)
    pq.write_table(pa.Table.from_batches([batch]), path, use_dictionary=["label"], compression="zstd")


def _to_csv(store: VectorStore, vectors: Vectors, path: Path) -> None:
    import pyarrow as pa

    columns: dict[str, Any] = {"row": pa.array(np.arange(store.n_rows)), **_columns(store)}
    for (pooling, layer), values in vectors.items():
        columns |= {f"{pooling}.{layer}.{i}": column for i, column in enumerate(_numbers(values))}
    _write_csv(columns, path)


def _to_tensorboard(store: VectorStore, vectors: Vectors, folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from error
    with _written(folder / "metadata.tsv") as path:
        path.write_text(_metadata(store), encoding="utf-8", newline="\n")
    entries = []
    for (pooling, layer), values in vectors.items():
        name = "vectors.tsv" if len(vectors) == 1 else f"vectors-{pooling}.{layer}.tsv"
        with _written(folder / name) as path:
            _write_csv({str(i): column for i, column in enumerate(_numbers(values))}, path, tabs=True)
        entries.append(
            "embeddings {\n"
            f'  tensor_name: "{pooling}.{layer}"\n  tensor_path: "{name}"\n  metadata_path: "metadata.tsv"\n'
            "}\n"
        )
    with _written(folder / "projector_config.pbtxt") as path:
        path.write_text("".join(entries), encoding="utf-8")


def _to_hdf5(store: VectorStore, vectors: Vectors, path: Path) -> None:
    h5py = load_h5py()
    states = list(vectors.values())
    columns = _columns(store)
    texts = columns.get("text") or [f"row {row}" for row in range(store.n_rows)]
    seen: Counter[str] = Counter()
    index: dict[str, str] = {}
    with h5py.File(path, "w") as file:
        for row, text in enumerate(texts):
            file.create_dataset(str(row), data=np.stack([state[row] for state in states])[:, None])
            seen[text] += 1
            index[text if seen[text] == 1 else f"{text} (Occurrence {seen[text]})"] = str(row)
        (pooling,) = {name for name, _ in vectors}
        own = {"pooling": pooling, "layers": [layer for _, layer in vectors], "label_names": store.label_names}
        for name, content in (("sentence_to_index", index), ("cls_probe", {**own, **columns})):
            file.create_dataset(name, data=[json.dumps(content)], dtype=h5py.string_dtype())


def _numbers(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Columns of a matrix in a number format that is written as text; float16 fits into float32."""
    wide = values.astype(np.float32) if values.dtype == np.float16 else values
    return list(np.ascontiguousarray(wide.T))


def _metadata(store: VectorStore) -> str:
    """Rows of metadata.tsv, which knows no quotes; a column alone goes without header."""
    columns = {"row": list(map(str, range(store.n_rows)))}
    columns |= {name: [" ".join(value.split()) for value in values] for name, values in _columns(store).items()}
    header = [tuple(columns)] if len(columns) > 1 else []
    return "".join("\t".join(line) + "\n" for line in (*header, *zip(*columns.values(), strict=True)))


def _write_csv(columns: dict[str, Any], path: Path, *, tabs: bool = False) -> None:
    """Write columns with a header and commas, or with tabs alone."""
    import pyarrow as pa
    from pyarrow import csv

    csv.write_csv(pa.table(columns), path, csv.WriteOptions(include_header=not tabs, delimiter="\t" if tabs else ","))


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes `path` when all went well, and nothing otherwise."""
    try:
        with new_file(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        path.with_name(f".{path.name}.tmp").unlink(missing_ok=True)
