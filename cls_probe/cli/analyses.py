"""One command for each analysis of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import analysis_command, confidence_option, split_names, transform_option

if TYPE_CHECKING:
    from cls_probe.result import Result
    from cls_probe.store import VectorStore


@click.command()
@analysis_command
@transform_option()
@click.option(
    "--metrics",
    callback=split_names,
    metavar="NAME,...|all",
    help="Metrics by name, defined under --explain.  [default: mean_cosine, norm, mev, pca_top_share, isoscore, "
    "effective_rank, rogue_dimensions]",
)
@click.option(
    "--compare-transforms", is_flag=True, help="Show the mean cosine raw, centred and standardised side by side."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws rows where there are over 10,000.")
@confidence_option
def anisotropy(
    store: "VectorStore", *, metrics: tuple[str, ...] | None, compare_transforms: bool, seed: int, **options: Any
) -> "Result":
    """Measure how narrow the cone is in which the vectors lie.

    Per layer: the exact mean cosine over all pairs of distinct rows, with its interval; norms; shares of the
    spectrum; IsoScore, effective rank; the dimensions that dominate the cosine; and more with --metrics.
    """
    from cls_probe.analyses.anisotropy import DEFAULT_METRICS, METRICS
    from cls_probe.analyses.anisotropy import anisotropy as analyse
    from cls_probe.analyses.compare_transforms import compare_transforms as compare

    if compare_transforms:
        if metrics is not None or options.pop("transform") != "none":
            raise click.UsageError("--compare-transforms goes without --metrics and --transform")
        return compare(store, **options)
    chosen = tuple(METRICS) if metrics == ("all",) else metrics or DEFAULT_METRICS
    return analyse(store, metrics=chosen, seed=seed, **options)


@click.command("class-gap")
@analysis_command
@transform_option()
@confidence_option
def class_gap(store: "VectorStore", **options: Any) -> "Result":
    """Compare cosines within classes with those between.

    Per layer: mean cosine of pairs of one class, of pairs of two classes, and their difference (the gap), with
    intervals; every pair counted alike, and every class counted alike. Needs labels.
    """
    from cls_probe.analyses.class_gap import class_gap as analyse

    return analyse(store, **options)


@click.command("layer-probe")
@analysis_command
@transform_option("standardize", fitted_on="the training rows")
@click.option(
    "--test",
    "test_path",
    type=click.Path(path_type=Path),
    metavar="STORE2",
    help="Test rows, same model; replaces the folds.",
)
@click.option("--folds", type=int, default=5, show_default=True, help="Folds of the cross-validation.")
@click.option("-C", "c", type=float, default=1.0, show_default=True, help="Inverse strength of the L2 penalty.")
@click.option("--max-iter", type=int, default=1000, show_default=True, help="Most iterations of the solver.")
@click.option("--seed", type=int, default=0, show_default=True, help="Shuffles rows into folds, draws the bootstrap.")
@confidence_option
def layer_probe(store: "VectorStore", test_path: Path | None, **options: Any) -> "Result":
    """Train and test a linear classifier on every layer.

    Multinomial logistic regression. Accuracy and macro-F1 come from stratified
    k-fold cross-validation, or from --test, with intervals and the majority baseline. Needs labels.
    """
    from cls_probe.analyses.layer_probe import layer_probe as analyse
    from cls_probe.store import VectorStore

    test = None if test_path is None else VectorStore.open(test_path)
    return analyse(store, test=test, **options)


@click.command()
@analysis_command
@transform_option()
def project(store: "VectorStore", **options: Any) -> "Result":
    """Project the vectors on two principal components.

    --csv gives the coordinates of every row, --plot draws a grid of the layers coloured by class; the table says
    how much of the variance each picture holds.
    """
    from cls_probe.analyses.project import project as analyse

    return analyse(store, **options)
