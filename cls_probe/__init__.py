"""Measure what is in the [CLS] vector, layer by layer.

The road: rows -> encoder -> vector store -> analysis -> result -> table, plot or report.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "extract": "cls_probe.extraction",
    "self_check": "cls_probe.extraction",
    "VectorStore": "cls_probe.store",
    "read_rows": "cls_probe.data",
    "read_pairs": "cls_probe.data",
    "anisotropy": "cls_probe.analyses.anisotropy",
    "class_gap": "cls_probe.analyses.class_gap",
    "compare_transforms": "cls_probe.analyses.compare_transforms",
    "layer_probe": "cls_probe.analyses.layer_probe",
    "pair_similarity": "cls_probe.analyses.pair_similarity",
    "project": "cls_probe.analyses.project",
    "compare": "cls_probe.comparison",
    "leaks": "cls_probe.leakage",
    "cls_attention": "cls_probe.attention.measure",
    "export": "cls_probe.exchange",
    "import_vectors": "cls_probe.exchange",
    "finetune": "cls_probe.reference.finetune",
    "Recipe": "cls_probe.reference.recipe",
    "classify": "cls_probe.reference.evaluate",
    "load_result": "cls_probe.saved",
    "report": "cls_probe.reporting.report",
    "ClsProbeError": "cls_probe.errors",
}
__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from cls_probe.analyses.anisotropy import anisotropy as anisotropy
    from cls_probe.analyses.class_gap import class_gap as class_gap
    from cls_probe.analyses.compare_transforms import compare_transforms as compare_transforms
    from cls_probe.analyses.layer_probe import layer_probe as layer_probe
    from cls_probe.analyses.pair_similarity import pair_similarity as pair_similarity
    from cls_probe.analyses.project import project as project
    from cls_probe.attention.measure import cls_attention as cls_attention
    from cls_probe.comparison import compare as compare
    from cls_probe.data import read_pairs as read_pairs
    from cls_probe.data import read_rows as read_rows
    from cls_probe.errors import ClsProbeError as ClsProbeError
    from cls_probe.exchange import export as export
    from cls_probe.exchange import import_vectors as import_vectors
    from cls_probe.extraction import extract as extract
    from cls_probe.extraction import self_check as self_check
    from cls_probe.leakage import leaks as leaks
    from cls_probe.reference.evaluate import classify as classify
    from cls_probe.reference.finetune import finetune as finetune
    from cls_probe.reference.recipe import Recipe as Recipe
    from cls_probe.reporting.report import report as report
    from cls_probe.saved import load_result as load_result
    from cls_probe.store import VectorStore as VectorStore


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cls_probe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
