"""Class gap: how much closer rows of one class lie to each other than to rows of other classes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import SAME, Cloud, Floats
from cls_probe.analyses.interval import check_confidence, jackknife_interval
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import (
    LAYER,
    UNDEFINED,
    Column,
    Record,
    Result,
    best_defined,
    number_or_none,
    text_table,
    with_interval,
)
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STATISTICS = ("within_cosine", "between_cosine", "gap")
_INTERVALS = tuple(f"{name}{end}" for name in _STATISTICS for end in ("", "_low", "_high"))
_AVERAGED = ("class_within_cosine", "class_between_cosine", "class_gap")
_MATRIX_CLASSES = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassGapResult(Result):
    """Within- and between-class cosine of every layer asked for; NaN stands for undefined."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    label_names: tuple[str, ...]
    """Class names, in the order of the matrix."""
    class_sizes: NDArray[np.int64]
    """(n_classes,) rows of every class."""
    within_cosine: NDArray[np.float64]
    """(n_layers,) mean cosine over pairs of one class, every pair counted alike, in [-1, 1]."""
    within_cosine_low: NDArray[np.float64]
    """(n_layers,) lower end of its interval."""
    within_cosine_high: NDArray[np.float64]
    """(n_layers,) upper end of its interval."""
    between_cosine: NDArray[np.float64]
    """(n_layers,) mean cosine over pairs of two classes, every pair counted alike, in [-1, 1]."""
    between_cosine_low: NDArray[np.float64]
    """(n_layers,) lower end of its interval."""
    between_cosine_high: NDArray[np.float64]
    """(n_layers,) upper end of its interval."""
    gap: NDArray[np.float64]
    """(n_layers,) within_cosine - between_cosine, in [-2, 2]."""
    gap_low: NDArray[np.float64]
    """(n_layers,) lower end of its interval."""
    gap_high: NDArray[np.float64]
    """(n_layers,) upper end of its interval."""
    class_within_cosine: NDArray[np.float64]
    """(n_layers,) mean of the classes' own within-class cosines, every class counted alike."""
    class_between_cosine: NDArray[np.float64]
    """(n_layers,) mean over pairs of classes of their mean cosine, every pair of classes counted alike."""
    class_gap: NDArray[np.float64]
    """(n_layers,) class_within_cosine - class_between_cosine."""
    class_cosine: NDArray[np.float64]
    """(n_layers, n_classes, n_classes) mean cosine of pairs of these classes; the diagonal takes distinct rows."""
    undefined: tuple[str, ...]
    """(n_layers,) why values are undefined, "" where none is."""

    title = "Class gap: cosine of [CLS] within and between classes"
    meaning = (
        "gap = within - between: above 0, rows of one class lie closer together than rows of different classes. "
        "within, between and gap count every pair alike; gap (classes) counts every class alike."
    )
    star = "layer of the largest gap"
    documented = (
        LAYER,
        *with_interval("within_cosine", "mean cosine of pairs of one class, in [-1, 1]", None, ".5f", range=(-1, 1)),
        *with_interval("between_cosine", "mean cosine of pairs of two classes, in [-1, 1]", None, ".5f", range=(-1, 1)),
        *with_interval("gap", "within_cosine - between_cosine, in [-2, 2]", "gap", ".3g", range=(-2, 2)),
        Column(name="class_within_cosine", meaning="within-class cosine, every class counted alike"),
        Column(name="class_between_cosine", meaning="between-class cosine, every pair of classes counted alike"),
        Column(
            name="class_gap",
            meaning="class_within_cosine - class_between_cosine, in [-2, 2]",
            heading="gap (classes)",
            format=".3g",
        ),
        UNDEFINED,
    )

    def records(self) -> list[Record]:
        """One row a layer."""
        return [
            {
                "layer": layer,
                **{name: number_or_none(getattr(self, name)[i]) for name in (*_INTERVALS, *_AVERAGED)},
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]

    @property
    def best(self) -> int | None:
        """Position of the layer of largest gap."""
        return best_defined(self.gap, self.undefined)

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show within and between without their intervals, to fit the width."""
        plain = (
            Column(name="within_cosine", meaning="", heading="within", format=".5f"),
            Column(name="between_cosine", meaning="", heading="between", format=".5f"),
        )
        return (LAYER, *plain, *self.documented[7:]), self.records()

    def notes(self) -> list[str]:
        """Explain, and show the matrix of the best layer when it fits."""
        notes = [self.meaning]
        if self.best is not None and len(self.label_names) <= _MATRIX_CLASSES:
            matrix = self.class_cosine[self.best]
            cells = [
                [name, *("" if np.isnan(value) else f"{value:.4f}" for value in row)]
                for name, row in zip(self.label_names, matrix, strict=True)
            ]
            notes += ["", f"Mean cosine by class, layer {self.layers[self.best]}", ""]
            notes += [text_table(["class", *self.label_names], cells)]
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw within and between cosine, their distances from 1 on a log axis, and the gap."""
        defined = np.array([not reason for reason in self.undefined])
        with style():
            figure, axes = panels(ax, 3)
            for number, name in enumerate(("within", "between")):
                value, low, high = (getattr(self, f"{name}_cosine{end}") for end in ("", "_low", "_high"))
                curve(axes[0], self.layers, value, low, high, label=f"{name} classes", number=number)
                if ax is None:
                    distance = (np.where(defined, 1 - v, np.nan) for v in (value, high, low))
                    curve(axes[1], self.layers, *distance, label=f"{name} classes", number=number)
            layer_axis(axes[0], self.layers, "mean cosine")
            axes[0].legend()
            if ax is not None:
                return figure
            axes[1].set_yscale("log")
            layer_axis(axes[1], self.layers, "1 - mean cosine (log scale)")
            gaps = (np.where(defined, v, np.nan) for v in (self.gap, self.gap_low, self.gap_high))
            curve(axes[2], self.layers, *gaps, label="gap", number=2)
            layer_axis(axes[2], self.layers, "gap = within - between")
            if defined.any() and (self.gap[defined] > 0).all() and (self.gap_low[defined] > 0).all():
                axes[2].set_yscale("log")
                axes[2].set_ylabel("gap = within - between (log scale)")
        return figure


def class_gap(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "none",
    confidence: float = 0.95,
) -> ClassGapResult:
    """Compare the cosine of rows of one class with that of rows of different classes, layer by layer.

    With unit rows u_i, their sum s, class sums s_k and sizes n_k: within = sum_k(s_k.s_k - n_k) / sum_k n_k(n_k-1),
    between = (s.s - sum_k s_k.s_k) / (n^2 - sum_k n_k^2), exact, O(n d). Intervals are jackknives of these ratios.

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer, with labels.
    layers
        States to measure; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on all rows of a layer: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    confidence
        Confidence of the intervals.

    Returns
    -------
    ClassGapResult
        Values per layer and the class-by-class matrix; where all vectors are the same, every cosine is 1 and gap 0.

    Raises
    ------
    InputError
        No labels, a transform that does not exist, or a layer or pooling that is not stored.

    """
    check_confidence(confidence)
    layers = store.select_layers(layers, pooling=pooling)
    sizes = np.bincount(store.codes, minlength=len(store.label_names))
    clouds = (Cloud(store, layer, pooling=pooling, transform=transform) for layer in layers)
    layer_values = [_one_layer(cloud, sizes, confidence) for cloud in clouds]
    names = (*_INTERVALS, *_AVERAGED)
    return ClassGapResult(
        params={"layers": layers, "pooling": pooling, "transform": transform, "confidence": confidence},
        source=store.source,
        layers=layers,
        label_names=store.label_names,
        class_sizes=sizes,
        class_cosine=np.array([matrix for _, matrix, _ in layer_values]),
        undefined=tuple(reason for *_, reason in layer_values),
        **{name: np.array([values[name] for values, *_ in layer_values]) for name in names},
    )


def _one_layer(cloud: Cloud, sizes: NDArray[np.int64], confidence: float) -> tuple[dict[str, float], Floats, str]:
    """Values by field name, the matrix, and the reason why some are undefined."""
    n_classes = len(sizes)
    values = dict.fromkeys((*_INTERVALS, *_AVERAGED), np.nan)
    reason = _too_few(sizes) or cloud.degenerate
    if reason == SAME and cloud.transform == "none":
        pairs = np.outer(sizes, sizes) - np.diag(sizes)  # ordered pairs of distinct rows
        same = {name: 0.0 if name.endswith("gap") else 1.0 for name in (*_STATISTICS, *_AVERAGED)}
        return values | same, np.where(pairs > 0, 1.0, np.nan), reason
    if reason:
        return values, np.full((n_classes, n_classes), np.nan), reason
    sums = np.zeros((n_classes, cloud.width))
    for units, codes in _with_codes(cloud):
        sums += np.eye(n_classes)[codes].T @ units
    matrix = _class_matrix(sums, sizes)
    present = matrix[np.ix_(sizes > 0, sizes > 0)]
    diagonal = np.eye(len(present), dtype=bool)
    values["class_within_cosine"] = float(present[diagonal].mean())
    values["class_between_cosine"] = float(present[~diagonal].mean())
    values["class_gap"] = values["class_within_cosine"] - values["class_between_cosine"]
    return values | _pair_weighted(cloud, sums, sizes, confidence), matrix, ""


def _too_few(sizes: NDArray[np.int64]) -> str:
    if (sizes > 0).sum() < 2:
        return "only one class"
    return "no class has two rows" if sizes.max() < 2 else ""


def _with_codes(cloud: Cloud) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
    start = 0
    for units in cloud.units():
        yield units, cloud.store.codes[start : start + len(units)]
        start += len(units)


def _class_matrix(sums: Floats, sizes: NDArray[np.int64]) -> Floats:
    """(n_classes, n_classes) mean cosine of pairs of distinct rows; NaN where there is no such pair."""
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    totals = sums @ sums.T - np.diag(sizes)
    return _ratio(totals, pairs)


def _pair_weighted(cloud: Cloud, sums: Floats, sizes: NDArray[np.int64], confidence: float) -> dict[str, float]:
    """Within, between and gap with their intervals, from the sums and the row-wise terms of the same sums."""
    n, total, size = cloud.n_rows, sums.sum(axis=0), sizes[cloud.store.codes]
    squares = float((sums * sums).sum())
    within, within_pairs = squares - n, float((sizes * (sizes - 1)).sum())
    between, between_pairs = float(total @ total) - squares, float(n**2 - (sizes**2).sum())
    all_terms, own_terms = np.empty(n), np.empty(n)  # u_i.s and u_i.s_k of the row's own class
    start = 0
    for units, codes in _with_codes(cloud):
        rows = slice(start, start + len(units))
        all_terms[rows], own_terms[rows] = units @ total, (units * sums[codes]).sum(axis=1)
        start += len(units)
    without = {
        "within_cosine": _ratio(within - 2 * own_terms + 2, within_pairs - 2 * (size - 1)),
        "between_cosine": _ratio(between - 2 * all_terms + 2 * own_terms, between_pairs - 2 * (n - size)),
    }
    estimates = {"within_cosine": within / within_pairs, "between_cosine": between / between_pairs}
    without["gap"] = without["within_cosine"] - without["between_cosine"]
    estimates["gap"] = estimates["within_cosine"] - estimates["between_cosine"]
    values: dict[str, float] = {}
    for name, estimate in estimates.items():
        bound = 2 if name == "gap" else 1
        ends = jackknife_interval(estimate, without[name], confidence=confidence, low=-bound, high=bound)
        values |= {name: estimate, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return values


def _ratio(above: Floats, below: NDArray[Any]) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    out: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out
