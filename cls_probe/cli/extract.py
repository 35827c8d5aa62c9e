"""From rows to a store."""

import time
from typing import Any

import click

from cls_probe.cli.options import (
    column_options,
    device_option,
    drawing_options,
    layers_option,
    max_length_option,
    seed_option,
    split_names,
)

_CHECKED = (
    *("text_column", "text_pair_column", "label_column", "no_labels", "limit", "sample"),
    *("pooling", "specials", "max_length", "device", "dtype"),
)
"""Options that a self-check has too."""


@click.command()
@click.argument("data")
@click.option("-m", "--model", help="Model folder, hub id or short name.  [default: agnews]")
@click.option(
    "-o",
    "--out",
    help="Folder of the store, or a URL such as s3://...  [default: one in the cache, by fingerprint]",
)
@column_options()
@drawing_options()
@click.option("--random-weights", is_flag=True, help="Draw the weights at random: a baseline without training.")
@seed_option("Draws the sample and the random weights.")
@layers_option
@click.option(
    "--pooling",
    default="cls",
    show_default=True,
    callback=split_names,
    metavar="NAME,...",
    help="Vectors to store: cls, mean, max, last, attention, pooler.",
)
@click.option(
    "--specials/--no-specials",
    default=True,
    show_default=True,
    help="Count [CLS], [SEP] and the like in mean and max.",
)
@max_length_option
@click.option(
    "--on-truncate",
    type=click.Choice(["warn", "error", "keep"]),
    default="warn",
    show_default=True,
    help="When texts are longer: say so, refuse before the work, or say nothing.",
)
@device_option
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float16", "bfloat16"]),
    default="float32",
    show_default=True,
    help="Number format of the computation.",
)
@click.option(
    "--store-dtype",
    type=click.Choice(["float32", "float16"]),
    default="float32",
    show_default=True,
    help="Number format on disk.",
)
@click.option("--part-size", type=int, default=4096, show_default=True, help="Rows of a part, the unit of resuming.")
@click.option(
    "--resume/--overwrite",
    "resume",
    default=True,
    show_default=True,
    help="Go on with an unfinished store of the same kind, or replace whatever store is there.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Compute here, or on workers of Ray.",
)
@click.option("--address", help="Of a Ray cluster, such as auto.  [default: one is started here]")
@click.option("--workers", type=int, help="Workers on Ray; each takes a core, or a GPU.  [default: 2]")
@click.option("--check-only", is_flag=True, help="Compare a few rows alone and in a padded batch, and write nothing.")
def extract(
    data: str, model: str | None, random_weights: bool, resume: bool, check_only: bool, seed: int, **options: Any
) -> None:
    """Extract the [CLS] vectors of all layers into a store.

    Every row of DATA gives one vector for each layer, written once to disk for all analyses to read.

    DATA is a csv, tsv, jsonl, parquet or txt file (one text a line), "hub:NAME[:SPLIT]", or "sample" for the
    bundled news items. The network is used only for a hub id or hub data set that you name.

    An interrupted extraction goes on where it stopped when the same command is run again.
    """
    from cls_probe.extraction import DEFAULT_MODEL, self_check
    from cls_probe.extraction import extract as run
    from cls_probe.store import describe

    chosen: dict[str, Any] = {"model": model or DEFAULT_MODEL, "random_weights": seed if random_weights else None}
    if check_only:
        checked = {name: options[name] for name in _CHECKED}
        click.echo(self_check(data, seed=seed, **chosen, **checked).describe())
        return
    start = time.perf_counter()
    store = run(data, overwrite=not resume, seed=seed, **chosen, **options)
    click.echo(describe(store))
    click.echo(f"{'seconds':<10} {time.perf_counter() - start:.1f}")
