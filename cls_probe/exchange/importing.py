"""From files of other tools to a store on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cls_probe.data import read_rows
from cls_probe.data.rows import rows_sha256
from cls_probe.errors import InputError, StoreError
from cls_probe.exchange.reading import Content, read_content
from cls_probe.store import Manifest, StoreWriter, VectorStore
from cls_probe.store.write import PART_SIZE, holds_store

_LIBRARIES = ("cls-probe", "numpy", "pyarrow")


def import_vectors(
    path: str | Path,
    *,
    out: str | Path,
    rows: Any = None,
    pooling: str = "cls",
    overwrite: bool = False,
) -> VectorStore:
    """Make a store on disk of vectors from anywhere, so that they get every analysis.

    Vectors are arrays (npy, npz, hdf5) or columns of lists (parquet). Named POOLING.LAYER, as in ``cls.6``, each holds
    one layer, (n_rows, hidden_size). A single one of any other name may hold one layer, or all of them as (n_rows,
    n_states, hidden_size). hdf5 may also have the layout of AllenNLP and NeuroX with one vector for each row and
    layer. Texts are taken from what is called text, texts, sentence or content, second texts from text_pair, labels
    from label, labels, class, category or y, and their order from label_names. Pickled objects are never read.

    Parameters
    ----------
    path
        .npy, .npz, .parquet, .hdf5 or .h5.
    out
        Folder of the new store.
    rows
        Texts and labels in the place of the file's own: what :func:`cls_probe.read_rows` takes.
    pooling
        What to call vectors without a name of that form.
    overwrite
        Replace the store in `out`.

    Returns
    -------
    VectorStore
        The store, memory-mapped; float16, float32 and float64 stay as they are.

    Raises
    ------
    InputError
        A file that cannot be read, vectors that are not finite (row and layer are named), shapes that do not fit.
    StoreError
        A folder that holds something already.
    MissingDependencyError
        hdf5 without the package h5py.

    """
    path, out = Path(path), Path(out)
    if holds_store(out) and not overwrite:
        raise StoreError(f"{out}: holds a store already; name another folder, or replace it with --overwrite")
    content = read_content(path, pooling)
    if rows is not None:
        read = read_rows(rows)
        own = {"text": read.texts, "text_pair": read.text_pairs, "label": read.labels}
        content = replace(content, columns=own, label_names=read.label_names)
    stores = _checked(path, content)
    manifest = _manifest(path, content, stores)
    with StoreWriter.begin(out, manifest, overwrite=overwrite) as writer:
        for part in writer.missing:
            cut = slice(part.start, part.stop)
            columns = {name: values and values[cut] for name, values in _columns(content, stores).items()}
            writer.write(part, columns, {key: values[cut] for key, values in content.vectors.items()})
        writer.finish()
    return VectorStore.open(out)


def _checked(path: Path, content: Content) -> dict[str, VectorStore]:
    """Pooling -> its vectors as a store in memory, whose checks are those of every store."""
    texts, labels = content.columns.get("text"), content.columns.get("label")
    pairs, n_rows = content.columns.get("text_pair"), len(next(iter(content.vectors.values())))
    if pairs is not None and len(pairs) != n_rows:
        raise InputError(f"{path}: {n_rows} rows of vectors but {len(pairs)} second texts; give one for every row")
    kinds = {values.dtype for values in content.vectors.values()}
    if len(kinds) > 1:
        raise InputError(f"{path}: vectors are {' and '.join(sorted(map(str, kinds)))}; expected one number format")
    try:
        stores = {}
        for pooling in dict.fromkeys(name for name, _ in content.vectors):
            arrays = {layer: values for (name, layer), values in content.vectors.items() if name == pooling}
            stores[pooling] = VectorStore.from_arrays(
                arrays, labels=labels, texts=texts, label_names=content.label_names, pooling=pooling
            )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    shapes = {name: (store.n_rows, store.hidden_size) for name, store in stores.items()}
    if len(set(shapes.values())) > 1:
        raise InputError(f"{path}: poolings have other shapes ({shapes}); expected one (n_rows, hidden_size)")
    return stores


def _columns(content: Content, stores: Mapping[str, VectorStore]) -> dict[str, Sequence[Any] | None]:
    labels = next(iter(stores.values())).labels  # by name
    return {"text": content.columns.get("text"), "text_pair": content.columns.get("text_pair"), "label": labels}


def _manifest(path: Path, content: Content, stores: Mapping[str, VectorStore]) -> Manifest:
    columns = _columns(content, stores)
    layers = tuple(sorted({layer for _, layer in content.vectors}))
    return replace(
        next(iter(stores.values())).manifest,
        n_layers=max(layers),
        layers=layers,
        poolings=tuple(stores),
        rows_source=path.name,
        rows_sha256=None if columns["text"] is None else rows_sha256(*columns.values()),
        part_size=PART_SIZE,
        versions={name: version(name) for name in _LIBRARIES},
        complete=False,
    )
