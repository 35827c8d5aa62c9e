"""Metrics of anisotropy with their definitions, and the result that holds them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses import geometry
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, best_defined, ends, number_or_none, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
RANKS = range(1, geometry.N_ROGUE + 1)
_INF = float("inf")

METRICS: dict[str, tuple[Column, ...]] = {
    "mean_cosine": (
        *with_interval(
            "mean_cosine",
            "mean cosine over all pairs of distinct rows, exact: (s.s - n) / (n(n-1)), s the sum of the n unit rows; "
            "1: one direction, 0: no direction preferred (Ethayarajh 2019, who samples pairs); jackknife interval",
            "mean cosine",
            ".4f",
            range=(-1, 1),
        ),
        Column(
            name="cosine_distance",
            meaning="1 - mean_cosine, which tells layers apart whose cosines crowd against 1",
            heading="1 - cosine",
            format=".3g",
            range=(0, 2),
        ),
    ),
    "norm": (
        Column(name="norm_mean", meaning="mean Euclidean norm", heading="norm", format=".3f", range=(0, _INF)),
        Column(name="norm_std", meaning="standard deviation of the norms (n - 1)", range=(0, _INF)),
    ),
    "mev": with_interval(
        "mev",
        "maximum explainable variance: largest over all squared singular values, uncentred (Ethayarajh 2019); "
        "delta-method interval",
        "MEV",
        ".3f",
        range=(0, 1),
    ),
    "pca_top_share": with_interval(
        "pca_top_share",
        "share of the first principal component, centred; delta-method interval",
        "PC1",
        ".3f",
        range=(0, 1),
    ),
    "pca_top10_share": with_interval(
        "pca_top10_share",
        "share of the first ten principal components, centred; delta-method interval",
        "PC1-10",
        ".3f",
        range=(0, 1),
    ),
    "isoscore": with_interval(
        "isoscore",
        "IsoScore (Rudman et al. 2022) in closed form, (participation_ratio - 1) / (hidden_size - 1); 1: all "
        "directions have the same variance, 0: one has all of it; delta-method interval",
        "IsoScore",
        ".4f",
        range=(0, 1),
    ),
    "participation_ratio": with_interval(
        "participation_ratio",
        "tr(S)^2 / ||S||_F^2 of the covariance S, at most min(n - 1, hidden_size): as many directions of equal "
        "variance would give it; delta-method interval",
        "PR",
        ".2f",
        range=(1, _INF),
    ),
    "effective_rank": with_interval(
        "effective_rank",
        "exp of the entropy of p, the singular values of the centred vectors over their sum (Roy & Vetterli 2007), "
        "at most min(n - 1, hidden_size); delta-method interval",
        "eff. rank",
        ".1f",
        range=(1, _INF),
    ),
    "spectral_entropy": with_interval(
        "spectral_entropy",
        "entropy of the same p over log min(n - 1, hidden_size); delta-method interval",
        "entropy",
        ".3f",
        range=(0, 1),
    ),
    "uniformity": with_interval(
        "uniformity",
        "log of the mean over distinct pairs of unit rows of exp(-2 |u - v|^2) (Wang & Isola 2020); the uniform sphere "
        f"gives nearly -4; of more than {geometry.PAIR_ROWS:,} rows so many are drawn; jackknife interval",
        "uniformity",
        ".4g",
        range=(-8, 0),
    ),
    "intrinsic_dimension": (
        Column(
            name="intrinsic_dimension",
            meaning="TwoNN (Facco et al. 2017) by scikit-dimension, repeated points counted once; too low above 10 or "
            "so; no interval",
            heading="TwoNN",
            format=".2f",
            range=(0, _INF),
        ),
    ),
    "hubness": (
        Column(
            name="hubness",
            meaning=f"skewness of how often a row is among the {geometry.N_NEIGHBOURS} nearest of the others by cosine "
            "(Radovanovic et al. 2010); no interval",
            heading="hubness",
            format=".2f",
        ),
    ),
    "rogue_dimensions": tuple(
        column
        for rank in RANKS
        for column in (
            Column(
                name=f"rogue_dimension_{rank}",
                meaning=f"number of the dimension whose part in the mean cosine is in place {rank} by size (Timkey & "
                "van Schijndel 2021)",
                heading="rogue dim." if rank == 1 else None,
            ),
            Column(
                name=f"rogue_share_{rank}",
                meaning="its part as a share of the mean cosine; the parts of all dimensions add up to 1",
                heading="share" if rank == 1 else None,
                format=".3f",
            ),
        )
    ),
}
"""Name of every metric -> its columns."""
DEFAULT_METRICS = ("mean_cosine", "norm", "mev", "pca_top_share", "isoscore", "effective_rank", "rogue_dimensions")
_AXES = {"norm": "mean norm", "participation_ratio": "participation ratio", "effective_rank": "effective rank"}
_FULL_TABLE = 3
"""Up to so many metrics the table shows every interval; with more, that of the mean cosine alone."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AnisotropyResult(Result):
    """Anisotropy of every layer asked for; each column of METRICS can be read as an attribute too."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    metrics: tuple[str, ...]
    """Metrics asked for, names of METRICS."""
    values: Mapping[str, Floats]
    """Column -> (n_layers,) its values, as METRICS defines them; NaN stands for undefined."""
    isotropic: Mapping[str, float]
    """Metric -> its value for an isotropic Gaussian of as many rows (at most 10,000) and dimensions."""
    undefined: tuple[str, ...]
    """(n_layers,) why values are undefined, "" where none is."""

    title = "Anisotropy of the vectors, layer by layer"
    meaning = (
        "mean cosine near 1: the vectors share one direction (a narrow cone), so that raw cosine says little; near 0: "
        "they spread. --explain defines every column."
    )
    star = "least anisotropic layer, by mean cosine"
    documented = (LAYER, *(column for columns in METRICS.values() for column in columns), UNDEFINED)

    def __getattr__(self, name: str) -> Floats:
        """Give the values of a column, (n_layers,)."""
        try:
            return self.__dict__["values"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"no column {name!r} among the metrics that were asked for") from None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the metrics that were asked for."""
        return (LAYER, *(column for metric in self.metrics for column in METRICS[metric]), UNDEFINED)

    def records(self) -> list[Record]:
        """One row a layer."""
        return [
            {
                "layer": layer,
                **{name: _number(name, values[i]) for name, values in self.values.items()},
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]

    @property
    def best(self) -> int | None:
        """Position of the layer of smallest mean cosine."""
        if "mean_cosine" not in self.metrics:
            return None
        return best_defined(
            np.where(np.isnan(self.mean_cosine_low), np.nan, -self.mean_cosine), [""] * len(self.layers)
        )

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show intervals where they fit."""
        full = len(self.metrics) <= _FULL_TABLE
        shown = [replace(c, interval=c.interval and (full or c.name == "mean_cosine")) for c in self.columns]
        return shown, self.records()

    def notes(self) -> list[str]:
        """Explain, give the isotropic baseline, and say where the number of rows makes itself felt."""
        notes = [self.meaning]
        known = {name: value for name, value in self.isotropic.items() if not np.isnan(value)}
        if known:
            listed = ", ".join(f"{METRICS[name][0].heading} {value:.4g}" for name, value in known.items())
            notes.append(f"An isotropic Gaussian of as many rows and dimensions gives: {listed}.")
        n_rows, hidden_size = self.source["n_rows"], self.source["hidden_size"]
        biased = [METRICS[name][0].heading for name in self.metrics if name in geometry.SPECTRAL]
        if biased and n_rows < 10 * hidden_size:
            notes.append(
                f"{n_rows} rows are fewer than ten per dimension ({hidden_size}): {', '.join(map(str, biased))} then "
                "depend on the number of rows, which the intervals do not tell; compare with clouds of as many rows."
            )
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw mean cosine, its distance from 1, all shares on one panel, and every other metric on its own."""
        drawings = list(self._drawings())
        with style():
            figure, axes = panels(ax, len(drawings))
            for panel, (label, curves, scale) in zip(axes, drawings, strict=False):
                for number, (name, ends) in enumerate(curves):
                    curve(panel, self.layers, *ends, label=name, number=number)
                panel.set_yscale(scale)
                layer_axis(panel, self.layers, label)
                if len(curves) > 1:
                    panel.legend()
        return figure

    def _drawings(self) -> Iterator[tuple[str, list[tuple[str, list[Floats]]], str]]:
        """Label, curves and scale of every panel."""
        shares = [name for name in self.metrics if METRICS[name][0].range == (0, 1)]
        for name in self.metrics:
            column = METRICS[name][0]
            if name == "mean_cosine":
                yield "mean cosine of distinct pairs", [("", self._ends(name))], "linear"
                distance = [np.where(v < 1, 1 - v, np.nan) for v in self._ends(name)]
                yield "1 - mean cosine (log scale)", [("", [distance[0], distance[2], distance[1]])], "log"
            elif name in shares:
                if name == shares[0]:
                    yield "share", [(str(METRICS[s][0].heading), self._ends(s)) for s in shares], "linear"
            elif name == "rogue_dimensions":
                ranks = [(f"dimension in place {rank}", [self.values[f"rogue_share_{rank}"]]) for rank in RANKS]
                yield "share of the mean cosine", ranks, "linear"
            else:
                yield _AXES.get(name, str(column.heading)), [("", self._ends(column.name))], "linear"

    def _ends(self, name: str) -> list[Floats]:
        """Values, and the ends of their interval where there are any."""
        return [self.values[key] for key in ends(name) if key in self.values]


def _number(name: str, value: float) -> float | int | None:
    if name.startswith("rogue_dimension"):
        return None if np.isnan(value) or value < 0 else int(value)
    return number_or_none(value)
