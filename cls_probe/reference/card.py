"""The model card that is written beside the weights, from the figures in ``metrics.json``."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from cls_probe.reference.recipe import Recipe

_MATRIX_CLASSES = 20
_CARD = """---
library_name: cls-probe
pipeline_tag: text-classification
---

# {title}

`{base}`, fine-tuned by [CLS] -> linear (256) -> GELU -> linear ({n_classes}) on {n_rows} labelled texts.

## Use

```python
from cls_probe import classify
print(classify(["a text"], model="this folder").table())
```

The encoder alone, with the fine-tuned [CLS]: `transformers.AutoModel.from_pretrained("this folder")`.

## Scores
{scores}
## Recipe

{recipe}

Chosen: {chosen} of {steps} steps, by accuracy on {n_held_out} rows held out of the training rows.

Reproduce:

```sh
{command}
```

Versions: {versions}.
"""


def model_card(metrics: Mapping[str, Any]) -> str:
    """Write the card, in Markdown, of the figures that a fine-tuning ends with."""
    classes: Sequence[str] = metrics["rows"]["classes"]
    recipe = metrics["recipe"]
    return _CARD.format(
        title=f"Classifier of {len(classes)} classes: {', '.join(classes[:8])}",
        base=metrics["base"],
        n_classes=len(classes),
        n_rows=metrics["n_train"],
        scores="".join(_scores(kind, metrics[kind]) for kind in ("test", "held_out") if metrics[kind]),
        recipe=_table(["setting", "value"], [[name, value] for name, value in recipe.items()]),
        chosen=metrics["chosen"],
        steps=metrics["steps"],
        n_held_out=metrics["n_held_out"],
        command=command(metrics),
        versions=", ".join(f"{name} {number}" for name, number in metrics["versions"].items()),
    )


def command(metrics: Mapping[str, Any]) -> str:
    """Give the command line that repeats a fine-tuning."""
    words = ["clsprobe", "finetune", _quoted(metrics["base"]), _quoted(metrics["rows"]["source"])]
    if metrics["eval_rows"]:
        words += ["--eval", _quoted(metrics["eval_rows"]["source"])]
    words += ["-o", "DIR"]
    for field in fields(Recipe):
        value = metrics["recipe"][field.name]
        if value != field.default:
            words += [f"--{field.name.replace('_', '-')}", *([] if value is True else [f"{value:g}"])]
    return " ".join(words)


def _scores(kind: str, scores: Mapping[str, Any]) -> str:
    rows = "test rows" if kind == "test" else "held-out rows, which chose the checkpoint"
    by_class = [
        [name, *(f"{_number(scores[score][i])}" for score in ("precision", "recall", "f1"))]
        for i, name in enumerate(scores["classes"])
    ]
    text = (
        f"\n### {scores['n_rows']} {rows}\n\n"
        f"Accuracy **{scores['accuracy']:.4f}** (95 % interval {scores['accuracy_low']:.4f} to "
        f"{scores['accuracy_high']:.4f}), macro-F1 {scores['macro_f1']:.4f}, "
        f"expected calibration error {scores['calibration_error']:.4f} (15 equal-width bins).\n\n"
        + _table(["class", "precision", "recall", "F1"], by_class)
        + "\n"
    )
    if len(scores["classes"]) > _MATRIX_CLASSES:
        return text
    matrix = [[name, *row] for name, row in zip(scores["classes"], scores["confusion"], strict=True)]
    return text + "\n" + _table(["true, down; predicted, across", *scores["classes"]], matrix) + "\n"


def _table(headings: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    lines = [headings, ["---"] * len(headings), *cells]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)
