"""Reading a store: one layer at a time, memory-mapped, without copies."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from cls_probe.data.rows import class_order, label_name
from cls_probe.errors import InputError, StoreError
from cls_probe.store.checked import damaged
from cls_probe.store.manifest import MANIFEST, Manifest, Part
from cls_probe.store.remote import Remote
from cls_probe.store.write import record_batch

BATCH_ROWS = 4096
"""Most rows that `VectorStore.batches` gives at a time."""


class VectorStore:
    """Vectors of every stored layer and pooling, with texts and labels; the input of every analysis.

    Open one with :meth:`open`, or make one in memory with :meth:`from_arrays`.
    """

    def __init__(self, manifest: Manifest, batches: Sequence[pa.RecordBatch], folder: Path | None = None) -> None:
        """Wrap batches that hold the rows in order; use `open` or `from_arrays` instead."""
        self.manifest = manifest
        self.folder = folder
        self._batches = tuple(batches)

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> "VectorStore":
        """Open the finished store in a folder, or at a URL that fsspec knows (s3://...), copied into the cache.

        Checks format, completeness, and size and origin of every part, in milliseconds; and the checksum of every
        part that was not checked on this machine since it last changed, unless `verify` is False. Raises StoreError,
        naming the file, where one is wrong.
        """
        remote = Remote.at(path)
        folder = remote.pull() if remote else Path(path)
        if remote and not (folder / MANIFEST).exists():
            raise StoreError(
                f"{path}: not a vector store (no {MANIFEST}); make one with: clsprobe extract DATA -o {path}"
            )
        manifest = Manifest.read(folder)
        if not manifest.complete:
            done = sum(part.stop - part.start for part in manifest.parts)
            raise StoreError(
                f"{folder}: unfinished, {done} of {manifest.n_rows} rows are there; run the extraction again"
            )
        batches = [_open_part(folder, number, part, manifest) for number, part in enumerate(manifest.parts)]
        if sum(batch.num_rows for batch in batches) != manifest.n_rows:
            raise StoreError(
                f"{folder}: the parts do not add up to {manifest.n_rows} rows; extract again with --overwrite"
            )
        store = cls(manifest, batches, folder)
        if verify:
            store.verify(anew=False)
        return store

    @classmethod
    def from_arrays(
        cls,
        vectors: ArrayLike | Mapping[int, ArrayLike],
        *,
        labels: Sequence[object] | None = None,
        texts: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        pooling: str = "cls",
    ) -> "VectorStore":
        """Make the same object from your own arrays.

        Parameters
        ----------
        vectors
            (n_rows, n_states, hidden_size), or a mapping of layer to (n_rows, hidden_size);
            one layer may come as (n_rows, hidden_size). float16, float32 and float64 are kept
            as they are, other numbers become float64.
        labels, texts
            One for every row, or None.
        label_names
            Class order; by default integers ascending, any other names sorted by code point.
        pooling
            The name the vectors go by.

        Raises
        ------
        InputError
            Wrong shapes, values that are not finite (row and layer are named), missing labels.

        """
        arrays = _layer_arrays(vectors)
        n_rows, hidden_size = next(iter(arrays.values())).shape
        names = None if labels is None else _names(labels)
        for what, values in (("labels", names), ("texts", texts)):
            if values is not None and len(values) != n_rows:
                raise InputError(f"{n_rows} rows of vectors but {len(values)} {what}; give one for every row")
        manifest = Manifest(
            model=None,
            n_layers=max(arrays),
            layers=tuple(arrays),
            hidden_size=hidden_size,
            poolings=(pooling,),
            dtype=str(next(iter(arrays.values())).dtype),
            store_dtype=str(next(iter(arrays.values())).dtype),
            n_rows=n_rows,
            label_names=_class_names(names, label_names),
            part_size=n_rows,
            versions={},
            complete=True,
        )
        columns = {"text": texts, "label": names}
        by_column = {(pooling, layer): values for layer, values in arrays.items()}
        return cls(manifest, [record_batch(range(n_rows), columns, by_column, identity={})])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.manifest.n_rows

    @property
    def n_layers(self) -> int:
        """Blocks of the model; the states are 0..n_layers."""
        return self.manifest.n_layers

    @property
    def layers(self) -> tuple[int, ...]:
        """The states stored, as indices into hidden_states (0 = embedding output)."""
        return self.manifest.layers

    @property
    def hidden_size(self) -> int:
        """Width of a vector."""
        return self.manifest.hidden_size

    @property
    def poolings(self) -> tuple[str, ...]:
        """Poolings stored: cls and others."""
        return self.manifest.poolings

    @property
    def label_names(self) -> tuple[str, ...]:
        """Class names in class order: given, or integers ascending, or sorted; empty without labels."""
        return self.manifest.label_names

    @property
    def source(self) -> dict[str, Any]:
        """What a result records of its origin: model, weights, rows, versions."""
        origin = ("model", "revision", "random_weights", "weights_sha256", "rows_source", "rows_sha256")
        shape = ("n_rows", "n_layers", "hidden_size", "max_length")
        return {
            **{key: getattr(self.manifest, key) for key in (*origin, *shape)},
            "versions": dict(self.manifest.versions),
        }

    @cached_property
    def texts(self) -> tuple[str, ...] | None:
        """(n_rows,) texts, or None."""
        return self._column("text")

    @cached_property
    def text_pairs(self) -> tuple[str, ...] | None:
        """(n_rows,) second texts, or None."""
        return self._column("text_pair")

    @cached_property
    def labels(self) -> tuple[str, ...] | None:
        """(n_rows,) class names, or None."""
        return self._column("label")

    @cached_property
    def n_tokens(self) -> NDArray[np.int64] | None:
        """(n_rows,) tokens of every row before truncation, with special tokens, or None."""
        counts = self._column("n_tokens")
        return None if counts is None else np.array(counts, dtype=np.int64)

    @cached_property
    def truncated(self) -> NDArray[np.bool_] | None:
        """(n_rows,) whether the row was cut to max_length, or None."""
        flags = self._column("truncated")
        return None if flags is None else np.array(flags, dtype=np.bool_)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(n_rows,) position of every row's class in `label_names`; InputError without labels."""
        if "label" not in self._batches[0].schema.names:
            raise InputError("the store has no labels; extract rows with a label column, or pass labels=")
        position = {name: code for code, name in enumerate(self.label_names)}
        codes = []
        for batch in self._batches:  # without an object for every row
            column = batch.column("label").dictionary_encode()
            here = np.array([position[name] for name in column.dictionary.to_pylist()], dtype=np.int64)
            codes.append(here[column.indices.to_numpy()])
        return np.concatenate(codes)

    def layer(self, layer: int, *, pooling: str = "cls") -> NDArray[Any]:
        """Vectors of one layer, (n_rows, hidden_size); read-only, a view where the store has one part."""
        chunks = list(self._chunks(layer, pooling))
        return chunks[0] if len(chunks) == 1 else _read_only(np.concatenate(chunks))

    def batches(self, layer: int, *, pooling: str = "cls") -> Iterator[NDArray[Any]]:
        """Vectors of one layer in row order, at most 4,096 rows at a time, read-only views of the map."""
        for chunk in self._chunks(layer, pooling):
            for start in range(0, len(chunk), BATCH_ROWS):
                yield chunk[start : start + BATCH_ROWS]

    def layers_of(self, pooling: str) -> tuple[int, ...]:
        """States stored of one pooling: attention has no state 0, pooler has the last alone."""
        if pooling not in self.poolings:
            raise InputError(f"pooling {pooling!r} is not in the store; it holds {', '.join(self.poolings)}")
        names = set(self._batches[0].schema.names)
        return tuple(layer for layer in self.layers if f"{pooling}.{layer}" in names)

    def select_layers(self, layers: Sequence[int] | None, *, pooling: str = "cls") -> tuple[int, ...]:
        """Give the layers asked for, all of the pooling when None; InputError names one that is not stored."""
        stored = self.layers_of(pooling)
        if layers is None:
            return stored
        if not layers:
            raise InputError(f"no layer was asked for; the store holds {_ranges(stored)}")
        for layer in layers:
            if layer not in stored:
                of = "" if stored == self.layers else f" of pooling {pooling}"
                raise InputError(f"layer {layer}{of} is not in the store; it holds {_ranges(stored)}")
        return tuple(dict.fromkeys(int(layer) for layer in layers))

    def verify(self, *, anew: bool = True) -> None:
        """Check the checksum of every part, or of those not checked yet; StoreError names the first that is wrong."""
        if self.folder is None:
            return
        for part in damaged(self.folder, self.manifest.parts, anew=anew):
            number = self.manifest.parts.index(part)
            raise StoreError(
                f"{self.folder / part.file}: part {number} (rows {part.start} to {part.stop - 1}) does not match "
                "its checksum; run the extraction again, which mends it"
            )

    def _chunks(self, layer: int, pooling: str) -> Iterator[NDArray[Any]]:
        self.select_layers([layer], pooling=pooling)
        for batch in self._batches:
            flat = batch.column(f"{pooling}.{layer}").flatten().to_numpy(zero_copy_only=True)
            yield _read_only(flat.reshape(batch.num_rows, self.hidden_size))

    def _column(self, name: str) -> tuple[Any, ...] | None:
        if name not in self._batches[0].schema.names:
            return None
        return tuple(value for batch in self._batches for value in batch.column(name).to_pylist())


def _open_part(folder: Path, number: int, part: Part, manifest: Manifest) -> pa.RecordBatch:
    path = folder / part.file
    advice = "run the extraction again, which mends it"
    if not path.is_file():
        raise StoreError(f"{path}: part {number} is missing; {advice}")
    if (size := path.stat().st_size) != part.bytes:
        raise StoreError(f"{path}: part {number} has {size} bytes; expected {part.bytes}; {advice}")
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        identity = json.loads((batch.schema.metadata or {})[b"cls_probe"])
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise StoreError(f"{path}: part {number} is damaged ({type(error).__name__}); {advice}") from error
    if identity.get("fingerprint") != manifest.fingerprint or identity.get("part") != number:
        raise StoreError(f"{path}: belongs to another store or place, not to part {number} of this one; {advice}")
    return batch


def _layer_arrays(vectors: ArrayLike | Mapping[int, ArrayLike]) -> dict[int, NDArray[Any]]:
    """Layer -> checked (n_rows, hidden_size)."""
    if isinstance(vectors, Mapping):
        arrays = {int(layer): _floats(values) for layer, values in sorted(vectors.items())}
    else:
        stacked = _floats(vectors)
        if stacked.ndim == 2:
            stacked = stacked[:, None, :]  # (n_rows, 1, hidden_size)
        if stacked.ndim != 3:
            raise InputError(f"vectors have shape {stacked.shape}; expected (n_rows, n_states, hidden_size)")
        arrays = {layer: stacked[:, layer] for layer in range(stacked.shape[1])}
    if not arrays:
        raise InputError("vectors hold no layer; expected at least one")
    shape = next(iter(arrays.values())).shape
    for layer, values in arrays.items():
        if layer < 0:
            raise InputError(f"layer {layer}: layers are numbered from 0 (the embedding output)")
        if values.ndim != 2 or not values.size:
            raise InputError(
                f"layer {layer}: vectors have shape {values.shape}; expected (n_rows, hidden_size), none of them 0"
            )
        if values.shape != shape:
            raise InputError(
                f"layer {layer}: vectors have shape {values.shape}; expected {shape} as in the first layer"
            )
        if (bad := np.flatnonzero(~np.isfinite(values).all(axis=1))).size:
            raise InputError(
                f"layer {layer}, row {bad[0]}: the vector is not finite ({bad.size} such rows); remove or mend it"
            )
    return arrays


def _floats(values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        return array if array.dtype in (np.float16, np.float32, np.float64) else array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"vectors are not an array of numbers ({error})") from error


def _names(labels: Sequence[object]) -> list[str]:
    names = []
    for row, label in enumerate(labels):
        name = label_name(label)
        if name is None:
            raise InputError(f"labels, row {row}: the label is missing; give one for every row")
        names.append(name)
    return names


def _class_names(labels: Sequence[str] | None, given: Sequence[str] | None) -> tuple[str, ...]:
    if labels is None:
        return ()
    if given is None:
        return class_order(labels)
    if missing := sorted(set(labels) - set(given)):
        raise InputError(f"label {missing[0]!r:.60} is not among the label names given; name every class")
    return tuple(given)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _ranges(layers: Sequence[int]) -> str:
    whole = list(layers) == list(range(layers[0], layers[-1] + 1))
    return f"layers {layers[0]} to {layers[-1]}" if whole else f"layers {', '.join(map(str, layers))}"
