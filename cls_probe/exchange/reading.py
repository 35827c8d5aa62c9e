"""Reading vectors, texts and labels from npy, npz, parquet and hdf5."""

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.data.read import LABEL_COLUMNS, TEXT_COLUMNS, guess_column, listed
from cls_probe.errors import InputError
from cls_probe.exchange.exporting import load_h5py

_NAMES = {
    "text": (*TEXT_COLUMNS, "texts"),
    "text_pair": ("text_pair",),
    "label": (*LABEL_COLUMNS, "labels", "y"),
}
_EXPECTED = "expected arrays named POOLING.LAYER such as cls.0, or a single one"


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a file holds, before it is checked."""

    vectors: Mapping[tuple[str, int], NDArray[Any]]
    """(pooling, layer) -> (n_rows, hidden_size)"""
    columns: Mapping[str, Sequence[Any] | None]
    """text, text_pair, label -> (n_rows,) values, None or missing where there are none."""
    label_names: Sequence[str] | None = None
    """Class order, where the file has one."""


def read_content(path: Path, pooling: str) -> Content:
    """Read a file by its ending; InputError when it cannot be read."""
    readers: dict[str, Callable[[Path, str], Content]] = {
        ".npy": _from_npy,
        ".npz": _from_npz,
        ".parquet": _from_parquet,
        ".hdf5": _from_hdf5,
        ".h5": _from_hdf5,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: the ending {path.suffix!r} is not known; expected {', '.join(readers)}")
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a file of vectors ({', '.join(readers)})")
    if not re.fullmatch(r"[A-Za-z][\w-]*", pooling):
        raise InputError(f"pooling is {pooling!r:.60}; expected a name such as cls")
    return reader(path, pooling)


def _load(path: Path) -> Any:
    try:
        return np.load(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a readable {path.suffix} file ({_first_line(error)})") from error


def _from_npy(path: Path, pooling: str) -> Content:
    array = _load(path)
    return Content(vectors=_by_layer(path, {path.stem: array}, pooling), columns={})


def _from_npz(path: Path, pooling: str) -> Content:
    archive = _load(path)
    if not hasattr(archive, "files"):
        raise InputError(f"{path}: holds a single array; expected an archive, so name it .npy")
    arrays = {}
    with archive:
        for name in archive.files:
            try:
                arrays[name] = archive[name]
            except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                raise InputError(
                    f"{path}: array {name!r:.60} cannot be read ({_first_line(error)}); "
                    "save strings as np.array(texts, dtype=str)"
                ) from error
    return _from_arrays(path, arrays, pooling)


def _from_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], pooling: str) -> Content:
    """Tell vectors, of two or three axes, from columns, of one."""
    vectors = {name: array for name, array in arrays.items() if array.ndim > 1 and array.dtype.kind == "f"}
    flat = {name: _strings(array.tolist()) for name, array in arrays.items() if array.ndim == 1}
    return Content(
        vectors=_by_layer(path, vectors, pooling), columns=_columns(path, flat), label_names=flat.get("label_names")
    )


def _from_parquet(path: Path, pooling: str) -> Content:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable parquet file ({_first_line(error)})") from error
    lists = [field.name for field in table.schema if _is_vector(field.type)]
    vectors = {name: _matrix(path, name, table[name].combine_chunks()) for name in lists}
    flat = {name: table[name].to_pylist() for name in table.column_names if not pa.types.is_nested(table[name].type)}
    own = json.loads((table.schema.metadata or {}).get(b"cls_probe", b"{}"))
    return Content(
        vectors=_by_layer(path, vectors, pooling),
        columns=_columns(path, flat),
        label_names=own.get("label_names") or None,
    )


def _is_vector(kind: Any) -> bool:
    import pyarrow as pa

    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_list(kind) for is_list in lists) and pa.types.is_floating(kind.value_type)


def _matrix(path: Path, name: str, column: Any) -> NDArray[Any]:
    """Rows of a column of lists, (n_rows, hidden_size)."""
    import pyarrow.compute as pc

    lengths = np.array(pc.list_value_length(column).fill_null(-1))
    if (odd := np.flatnonzero(lengths != lengths[0] if len(lengths) else [])).size or -1 in lengths[:1]:
        row = int(odd[0]) if odd.size else 0
        came = "no vector" if lengths[row] < 0 else f"{lengths[row]} numbers"
        raise InputError(f"{path}, row {row}: column {name!r:.60} holds {came}; expected {lengths[0]} as in row 0")
    flat = column.flatten()
    if flat.null_count:
        row = int(np.flatnonzero(np.array(flat.is_null()))[0]) // int(lengths[0])
        raise InputError(f"{path}, row {row}: column {name!r:.60} lacks a number; fill it or remove the row")
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return values


def _from_hdf5(path: Path, pooling: str) -> Content:
    h5py = load_h5py()
    try:
        with h5py.File(path, "r") as file:
            arrays = {name: np.asarray(item[()]) for name, item in file.items() if isinstance(item, h5py.Dataset)}
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path}: not a readable hdf5 file ({_first_line(error)})") from error
    numbered = sorted((name for name in arrays if name.isdecimal()), key=int)
    if not numbered:
        return _from_arrays(path, arrays, pooling)
    states = _numbered(path, [arrays.get(str(row)) for row in range(int(numbered[-1]) + 1)])
    if "cls_probe" in arrays:
        own = _json(path, arrays["cls_probe"])
        vectors = {(own["pooling"], layer): states[:, i] for i, layer in enumerate(own["layers"])}
        return Content(vectors=vectors, columns={n: own.get(n) for n in _NAMES}, label_names=own["label_names"] or None)
    texts = None
    if "sentence_to_index" in arrays:
        by_row = {int(row): text for text, row in _json(path, arrays["sentence_to_index"]).items()}
        texts = [by_row.get(row) for row in range(len(states))]
    flat = {name: _strings(array.tolist()) for name, array in arrays.items() if array.ndim == 1 and name in _NAMES}
    columns = {"text": texts, **flat}
    return Content(vectors=_by_layer(path, {"vectors": states}, pooling), columns=_columns(path, columns))


def _numbered(path: Path, rows: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Stack the data sets of all rows, each (n_states, 1, hidden_size), to (n_rows, n_states, hidden_size)."""
    stacked: list[NDArray[Any]] = []
    for number, array in enumerate(rows):
        if array is None:
            raise InputError(f"{path}: data set {str(number)!r} is missing; expected one for every row, from '0'")
        states = array[None] if array.ndim == 2 else array
        if states.ndim != 3 or states.shape[1] != 1:
            raise InputError(
                f"{path}, row {number}: the data set has shape {array.shape}; expected (n_states, 1, hidden_size), one "
                "vector for each layer; pool the tokens first"
            )
        if stacked and states.shape[::2] != stacked[0].shape:
            raise InputError(f"{path}, row {number}: the data set has shape {array.shape}, another than row 0")
        stacked.append(states[:, 0])
    return np.stack(stacked)


def _by_layer(path: Path, vectors: Mapping[str, NDArray[Any]], pooling: str) -> dict[tuple[str, int], NDArray[Any]]:
    """Find pooling and layer of every array by its name, or the layers of the only one."""
    named = {name: re.fullmatch(r"([A-Za-z][\w-]*)\.(\d{1,4})", name) for name in vectors}
    found = {(match[1], int(match[2])): vectors[name] for name, match in named.items() if match}
    if found:
        return dict(sorted(found.items(), key=lambda item: item[0][1]))
    if len(vectors) != 1:
        came = f"several arrays of numbers ({listed(list(vectors))})" if vectors else "no vectors"
        raise InputError(f"{path}: holds {came}; {_EXPECTED}")
    (array,) = vectors.values()
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: the vectors have shape {array.shape} and type {array.dtype}; "
            "expected numbers, (n_rows, hidden_size) or (n_rows, n_states, hidden_size)"
        )
    states = array[:, None] if array.ndim == 2 else array
    return {(pooling, layer): states[:, layer] for layer in range(states.shape[1])}


def _columns(path: Path, flat: Mapping[str, Sequence[Any] | None]) -> dict[str, Sequence[Any] | None]:
    """Choose the columns by their usual names; InputError when a text is no string."""
    columns = {}
    for kind, names in _NAMES.items():
        name = guess_column([name for name in flat if name != "label_names"], names)
        columns[kind] = None if name is None else flat[name]
        for row, value in enumerate(columns[kind] or () if kind != "label" else ()):
            if not isinstance(value, str):
                raise InputError(f"{path}, row {row}: the {kind} is {value!r:.60}; expected a string")
    return columns


def _strings(values: Sequence[Any]) -> list[Any]:
    """Decode the byte strings among the values."""
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]


def _json(path: Path, array: NDArray[Any]) -> Any:
    try:
        return json.loads(array.reshape(-1)[0])
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"{path}: a data set that should hold JSON does not ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
