"""Transforms side by side: what of a mean cosine is the work of the mean, and what of a few dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses import geometry
from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.analyses.interval import check_confidence
from cls_probe.analyses.transform import check_transform
from cls_probe.errors import InputError
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, ends, number_or_none, with_interval
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CompareTransformsResult(Result):
    """Mean cosine and rogue dimensions of every layer under every transform; NaN stands for undefined."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    transforms: tuple[str, ...]
    """Transforms compared."""
    mean_cosine: Floats
    """(n_transforms, n_layers) mean cosine over pairs of distinct rows, in [-1, 1]."""
    mean_cosine_low: Floats
    """(n_transforms, n_layers) lower end of its interval."""
    mean_cosine_high: Floats
    """(n_transforms, n_layers) upper end of its interval."""
    rogue_dimension: NDArray[np.int64]
    """(n_transforms, n_layers) dimension with the largest part in the mean cosine; -1 where undefined."""
    rogue_share: Floats
    """(n_transforms, n_layers) that part as a share of the mean cosine."""
    reasons: tuple[str, ...]
    """(n_transforms * n_layers,) why values are undefined, transform by transform; "" where none is."""

    title = "Mean cosine of distinct pairs before and after correction"
    meaning = (
        "What vanishes with center was the work of the mean; what vanishes only with standardize, of a few dimensions "
        "of large variance. share: the largest part of one dimension in the mean cosine; where the mean cosine is "
        "near 0 the parts cancel, and shares are large and mean little."
    )
    documented = (
        LAYER,
        Column(name="transform", meaning="correction, fitted on all rows of the layer", heading="transform"),
        *with_interval(
            "mean_cosine", "mean cosine over pairs of distinct rows, exact", "mean cosine", ".4f", range=(-1, 1)
        ),
        Column(name="rogue_dimension", meaning="dimension with the largest part in it", heading="rogue dim."),
        Column(name="rogue_share", meaning="that part as a share of the mean cosine", heading="share", format=".3f"),
        UNDEFINED,
    )

    def records(self) -> list[Record]:
        """One row for each layer and transform."""
        return [
            {
                "layer": layer,
                "transform": transform,
                **{name: number_or_none(getattr(self, name)[t, i]) for name in (*ends("mean_cosine"), "rogue_share")},
                "rogue_dimension": int(self.rogue_dimension[t, i]) if self.rogue_dimension[t, i] >= 0 else None,
                "undefined": self.reasons[t * len(self.layers) + i],
            }
            for i, layer in enumerate(self.layers)
            for t, transform in enumerate(self.transforms)
        ]

    @property
    def undefined(self) -> tuple[str, ...]:
        """(n_layers,) why the first transform is undefined, "" where it is not."""
        return self.reasons[: len(self.layers)]

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw one curve of mean cosines for each transform."""
        with style():
            figure, axes = panels(ax, 1, width=4.6, height=3.4)
            for number, transform in enumerate(self.transforms):
                values = (getattr(self, end)[number] for end in ends("mean_cosine"))
                curve(axes[0], self.layers, *values, label=transform, number=number)
            layer_axis(axes[0], self.layers, "mean cosine of distinct pairs")
            axes[0].legend()
        return figure


def compare_transforms(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transforms: Sequence[str] = ("none", "center", "standardize"),
    confidence: float = 0.95,
) -> CompareTransformsResult:
    """Measure the mean cosine of every layer under several transforms (as Timkey & van Schijndel 2021 suggest).

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer.
    layers
        States to measure; all by default.
    pooling
        Which vectors of the store.
    transforms
        Corrections to compare, names of :data:`cls_probe.analyses.transform.TRANSFORMS`.
    confidence
        Confidence of the jackknife intervals, given the transform.

    Returns
    -------
    CompareTransformsResult
        Mean cosine with interval, and its most important dimension, by transform and layer.

    Raises
    ------
    InputError
        A transform that does not exist, a layer or pooling that is not stored.

    """
    check_confidence(confidence)
    layers, transforms = store.select_layers(layers, pooling=pooling), tuple(transforms)
    if not transforms:
        raise InputError("no transform was asked for; name some, such as none and center")
    for transform in transforms:
        check_transform(transform, store.hidden_size)
    clouds = [Cloud(store, layer, pooling=pooling, transform=transform) for transform in transforms for layer in layers]
    outcomes = [_one_cloud(cloud, confidence) for cloud in clouds]
    shape = len(transforms), len(layers)
    value, low, high = (np.array([estimate[i] for estimate, *_ in outcomes]).reshape(shape) for i in range(3))
    return CompareTransformsResult(
        params={"layers": layers, "pooling": pooling, "transforms": transforms, "confidence": confidence},
        source=store.source,
        layers=layers,
        transforms=transforms,
        mean_cosine=value,
        mean_cosine_low=low,
        mean_cosine_high=high,
        rogue_dimension=np.array([dimension for _, dimension, _, _ in outcomes], dtype=np.int64).reshape(shape),
        rogue_share=np.array([share for _, _, share, _ in outcomes]).reshape(shape),
        reasons=tuple(reason for *_, reason in outcomes),
    )


def _one_cloud(cloud: Cloud, confidence: float) -> tuple[geometry.Estimate, int, float, str]:
    """Mean cosine, rogue dimension, its share, and why they are undefined."""
    if reason := cloud.degenerate:
        same = reason == SAME and cloud.transform == "none"
        return geometry.Estimate(1.0 if same else np.nan), -1, np.nan, reason
    dimensions, shares = geometry.rogue_dimensions(cloud)
    return geometry.mean_cosine(cloud, confidence), int(dimensions[0]), float(shares[0]), ""
