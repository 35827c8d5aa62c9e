"""The analyses and the one table of them."""

from collections.abc import Callable
from dataclasses import dataclass

from cls_probe.analyses.anisotropy import anisotropy
from cls_probe.analyses.anisotropy_result import AnisotropyResult
from cls_probe.analyses.class_gap import ClassGapResult, class_gap
from cls_probe.analyses.compare_transforms import CompareTransformsResult, compare_transforms
from cls_probe.analyses.layer_probe import LayerProbeResult, layer_probe
from cls_probe.analyses.project import project
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.result import Result

__all__ = ["ANALYSES", "Analysis"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One line of the table: a function of a store, its result, and what it needs."""

    name: str
    function: Callable[..., Result]
    result: type[Result]
    needs_labels: bool = False


ANALYSES = (
    Analysis(name="anisotropy", function=anisotropy, result=AnisotropyResult),
    Analysis(name="compare_transforms", function=compare_transforms, result=CompareTransformsResult),
    Analysis(name="class_gap", function=class_gap, result=ClassGapResult, needs_labels=True),
    Analysis(name="layer_probe", function=layer_probe, result=LayerProbeResult, needs_labels=True),
    Analysis(name="project", function=project, result=ProjectResult),
)
