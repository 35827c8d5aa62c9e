"""Reading saved results of any kind."""

import json
from pathlib import Path
from typing import Any

from cls_probe.analyses import ANALYSES
from cls_probe.analyses.pair_similarity import PairSimilarityResult
from cls_probe.attention.result import ClsAttentionResult
from cls_probe.comparison import CompareResult
from cls_probe.errors import InputError
from cls_probe.leakage import LeaksResult
from cls_probe.reference.evaluate import ClassifyResult
from cls_probe.result import Result


def load_result(path: str | Path) -> Result:
    """Read a result of any kind that was saved as JSON; InputError when the file is something else."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        content: Any = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable JSON file ({error})") from error
    kind = content.get("kind") if isinstance(content, dict) else None
    others = (ClassifyResult, ClsAttentionResult, CompareResult, LeaksResult, PairSimilarityResult)
    kinds: tuple[type[Result], ...] = (*(analysis.result for analysis in ANALYSES), *others)
    for result in kinds:
        if result.__name__ == kind:
            return result.from_json(text)
    raise InputError(f"{path}: holds {kind or 'no result'}; expected a result saved with --save")
