"""The report: a store or saved results in, one HTML file out."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from cls_probe.analyses import ANALYSES, Analysis
from cls_probe.errors import ClsProbeError, InputError
from cls_probe.reporting.page import page
from cls_probe.result import Result
from cls_probe.saved import load_result
from cls_probe.store import VectorStore
from cls_probe.store.remote import Remote

_log = logging.getLogger("cls_probe")
Source: TypeAlias = VectorStore | Result | str | Path


def report(
    sources: Source | Iterable[Source],
    *,
    out: str | Path,
    title: str | None = None,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
) -> Path:
    """Write one self-contained HTML page of a store, of saved results, or of both.

    Parameters
    ----------
    sources
        A store or its folder, results or files that hold them, or a list of these with one store at most. Results
        are shown as they are. With a store, every analysis that the results do not hold already is run on it, the
        ones that need labels where there are labels, and the page shows the texts.
    out
        File to write; what it held is replaced.
    title
        Heading of the page; by default it names model and rows.
    layers
        Layers of the store to analyse; all by default.
    pooling
        Which vectors of the store.

    Returns
    -------
    Path
        The file. It needs no network, and the same sources give the same bytes.

    Raises
    ------
    InputError
        Nothing to show, a file that holds no result, a layer or pooling that is not stored, a place that cannot be
        written to.
    StoreError
        A folder that is no finished store.

    """
    out = _check_out(Path(out))
    store, results = _opened([sources] if isinstance(sources, VectorStore | Result | str | Path) else sources)
    left_out: list[str] = []
    if store is not None:
        layers = store.select_layers(layers, pooling=pooling)
        found, left_out = _analysed(store, _missing(store, results), layers, pooling)
        results += found
    if not results:
        raise InputError(f"nothing to report: {'; '.join(left_out) or 'no store and no result came'}")
    named = str(store.folder) if store is not None and store.folder is not None else "STORE"
    text = page(results, title=title, store=store, store_name=named, left_out=left_out)
    try:
        out.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from error
    return out


def _opened(sources: Iterable[Source]) -> tuple[VectorStore | None, list[Result]]:
    stores: list[VectorStore] = []
    results: list[Result] = []
    for source in sources:
        if isinstance(source, str | Path):
            path = Path(source)
            remote = Remote.at(source)
            if not remote and not path.exists():
                raise InputError(f"{path}: no such file or folder; expected a store or a result saved with --save")
            source = VectorStore.open(source) if remote or path.is_dir() else load_result(path)
        (stores if isinstance(source, VectorStore) else results).append(source)  # type: ignore[arg-type]
    if len(stores) > 1:
        raise InputError(f"{len(stores)} stores; expected one at most: save the results of the others with --save")
    return (stores[0] if stores else None), results


def _missing(store: VectorStore, results: Sequence[Result]) -> list[Analysis]:
    """Give the analyses that the store allows and no result holds; of projections PCA is meant."""
    held = {type(r) for r in results if r.source == store.source and r.params.get("method", "pca") == "pca"}
    return [a for a in ANALYSES if a.result not in held and (store.labels is not None or not a.needs_labels)]


def _analysed(
    store: VectorStore, analyses: Sequence[Analysis], layers: Sequence[int], pooling: str
) -> tuple[list[Result], list[str]]:
    """Run analyses; one that the rows do not allow is left out with the reason."""
    results, left_out = [], []
    for number, analysis in enumerate(analyses, 1):
        _log.info("%s (%d of %d)", analysis.name, number, len(analyses))
        try:
            results.append(analysis.function(store, layers=layers, pooling=pooling))
        except ClsProbeError as error:
            left_out.append(f"{analysis.name}: {error}")
            _log.warning("left out: %s", left_out[-1])
    return results, left_out


def _check_out(out: Path) -> Path:
    """Find out before the work that the file cannot be written."""
    if not out.parent.is_dir():
        raise InputError(f"{out.parent}: no such folder; make it first")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; expected a file name")
    return out
