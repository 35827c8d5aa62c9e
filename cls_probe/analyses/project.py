"""Projection: the vectors of a layer on two axes, to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.plotting import COLOURS, MARKERS, drawable, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, number_or_none
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID_COLUMNS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectResult(Result):
    """Coordinates of every row in every layer asked for; NaN stands for undefined."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    label_names: tuple[str, ...]
    """Class names, empty without labels."""
    labels: tuple[str, ...] | None
    """(n_rows,) class of every row, or None."""
    coordinates: NDArray[np.float64]
    """(n_layers, n_rows, 2) scores on the first two principal components, in the units of the vectors."""
    explained_variance_ratio: NDArray[np.float64]
    """(n_layers, 2) share of the variance about the mean that each component takes, in [0, 1]."""
    undefined: tuple[str, ...]
    """(n_layers,) why a layer has no projection, "" where it has one."""

    title = "Projection: [CLS] on its first two principal components"
    meaning = (
        "PC1, PC2: share of the variance that each axis shows; what the picture leaves out is 1 minus their sum. "
        "The coordinates themselves come with --csv, --json or --plot."
    )
    documented = (
        Column(name="layer", meaning=LAYER.meaning),
        Column(name="row", meaning="number of the row, from 0"),
        Column(name="label", meaning="class of the row, empty without labels"),
        Column(name="x", meaning="score on the first principal component"),
        Column(name="y", meaning="score on the second principal component"),
        UNDEFINED,
    )

    def records(self) -> list[Record]:
        """One row for each layer and row."""
        return [
            {
                "layer": layer,
                "row": row,
                "label": "" if self.labels is None else self.labels[row],
                "x": number_or_none(x),
                "y": number_or_none(y),
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
            for row, (x, y) in enumerate(self.coordinates[i].tolist())
        ]

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show one row a layer: how much of the variance the picture holds."""
        shares = [
            Column(name="pc1", meaning="", heading="PC1", format=".3f"),
            Column(name="pc2", meaning="", heading="PC2", format=".3f"),
            Column(name="both", meaning="", heading="PC1 + PC2", format=".3f"),
        ]
        rows = [
            {
                "layer": layer,
                "pc1": number_or_none(ratio[0]),
                "pc2": number_or_none(ratio[1]),
                "both": number_or_none(ratio.sum()),
                "undefined": reason,
            }
            for layer, ratio, reason in zip(self.layers, self.explained_variance_ratio, self.undefined, strict=True)
        ]
        return (LAYER, *shares, UNDEFINED), rows

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw a grid of layers coloured by class; on `ax`, the last layer alone."""
        with style():
            if ax is not None:
                figure, axes = panels(ax, 1)
                self._scatter(axes[0], len(self.layers) - 1)
            else:
                figure, axes = _grid(len(self.layers))
                for i, panel in enumerate(axes):
                    self._scatter(panel, i)
            if self.labels is not None:
                self._legend(figure, axes[0], outside=ax is None)
        return figure

    def _scatter(self, ax: "Axes", i: int) -> None:
        ax.set_title(f"layer {self.layers[i]}", fontsize=9)
        if self.undefined[i]:
            ax.text(0.5, 0.5, f"undefined:\n{self.undefined[i]}", ha="center", va="center", transform=ax.transAxes)
            ax.set_xticks([])
            ax.set_yticks([])
            return
        size: Any = float(np.clip(20000 / self.coordinates.shape[1], 1.5, 18))
        labels = np.array(self.labels if self.labels is not None else [""] * self.coordinates.shape[1])
        for number, name in enumerate(self.label_names or ("",)):
            points = self.coordinates[i][labels == name]
            x, y = points.T
            ax.scatter(x, y, size, **_look(number), alpha=0.7, linewidths=0, rasterized=len(labels) > 2000)
        first, second = self.explained_variance_ratio[i]
        ax.set_xlabel(f"PC1 ({first:.1%} of variance)")
        ax.set_ylabel(f"PC2 ({second:.1%})")

    def _legend(self, figure: "Figure", ax: "Axes", *, outside: bool) -> None:
        from matplotlib.lines import Line2D

        names = drawable(self.label_names)
        handles = [Line2D([], [], linestyle="", markersize=6, label=name, **_look(i)) for i, name in enumerate(names)]
        if outside:
            figure.legend(handles=handles, loc="outside lower center", ncols=min(len(names), 5))
        else:
            ax.legend(handles=handles)


def project(
    store: VectorStore, *, layers: Sequence[int] | None = None, pooling: str = "cls", transform: str = "none"
) -> ProjectResult:
    """Project the vectors of every layer on their first two principal components (scikit-learn, exact solver).

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer.
    layers
        States to project; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on all rows of a layer: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.

    Returns
    -------
    ProjectResult
        Coordinates, (n_layers, n_rows, 2), and explained_variance_ratio; undefined where all vectors are the same
        or there are fewer than three rows.

    Raises
    ------
    InputError
        A transform that does not exist, a layer or pooling that is not stored.

    """
    layers = store.select_layers(layers, pooling=pooling)
    outcomes = [_one_layer(Cloud(store, layer, pooling=pooling, transform=transform)) for layer in layers]
    return ProjectResult(
        params={"layers": layers, "pooling": pooling, "transform": transform, "method": "pca"},
        source=store.source,
        layers=layers,
        label_names=store.label_names,
        labels=store.labels,
        coordinates=np.array([coordinates for coordinates, *_ in outcomes]),
        explained_variance_ratio=np.array([ratio for _, ratio, _ in outcomes]),
        undefined=tuple(reason for *_, reason in outcomes),
    )


def _one_layer(cloud: Cloud) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    from sklearn.decomposition import PCA

    reason = "fewer than three rows" if cloud.n_rows < 3 else SAME if cloud.is_constant else ""
    if not reason and cloud.width < 2:
        reason = "fewer than two dimensions"
    if reason:
        return np.full((cloud.n_rows, 2), np.nan), np.full(2, np.nan), reason
    tall = cloud.n_rows > 10 * cloud.width
    pca = PCA(2, svd_solver="covariance_eigh" if tall else "full")
    return pca.fit_transform(cloud.array()), pca.explained_variance_ratio_, ""


def _look(number: int) -> dict[str, Any]:
    """Colour and marker of a class: colours repeat after eight classes, with another marker."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
    }


def _grid(n_panels: int) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    n_columns = min(n_panels, _GRID_COLUMNS)
    n_lines = -(-n_panels // n_columns)
    figure = Figure(figsize=(max(2.7 * n_columns, 4.2), 2.6 * n_lines + 0.5), layout="constrained")
    axes = list(figure.subplots(n_lines, n_columns, squeeze=False).flat)
    for spare in axes[n_panels:]:
        spare.remove()
    return figure, axes[:n_panels]
