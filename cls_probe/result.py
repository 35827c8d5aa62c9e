"""The one contract of a result: frozen numbers with their origin, as records, table, JSON, CSV and figure."""

import csv
import io
import json
import math
import textwrap
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from cls_probe.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEMA = 1
"""Number of the JSON layout."""
TABLE_WIDTH = 100
"""Columns of a terminal that a text table fits in."""
Record = dict[str, Any]
R = TypeVar("R", bound="Result")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A documented column of `Result.records`, and how the text table shows it."""

    name: str
    meaning: str
    """Definition, unit and range."""
    heading: str | None = None
    """Short heading in the text table; None keeps the column out of it."""
    format: str = ""
    """Format of a number in the text table."""
    interval: bool = False
    """Show the columns NAME_low and NAME_high beside the value."""
    range: tuple[float, float] | None = None
    """Least and largest value that is possible; a result with a value outside is refused."""


def ends(name: str) -> tuple[str, str, str]:
    """Name a value and the two ends of its interval."""
    return name, f"{name}_low", f"{name}_high"


def with_interval(
    name: str, meaning: str, heading: str | None, number: str, *, range: tuple[float, float] | None = None
) -> tuple[Column, Column, Column]:
    """Three columns: a value and the two ends of its interval."""
    _, low, high = ends(name)
    return (
        Column(name=name, meaning=meaning, heading=heading, format=number, interval=True, range=range),
        Column(name=low, meaning=f"lower end of the interval of {name}", range=range),
        Column(name=high, meaning=f"upper end of the interval of {name}", range=range),
    )


LAYER = Column(name="layer", meaning="index into hidden_states, 0 = embedding output", heading="layer")
UNDEFINED = Column(name="undefined", meaning="why values of this row are undefined, empty when none is")


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Base of all results; arrays are read-only. A subclass adds fields, `columns`, `records` and `plot`."""

    params: Mapping[str, Any]
    """Options as used."""
    source: Mapping[str, Any]
    """Model, weights, rows and versions that the numbers come from."""

    title: ClassVar[str]
    """Heading of the text table."""
    meaning: ClassVar[str]
    """One sentence below the text table: what the numbers mean."""
    documented: ClassVar[tuple[Column, ...]]
    """Columns that `records` can have."""
    star: ClassVar[str] = "best layer"
    """What the star in the text table stands for."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            for array in value.values() if isinstance(value, Mapping) else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
        for column in self.columns:
            if column.range is not None:
                _check_range(column.name, getattr(self, column.name, None), *column.range)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Documented columns of these `records`."""
        return self.documented

    def records(self) -> list[Record]:
        """Tidy rows with the documented columns; a value that is undefined is None."""
        raise NotImplementedError

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the result, on `ax` if given; computes nothing and leaves pyplot alone."""
        raise NotImplementedError

    @property
    def best(self) -> int | None:
        """Position of the row that the table marks as best, if one is."""
        return None

    @property
    def equals(self) -> Collection[int]:
        """Positions of rows that the table marks as not distinguishable from the best."""
        return ()

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Columns and rows that the text table shows; by default all records."""
        return self.columns, self.records()

    def notes(self) -> list[str]:
        """Sentences that belong below the table."""
        return [self.meaning]

    def table(self) -> str:
        """Give a text table for people, at most 100 columns wide."""
        columns, records = self.summary()
        shown = [column for column in columns if column.heading is not None]
        cells = [[cell(column, record) for column in shown] for record in records]
        star = [f"* {self.star}"] if self.best is not None else []
        tables = text_tables([column.heading or "" for column in shown], cells, self.best, self.equals)
        return "\n".join([self.title, "", *tables, *map(_wrapped, [*star, *_reasons(records), *self.notes()])])

    def to_frame(self) -> "pd.DataFrame":
        """Give the records as a pandas frame."""
        import pandas as pd

        return pd.DataFrame.from_records(self.records(), columns=[column.name for column in self.columns])

    def to_csv(self) -> str:
        """Give the records as CSV with a header line; undefined values are empty."""
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, [column.name for column in self.columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return out.getvalue()

    def to_json(self) -> str:
        """Give everything as JSON: kind, schema number, all fields; NaN is null, numbers are not rounded."""
        content = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return json.dumps({"kind": type(self).__name__, "schema": SCHEMA, **content}, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Read what `to_json` wrote, without loss; InputError when it is something else."""
        try:
            content = json.loads(text)
            kind, schema = content.pop("kind"), content.pop("schema")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise InputError(f"not a saved result ({type(error).__name__}: {error!s:.100})") from error
        if (kind, schema) != (cls.__name__, SCHEMA):
            raise InputError(f"a saved {kind} of schema {schema}; expected {cls.__name__} of schema {SCHEMA}")
        hints = typing.get_type_hints(cls)
        names = {field.name for field in fields(cls)}
        if differing := names ^ set(content):
            raise InputError(f"saved {kind}: field {sorted(differing)[0]!r} is missing or unknown; save it again")
        try:
            return cls(**{name: _typed(hints[name], value) for name, value in content.items()})
        except (ValueError, TypeError) as error:
            raise InputError(f"saved {kind}: {error}; save it again") from error

    def _repr_html_(self) -> str:
        """Show the records in a notebook; texts are escaped."""
        return f"<p>{self.title}</p>{self.to_frame().to_html(index=False, escape=True, max_rows=20)}"


def text_tables(
    headings: Sequence[str], cells: Sequence[Sequence[str]], mark: int | None = None, equal: Collection[int] = ()
) -> list[str]:
    """Align cells in one table, or in as many as the width needs; the first column begins each."""
    widths = [max(map(len, (heading, *(row[i] for row in cells)))) + 3 for i, heading in enumerate(headings)]
    groups: list[list[int]] = [[0]]
    for i in range(1, len(headings)):
        if len(groups[-1]) > 1 and 3 + sum(widths[j] for j in (*groups[-1], i)) > TABLE_WIDTH:
            groups.append([0])
        groups[-1].append(i)
    return [
        text_table([headings[i] for i in g], [[row[i] for i in g] for row in cells], mark=mark, equal=equal)
        for g in groups
    ]


def text_table(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    mark: int | None = None,
    equal: Collection[int] = (),
) -> str:
    """Align cells below headings, numbers to the right; row `mark` gets a star, rows `equal` get "=".

    Wide characters count double.
    """
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True), pad_edge=False, show_edge=False
    )
    table.add_column("")
    for column, heading in enumerate(headings):
        numeric = all(row[column][:1] in "-0123456789" for row in cells)
        table.add_column(Text(heading), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for number, row in enumerate(cells):
        table.add_row(Text("*" if number == mark else "=" if number in equal else ""), *map(Text, row))
    out = io.StringIO()
    console = Console(file=out, width=TABLE_WIDTH, color_system=None, legacy_windows=False)
    if Measurement.get(console, console.options.update(width=10 * TABLE_WIDTH), table).maximum > TABLE_WIDTH:
        table.padding = (0, 1, 0, 0)  # closer together, before a number is cut
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def explain(kind: type[Result]) -> str:
    """Tell what a result of this kind holds: every column with its definition and range."""
    lines = [kind.title, "", textwrap.fill(kind.meaning, TABLE_WIDTH), ""]
    for column in kind.documented:
        if not column.name.endswith(("_low", "_high")):
            between = "" if column.range is None else f"; from {column.range[0]:g} to {column.range[1]:g}"
            text = f"{column.name}: {column.meaning}{between}"
            lines.append(textwrap.fill(text, TABLE_WIDTH, subsequent_indent="    "))
    return "\n".join(lines)


def shortened(text: str, most: int) -> str:
    """Put a text on one line of at most so many characters, for a table."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def best_defined(values: Sequence[float] | np.ndarray[Any, Any], undefined: Sequence[str]) -> int | None:
    """Position of the largest value among the rows that are defined, the first of equals; None when none is."""
    defined = [i for i, reason in enumerate(undefined) if not reason and not math.isnan(values[i])]
    return max(defined, key=lambda i: (values[i], -i), default=None)


def ratio(above: Any, below: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Divide element by element; NaN, which stands for undefined, where there is nothing to divide by."""
    out = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) > 0)
    return out


def number_or_none(value: float) -> float | None:
    """Give a float for `records`: NaN, which stands for undefined inside arrays, becomes None."""
    return None if math.isnan(value) else float(value)


def _check_range(name: str, value: Any, low: float, high: float) -> None:
    """Refuse a value that its definition rules out; 1e-9 of it is rounding, NaN is undefined."""
    if not isinstance(value, float | np.ndarray):
        return
    values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    slack = 1e-9 * np.maximum(np.abs(values), 1)
    wrong = values[(values < low - slack) | (values > high + slack)]
    if wrong.size:
        raise ValueError(f"{name} is {float(wrong[0])}, outside its range [{low:g}, {high:g}]")


def cell(column: Column, record: Record) -> str:
    """Give a value as tables show it, with its interval where the column says so."""
    value = record[column.name]
    if value is None:
        return "-"
    text = format(value, column.format)
    if column.interval and record[f"{column.name}_low"] is not None:
        low, high = (format(record[f"{column.name}_{end}"], column.format) for end in ("low", "high"))
        return f"{text} [{low}, {high}]"
    return text


def model_name(source: Mapping[str, Any]) -> str:
    """Name the model that vectors come from, with the seed of weights that were drawn at random."""
    name, seed = source.get("model") or "arrays", source.get("random_weights")
    return name if seed is None else f"{name} with random weights (seed {seed})"


def _wrapped(note: str) -> str:
    """Fold a sentence at the width of a table; leave what has lines of its own."""
    return note if "\n" in note else textwrap.fill(note, TABLE_WIDTH)


def _reasons(records: Sequence[Record]) -> list[str]:
    """One line for each reason, with the layers that it holds for."""
    layers: dict[str, list[str]] = {}
    for record in records:
        if record.get("undefined"):
            cell = f"{record['layer']} ({record['pooling']})" if "pooling" in record else str(record["layer"])
            layers.setdefault(record["undefined"], []).append(cell)
    return [f"layer {', '.join(dict.fromkeys(numbers))}: undefined: {reason}" for reason, numbers in layers.items()]


def _plain(value: Any) -> Any:
    """Turn arrays, numpy numbers, tuples and mappings into what JSON knows; NaN into None."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _typed(hint: Any, value: Any) -> Any:
    """Give a JSON value the type that the field declares."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        return None if value is None else _typed(inner[0], value)
    if origin is np.ndarray:
        return np.array(value, dtype=typing.get_args(typing.get_args(hint)[1])[0])  # None becomes NaN
    if origin is tuple:
        return tuple(_typed(typing.get_args(hint)[0], item) for item in value)
    if origin is Mapping:
        return {key: _typed(typing.get_args(hint)[1], item) for key, item in value.items()}
    return math.nan if hint is float and value is None else value
