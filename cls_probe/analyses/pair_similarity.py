"""Pair similarity: how far the cosine of two texts' vectors agrees with what people say of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import Cloud
from cls_probe.analyses.interval import check_confidence
from cls_probe.analyses.transform import check_transform
from cls_probe.data import Pairs
from cls_probe.errors import InputError, check_seed
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import (
    LAYER,
    UNDEFINED,
    Column,
    Record,
    Result,
    best_defined,
    ends,
    number_or_none,
    ratio,
    with_interval,
)
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
RESAMPLES = 2000
_CORRELATIONS = ("spearman", "pearson")
_COLUMNS = tuple(end for name in _CORRELATIONS for end in ends(name))


@dataclass(frozen=True, kw_only=True, eq=False)
class PairSimilarityResult(Result):
    """Cosine of every pair, and its agreement with human scores, by pooling and layer; NaN stands for undefined."""

    poolings: tuple[str, ...]
    """(n_cells,) pooling of every cell; a cell is a pooling of a layer."""
    layers: tuple[int, ...]
    """(n_cells,) layer of every cell, an index into hidden_states, 0 = embedding output."""
    cosine: Floats
    """(n_cells, n_pairs) cosine of the two vectors of every pair, in [-1, 1]."""
    scores: Floats | None
    """(n_pairs,) human scores, or None."""
    mean_cosine: Floats
    """(n_cells,) mean cosine of the pairs, in [-1, 1]."""
    spearman: Floats | None
    """(n_cells,) Spearman's rank correlation of cosine and score, in [-1, 1]; None without scores."""
    spearman_low: Floats | None
    """(n_cells,) lower end of its interval."""
    spearman_high: Floats | None
    """(n_cells,) upper end of its interval."""
    pearson: Floats | None
    """(n_cells,) Pearson's correlation of cosine and score, in [-1, 1]; None without scores."""
    pearson_low: Floats | None
    """(n_cells,) lower end of its interval."""
    pearson_high: Floats | None
    """(n_cells,) upper end of its interval."""
    undefined: tuple[str, ...]
    """(n_cells,) why values are undefined, "" where none is."""

    title = "Pair similarity: cosine against human scores"
    meaning = (
        "spearman: do cosines put the pairs in the order that people do; pearson: do they grow in proportion. "
        "0 is what unrelated numbers give. Intervals: percentile bootstrap over pairs."
    )
    star = "best agreement, by Spearman"
    documented = (
        Column(name="pooling", meaning="which vectors", heading="pooling"),
        LAYER,
        Column(
            name="mean_cosine", meaning="mean cosine of the pairs", heading="mean cosine", format=".4f", range=(-1, 1)
        ),
        *with_interval("spearman", "rank correlation of cosine and score", "Spearman", ".4f", range=(-1, 1)),
        *with_interval("pearson", "linear correlation of cosine and score", "Pearson", ".4f", range=(-1, 1)),
        UNDEFINED,
    )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Leave the correlations out where there are no scores."""
        return tuple(c for c in self.documented if self.scores is not None or not c.name.startswith(_CORRELATIONS))

    def records(self) -> list[Record]:
        """One row for each pooling and layer."""
        names = [c.name for c in self.columns if c.name not in ("pooling", "layer", "undefined")]
        return [
            {
                "pooling": pooling,
                "layer": layer,
                **{name: number_or_none(getattr(self, name)[i]) for name in names},
                "undefined": self.undefined[i],
            }
            for i, (pooling, layer) in enumerate(zip(self.poolings, self.layers, strict=True))
        ]

    @property
    def best(self) -> int | None:
        """Position of the largest Spearman correlation."""
        return None if self.spearman is None else best_defined(self.spearman, self.undefined)

    def notes(self) -> list[str]:
        """Explain, and count the pairs."""
        known = "with human scores" if self.scores is not None else "without scores: cosines only, in --json"
        return [self.meaning, f"{self.cosine.shape[1]} pairs, {known}."]

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw one curve of Spearman correlations for each pooling, of mean cosines without scores."""
        name, label = ("mean_cosine", "mean cosine of the pairs") if self.spearman is None else ("spearman", "Spearman")
        with style():
            figure, axes = panels(ax, 1, width=4.6, height=3.4)
            for number, pooling in enumerate(dict.fromkeys(self.poolings)):
                cells = [i for i, other in enumerate(self.poolings) if other == pooling]
                values = [getattr(self, end)[cells] for end in ends(name) if hasattr(self, end)]
                curve(axes[0], [self.layers[i] for i in cells], *values, label=pooling, number=number)
            layer_axis(axes[0], self.layers, label)
            axes[0].legend()
        return figure


def pair_similarity(
    store: VectorStore,
    *,
    pairs: Pairs,
    layers: Sequence[int] | None = None,
    poolings: Sequence[str] | None = None,
    transform: str = "none",
    confidence: float = 0.95,
    seed: int = 0,
) -> PairSimilarityResult:
    """Compare the cosine of pairs with human scores, by pooling and layer (as in STS, Cer et al. 2017).

    Parameters
    ----------
    store
        Vectors of all texts of the pairs; each text is looked up by its content, so that it may stand there once.
    pairs
        From :func:`cls_probe.read_pairs`; its ``texts`` are what to extract.
    layers
        States to measure; all that a pooling has by default.
    poolings
        Poolings to measure; all of the store by default.
    transform
        Correction of the vectors, fitted on all rows of the store: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    confidence
        Confidence of the intervals, percentile bootstrap over pairs (2,000 draws).
    seed
        Draws the bootstrap.

    Returns
    -------
    PairSimilarityResult
        Cosine of every pair; with scores Spearman and Pearson correlations with intervals.

    Raises
    ------
    InputError
        A text that the store lacks, a store of paired texts, a pooling or layer that is not stored.

    """
    check_confidence(confidence)
    check_seed(seed)
    check_transform(transform, store.hidden_size)
    first, second = _places(store, pairs)
    names = tuple(store.poolings if poolings is None else poolings)
    cells = [(name, layer) for name in names for layer in _layers(store, name, layers)]
    cosines = [_cosines(Cloud(store, layer, pooling=name, transform=transform), first, second) for name, layer in cells]
    cosine = np.array([values for values, _ in cosines])
    reasons = [reason for _, reason in cosines]
    correlations: dict[str, Floats | None] = dict.fromkeys(_COLUMNS)
    if pairs.scores is not None:
        reasons = [reason or _too_little(values, pairs.scores) for values, reason in cosines]
        correlations = _correlations(cosine, pairs.scores, reasons, confidence, seed)
    return PairSimilarityResult(
        params={
            **{"pairs": pairs.rows.source, "layers": layers, "poolings": names, "transform": transform},
            **{"confidence": confidence, "seed": seed, "resamples": RESAMPLES},
        },
        source={**store.source, "pairs_sha256": pairs.rows.sha256, "n_pairs": len(pairs)},
        poolings=tuple(name for name, _ in cells),
        layers=tuple(layer for _, layer in cells),
        cosine=cosine,
        scores=pairs.scores,
        mean_cosine=cosine.mean(axis=1),
        undefined=tuple(reasons),
        **correlations,
    )


def _layers(store: VectorStore, pooling: str, layers: Sequence[int] | None) -> tuple[int, ...]:
    """Layers of a pooling among those asked for; the pooler, say, has the last alone."""
    if layers is None:
        return store.select_layers(None, pooling=pooling)
    some = [layer for layer in layers if layer in store.layers_of(pooling)]
    return store.select_layers(some or layers, pooling=pooling)


def _places(store: VectorStore, pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the store that hold the first and the second texts."""
    if store.texts is None or store.text_pairs is not None:
        raise InputError("the store holds no single texts; extract the texts of the pairs one by one (pairs.texts)")
    row_of = {text: row for row, text in reversed(list(enumerate(store.texts)))}
    both = pairs.rows.texts, pairs.rows.text_pairs or ()
    for texts in both:
        for row, text in enumerate(texts):
            if text not in row_of:
                raise InputError(
                    f"{pairs.rows.place(row)}: the text {text!r:.60} is not in the store; extract all texts of pairs"
                )
    first, second = (np.array([row_of[text] for text in texts], dtype=np.int64) for texts in both)
    return first, second


def _cosines(cloud: Cloud, first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[Floats, str]:
    """Cosine of every pair, and why it tells nothing."""
    reason = cloud.degenerate
    if reason:
        return np.full(len(first), 1.0 if cloud.is_constant and cloud.transform == "none" else np.nan), reason
    units = np.concatenate(list(cloud.units()))
    return np.clip((units[first] * units[second]).sum(axis=1), -1, 1), ""


def _too_little(cosine: Floats, scores: Floats) -> str:
    if len(scores) < 3:
        return "fewer than three pairs"
    if np.ptp(scores) == 0:
        return "all scores are the same"
    return "all cosines are the same" if np.ptp(cosine) < 1e-12 else ""


def _correlations(
    cosine: Floats, scores: Floats, reasons: Sequence[str], confidence: float, seed: int
) -> dict[str, Floats | None]:
    """Both correlations with their percentile intervals; every cell is resampled with the same draws."""
    from scipy.stats import rankdata

    draws = np.random.default_rng(seed).integers(len(scores), size=(RESAMPLES, len(scores)))
    found = {name: np.full(len(cosine), np.nan) for name in _COLUMNS}
    quantiles = [(1 - confidence) / 2, (1 + confidence) / 2]
    drawn_scores = {"pearson": scores[draws], "spearman": rankdata(scores[draws], axis=1)}
    for i, cosines in enumerate(cosine):
        if reasons[i]:
            continue
        drawn = cosines[draws]
        for name in _CORRELATIONS:
            ranked = name == "spearman"
            plain = (rankdata(cosines), rankdata(scores)) if ranked else (cosines, scores)
            resampled = _pearson(rankdata(drawn, axis=1) if ranked else drawn, drawn_scores[name])
            values = _pearson(*plain), *np.nanquantile(resampled, quantiles)
            for column, value in zip(ends(name), values, strict=True):
                found[column][i] = value
    return {**found}


def _pearson(x: Floats, y: Floats) -> Floats:
    """Correlation along the last axis; NaN where one is constant."""
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    below = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    correlation: Floats = np.clip(ratio((x * y).sum(axis=-1), below), -1, 1)
    return correlation
