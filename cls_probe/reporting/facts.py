"""What was measured on what: the origin of results, for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cls_probe.analyses.class_gap_result import ClassGapResult
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.result import Result
from cls_probe.store import VectorStore
from cls_probe.store.describe import class_sizes

Source = Mapping[str, Any]
_SHOWN_CLASSES = 12
_PLAIN = (
    ("revision", "model revision"),
    ("weights_sha256", "weights, SHA-256"),
    ("rows_sha256", "rows, SHA-256"),
    ("test_rows", "test rows"),
    ("test_rows_sha256", "test rows, SHA-256"),
    ("pairs_sha256", "pairs, SHA-256"),
    ("hidden_size", "width of a vector"),
)


def origin(result: Result) -> tuple[Any, ...]:
    """Model and rows of a result: what makes two results comparable."""
    keys = ("model", "weights_sha256", "rows_sha256", "n_rows", "test_rows_sha256")
    return tuple(result.source.get(key) for key in keys)


def name_of(source: Source) -> str:
    """Name model and rows in a few words."""
    rows = Path(str(_rows(source))).name
    if source.get("model") is None:
        return "Arrays" if rows in ("arrays", "None") else rows
    weights = " with random weights" if source.get("random_weights") is not None else ""
    return f"{source['model']}{weights} on {rows}"


def facts(source: Source, results: Sequence[Result], store: VectorStore | None) -> list[tuple[str, str]]:
    """Give pairs of a name and what is known of it, for the results of one origin."""
    mine = [result for result in results if result.source == source]
    own = store if store is not None and store.source == source else None
    seed, rows = source.get("random_weights"), _rows(source)
    pairs = [
        ("model", None if source.get("model") is None else str(source["model"])),
        ("weights", None if seed is None else f"drawn at random, seed {seed}"),
        ("rows", None if rows is None else f"{source['n_rows']:,} from {rows}" if "n_rows" in source else str(rows)),
        ("classes", _classes(mine, own)),
        ("truncation", _truncation(source, own)),
        ("layers", _layers(source)),
        *((name, str(source[key]) if source.get(key) else None) for key, name in _PLAIN),
        ("made with", ", ".join(f"{name} {number}" for name, number in source.get("versions", {}).items()) or None),
    ]
    return [(name, value) for name, value in pairs if value is not None]


def _rows(source: Source) -> str | None:
    rows: str | None = source.get("rows_source", source.get("rows"))
    return rows


def _layers(source: Source) -> str | None:
    n_layers = source.get("n_layers")
    return None if n_layers is None else f"0 (embedding output) to {n_layers}"


def _truncation(source: Source, store: VectorStore | None) -> str | None:
    if not source.get("max_length"):
        return None
    limit = f"at {source['max_length']} tokens"
    if store is None or store.truncated is None:
        return limit
    count = int(store.truncated.sum())
    return f"{limit}: {count:,} of {store.n_rows:,} rows ({count / store.n_rows:.1%}) were cut"


def _classes(results: Sequence[Result], store: VectorStore | None) -> str | None:
    sizes = _sizes(results, store)
    return None if sizes is None else class_sizes(sizes, _SHOWN_CLASSES)


def _sizes(results: Sequence[Result], store: VectorStore | None) -> dict[str, int] | None:
    """Class -> number of its rows, from whoever knows."""
    known = [(store.labels, store.label_names)] if store is not None else []
    known += [(result.labels, result.label_names) for result in results if isinstance(result, ProjectResult)]
    for labels, names in known:
        if labels is not None:
            counts = Counter(labels)
            return {name: counts[name] for name in names}
    for result in results:
        if isinstance(result, ClassGapResult):
            return dict(zip(result.label_names, result.class_sizes.tolist(), strict=True))
    return None
