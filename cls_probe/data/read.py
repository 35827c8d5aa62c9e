"""Reading rows from csv, tsv, jsonl, parquet, txt, the hub, frames and iterables."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from cls_probe.data.rows import Rows, label_name
from cls_probe.errors import InputError, MissingDependencyError

TEXT_COLUMNS = ("text", "sentence", "content")
"""Names tried, in this order and in any case, when no text column is named."""
LABEL_COLUMNS = ("label", "class", "category")
"""Names tried, in this order and in any case, when no label column is named."""
SAMPLE = "sample"
"""The name that stands for the bundled sample of 400 news items."""
SAMPLE_PAIRS = "sample-pairs"
"""The name that stands for the bundled 60 pairs of sentences."""
_BUNDLED = {SAMPLE: "sample.csv", SAMPLE_PAIRS: "pairs.csv"}


def read_rows(
    source: Any,
    *,
    labels: Iterable[object] | None = None,
    text_column: str | None = None,
    text_pair_column: str | None = None,
    label_column: str | None = None,
    no_labels: bool = False,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Rows:
    """Read texts, and second texts and labels where there are any.

    Parameters
    ----------
    source
        A path (csv, tsv, jsonl, parquet, txt with one text a line), ``hub:NAME[:SPLIT]``, ``"sample"`` for
        the bundled news items, a pandas frame, or an iterable of strings or of mappings.
    labels
        One label for every row, for sources that carry none.
    text_column, text_pair_column, label_column
        Column names. Text and label columns are guessed when not named: text, sentence, content;
        label, class, category. A second text is read only when named.
    no_labels
        Leave labels aside.
    limit
        Keep the first ``limit`` rows.
    sample, seed
        Then keep ``sample`` rows drawn without replacement, in their original order.

    Returns
    -------
    Rows
        Checked rows.

    Raises
    ------
    InputError
        One line naming the source and, where there is one, the row (from 0) and line (from 1).
    MissingDependencyError
        ``hub:`` without the package ``datasets``.

    """
    table = read_table(source)
    text, pair, label = _choose(table, text_column, text_pair_column, label_column)
    texts = table.columns[text]
    found = None if no_labels or label is None else table.columns[label]
    if labels is not None and not no_labels:
        found, label = list(labels), None
        if len(found) != len(texts):
            raise InputError(f"{table.source}: {len(texts)} texts but {len(found)} labels; give one for every row")
    keep = keep_rows(len(texts), limit, sample, seed, table.source)
    return Rows(
        texts=[texts[row] for row in keep],
        text_pairs=None if pair is None else [table.columns[pair][row] for row in keep],
        labels=None if found is None else [_label_name(found[row], table, row) for row in keep],
        label_names=table.class_names.get(label or ""),
        source=table.source,
        lines=None if table.lines is None else [table.lines[row] for row in keep],
    )


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns as they were read, before any is chosen."""

    source: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int] | None = None
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names and order of the columns that bring their own."""

    def place(self, row: int) -> str:
        """Name a row for a message."""
        line = f" (line {self.lines[row]})" if self.lines is not None else ""
        return f"{self.source}, row {row}{line}"


def read_table(source: Any) -> Table:
    """Read all columns of a source; InputError when it cannot be read."""
    if isinstance(source, str) and source.startswith("hub:"):
        return _from_hub(source.removeprefix("hub:"))
    if isinstance(source, str) and source in _BUNDLED:
        return replace(_from_path(Path(str(files("cls_probe.data") / _BUNDLED[source]))), source=source)
    if isinstance(source, str | Path):
        return _from_path(Path(source))
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return Table(source="frame", columns={str(name): source[name].tolist() for name in source.columns})
    if isinstance(source, Iterable):
        return _from_iterable(source)
    raise InputError(f"rows came as {type(source).__name__}; expected a path, a frame or an iterable of texts")


def _from_path(path: Path) -> Table:
    readers: dict[str, Callable[[Path], Table]] = {
        ".csv": _from_csv,
        ".tsv": _from_csv,
        ".jsonl": _from_jsonl,
        ".parquet": _from_parquet,
        ".txt": _from_txt,
    }
    if path.is_dir():
        raise InputError(f"{path}: is a folder; expected a file of rows ({', '.join(readers)})")
    if not path.exists():
        raise InputError(f"{path}: no such file; expected a file of rows ({', '.join(readers)}) or hub:NAME")
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: the ending {path.suffix!r} is not known; expected {', '.join(readers)}")
    table = reader(path)
    if not table.columns or not len(next(iter(table.columns.values()))):
        raise InputError(f"{path}: no rows; expected at least one text")
    return table


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is UTF-16; expected UTF-8, so convert it first (iconv -f UTF-16 -t UTF-8)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{data[error.start]:02X} is not UTF-8; convert the file first "
            "(iconv -f LATIN1 -t UTF-8, or whatever it was written in)"
        ) from error


def _from_csv(path: Path) -> Table:
    text = _read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    records, lines = _parse_csv(text, delimiter, path)
    if not records:
        raise InputError(f"{path}: is empty; expected a header line and rows")
    header = records[0]
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path}, line 1: column {twice!r:.60} stands twice in the header; rename one")
    for row, (record, line) in enumerate(zip(records[1:], lines[1:], strict=True)):
        if len(record) != len(header):
            raise InputError(
                f"{path}, row {row} (line {line}): {len(record)} fields; expected {len(header)} as in the header "
                "(a delimiter or quote inside a text must stand in double quotes)"
            )
    body = records[1:]
    columns = {name: [record[i] for record in body] for i, name in enumerate(header)}
    return Table(source=str(path), columns=columns, lines=lines[1:])


def _parse_csv(text: str, delimiter: str, path: Path) -> tuple[list[list[str]], list[int]]:
    """Split into records and the line on which each begins; blank lines at the end are no records."""
    limit = csv.field_size_limit(max(len(text), 131072))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        for record in reader:
            records.append(record)
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}, row {max(len(records) - 1, 0)} (line {line}): not valid {path.suffix[1:]} ({error}); "
            "a quote inside a quoted text must be doubled"
        ) from error
    finally:
        csv.field_size_limit(limit)
    while records and not records[-1]:
        records.pop()
        lines.pop()
    return records, lines


def _from_jsonl(path: Path) -> Table:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, row {len(records)} (line {number}): not valid JSON ({error})") from error
        if not isinstance(record, dict):
            raise InputError(
                f"{path}, row {len(records)} (line {number}): {type(record).__name__}; expected an object "
                'such as {"text": "...", "label": "..."}'
            )
        records.append(record)
        lines.append(number)
    return Table(source=str(path), columns=_columns(records), lines=lines)


def _from_txt(path: Path) -> Table:
    texts = _read_text(path).replace("\r\n", "\n").split("\n")
    if texts[-1] == "":
        texts.pop()
    return Table(source=str(path), columns={"text": texts}, lines=range(1, len(texts) + 1))


def _from_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable parquet file ({str(error).splitlines()[0]})") from error
    return Table(source=str(path), columns={name: table[name].to_pylist() for name in table.column_names})


def _from_iterable(source: Iterable[Any]) -> Table:
    items = list(source)
    if not items:
        raise InputError("texts: no rows; expected at least one text")
    if isinstance(items[0], Mapping):
        for row, item in enumerate(items):
            if not isinstance(item, Mapping):
                raise InputError(f"texts, row {row}: {type(item).__name__}; expected a mapping as in row 0")
        return _with_class_names(Table(source="texts", columns=_columns(items)), source)
    return Table(source="texts", columns={"text": items})


def _from_hub(name: str) -> Table:
    try:
        import datasets
    except ImportError as error:
        raise MissingDependencyError(
            f"hub:{name} needs the package datasets; install it with: pip install 'cls-probe[hub]'"
        ) from error
    name, _, split = name.partition(":")
    try:
        loaded = datasets.load_dataset(name)
    except Exception as error:  # the hub client raises many kinds, all of them "not there"
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"hub:{name}: the data set cannot be loaded ({reason})") from error
    splits = list(loaded)
    if not split and len(splits) == 1:
        split = str(splits[0])
    if split not in splits:
        came = f"no split {split!r}" if split else "no split named"
        raise InputError(
            f"hub:{name}: {came}; expected one of {', '.join(map(str, splits))}, as in hub:{name}:{splits[0]}"
        )
    data = loaded[split]
    columns = {column: list(data[column]) for column in data.column_names}
    return _with_class_names(Table(source=f"hub:{name}:{split}", columns=columns), data)


def _with_class_names(table: Table, source: Any) -> Table:
    """Replace the codes of ``datasets.ClassLabel`` columns by their names, and keep the order of the names."""
    features = getattr(source, "features", None) or {}
    class_names = {column: tuple(kind.names) for column, kind in features.items() if getattr(kind, "names", None)}
    columns = dict(table.columns)
    for column, names in class_names.items():
        columns[column] = [None if code is None or code < 0 else names[code] for code in columns[column]]
    return replace(table, columns=columns, class_names=class_names)


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _choose(table: Table, text: str | None, pair: str | None, label: str | None) -> tuple[str, str | None, str | None]:
    """Choose the columns by the names given, else by the usual names."""
    names = list(table.columns)
    for kind, name in (("text", text), ("text pair", pair), ("label", label)):
        if name is not None and name not in table.columns:
            raise InputError(f"{table.source}: no {kind} column {name!r}; the columns are {listed(names)}")
    text = text or guess_column(names, TEXT_COLUMNS)
    if text is None:
        raise InputError(
            f"{table.source}: no column named {', '.join(TEXT_COLUMNS)}; the columns are {listed(names)}; "
            "name one with --text-column"
        )
    return text, pair, label or guess_column([name for name in names if name not in (text, pair)], LABEL_COLUMNS)


def guess_column(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """Find the first of the usual names among the columns, in any case."""
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def listed(names: Sequence[str]) -> str:
    """Name columns for a message, at most twelve."""
    shown = ", ".join(repr(name)[:60] for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


def keep_rows(n_rows: int, limit: int | None, sample: int | None, seed: int, source: str) -> Sequence[int]:
    """Choose row numbers: the first `limit`, then `sample` of them drawn with `seed`, in order."""
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise InputError(f"{name} is {number}; expected at least 1")
    n_rows = n_rows if limit is None else min(n_rows, limit)
    if sample is None:
        return range(n_rows)
    if sample > n_rows:
        raise InputError(f"{source}: a sample of {sample} rows was asked for, but there are {n_rows}")
    if seed < 0:
        raise InputError(f"seed is {seed}; expected 0 or more")
    drawn = np.random.default_rng(seed).choice(n_rows, size=sample, replace=False)
    return sorted(int(row) for row in drawn)


def _label_name(value: Any, table: Table, row: int) -> str:
    name = label_name(value)
    if name is None or not name.strip():
        raise InputError(f"{table.place(row)}: the label is missing; fill it, or read without labels (--no-labels)")
    return name
