"""The result of a layer probe: every number with its definition, table and figure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.columns import COLUMNS
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import Column, Record, Result, best_defined, ends, model_name, number_or_none, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
_CURVES = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "control_accuracy": "accuracy, random labels",
    "baseline_accuracy": "accuracy, baseline store",
    "knn_accuracy": "accuracy, nearest neighbours",
}
_GREYS = ((":", "#666666"), ("-.", "#999999"), ("--", "#444444"))


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerProbeResult(Result):
    """Probe accuracy of every layer asked for; NaN stands for undefined, None for what was not asked for.

    Intervals of accuracies are exact binomial ones (NAME_low, NAME_high), over all predicted rows together.
    """

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    label_names: tuple[str, ...]
    """Class names, in the order of the confusion matrices."""
    n_test: int
    """Rows that were predicted: all rows once, out of fold, or those of the test store."""
    n_repeated: int | None
    """Rows that were predicted by a probe whose training rows hold the same text; None without texts."""
    accuracy: Floats
    """(n_layers,) share of rows predicted right, in [0, 1]."""
    accuracy_low: Floats
    """(n_layers,) lower end of its interval."""
    accuracy_high: Floats
    """(n_layers,) upper end of its interval."""
    macro_f1: Floats
    """(n_layers,) unweighted mean of the classes' F1, in [0, 1]."""
    macro_f1_low: Floats
    """(n_layers,) lower end of its bootstrap interval."""
    macro_f1_high: Floats
    """(n_layers,) upper end of its bootstrap interval."""
    p_best: Floats
    """(n_layers,) Holm-adjusted p-value of the exact McNemar test against the best layer; 1 for the best."""
    as_good_as_best: NDArray[np.bool_]
    """(n_layers,) whether p_best is above 1 - confidence."""
    confusion: NDArray[np.int64]
    """(n_layers, n_classes, n_classes) rows by true class (first) and predicted class (second)."""
    recall: Floats
    """(n_layers, n_classes) share of the rows of each class that were predicted right; NaN for a class without."""
    calibration_error: Floats
    """(n_layers,) expected calibration error, in [0, 1]."""
    converged: NDArray[np.bool_]
    """(n_layers,) whether the solver converged in every fold."""
    wrong: tuple[tuple[int, ...], ...]
    """(n_layers,) numbers of the rows that were predicted wrong, rows of the test store where there is one."""
    undefined: tuple[str, ...]
    """(n_layers,) why the vectors tell nothing, "" where they do."""
    majority_accuracy: float
    """Accuracy of always saying the most frequent class of the training rows."""
    majority_accuracy_low: float
    """Lower end of its interval."""
    majority_accuracy_high: float
    """Upper end of its interval."""
    surface: tuple[str, ...] | None = None
    """Names of the surface baselines; None without texts or when not asked for."""
    surface_accuracy: Floats | None = None
    """(n_surface,) accuracy of the same classifier on the features of each."""
    surface_accuracy_low: Floats | None = None
    """(n_surface,) lower end of its interval."""
    surface_accuracy_high: Floats | None = None
    """(n_surface,) upper end of its interval."""
    control_accuracy: Floats | None = None
    """(n_layers,) accuracy on random labels, equal texts labelled alike."""
    control_accuracy_low: Floats | None = None
    """(n_layers,) lower end of its interval."""
    control_accuracy_high: Floats | None = None
    """(n_layers,) upper end of its interval."""
    selectivity: Floats | None = None
    """(n_layers,) accuracy - control_accuracy, in [-1, 1]."""
    baseline_accuracy: Floats | None = None
    """(n_layers,) accuracy on the same layer of the baseline store."""
    baseline_accuracy_low: Floats | None = None
    """(n_layers,) lower end of its interval."""
    baseline_accuracy_high: Floats | None = None
    """(n_layers,) upper end of its interval."""
    knn_accuracy: Floats | None = None
    """(n_layers,) accuracy of the nearest neighbours among the training rows."""
    knn_accuracy_low: Floats | None = None
    """(n_layers,) lower end of its interval."""
    knn_accuracy_high: Floats | None = None
    """(n_layers,) upper end of its interval."""
    codelength: Floats | None = None
    """(n_layers,) bits of the labels in the online code."""
    compression: Floats | None = None
    """(n_layers,) bits of the uniform code divided by codelength."""
    chosen_c: Floats | None = None
    """(n_layers,) chosen C, the (lower) median of the folds."""
    curve_rows: NDArray[np.int64] | None = None
    """(n_sizes,) training rows of the learning curve, the mean of the folds."""
    curve_accuracy: Floats | None = None
    """(n_layers, n_sizes) accuracy after training on so many rows."""
    curve_accuracy_low: Floats | None = None
    """(n_layers, n_sizes) lower end of its interval."""
    curve_accuracy_high: Floats | None = None
    """(n_layers, n_sizes) upper end of its interval."""

    title = "Layer probe: a linear classifier reads the class from [CLS]"
    star = "most accurate layer"
    meaning = (
        "Accuracy of logistic regression on rows that it was not trained on (Alain & Bengio 2016). Intervals: exact "
        "binomial over all predicted rows for accuracies, bootstrap over rows, given the trained probes, for macro-F1."
    )
    documented = COLUMNS

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of what was asked for."""
        return tuple(column for column in self.documented if getattr(self, column.name, 0) is not None)

    def records(self) -> list[Record]:
        """One row a layer."""
        names = [column.name for column in self.columns[1:]]
        return [
            {"layer": layer, **{name: _item(getattr(self, name), i) for name in names}}
            for i, layer in enumerate(self.layers)
        ]

    @property
    def best(self) -> int | None:
        """Position of the most accurate layer."""
        return best_defined(self.accuracy, self.undefined)

    @property
    def equals(self) -> Collection[int]:
        """Positions of the other layers that these rows do not tell from it."""
        return [i for i in np.flatnonzero(self.as_good_as_best).tolist() if i != self.best]

    def notes(self) -> list[str]:
        """Explain the marks and columns, give the baselines without encoder, the chosen C and the learning curve."""
        notes = []
        if self.best is not None and self.equals:
            notes.append(
                f"= these rows cannot tell it from layer {self.layers[self.best]} (p > "
                f"{1 - self.params['confidence']:.2g}, exact McNemar test, Holm's correction for the number of layers)"
            )
        said = ", ".join(f"{name} {v:.3f} [{low:.3f}, {high:.3f}]" for name, v, low, high in self._without_encoder())
        notes += [self.meaning, f"{self.n_test} rows predicted, {len(self.label_names)} classes."]
        if self.n_repeated:
            notes.append(
                f"{self.n_repeated} of them have the text of a row that their probe was trained on, no test on "
                "new texts: remove duplicated rows."
            )
        notes += [f"Accuracy without an encoder: {said}.", *self._asked()]
        if any(self.undefined):
            notes.append("Where a layer is undefined, the probe can only say the majority class (chance).")
        if failed := [str(layer) for layer, fine in zip(self.layers, self.converged, strict=True) if not fine]:
            notes.append(
                f"Layer {', '.join(failed)}: a probe that did not converge is not at its optimum: raise --max-iter or "
                "lower -C."
            )
        return [*notes, *([] if self.curve_rows is None else [self._curve_table()])]

    def _asked(self) -> list[str]:
        """One sentence for each column that was asked for."""
        notes = []
        if self.control_accuracy is not None:
            notes.append("control: accuracy on random labels, equal texts labelled alike; selectivity: the difference.")
        if self.baseline_accuracy is not None:
            name = model_name(self.params["baseline"])
            notes.append(f"baseline: the same probe on the same rows of {name}.")
        if self.knn_accuracy is not None:
            notes.append(f"kNN: accuracy of the {self.params['k']} nearest training rows by cosine.")
        if self.compression is not None:
            notes.append("compression: bits of the uniform code of the labels divided by those of the online code.")
        if self.chosen_c is not None:
            pairs = zip(self.layers, self.chosen_c.tolist(), strict=True)
            said = ", ".join(f"{layer}: {c:g}" for layer, c in pairs if not np.isnan(c))
            notes.append(f"C chosen within the training rows, by layer: {said or 'none'}.")
        return notes

    def _without_encoder(self) -> list[tuple[str, float, float, float]]:
        """Name, accuracy and interval of the baselines that need no encoder."""
        majority = self.majority_accuracy, self.majority_accuracy_low, self.majority_accuracy_high
        rows = [("majority class", *majority)]
        for i, name in enumerate(self.surface or ()):
            ends = (self.surface_accuracy, self.surface_accuracy_low, self.surface_accuracy_high)
            value, low, high = (float(values[i]) for values in ends if values is not None)
            rows.append((name, value, low, high))
        return rows

    def _curve_table(self) -> str:
        """Accuracy by layer and number of training rows."""
        assert self.curve_rows is not None
        assert self.curve_accuracy is not None
        cells = [
            [str(layer), *("-" if np.isnan(value) else f"{value:.3f}" for value in values)]
            for layer, values in zip(self.layers, self.curve_accuracy.tolist(), strict=True)
        ]
        table = text_table(["layer", *map(str, self.curve_rows.tolist())], cells)
        return f"\nAccuracy after training on so many rows:\n\n{table}"

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the scores with their bands over the layers, the baselines as lines, the learning curve beside it."""
        with style():
            figure, axes = panels(ax, 1 if self.curve_rows is None else 2, width=4.8, height=3.6)
            for number, (name, label) in enumerate(_CURVES.items()):
                value, low, high = (getattr(self, end) for end in ends(name))
                if value is not None:
                    curve(axes[0], self.layers, value, low, high, label=label, number=number)
            for (name, value, *_), (dash, grey) in zip(self._without_encoder(), _GREYS, strict=False):
                axes[0].axhline(value, color=grey, linestyle=dash, label=name)
            layer_axis(axes[0], self.layers, "score on rows not trained on")
            axes[0].set_ylim(0, 1.02)
            axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, fontsize=7)
            if len(axes) > 1:
                self._draw_curve(axes[1])
        return figure

    def _draw_curve(self, ax: "Axes") -> None:
        assert self.curve_rows is not None
        assert self.curve_accuracy is not None
        for number, (layer, values) in enumerate(zip(self.layers, self.curve_accuracy, strict=True)):
            if not np.isnan(values).all():
                curve(ax, self.curve_rows, values, label=f"layer {layer}", number=number)
        ax.set_xscale("log")
        ax.set_xticks(self.curve_rows, list(map(str, self.curve_rows.tolist())))
        ax.minorticks_off()
        ax.set_xlabel("training rows")
        ax.set_ylabel("accuracy on rows not trained on")
        if ax.lines:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=4, fontsize=7)


def _item(values: Any, i: int) -> Any:
    """Value of row i for `records`; one number stands for all rows."""
    value = values if isinstance(values, float) else values[i]
    plain = value.item() if isinstance(value, np.generic) else value
    return number_or_none(plain) if isinstance(plain, float) else plain
