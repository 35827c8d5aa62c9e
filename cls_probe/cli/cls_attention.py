"""From rows to where [CLS] looks."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import (
    column_options,
    confidence_option,
    device_option,
    drawing_options,
    explain_option,
    layers_option,
    max_length_option,
    result_command,
    seed_option,
)

if TYPE_CHECKING:
    from cls_probe.result import Result


def _kind() -> "type[Result]":
    from cls_probe.attention.result import ClsAttentionResult

    return ClsAttentionResult


@click.command()
@click.argument("data", required=False)
@click.option("--text", "texts", multiple=True, help="A text to look at, instead of DATA; may be repeated.")
@click.option(
    "-m", "--model", default="agnews", show_default=True, help="Model folder, hub id or short name; with [CLS]."
)
@column_options(labels=False)
@drawing_options()
@seed_option("Draws the sample.")
@layers_option
@max_length_option
@click.option("--n-words", type=int, default=10, show_default=True, help="Most words to name in each layer.")
@click.option(
    "--min-occurrences", type=int, default=5, show_default=True, help="Least occurrences of a word that is named."
)
@device_option
@confidence_option
@explain_option(_kind)
@result_command
def cls_attention(
    data: str | None,
    texts: tuple[str, ...],
    text_column: str | None,
    text_pair_column: str | None,
    limit: int | None,
    sample: int | None,
    seed: int,
    **options: Any,
) -> "Result":
    """Measure where [CLS] looks, by layer and head.

    DATA is a file of rows, "hub:NAME[:SPLIT]" or "sample". Per layer, from 1: the share of its attention that [CLS]
    pays to itself, to [SEP], to punctuation and to words, with intervals over rows and beside uniform attention; the
    entropy; the words of most mass. Of up to four rows, or texts: the mass of every word, which --plot draws as a map.
    """
    from cls_probe.attention.measure import cls_attention as measure
    from cls_probe.data import read_rows

    if (data is None) == (not texts):
        raise click.UsageError("expected either DATA or --text")
    rows = read_rows(
        list(texts) if data is None else data,
        text_column=text_column,
        text_pair_column=text_pair_column,
        no_labels=True,
        limit=limit,
        sample=sample,
        seed=seed,
    )
    return measure(rows, **options)
