"""From labelled rows to a classifier."""

from pathlib import Path
from typing import Any

import click

from cls_probe.cli.options import column_options
from cls_probe.reference.recipe import Recipe


@click.command()
@click.argument("base")
@click.argument("data")
@click.option("--eval", "eval_data", metavar="DATA2", help="Labelled test rows, measured once, at the end.")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="New folder of the classifier."
)
@column_options(labels=False)
@click.option("--label-column", help="Column of labels.  [default: label, class or category]")
@click.option("--limit", type=int, help="Train on the first N rows of DATA.")
@click.option("--sample", type=int, help="Train on N rows of DATA drawn without replacement.")
@click.option("--epochs", type=float, default=Recipe.epochs, show_default=True, help="Passes over the training rows.")
@click.option("--batch-size", type=int, default=Recipe.batch_size, show_default=True, help="Rows of a step.")
@click.option("--lr", type=float, default=Recipe.lr, show_default=True, help="Peak learning rate of the last layer.")
@click.option(
    "--head-lr", type=float, default=Recipe.head_lr, show_default=True, help="Peak learning rate of the head."
)
@click.option(
    "--layer-decay",
    type=float,
    default=Recipe.layer_decay,
    show_default=True,
    help="Learning rate of a layer as a share of that of the layer above.",
)
@click.option(
    "--warmup", type=float, default=Recipe.warmup, show_default=True, help="Share of steps in which the rates rise."
)
@click.option("--weight-decay", type=float, default=Recipe.weight_decay, show_default=True, help="AdamW's.")
@click.option(
    "--label-smoothing",
    type=float,
    default=Recipe.label_smoothing,
    show_default=True,
    help="Probability spread over all classes.",
)
@click.option("--dropout", type=float, default=Recipe.dropout, show_default=True, help="Dropout of the head.")
@click.option(
    "--average", type=int, default=Recipe.average, show_default=True, help="Try the mean of the last N checkpoints too."
)
@click.option(
    "--max-length", type=int, default=Recipe.max_length, show_default=True, help="Tokens at which texts are cut."
)
@click.option(
    "--held-out",
    type=float,
    default=Recipe.held_out,
    show_default=True,
    help="Share of DATA that chooses the checkpoint.",
)
@click.option("--bf16", is_flag=True, help="Train with bfloat16 autocast.")
@click.option("--float16", is_flag=True, help="Store the weights as float16, in half the space.")
@click.option(
    "--seed", type=int, default=Recipe.seed, show_default=True, help="Of weights, order, dropout, sample, split."
)
def finetune(base: str, data: str, eval_data: str | None, out: Path, **options: Any) -> None:
    """Fine-tune an encoder into a [CLS] classifier.

    BASE is a model folder, a hub id or a short name; DATA and DATA2 are files of labelled rows, or
    "hub:NAME[:SPLIT]". DIR gets the weights, the tokenizer, a model card and metrics.json, and serves as --model
    of extract and classify.

    A killed run goes on from its last checkpoint when the same command is run again. On several GPUs: torchrun
    --nproc-per-node=N -m cls_probe finetune ...
    """
    from cls_probe.data import read_rows
    from cls_probe.reference.finetune import finetune as run

    columns = {name: options.pop(name) for name in ("text_column", "text_pair_column", "label_column")}
    drawing = {name: options.pop(name) for name in ("limit", "sample")}
    rows = read_rows(data, **columns, **drawing, seed=options["seed"])
    eval_rows = None if eval_data is None else read_rows(eval_data, **columns)
    result = run(rows, base=base, out=out, eval_rows=eval_rows, recipe=Recipe(**options))
    click.echo(f"{'model':<18} {result.folder}")
    click.echo(f"{'held-out accuracy':<18} {result.held_out_accuracy:.4f}")
    if result.test_accuracy is not None:
        click.echo(f"{'test accuracy':<18} {result.test_accuracy:.4f}")
