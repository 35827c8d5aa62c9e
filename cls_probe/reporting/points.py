"""The map of rows: coordinates, classes and texts of a page, each stored once and compactly."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.result import LayerProbeResult
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.reference.evaluate import ClassifyResult
from cls_probe.result import Result
from cls_probe.store import VectorStore

MOST_POINTS = 10_000
"""Rows that a map shows at most; of more it shows so many, drawn at random."""
TEXT_BYTES = 3_000_000
"""What the texts of a map may take together before they are cut."""
_CUTS = (2000, 1000, 500, 300, 200, 100, 50)
Points = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Points of a page and what must be said of them."""

    points: Points
    notes: list[str]
    result: ProjectResult
    """The first projection, whose section the map stands in."""

    @property
    def is_whole(self) -> bool:
        """Whether the points hold all of that projection and no other, so that its download can be made of them."""
        return len(self.points["maps"]) == 1 and self.points["n_rows"] == len(self.result.rows)


def points_of(results: Sequence[Result], store: VectorStore | None) -> Shown | None:
    """Gather the projections of the first one's rows, with texts and predictions where they are known."""
    maps = [result for result in results if isinstance(result, ProjectResult)]
    if not maps:
        return None
    first = maps[0]
    maps = [other for other in maps if _same_rows(other.source, first.source) and _same_points(other, first)]
    n_rows, n_points = first.source["n_rows"], len(first.rows)
    points_shown = list(range(n_points))
    if n_points > MOST_POINTS:
        points_shown = sorted(np.random.default_rng(0).choice(n_points, MOST_POINTS, replace=False).tolist())
    rows = first.rows[points_shown].tolist()
    notes = []
    if len(rows) < n_rows:
        notes.append(f"The map shows {len(rows):,} of {n_rows:,} rows, drawn at random.")
    classifier = next(
        (r for r in results if isinstance(r, ClassifyResult) and _same_rows(r.source, first.source)), None
    )
    texts = _texts(store, classifier, first)
    if texts is not None:
        texts, cut = _short([texts[row] for row in rows])
        notes += [f"Texts are cut at {cut} characters, here and in the search."] if cut else []
    else:
        notes.append("The texts are not in the saved results; name the store too, and the map shows them.")
    points: Points = {
        "rows": rows if len(rows) < n_rows else None,
        "n_rows": len(rows),
        "texts": texts,
        "names": list(first.label_names),
        "classes": _codes(first.labels, first.label_names, points_shown),
        "maps": [_map(result, method, points_shown) for result in maps for method in dict.fromkeys(result.methods)],
        "predicted": None,
        "wrong": _wrong(results, first, rows),
    }
    if classifier is not None:
        points["predicted"] = [classifier.predicted[row] for row in rows]
    return Shown(points=points, notes=notes, result=first)


def _same_rows(one: Any, other: Any) -> bool:
    """Tell by checksum whether two sources are of the same rows; arrays have none and must agree in all."""
    if one.get("rows_sha256") is None:
        return bool(one == other)
    return bool(one["rows_sha256"] == other.get("rows_sha256"))


def _wrong(results: Sequence[Result], projection: ProjectResult, rows: Sequence[int]) -> dict[int, list[int]] | None:
    """Give the points that the layer probe predicts wrong, by layer; None when no probe predicted these rows."""
    place = {row: point for point, row in enumerate(rows)}
    for probe in results:
        if isinstance(probe, LayerProbeResult) and probe.source == projection.source and not probe.params["test"]:
            wrong = zip(probe.layers, probe.wrong, strict=True)
            return {layer: [place[row] for row in numbers if row in place] for layer, numbers in wrong}
    return None


def _same_points(one: ProjectResult, other: ProjectResult) -> bool:
    return np.array_equal(one.rows, other.rows)


def _texts(
    store: VectorStore | None, classifier: ClassifyResult | None, projection: ProjectResult
) -> Sequence[str] | None:
    if store is not None and _same_rows(store.source, projection.source) and store.texts is not None:
        if store.text_pairs is None:
            return store.texts
        return [f"{a} [SEP] {b}" for a, b in zip(store.texts, store.text_pairs, strict=True)]
    return None if classifier is None else classifier.texts


def _short(texts: Sequence[str]) -> tuple[list[str], int | None]:
    """Cut the texts so that all of them fit; give the length too, None when nothing was cut."""
    whole = max(map(len, texts), default=0)
    for cut in (whole, *(cut for cut in _CUTS if cut < whole)):
        short = [text if len(text) <= cut else text[:cut] + "…" for text in texts]
        if sum(len(text.encode("utf-8", "replace")) for text in short) <= TEXT_BYTES:
            break
    return short, cut if cut < whole else None


def _codes(labels: Sequence[str] | None, names: Sequence[str], rows: Sequence[int]) -> str | None:
    if labels is None:
        return None
    number = {name: code for code, name in enumerate(names)}
    return _packed(np.array([number[labels[row]] for row in rows], dtype="<u2"))


def _map(result: ProjectResult, method: str, points: Sequence[int]) -> dict[str, Any]:
    """Give the pictures of one method, layer by layer."""
    pictures = [i for i, name in enumerate(result.methods) if name == method]
    transform = result.params.get("transform", "none")
    return {
        "name": method.upper() if transform == "none" else f"{method.upper()}, {transform}",
        "layers": [result.layers[i] for i in pictures],
        "undefined": [result.undefined[i] for i in pictures],
        "axes": [_axes(result, method.upper(), i) for i in pictures],
        "xy": _packed(result.coordinates[np.ix_(pictures, points)].astype("<f4")),
    }


def _axes(result: ProjectResult, method: str, i: int) -> tuple[str, str]:
    ratio = result.explained_variance_ratio[i]
    if np.isnan(ratio).any():
        return f"{method} 1", f"{method} 2"
    return f"PC1 ({ratio[0]:.1%} of variance)", f"PC2 ({ratio[1]:.1%})"


def _packed(array: NDArray[Any]) -> str:
    """Little-endian bytes of an array as base64."""
    return base64.b64encode(array.tobytes()).decode("ascii")
