"""What a projection holds, shows and draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.plotting import COLOURS, MARKERS, drawable, grid, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, number_or_none

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

METHOD = Column(name="method", meaning="pca or umap", heading="method")
TRUST = Column(
    name="trustworthiness",
    meaning="how few of the k nearest in the picture are none in the full space, weighted by how far off they are "
    "there (Venna & Kaski 2001, by scikit-learn); 1: none comes from afar, around 0.5: the picture is noise",
    heading="trust",
    format=".3f",
    range=(0, 1),
)
CLASS_SHARES = (
    Column(
        name="own_class",
        meaning="share of the k nearest in the picture that have the row's own class, mean over rows",
        heading="own class",
        format=".3f",
        range=(0, 1),
    ),
    Column(
        name="own_class_full",
        meaning="the same share among the k nearest in the full space, by the metric",
        heading="in full space",
        format=".3f",
        range=(0, 1),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectResult(Result):
    """One picture for each method and layer asked for; NaN stands for undefined."""

    methods: tuple[str, ...]
    """(n_pictures,) pca or umap."""
    layers: tuple[int, ...]
    """(n_pictures,) indices into hidden_states, 0 = embedding output."""
    rows: NDArray[np.int64]
    """(n_points,) numbers of the rows in the picture, ascending."""
    label_names: tuple[str, ...]
    """Class names, empty without labels."""
    labels: tuple[str, ...] | None
    """(n_points,) class of every row in the picture, or None."""
    coordinates: Floats
    """(n_pictures, n_points, 2) PCA: scores on the first two principal components of all rows, in the units of the
    vectors; UMAP: no unit, axes without meaning."""
    explained_variance_ratio: Floats
    """(n_pictures, 2) share of the variance about the mean that each principal component takes, in [0, 1]; NaN for
    UMAP, which has none."""
    trustworthiness: Floats
    """(n_pictures,) as the column of this name says, in [0, 1]."""
    own_class: Floats
    """(n_pictures,) as the column of this name says, in [0, 1]; NaN without labels."""
    own_class_full: Floats
    """(n_pictures,) as the column of this name says, in [0, 1]; NaN without labels."""
    k: int
    """Neighbours that the three measures look at: n_neighbors, but fewer than half of the points."""
    undefined: tuple[str, ...]
    """(n_pictures,) why there is no picture, "" where there is one."""

    title = "Projection: the vectors of a layer on two axes"
    meaning = (
        "What a picture shows need not be there. trust: how few neighbours in the picture come from afar in the full "
        "space, at most 1. The coordinates come with --csv, --json or --plot."
    )
    documented = (
        METHOD,
        LAYER,
        Column(name="row", meaning="number of the row, from 0"),
        Column(name="label", meaning="class of the row, empty without labels"),
        Column(name="x", meaning="PCA: score on the first principal component; UMAP: no meaning of its own"),
        Column(name="y", meaning="PCA: score on the second principal component; UMAP: no meaning of its own"),
        TRUST,
        *CLASS_SHARES,
        UNDEFINED,
    )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Documented columns, those about classes only with labels."""
        return tuple(c for c in self.documented if self.labels is not None or c not in CLASS_SHARES)

    def records(self) -> list[Record]:
        """One row for each picture and row in it; what measures the picture stands in each."""
        labels = ("",) * len(self.rows) if self.labels is None else self.labels
        return [
            {
                "method": self.methods[i],
                "layer": layer,
                "row": row,
                "label": label,
                "x": number_or_none(x),
                "y": number_or_none(y),
                **self.measures(i),
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
            for row, label, (x, y) in zip(self.rows.tolist(), labels, self.coordinates[i].tolist(), strict=True)
        ]

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show one row a picture: what of the variance and of the neighbours it holds."""
        shares = [
            Column(name="pc1", meaning="", heading="PC1", format=".3f"),
            Column(name="pc2", meaning="", heading="PC2", format=".3f"),
            Column(name="both", meaning="", heading="PC1 + PC2", format=".3f"),
        ]
        columns = (
            *([METHOD] if len(set(self.methods)) > 1 else []),
            LAYER,
            *(shares if "pca" in self.methods else []),
            TRUST,
            *(CLASS_SHARES if self.labels is not None else []),
            UNDEFINED,
        )
        rows = [
            {
                "method": self.methods[i],
                "layer": layer,
                **{
                    name: number_or_none(share)
                    for name, share in zip(("pc1", "pc2", "both"), self._shares(i), strict=True)
                },
                **self.measures(i),
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]
        return columns, rows

    def notes(self) -> list[str]:
        """Explain, and tell the neighbours, the sample and what a seed is good for."""
        notes = [self.meaning]
        if "pca" in self.methods:
            notes.append("PC1, PC2: share of the variance that each axis shows.")
        notes.append(f"Neighbours: k = {self.k} in the picture, {self.params['metric']} in the full space.")
        if self.labels is not None:
            notes.append(
                f"own class: share of the k nearest that have the row's class; by chance {self._chance():.3f}. Where "
                "it exceeds that of the full space, the picture shows more order than there is."
            )
        if self.sampled:
            fitted = "; the principal components are those of all" if "pca" in self.methods else ""
            notes.append(f"{self.sampled}{fitted}.")
        return [*notes, *self._about_umap()] if "umap" in self.methods else notes

    def _about_umap(self) -> list[str]:
        notes, asked, n_points = [], self.params["n_neighbors"], len(self.rows)
        if asked > n_points:
            notes.append(f"UMAP looked at {n_points} neighbours at most, not at {asked}: there are no more rows.")
        if self.params["align"]:
            notes.append("The layers are laid out together (aligned), so that a row keeps its place where it can.")
        versions = ", ".join(f"{name} {number}" for name, number in self.params["versions"].items())
        notes.append(
            f"UMAP with seed {self.params['seed']}: the same picture again on the same machine with the same versions "
            f"({versions}), another one elsewhere. The seed costs the other threads. Equal vectors share one point; "
            "sizes of groups and distances between them mean little."
        )
        return notes

    @property
    def sampled(self) -> str:
        """Say that the picture holds some of the rows; "" when it holds all."""
        n_points, n_rows = len(self.rows), self.source["n_rows"]
        return f"{n_points:,} of {n_rows:,} rows, drawn with seed {self.params['seed']}" if n_points < n_rows else ""

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw a grid of pictures coloured by class; on `ax`, the last one alone."""
        with style():
            if ax is not None:
                figure, axes = panels(ax, 1)
                self._scatter(axes[0], len(self.layers) - 1)
            else:
                n_columns = min(len(set(self.layers)), 4)  # a second method begins a line of its own
                figure, axes = grid(len(self.layers), n_columns, width=2.7, height=2.6, least_width=4.2, margin=0.7)
                for i, panel in enumerate(axes):
                    self._scatter(panel, i)
                if self.sampled:
                    figure.suptitle(self.sampled, fontsize=8)
            if self.labels is not None:
                self._legend(figure, axes[0], outside=ax is None)
        return figure

    def measures(self, i: int) -> Record:
        """Trustworthiness, and the shares of the own class with labels."""
        measures = {"trustworthiness": number_or_none(self.trustworthiness[i])}
        if self.labels is not None:
            measures |= {c.name: number_or_none(getattr(self, c.name)[i]) for c in CLASS_SHARES}
        return measures

    def _shares(self, i: int) -> tuple[float, float, float]:
        first, second = self.explained_variance_ratio[i]
        return first, second, first + second

    def _chance(self) -> float:
        """Share of own-class rows among the others, mean over rows."""
        sizes = np.unique(np.array(self.labels), return_counts=True)[1]
        n_points = len(self.rows)
        return float((sizes * (sizes - 1)).sum() / max(n_points * (n_points - 1), 1))

    def _scatter(self, ax: "Axes", i: int) -> None:
        several = len(set(self.methods)) > 1
        ax.set_title(f"layer {self.layers[i]}" + (f", {self.methods[i].upper()}" if several else ""), fontsize=9)
        if np.isnan(self.coordinates[i]).any():
            ax.text(0.5, 0.5, f"undefined:\n{self.undefined[i]}", ha="center", va="center", transform=ax.transAxes)
            ax.set_xticks([])
            ax.set_yticks([])
            return
        codes = [0] * len(self.rows)
        if self.labels is not None:
            codes = list(map({name: code for code, name in enumerate(self.label_names)}.__getitem__, self.labels))
        _draw(ax, self.coordinates[i], codes)
        if self.methods[i] == "pca":
            first, second = self.explained_variance_ratio[i]
            ax.set_xlabel(f"PC1 ({first:.1%} of variance)\n{self._believed(i)}", fontsize=8)
            ax.set_ylabel(f"PC2 ({second:.1%})", fontsize=8)
            return
        ax.set_xlabel(self._believed(i), fontsize=8)
        ax.grid(visible=self.params["align"])
        ax.tick_params(labelbottom=False, labelleft=False, length=0)
        if self.params["align"]:
            laid = self.coordinates[[method == "umap" for method in self.methods]].reshape(-1, 2)
            low, high = np.nanmin(laid, axis=0), np.nanmax(laid, axis=0)
            margin = 0.04 * (high - low)
            ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
            ax.set_ylim(low[1] - margin[1], high[1] + margin[1])

    def _believed(self, i: int) -> str:
        """Say below a picture how far it may be believed."""
        if np.isnan(self.trustworthiness[i]):
            return ""
        share = "" if self.labels is None else f", own class {self.own_class[i]:.2f}"
        return f"trustworthiness {self.trustworthiness[i]:.2f}{share}"

    def _legend(self, figure: "Figure", ax: "Axes", *, outside: bool) -> None:
        from matplotlib.lines import Line2D

        names = drawable(self.label_names)
        handles = [Line2D([], [], linestyle="", markersize=6, label=name, **_look(i)) for i, name in enumerate(names)]
        if outside:
            figure.legend(handles=handles, loc="outside lower center", ncols=min(len(names), 5))
        else:
            ax.legend(handles=handles)


def _draw(ax: "Axes", points: Floats, codes: Sequence[int]) -> None:
    """Draw points of all classes in a mixed order, so that none hides the others."""
    from matplotlib.markers import MarkerStyle

    mixed = np.random.default_rng(0).permutation(len(points))
    looks = [_look(codes[point]) for point in mixed]
    size = float(np.clip(10000 / len(points), 1.5, 18))
    colours = [look["color"] for look in looks]
    x, y = points[mixed].T
    drawn = ax.scatter(x, y, size, c=colours, alpha=0.7, linewidths=0, rasterized=len(points) > 2000)
    styles = {marker: MarkerStyle(marker) for marker in MARKERS}
    paths = {marker: style.get_path().transformed(style.get_transform()) for marker, style in styles.items()}
    drawn.set_paths([paths[look["marker"]] for look in looks])


def _look(number: int) -> dict[str, Any]:
    """Colour and marker of a class: colours repeat after eight classes, with another marker."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
    }
