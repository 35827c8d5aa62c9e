"""Curves over layers of several results in one table and one figure: two stores, two models, two poolings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError
from cls_probe.plotting import curve, drawable, layer_axis, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, model_name, number_or_none

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CompareResult(Result):
    """One column of several results, layer by layer; NaN stands for undefined."""

    compared: str
    """Kind of the results."""
    column: str
    """Column that is compared, as the results document it."""
    heading: str
    """The column in words."""
    number_format: str
    """Format of its numbers in the text table."""
    names: tuple[str, ...]
    """Name of every result, in the order given."""
    curves: tuple[str, ...]
    """(n_values,) name of the result that a value comes from."""
    layers: tuple[int, ...]
    """(n_values,) indices into hidden_states, 0 = embedding output."""
    value: Floats
    """(n_values,) the column of that result and layer."""
    value_low: Floats
    """(n_values,) lower end of its interval; NaN where the column has none."""
    value_high: Floats
    """(n_values,) upper end of its interval; NaN where the column has none."""
    undefined: tuple[str, ...]
    """(n_values,) why a value is undefined, "" where it is defined."""

    title = "Comparison of results, layer by layer"
    meaning = "Intervals are those of each result alone: that they overlap does not show that two values are the same."
    documented = (
        Column(name="result", meaning="name of the result", heading="result"),
        LAYER,
        Column(name="column", meaning="what is compared"),
        Column(name="value", meaning="its value, defined by that column of the result"),
        Column(name="value_low", meaning="lower end of its interval, empty where it has none"),
        Column(name="value_high", meaning="upper end of its interval, empty where it has none"),
        UNDEFINED,
    )

    @property
    def has_interval(self) -> bool:
        """Whether the column has an interval."""
        return not np.isnan(self.value_low).all()

    @property
    def columns(self) -> tuple[Column, ...]:
        """Documented columns, those of the interval only where there is one."""
        return tuple(c for c in self.documented if self.has_interval or not c.name.startswith("value_"))

    def records(self) -> list[Record]:
        """One row for each result and layer."""
        numbers = [column.name for column in self.columns if column.name.startswith("value")]
        return [
            {
                "result": self.curves[i],
                "layer": layer,
                "column": self.column,
                **{name: number_or_none(getattr(self, name)[i]) for name in numbers},
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show one row a layer and one column a result."""
        ends = {"": "value", "_low": "value_low", "_high": "value_high"}
        rows: dict[int, Record] = {}
        for record in self.records():
            empty = {f"{name}{end}": None for name in self.names for end in ends}
            row = rows.setdefault(record["layer"], {"layer": record["layer"], **empty, "undefined": ""})
            row |= {f"{record['result']}{end}": record.get(key) for end, key in ends.items()}
            if record["undefined"]:
                before = f"{row['undefined']}; " if row["undefined"] else ""
                row["undefined"] = f"{before}{record['result']}: {record['undefined']}"
        columns = [
            Column(name=name, meaning="", heading=name, format=self.number_format, interval=True) for name in self.names
        ]
        return (LAYER, *columns, UNDEFINED), [rows[layer] for layer in sorted(rows)]

    def notes(self) -> list[str]:
        """Say what is compared, and whether on the same rows."""
        notes = [f"Compared: {self.heading} ({self.column} of {self.compared}). {self.meaning}"]
        if len({self.source[name]["rows_sha256"] for name in self.names}) > 1:
            notes.append("The results are of different rows, so that a difference is not one of the models alone.")
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw one curve a result."""
        with style():
            figure, (panel,) = panels(ax, 1, width=5.0, height=3.4)
            for number, (name, label) in enumerate(zip(self.names, drawable(self.names), strict=True)):
                of = [i for i, owner in enumerate(self.curves) if owner == name]
                layers = [self.layers[i] for i in of]
                band = (self.value_low[of], self.value_high[of]) if self.has_interval else ()
                curve(panel, layers, self.value[of], *band, label=label, number=number)
            layer_axis(panel, self.layers, self.heading)
            panel.legend()
        return figure


def compare(
    results: Sequence[Result], *, names: Sequence[str] | None = None, column: str | None = None
) -> CompareResult:
    """Put the curves of several results of one kind side by side.

    Parameters
    ----------
    results
        Two or more results of one kind with one row a layer: anisotropy, class_gap, layer_probe.
    names
        What to call them; by default the models.
    column
        Name of a documented column of numbers; by default the first with an interval in the table: mean_cosine, gap,
        accuracy.

    Returns
    -------
    CompareResult
        One value for each result and layer.

    Raises
    ------
    InputError
        Results of several kinds or with several rows a layer, names that repeat, a column that is not there.

    """
    kinds = dict.fromkeys(type(result).__name__ for result in results)
    if len(results) < 2 or len(kinds) > 1:
        came = "fewer than two results" if len(results) < 2 else f"results of several kinds ({', '.join(kinds)})"
        raise InputError(f"comparing {came}; expected two or more of one kind")
    names = tuple(model_name(result.source) for result in results) if names is None else tuple(names)
    if len(names) != len(results) or len(set(names)) != len(names):
        raise InputError(f"names are {', '.join(names):.200}; expected {len(results)} different ones")
    chosen = _choose(results, column)
    found = [(name, record) for name, result in zip(names, results, strict=True) for record in _by_layer(result)]

    def numbers(end: str) -> Floats:
        return np.array([record.get(f"{chosen.name}{end}") for _, record in found], dtype=np.float64)

    return CompareResult(
        params={"names": names, "column": chosen.name},
        source={name: dict(result.source) for name, result in zip(names, results, strict=True)},
        compared=next(iter(kinds)),
        column=chosen.name,
        heading=chosen.heading or chosen.name.replace("_", " "),
        number_format=chosen.format,
        names=names,
        curves=tuple(name for name, _ in found),
        layers=tuple(record["layer"] for _, record in found),
        value=numbers(""),
        value_low=numbers("_low"),
        value_high=numbers("_high"),
        undefined=tuple(record.get("undefined", "") for _, record in found),
    )


def _choose(results: Sequence[Result], name: str | None) -> Column:
    """Find the column in all results."""
    held = [{column.name: column for column in result.columns} for result in results]
    common = [column for column in held[0].values() if all(column.name in columns for columns in held)]
    numeric = [c for c in common if c.name not in ("layer", "undefined") and not c.name.endswith(("_low", "_high"))]
    if name is None:
        chosen = next((column for column in numeric if column.interval and column.heading), None)
    else:
        chosen = next((column for column in numeric if column.name == name), None)
    if chosen is None:
        listed = ", ".join(column.name for column in numeric)
        raise InputError(f"column is {name!r:.60}; expected one that all of the results hold: {listed}")
    return chosen


def _by_layer(result: Result) -> list[Record]:
    records = result.records()
    layers = [record.get("layer") for record in records]
    if None in layers or len(set(layers)) < len(layers):
        raise InputError(
            f"{type(result).__name__} has several rows a layer or none; expected a result with one, such as "
            "anisotropy, class_gap or layer_probe"
        )
    return records
