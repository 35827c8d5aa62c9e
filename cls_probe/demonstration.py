"""The whole road on the bundled sample: rows, store, every analysis, files to look at."""

from pathlib import Path

from cls_probe.analyses import ANALYSES
from cls_probe.data import SAMPLE
from cls_probe.errors import InputError
from cls_probe.extraction import DEFAULT_MODEL, extract
from cls_probe.plotting import save_figure
from cls_probe.result import Result
from cls_probe.store import VectorStore


def demo(
    *, out: str | Path, model: str | Path = DEFAULT_MODEL, overwrite: bool = False, progress: bool | None = None
) -> tuple[VectorStore, list[Result]]:
    """Extract the bundled sample and run every analysis on it.

    Writes into the folder `out`: the store, and for every analysis NAME.json, NAME.csv and NAME.png. Returns the
    store and the results in the order of the table of analyses. Raises what :func:`cls_probe.extract` raises.
    """
    out = Path(out)
    store = extract(SAMPLE, model=model, out=out / "store", overwrite=overwrite, progress=progress)
    results = []
    for analysis in ANALYSES:
        result = analysis.function(store)
        try:
            (out / f"{analysis.name}.json").write_text(result.to_json(), encoding="utf-8")
            (out / f"{analysis.name}.csv").write_text(result.to_csv(), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out}: results cannot be written ({error.strerror or error})") from error
        save_figure(result.plot(), out / f"{analysis.name}.png")
        results.append(result)
    return store, results
