"""From rows to predicted classes."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import column_options, confidence_option, device_option, result_command

if TYPE_CHECKING:
    from cls_probe.result import Result


@click.command()
@click.argument("data", required=False)
@click.option("--text", "texts", multiple=True, help="A text to classify, instead of DATA; may be repeated.")
@click.option("-m", "--model", default="agnews", show_default=True, help="Folder made by finetune, hub id, or agnews.")
@column_options()
@click.option("--limit", type=int, help="Keep the first N rows.")
@click.option("--batch-size", type=int, default=64, show_default=True, help="Texts in a batch.")
@device_option
@confidence_option
@result_command
def classify(
    data: str | None,
    texts: tuple[str, ...],
    model: str,
    batch_size: int,
    device: str,
    confidence: float,
    **reading: Any,
) -> "Result":
    """Predict the class of every row by its [CLS] vector.

    DATA is a file of rows, "hub:NAME[:SPLIT]" or "sample". With labels: accuracy with its Wilson interval,
    macro-F1, precision, recall and F1 of every class, confusion matrix, expected calibration error.
    """
    from cls_probe.data import read_rows
    from cls_probe.reference.evaluate import classify as run

    if (data is None) == (not texts):
        raise click.UsageError("expected either DATA or --text")
    rows = read_rows(list(texts) if data is None else data, **reading)
    return run(rows, model=model, batch_size=batch_size, device=device, confidence=confidence)
