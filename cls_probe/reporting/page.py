"""One page of results: everything inlined, nothing loaded, texts and labels inert."""

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cls_probe.analyses.anisotropy_result import AnisotropyResult
from cls_probe.analyses.class_gap_result import ClassGapResult
from cls_probe.analyses.probing.result import LayerProbeResult
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.plotting import style
from cls_probe.reporting.charts import charts_of
from cls_probe.reporting.commands import command_of, extract_command
from cls_probe.reporting.facts import facts, name_of, origin
from cls_probe.reporting.points import Shown, points_of
from cls_probe.reporting.summary import sentences
from cls_probe.result import Result, cell
from cls_probe.store import VectorStore

DOWNLOAD_BYTES = 1_000_000
"""What the CSV and JSON of one result may take together to be put into the page."""
_HERE = Path(__file__).parent
_SCRIPTS = ("vendor/echarts.min.js", "charts.js", "map.js", "page.js")
_ORDER: tuple[type[Result], ...] = (LayerProbeResult, ClassGapResult, ProjectResult, AnisotropyResult)
"""Kinds that come first on the page."""


def page(
    results: Sequence[Result],
    *,
    title: str | None = None,
    store: VectorStore | None = None,
    store_name: str = "STORE",
    left_out: Sequence[str] = (),
) -> str:
    """Make the page of these results as one HTML text; the same results give the same text.

    `store` adds texts, class sizes and truncation, `store_name` stands for it in the commands, and `left_out` says
    what is missing and why.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    results = sorted(results, key=lambda r: _ORDER.index(type(r)) if type(r) in _ORDER else len(_ORDER))
    shown = points_of(results, store)
    origins = {origin(result): result for result in results}
    data: dict[str, Any] = {
        "charts": [charts_of(result) for result in results],
        "downloads": [_download(result, shown) for result in results],
        "points": None if shown is None else shown.points,
    }
    scripts = [(_HERE / name).read_text(encoding="utf-8").strip() for name in _SCRIPTS]
    scripts = [scripts[0], "\n".join(scripts[1:])]
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("template.html").render(
        title=title or f"{name_of(results[0].source)}: what is in the vectors, layer by layer",
        policy=_policy(scripts),
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        data=Markup(inert(data)),
        sentences=sentences(results),
        left_out=left_out,
        facts=[(name_of(one.source), facts(one.source, results, store)) for one in origins.values()],
        sections=[
            _section(
                *(i, result, data["charts"][i], data["downloads"][i], store_name),
                several=len(origins) > 1,
                is_map=shown is not None and result is shown.result,
            )
            for i, result in enumerate(results)
        ],
        map_notes=[] if shown is None else shown.notes,
        commands=list(dict.fromkeys(_commands(results, store_name))),
        version=version("cls-probe"),
    )


def inert(value: Any) -> str:
    """Give JSON that no HTML parser can take for markup, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: Iterable[str]) -> str:
    """Content security policy: nothing is loaded, and no script runs but these."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _section(
    i: int, result: Result, charts: Any, download: Any, store_name: str, *, several: bool, is_map: bool
) -> dict[str, Any]:
    plain = [note for note in result.notes() if note.strip() and "\n" not in note and "  " not in note]
    return {
        "id": f"result-{i}",
        "number": i,
        "name": _kind(result).replace("_", " ").capitalize(),
        "title": result.title,
        "of": name_of(result.source) if several else "",
        "meaning": result.meaning,
        "notes": [note for note in plain if note != result.meaning],
        "tables": "\n".join(note for note in result.notes() if "\n" in note or "  " in note),
        "table": _table(result),
        "star": result.star if result.best is not None else "",
        "equals": bool(result.equals),
        "is_map": is_map,
        "figure": None if charts or isinstance(result, ProjectResult) else _figure(result),
        "downloads": [] if download is None else [key for key in ("csv", "json") if download.get(key)],
        "definitions": [column for column in result.columns if not column.name.endswith(("_low", "_high"))],
        "command": command_of(result, store_name),
    }


def _kind(result: Result) -> str:
    """LayerProbeResult -> layer_probe."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(result).__name__.removesuffix("Result")).lower()


def _table(result: Result) -> dict[str, Any]:
    columns, records = result.summary()
    shown = [column for column in columns if column.heading is not None]
    marks = {i: "=" for i in result.equals} | ({} if result.best is None else {result.best: "*"})
    return {
        "headings": [(column.heading, column.meaning) for column in shown],
        "rows": [
            (marks.get(i, ""), [(cell(column, record), _sorting(record[column.name])) for column in shown])
            for i, record in enumerate(records)
        ],
    }


def _sorting(value: Any) -> str:
    """Give what a cell is sorted by: a number in full, empty for undefined."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _figure(result: Result) -> str:
    """Draw a result that has no chart of its own as a picture for an image element."""
    out = io.BytesIO()
    with style():
        result.plot().savefig(out, format="png", dpi=130)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"


def _download(result: Result, shown: Shown | None) -> dict[str, Any] | None:
    """Give the CSV and JSON of a result; of a projection what its coordinates on the page lack; None when too large."""
    name = _kind(result)
    if shown is not None and result is shown.result and shown.is_whole:
        content = json.loads(result.to_json())
        rest = {key: value for key, value in content.items() if key not in ("coordinates", "labels")}
        columns = [column.name for column in result.columns]
        measures = [{"method": m, **shown.result.measures(i)} for i, m in enumerate(shown.result.methods)]
        found = {"rest": rest, "columns": columns, "measures": measures}
        return {"name": name, "csv": True, "json": True, "map": 0, **found}
    texts = {"csv": result.to_csv(), "json": result.to_json()}
    too_large = sum(map(len, texts.values())) > DOWNLOAD_BYTES
    return None if too_large else {"name": name, **texts}


def _commands(results: Sequence[Result], store_name: str) -> Iterable[str]:
    """Everything in the order in which it is run."""
    for result in results:
        if "pooling" in result.params:  # an analysis of a store
            made = extract_command(result.source, store_name, result.params["pooling"])
            yield from () if made is None else (made,)
    yield from filter(None, (command_of(result, store_name) for result in results))
