"""The commands that give the results of a page again."""

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cls_probe.analyses import ANALYSES
from cls_probe.analyses.compare_transforms import CompareTransformsResult
from cls_probe.analyses.pair_similarity import PairSimilarityResult, pair_similarity
from cls_probe.attention.measure import cls_attention
from cls_probe.attention.result import ClsAttentionResult
from cls_probe.leakage import LeaksResult, leaks
from cls_probe.reference.evaluate import ClassifyResult, classify
from cls_probe.result import Result

_FLAGS = {"c": "-C", "k": "-k", "poolings": "--pooling"}
_ELSEWHERE = {"pairs", "model", "out"}
"""Parameters that the command has as arguments already."""


def command_of(result: Result, store: str) -> str | None:
    """Give the command line that computes a result; None for one that no command gives."""
    call = _call(result, store)
    return None if call is None else shlex.join(["clsprobe", *call[0], *_options(result, call[1])])


def extract_command(source: Mapping[str, Any], store: str, pooling: str) -> str | None:
    """Give the command line that makes the store; None for vectors that came as arrays."""
    if source.get("model") is None or "rows_source" not in source:
        return None
    words = ["extract", source["rows_source"], "-m", source["model"], "--max-length", str(source["max_length"])]
    if source.get("random_weights") is not None:
        words += ["--random-weights", "--seed", str(source["random_weights"])]
    words += ["--pooling", pooling] if pooling != "cls" else []
    return shlex.join(["clsprobe", *words, "-o", store])


def _call(result: Result, store: str) -> tuple[list[str], Callable[..., Result]] | None:
    """Command with its arguments, and the function behind it."""
    source = result.source
    if isinstance(result, PairSimilarityResult):
        return ["pair-similarity", source["model"] or store, str(result.params["pairs"])], pair_similarity
    if isinstance(result, ClassifyResult):
        return ["classify", source["rows"], "--model", result.params["model"]], classify
    if isinstance(result, ClsAttentionResult):
        return ["cls-attention", source["rows_source"], "--model", result.params["model"]], cls_attention
    if isinstance(result, LeaksResult):
        test = ["--test", source["test_rows"]] if result.n_test is not None else []
        return ["leaks", source["rows"], *test], leaks
    for line in ANALYSES:
        if line.result is type(result):
            words = [line.name.replace("_", "-"), store]
            break
    else:
        return None
    if isinstance(result, CompareTransformsResult):
        words = ["anisotropy", store, "--compare-transforms"]
        default = inspect.signature(line.function).parameters["transforms"].default
        return (words, line.function) if tuple(result.transforms) == default else None
    return words, line.function


def _options(result: Result, function: Callable[..., Result]) -> list[str]:
    """Options that differ from the function's defaults."""
    words = []
    for name, parameter in inspect.signature(function).parameters.items():
        value = result.params.get(name, parameter.default)
        value = tuple(value) if isinstance(value, list) else value
        if name not in _ELSEWHERE and value != parameter.default and not _is_everything(name, value, result):
            words += _option(name, value)
    return words


def _is_everything(name: str, value: Any, result: Result) -> bool:
    return name == "layers" and value == tuple(range(result.source.get("n_layers", -2) + 1))


def _option(name: str, value: Any) -> list[str]:
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, Mapping):  # the source of another store
        return [flag, f"STORE-OF-{value.get('rows_source')}"]
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [flag, ",".join(map(str, value)) if is_list else f"{value}"]
