"""A page's summary: sentences made of the numbers of its results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cls_probe.analyses.anisotropy_result import AnisotropyResult
from cls_probe.analyses.class_gap_result import ClassGapResult
from cls_probe.analyses.compare_transforms import CompareTransformsResult
from cls_probe.analyses.pair_similarity import PairSimilarityResult
from cls_probe.analyses.probing.result import LayerProbeResult
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.leakage import LeaksResult
from cls_probe.reference.evaluate import ClassifyResult
from cls_probe.result import Result

_NARROW = 0.1
"""Mean cosine from which the share of a dimension in it means something."""


def sentences(results: Iterable[Result]) -> list[str]:
    """Say what the results found; the layers that are undefined come last, each reason once."""
    results = list(results)
    said = [text for result in results for text in _TELL.get(type(result), _nothing)(result)]
    said += [text for result in results if type(result) in _TELL for text in _undefined(result)]
    return list(dict.fromkeys(said))


def _nothing(result: Result) -> list[str]:
    return []


def _layer_probe(result: LayerProbeResult) -> list[str]:
    if result.best is None:
        return [f"The probe has no defined layer{_because(result.undefined)}."]
    best, i = result.layers[result.best], result.best
    low, high = result.accuracy_low[i], result.accuracy_high[i]
    equal = [result.layers[k] for k in result.equals]
    peak = f"Probe accuracy peaks at layer {best}: {result.accuracy[i]:.3f} [{low:.3f}, {high:.3f}]"
    others = len(result.layers) - sum(map(bool, result.undefined)) - 1
    if equal:
        peak += f"; these {result.n_test:,} rows do not tell it from layer{_s(equal)} {_listed(equal)}"
    elif others > 0:
        peak += ", above every other layer by more than chance explains"
    texts = [peak + ".", _against(result, low, high)]
    if result.selectivity is not None and result.control_accuracy is not None:
        texts.append(
            f"On random labels the same probe reaches {result.control_accuracy[i]:.3f} there, a selectivity of "
            f"{result.selectivity[i]:.3f}."
        )
    if result.baseline_accuracy is not None:
        texts.append(f"With the baseline's weights layer {best} reaches {result.baseline_accuracy[i]:.3f}.")
    return texts


def _against(result: LayerProbeResult, low: float, high: float) -> str:
    """Compare the best layer with what needs no encoder."""
    baselines = {"always saying the largest class": result.majority_accuracy}
    if result.surface is not None and result.surface_accuracy is not None:
        baselines |= dict(zip(result.surface, result.surface_accuracy.tolist(), strict=True))
    name, value = max(baselines.items(), key=lambda item: item[1])
    told = "more than" if value < low else "less than" if value > high else "not clearly apart from"
    return f"That is {told} the best baseline without an encoder, {name}, with {value:.3f}."


def _anisotropy(result: AnisotropyResult) -> list[str]:
    if "mean_cosine" not in result.metrics:
        return []
    defined = np.flatnonzero([not reason or ":" in reason for reason in result.undefined])
    if not defined.size:
        return [f"Anisotropy has no defined layer{_because(result.undefined)}."]
    cosine, layers = result.mean_cosine, result.layers
    least, most = defined[cosine[defined].argmin()], defined[cosine[defined].argmax()]
    ends = f"is {_cosine(cosine[least])} at layer {layers[least]}"
    if least != most:
        ends = f"runs from {ends.removeprefix('is ')} to {_cosine(cosine[most])} at layer {layers[most]}"
    texts = [f"The mean cosine of two rows {ends}; without a preferred direction it would be near 0."]
    return [*texts, *_dominating(result, defined)]


def _dominating(result: AnisotropyResult, defined: Any) -> list[str]:
    """Name the dimension that makes the largest part of a mean cosine."""
    narrow = [i for i in defined if result.mean_cosine[i] >= _NARROW]
    if "rogue_dimensions" not in result.metrics or not narrow:
        return []
    i = max(narrow, key=lambda k: float(np.nan_to_num(result.rogue_share_1[k], nan=-1)))
    return [
        f"Dimension {int(result.rogue_dimension_1[i])} makes {_percent(result.rogue_share_1[i])} of the mean cosine at "
        f"layer {result.layers[i]}, the largest part that one dimension has in any layer."
    ]


def _class_gap(result: ClassGapResult) -> list[str]:
    if result.best is None:
        return [f"The class gap has no defined layer{_because(result.undefined)}."]
    i = result.best
    interval = "" if np.isnan(result.gap_low[i]) else f" [{result.gap_low[i]:.3g}, {result.gap_high[i]:.3g}]"
    chance = "" if result.p_value is None else f", p = {result.p_value[i]:.2g}"
    return [
        f"The class gap is largest at layer {result.layers[i]}: rows of one class have a mean cosine of "
        f"{_cosine(result.within_cosine[i])}, rows of two classes {_cosine(result.between_cosine[i])} (gap "
        f"{result.gap[i]:.3g}{interval}{chance}); {_percent(result.centroid_accuracy[i])} of the rows lie nearest to "
        "the centroid of their own class."
    ]


def _compare_transforms(result: CompareTransformsResult) -> list[str]:
    if not {"none", "center"} <= set(result.transforms):
        return []
    raw, centred = (result.mean_cosine[result.transforms.index(name)] for name in ("none", "center"))
    defined = np.flatnonzero(~np.isnan(raw) & ~np.isnan(centred))
    if not defined.size:
        return []
    i = defined[raw[defined].argmax()]
    return [
        f"Subtracting the mean takes the mean cosine of layer {result.layers[i]} from {_cosine(raw[i])} to "
        f"{_cosine(centred[i])}."
    ]


def _project(result: ProjectResult) -> list[str]:
    shown = result.explained_variance_ratio.sum(axis=1)
    defined = np.flatnonzero(~np.isnan(shown))
    if not defined.size:
        return []
    least, most = defined[shown[defined].argmin()], defined[shown[defined].argmax()]
    ends = _percent(shown[least]) if least == most else f"{_percent(shown[least])} to {_percent(shown[most])}"
    return [f"The plane of the first two principal components shows {ends} of the variance; the rest is not in sight."]


def _classify(result: ClassifyResult) -> list[str]:
    if result.accuracy is None:
        return []
    return [
        f"The classifier {result.source['model']} predicts {result.accuracy:.3f} "
        f"[{result.accuracy_low:.3f}, {result.accuracy_high:.3f}] of {len(result.texts):,} rows right."
    ]


def _pair_similarity(result: PairSimilarityResult) -> list[str]:
    if result.best is None or result.spearman is None:
        return []
    i = result.best
    ends = "" if result.spearman_low is None else f" [{result.spearman_low[i]:.3f}, {result.spearman_high[i]:.3f}]"  # type: ignore[index]
    return [
        f"Cosines agree best with human scores for {result.poolings[i]} of layer {result.layers[i]}: Spearman "
        f"{result.spearman[i]:.3f}{ends}."
    ]


def _leaks(result: LeaksResult) -> list[str]:
    if result.n_test is None:
        return []
    kinds = ("repeat", "normalised_repeat", "near_repeat")
    found = zip(result.leak, result.place, result.row.tolist(), strict=True)
    rows = {row for leak, place, row in found if place == "test in train" and leak in kinds}
    return [f"{len(rows):,} of {result.n_test:,} test rows repeat a train row, exactly or nearly."]


_TELL: Mapping[type[Result], Callable[[Any], Sequence[str]]] = {
    LayerProbeResult: _layer_probe,
    ClassGapResult: _class_gap,
    AnisotropyResult: _anisotropy,
    CompareTransformsResult: _compare_transforms,
    ProjectResult: _project,
    ClassifyResult: _classify,
    PairSimilarityResult: _pair_similarity,
    LeaksResult: _leaks,
}


def _undefined(result: Result) -> list[str]:
    """Name the layers that have no value at all; the reason of a single metric begins with its name and a colon."""
    by_reason: dict[str, list[int]] = {}
    for layer, reason in zip(getattr(result, "layers", ()), getattr(result, "undefined", ()), strict=True):
        if reason and ":" not in reason:
            by_reason.setdefault(reason, []).append(layer)
    return [f"Undefined: layer{_s(of)} {_listed(of)} ({reason})." for reason, of in by_reason.items()]


def _because(reasons: Sequence[str]) -> str:
    return f": {reasons[0]}" if any(reasons) else ""


def _cosine(value: float) -> str:
    """Three places, or as many more as tell it from 1."""
    places = next((places for places in range(3, 8) if f"{abs(value):.{places}f}" != f"{1:.{places}f}"), 3)
    text = f"{value:.{places}f}"
    return text if float(text) else "0.000"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}\N{NO-BREAK SPACE}%" if share < 0.1 else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _listed(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _s(numbers: Sequence[int]) -> str:
    return "s" if len(numbers) > 1 else ""
