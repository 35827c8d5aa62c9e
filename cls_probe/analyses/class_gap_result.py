"""What a class gap holds, shows and draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.separation import PERMUTATION_ROWS
from cls_probe.plotting import curve, heat_map, layer_axis, panels, style
from cls_probe.result import (
    LAYER,
    UNDEFINED,
    Column,
    Record,
    Result,
    best_defined,
    ends,
    number_or_none,
    text_table,
    with_interval,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS = (
    *(end for name in ("within_cosine", "between_cosine", "gap") for end in ends(name)),
    "class_within_cosine",
    "class_between_cosine",
    "class_gap",
    "silhouette",
    "fisher_ratio",
    *ends("centroid_accuracy"),
    "p_value",
)
"""Fields with one number a layer."""
_MATRIX_CLASSES = 8
_NAMED_CLASSES = 30


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
    silhouette: NDArray[np.float64]
    """(n_layers,) mean silhouette of all rows with cosine distance, exact, in [-1, 1]."""
    fisher_ratio: NDArray[np.float64]
    """(n_layers,) trace of the between-class over trace of the within-class scatter of the vectors, in [0, inf)."""
    centroid_accuracy: NDArray[np.float64]
    """(n_layers,) share of rows nearest to their own class centroid by cosine, left out of it, in [0, 1]."""
    centroid_accuracy_low: NDArray[np.float64]
    """(n_layers,) lower end of its Wilson interval."""
    centroid_accuracy_high: NDArray[np.float64]
    """(n_layers,) upper end of its Wilson interval."""
    p_value: NDArray[np.float64] | None
    """(n_layers,) permutation test of gap, in (0, 1]; None when no permutations were asked for."""
    class_cosine: NDArray[np.float64]
    """(n_layers, n_classes, n_classes) mean cosine of pairs of these classes; the diagonal takes distinct rows."""
    gap_by_class: NDArray[np.float64]
    """(n_layers, n_classes) mean cosine of a class's own pairs minus that of its rows with rows of other classes."""
    undefined: tuple[str, ...]
    """(n_layers,) why values are undefined, "" where none is."""

    title = "Class gap: cosine of [CLS] within and between classes"
    meaning = (
        "gap = within - between: above 0, rows of one class lie closer together than rows of different classes, every "
        "pair counted alike. silhouette: -1 to 1, cosine distance. Fisher: between- over within-class scatter. "
        "centroid: share of rows nearest to their own class's centroid, the row left out. p: chance of such a gap "
        "when labels are dealt out at random, not adjusted for the number of layers."
    )
    star = "layer of the largest gap"
    documented = (
        LAYER,
        *with_interval("within_cosine", "mean cosine of pairs of one class, every pair alike", None, "", range=(-1, 1)),
        *with_interval(
            "between_cosine", "mean cosine of pairs of two classes, every pair alike", None, "", range=(-1, 1)
        ),
        *with_interval("gap", "within_cosine - between_cosine", "gap", ".3g", range=(-2, 2)),
        Column(name="class_within_cosine", meaning="within-class cosine, every class counted alike", range=(-1, 1)),
        Column(
            name="class_between_cosine",
            meaning="between-class cosine, every pair of classes counted alike",
            range=(-1, 1),
        ),
        Column(name="class_gap", meaning="class_within_cosine - class_between_cosine", range=(-2, 2)),
        Column(
            name="silhouette",
            meaning="mean over rows of (b - a) / max(a, b), a the mean cosine distance to the row's class, b the "
            "smallest to another class (Rousseeuw 1987)",
            heading="silhouette",
            format=".3f",
            range=(-1, 1),
        ),
        Column(
            name="fisher_ratio",
            meaning="trace of the between-class over trace of the within-class scatter of the vectors (Fukunaga 1990)",
            heading="Fisher",
            format=".2g",
            range=(0, np.inf),
        ),
        *with_interval(
            "centroid_accuracy",
            "share of rows whose nearest class centroid by cosine is their own class's, the row left out of it; "
            "ties count as wrong; Wilson interval",
            None,
            "",
            range=(0, 1),
        ),
        Column(
            name="p_value",
            meaning="(1 + permutations of the labels with a gap at least as large) / (1 + permutations) "
            "(Phipson & Smyth 2010)",
            heading="p",
            format=".2g",
            range=(0, 1),
        ),
        UNDEFINED,
    )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Without p_value when no permutations were asked for."""
        return tuple(column for column in self.documented if column.name != "p_value" or self.p_value is not None)

    def records(self) -> list[Record]:
        """One row a layer."""
        numbers = {column.name for column in self.columns} & set(NUMBERS)
        return [
            {
                "layer": layer,
                **{name: number_or_none(getattr(self, name)[i]) for name in NUMBERS if name in numbers},
                "undefined": self.undefined[i] or "; ".join(self._partly(i)),
            }
            for i, layer in enumerate(self.layers)
        ]

    def _partly(self, i: int) -> list[str]:
        """Which values of a layer are undefined, and why, when the others are not."""
        reasons = (
            ("gap_low", "intervals (too few rows or pairs to leave one out)"),
            ("class_gap", "class_within_cosine and class_gap (a class has one row)"),
            ("fisher_ratio", "fisher_ratio (no class scatters)"),
        )
        return [reason for name, reason in reasons if np.isnan(getattr(self, name)[i])]

    @property
    def best(self) -> int | None:
        """Position of the layer of largest gap."""
        return best_defined(self.gap, self.undefined)

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show within, between and centroid accuracy without their intervals, to fit the width."""
        plain = {
            "within_cosine": Column(name="within_cosine", meaning="", heading="within", format=".4f"),
            "between_cosine": Column(name="between_cosine", meaning="", heading="between", format=".4f"),
            "centroid_accuracy": Column(name="centroid_accuracy", meaning="", heading="centroid", format=".4f"),
        }
        return [plain.get(column.name, column) for column in self.columns], self.records()

    def notes(self) -> list[str]:
        """Explain, and show the matrix of the best layer when it fits."""
        notes = [self.meaning]
        if self.p_value is not None and self.class_sizes.sum() > PERMUTATION_ROWS:
            notes += [
                f"p is of {PERMUTATION_ROWS:,} rows drawn at random (seed {self.params['seed']}); the rest is exact."
            ]
        if self.best is not None and len(self.label_names) <= _MATRIX_CLASSES:
            values = np.column_stack([self.class_cosine[self.best], self.gap_by_class[self.best]])
            cells = [
                [name, *("-" if np.isnan(value) else f"{value:.4f}" for value in row)]
                for name, row in zip(self.label_names, values, strict=True)
            ]
            layer = self.layers[self.best]
            title = f"Mean cosine by class, layer {layer}; gap = own pairs minus pairs with other classes"
            notes += ["", title, "", text_table(["class", *self.label_names, "gap"], cells)]
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw within and between cosine, their distances from 1 (log axis), the gap, and the best layer's matrix."""
        defined = np.array([not reason for reason in self.undefined])
        with style():
            figure, axes = panels(ax, 4, height=3.2)
            for number, name in enumerate(("within", "between")):
                value, low, high = (getattr(self, end) for end in ends(f"{name}_cosine"))
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
            self._draw_matrix(axes[3])
        return figure

    def _draw_matrix(self, ax: "Axes") -> None:
        """Shade the matrix of the best layer from its smallest to its largest cosine."""
        if self.best is None:
            ax.text(0.5, 0.5, f"undefined:\n{self.undefined[0]}", ha="center", va="center", transform=ax.transAxes)
            ax.set_axis_off()
            return
        matrix, few = self.class_cosine[self.best], len(self.label_names) <= _MATRIX_CLASSES
        image = heat_map(
            ax,
            matrix,
            self.label_names,
            low=np.nanmin(matrix),
            high=np.nanmax(matrix),
            form=(lambda i, j: "-" if np.isnan(matrix[i, j]) else f"{matrix[i, j]:.4f}") if few else None,
            aspect="auto",
        )
        if len(self.label_names) > _NAMED_CLASSES:
            ax.set_xticks([])
            ax.set_yticks([])
        bar = ax.figure.colorbar(image, ax=ax, location="top")
        bar.set_label(f"mean cosine by class, layer {self.layers[self.best]}")
        ax.set_xlabel("class")
