"""From rows to where [CLS] looks."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import confidence_option, explain_option, layers_option, result_command

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
@click.option("--text-column", help="Column of texts.  [default: text, sentence or content]")
@click.option("--text-pair-column", help="Column of second texts, encoded with the first.")
@click.option("--limit", type=int, help="Keep the first N rows.")
@click.option("--sample", type=int, help="Keep N rows drawn without replacement, in their order.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the sample.")
@layers_option
@click.option("--max-length", type=int, help="Tokens at which texts are cut.  [default: the model's limit]")
@click.option("--n-words", type=int, default=10, show_default=True, help="Most words to name in each layer.")
@click.option(
    "--min-occurrences", type=int, default=5, show_default=True, help="Least occurrences of a word that is named."
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda[:i] or mps.")
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
