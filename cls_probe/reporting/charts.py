"""What of a result is drawn on the page, as plain data: curves over layers, and matrices."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cls_probe.analyses.anisotropy_result import AnisotropyResult
from cls_probe.analyses.class_gap_result import ClassGapResult
from cls_probe.analyses.compare_transforms import CompareTransformsResult
from cls_probe.analyses.pair_similarity import PairSimilarityResult
from cls_probe.analyses.probing.result import LayerProbeResult
from cls_probe.attention.result import MEASURES, ClsAttentionResult
from cls_probe.reference.evaluate import ClassifyResult
from cls_probe.result import Result, number_or_none

Chart = dict[str, Any]
_NAMED_CLASSES = 60
"""Matrices of more classes are left to the downloads."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture of curves: columns of a result that share an axis."""

    label: str
    names: tuple[str, ...]
    by: str | None = None
    """Column whose values make a curve each."""
    log: bool = False
    """Logarithmic axis, unless a value is below 0."""


PANELS: dict[type[Result], tuple[Panel, ...]] = {
    LayerProbeResult: (
        Panel(
            label="score on rows not trained on",
            names=("accuracy", "macro_f1", "control_accuracy", "baseline_accuracy", "knn_accuracy"),
        ),
        Panel(label="compression of the labels", names=("compression",)),
        Panel(label="expected calibration error", names=("calibration_error",)),
    ),
    AnisotropyResult: (
        Panel(label="mean cosine of distinct pairs", names=("mean_cosine",)),
        Panel(label="1 - mean cosine", names=("cosine_distance",), log=True),
        Panel(label="share of the mean cosine", names=("rogue_share_1", "rogue_share_2", "rogue_share_3")),
        Panel(label="MEV", names=("mev",)),
        Panel(label="share of the first components", names=("pca_top_share", "pca_top10_share")),
        Panel(label="IsoScore", names=("isoscore",)),
        Panel(label="participation ratio", names=("participation_ratio",)),
        Panel(label="effective rank", names=("effective_rank",)),
        Panel(label="spectral entropy", names=("spectral_entropy",)),
        Panel(label="uniformity", names=("uniformity",)),
        Panel(label="intrinsic dimension (TwoNN)", names=("intrinsic_dimension",)),
        Panel(label="hubness", names=("hubness",)),
        Panel(label="mean norm", names=("norm_mean",)),
    ),
    ClassGapResult: (
        Panel(label="mean cosine", names=("within_cosine", "between_cosine")),
        Panel(label="gap = within - between", names=("gap",), log=True),
        Panel(label="rows nearest to their own centroid", names=("centroid_accuracy",)),
        Panel(label="silhouette", names=("silhouette",)),
        Panel(label="Fisher ratio", names=("fisher_ratio",)),
    ),
    CompareTransformsResult: (Panel(label="mean cosine of distinct pairs", names=("mean_cosine",), by="transform"),),
    PairSimilarityResult: (
        Panel(label="Spearman correlation with human scores", names=("spearman",), by="pooling"),
        Panel(label="mean cosine of the pairs", names=("mean_cosine",), by="pooling"),
    ),
}
"""Kind of result -> its pictures; a picture without a value is left out."""


def charts_of(result: Result) -> list[Chart]:
    """Give the charts of a result; none where its own figure has to do."""
    if isinstance(result, ClsAttentionResult):
        return [_head_map(result)]
    charts = [_curves(result, panel) for panel in PANELS.get(type(result), ())]
    return [chart for chart in charts if chart["curves"]] + list(_class_maps(result))


def _curves(result: Result, panel: Panel) -> Chart:
    records = result.records()
    layers = list(dict.fromkeys(record["layer"] for record in records))
    groups = list(dict.fromkeys(record[panel.by] for record in records)) if panel.by else [None]
    curves: list[dict[str, Any]] = []
    for name, group in itertools.product(panel.names, groups):
        mine = {record["layer"]: record for record in records if panel.by is None or record[panel.by] == group}
        ends = {
            key: [mine.get(layer, {}).get(name + end) for layer in layers]
            for key, end in (("values", ""), ("low", "_low"), ("high", "_high"))
        }
        if any(value is not None for value in ends["values"]):
            curves.append({"name": _heading(result, name) if group is None else group, **ends})
    lines = [{"name": name, "value": value} for name, value in _lines(result, panel)]
    numbers = [v for curve in curves for end in ("values", "low") for v in curve[end] if v is not None]
    log = panel.log and all(value >= 0 for value in numbers)
    label = panel.label + " (log scale)" * log
    return {
        **{"kind": "curves", "label": label, "log": log, "layers": layers},
        **{"curves": curves, "lines": lines},
    }


def _lines(result: Result, panel: Panel) -> Iterator[tuple[str, float]]:
    """Baselines that are one number for all layers."""
    first = panel.names[0]
    if isinstance(result, LayerProbeResult) and first == "accuracy":
        yield "majority class", result.majority_accuracy
        accuracies = () if result.surface_accuracy is None else result.surface_accuracy.tolist()
        yield from zip(result.surface or (), accuracies, strict=True)
    if isinstance(result, AnisotropyResult):
        metric = {"pca_top10_share": None, "norm_mean": None}.get(first, first)
        value = math.nan if metric is None or len(panel.names) > 1 else result.isotropic.get(metric, math.nan)
        if not math.isnan(value):
            yield "isotropic Gaussian", value


def _class_maps(result: Result) -> Iterator[Chart]:
    """Class by class matrices, one a layer where there are layers."""
    if isinstance(result, ClassGapResult):
        defined = [i for i, reason in enumerate(result.undefined) if not reason]
        steps, values = [result.layers[i] for i in defined], result.class_cosine[defined]
        chart = _matrix("mean cosine", result.label_names, steps, values, across="class", down="class")
        start = result.layers[result.best] if result.best is not None else None
    elif isinstance(result, LayerProbeResult):
        counts = result.confusion
        chart = _matrix("rows", result.label_names, result.layers, counts, across="predicted class", down="true class")
        start = result.layers[result.best] if result.best is not None else None
    elif isinstance(result, ClassifyResult) and result.confusion is not None:
        counts, start = result.confusion[None], None
        chart = _matrix("rows", result.label_names, [""], counts, across="predicted class", down="true class")
    else:
        return
    if chart["steps"] and len(result.label_names) <= _NAMED_CLASSES:
        yield {**chart, "start": chart["steps"].index(start) if start in chart["steps"] else len(chart["steps"]) - 1}


def _matrix(label: str, names: Sequence[str], steps: Sequence[Any], values: Any, *, across: str, down: str) -> Chart:
    cells = [[[number_or_none(v) for v in line] for line in matrix] for matrix in values.tolist()]
    return {
        **{"kind": "matrix", "label": label, "step_label": "layer", "steps": list(steps), "values": cells},
        **{"across": list(names), "down": list(names), "across_label": across, "down_label": down},
        "whole": label == "rows",
    }


def _head_map(result: ClsAttentionResult) -> Chart:
    """Give a matrix of layer by head, the mean over heads last, with a step for every measure."""
    n_heads = result.values["entropy"].shape[1] - 1
    return {
        **{"kind": "matrix", "label": "", "step_label": "", "start": 0, "whole": False},
        "steps": [column.heading for column in MEASURES.values()],
        "values": [[list(map(number_or_none, line)) for line in result.values[name].tolist()] for name in MEASURES],
        **{"across": [*map(str, range(n_heads)), "all"], "across_label": "head"},
        **{"down": [str(layer) for layer in result.layers], "down_label": "layer"},
    }


def _heading(result: Result, name: str) -> str:
    heading = next((column.heading for column in result.columns if column.name == name), None)
    return heading or name.replace("_", " ")
