"""The analyses and the one table of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cls_probe.analyses.anisotropy import AnisotropyResult, anisotropy
from cls_probe.analyses.class_gap import ClassGapResult, class_gap
from cls_probe.analyses.layer_probe import LayerProbeResult, layer_probe
from cls_probe.analyses.project import ProjectResult, project
from cls_probe.errors import InputError
from cls_probe.result import Result

__all__ = ["ANALYSES", "Analysis", "load_result"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One line of the table: a function of a store, its result, and what it needs."""

    name: str
    function: Callable[..., Result]
    result: type[Result]
    needs_labels: bool = False


ANALYSES = (
    Analysis(name="anisotropy", function=anisotropy, result=AnisotropyResult),
    Analysis(name="class_gap", function=class_gap, result=ClassGapResult, needs_labels=True),
    Analysis(name="layer_probe", function=layer_probe, result=LayerProbeResult, needs_labels=True),
    Analysis(name="project", function=project, result=ProjectResult),
)


def load_result(path: str | Path) -> Result:
    """Read a result of any kind that was saved as JSON; InputError when the file is something else."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        content: Any = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable JSON file ({error})") from error
    kind = content.get("kind") if isinstance(content, dict) else None
    for analysis in ANALYSES:
        if analysis.result.__name__ == kind:
            return analysis.result.from_json(text)
    raise InputError(f"{path}: holds {kind or 'no result'}; expected a result saved with --save")
