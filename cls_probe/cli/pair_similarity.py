"""Cosine of pairs against human scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import (
    confidence_option,
    device_option,
    drawing_options,
    layers_option,
    max_length_option,
    result_command,
    seed_option,
    split_names,
    transform_option,
)

if TYPE_CHECKING:
    from cls_probe.data import Pairs
    from cls_probe.result import Result
    from cls_probe.store import VectorStore


@click.command("pair-similarity")
@click.argument("source", metavar="MODEL|STORE")
@click.argument("pairs", metavar="[PAIRS]", default="sample-pairs")
@layers_option
@click.option(
    "--pooling",
    "poolings",
    callback=split_names,
    metavar="NAME,...",
    help="Vectors to compare.  [default: cls,mean; of a store all it holds]",
)
@transform_option()
@click.option("--text-column", help="Column of first texts.  [default: sentence1, text1 or text]")
@click.option("--text-pair-column", help="Column of second texts.  [default: sentence2, text2 or text_pair]")
@click.option("--score-column", help="Column of human scores.  [default: score or similarity, if there]")
@drawing_options("pairs")
@max_length_option
@device_option
@seed_option("Draws the sample and the bootstrap.")
@confidence_option
@result_command
def pair_similarity(
    source: str,
    pairs: str,
    *,
    poolings: tuple[str, ...] | None,
    max_length: int | None,
    device: str,
    layers: tuple[int, ...] | None,
    transform: str,
    confidence: float,
    seed: int,
    **reading: Any,
) -> "Result":
    """Compare the cosine of text pairs with human scores.

    Per pooling and layer: Spearman and Pearson correlation with intervals; without scores the cosines alone.

    MODEL is a model folder, a hub id or a short name, whose vectors are extracted into the cache first; STORE is a
    store that holds all texts of the pairs. PAIRS is a file of pairs, "hub:NAME[:SPLIT]", or "sample-pairs" (the
    default) for 60 bundled ones.
    """
    from cls_probe.analyses.pair_similarity import pair_similarity as analyse
    from cls_probe.data import read_pairs

    read = read_pairs(pairs, seed=seed, **reading)
    store = _store(source, read, poolings, max_length=max_length, device=device)
    return analyse(
        store, pairs=read, layers=layers, poolings=poolings, transform=transform, confidence=confidence, seed=seed
    )


def _store(source: str, pairs: "Pairs", poolings: tuple[str, ...] | None, **options: Any) -> "VectorStore":
    from cls_probe.extraction import extract
    from cls_probe.store import VectorStore
    from cls_probe.store.remote import Remote

    if Remote.at(source) or (Path(source) / "manifest.json").is_file():
        return VectorStore.open(source)
    return extract(pairs.texts, model=source, pooling=poolings or ("cls", "mean"), **options)
