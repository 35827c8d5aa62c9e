"""One command for each analysis of a store."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import analysis_command, confidence_option, seed_option, split_names, transform_option

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
@seed_option("Draws rows where there are over 10,000.")
@confidence_option
def anisotropy(
    store: "VectorStore", *, metrics: tuple[str, ...] | None, compare_transforms: bool, seed: int, **options: Any
) -> "Result":
    """Measure how narrow the cone is in which the vectors lie.

    Per layer: the exact mean cosine over all pairs of distinct rows, with its interval; norms; shares of the
    spectrum; IsoScore, effective rank; the dimensions that dominate the cosine; and more with --metrics.
    """
    from cls_probe.analyses.anisotropy import anisotropy as analyse
    from cls_probe.analyses.anisotropy_result import DEFAULT_METRICS, METRICS
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
@click.option(
    "--permutations",
    type=int,
    default=1000,
    show_default=True,
    help="Permutations of the labels that test the gap; 0: no test.",
)
@seed_option("Draws the permutations.")
@confidence_option
def class_gap(store: "VectorStore", **options: Any) -> "Result":
    """Compare cosines within classes with those between.

    Per layer: mean cosine of pairs of one class, of pairs of two classes, and their difference (the gap), with
    intervals and a permutation test; silhouette, Fisher ratio, accuracy of the nearest class centroid; --json gives
    the class-by-class matrix and the gap of every class. Needs labels.
    """
    from cls_probe.analyses.class_gap import class_gap as analyse

    return analyse(store, **options)


def _penalty(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """Read a number, or auto."""
    try:
        return value if value == "auto" else float(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is neither a number nor auto", ctx, param) from error


@click.command("layer-probe")
@analysis_command
@transform_option("standardize", fitted_on="the training rows")
@click.option(
    "--test",
    "test_path",
    metavar="STORE2",
    help="Test rows, same model; replaces the folds.",
)
@click.option("--folds", type=int, default=5, show_default=True, help="Folds of the cross-validation.")
@click.option(
    "-C",
    "c",
    callback=_penalty,
    default="1",
    show_default=True,
    metavar="C|auto",
    help="Inverse strength of the L2 penalty; auto chooses from 1e-4 to 1e2 within the training rows.",
)
@click.option("--max-iter", type=int, default=1000, show_default=True, help="Most iterations of the solver.")
@click.option("--control/--no-control", default=True, show_default=True, help="Probe random labels too.")
@click.option(
    "--baselines/--no-baselines",
    default=True,
    show_default=True,
    help="Classify by text length and bag of words too, where there are texts.",
)
@click.option(
    "--baseline",
    "baseline_path",
    metavar="STORE3",
    help="Same rows, other weights (such as random ones), probed beside.",
)
@click.option("--knn", is_flag=True, help="Classify by nearest neighbours (cosine) too.")
@click.option("-k", type=int, default=10, show_default=True, help="Number of neighbours.")
@click.option("--mdl", is_flag=True, help="Measure the online codelength of the labels.")
@click.option("--curve", is_flag=True, help="Measure accuracy against the number of training rows.")
@seed_option("Shuffles rows, draws control labels, bootstrap.")
@confidence_option
def layer_probe(store: "VectorStore", test_path: str | None, baseline_path: str | None, **options: Any) -> "Result":
    """Train and test a linear classifier on every layer.

    Multinomial logistic regression. Accuracy and macro-F1 come from stratified k-fold cross-validation, or from
    --test, with intervals, beside a control with random labels and baselines without an encoder. "=" marks layers
    that the rows do not tell from the best. Needs labels.
    """
    from cls_probe.analyses.layer_probe import layer_probe as analyse
    from cls_probe.store import VectorStore

    test, baseline = (None if path is None else VectorStore.open(path) for path in (test_path, baseline_path))
    return analyse(store, test=test, baseline=baseline, **options)


@click.command()
@analysis_command
@transform_option()
@click.option(
    "--method", type=click.Choice(["pca", "umap", "both"]), default="pca", show_default=True, help="How to project."
)
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean"]),
    default="cosine",
    show_default=True,
    help="Distance that UMAP keeps and that the measures of a picture take for the truth.",
)
@click.option(
    "--n-neighbors",
    type=int,
    default=15,
    show_default=True,
    help="Neighbours that UMAP looks at and that the measures count.",
)
@click.option("--min-dist", type=float, default=0.1, show_default=True, help="How close UMAP may put points.")
@click.option("--pca-dims", type=int, metavar="N", help="Take N principal components first, for UMAP.")
@click.option("--align", is_flag=True, help="Lay the layers out together, so that a row keeps its place, for UMAP.")
@click.option("--max-points", type=int, default=5000, show_default=True, help="Rows in the picture, drawn of more.")
@seed_option("Draws rows and starts UMAP.")
def project(store: "VectorStore", **options: Any) -> "Result":
    """Project the vectors on two axes, by PCA or UMAP.

    --csv gives the coordinates of every row, --plot draws a grid of the layers coloured by class; the table says how
    far each picture may be believed: the variance it holds, its trustworthiness, and with labels the share of
    neighbours of the same class in the picture and in the full space.
    """
    from cls_probe.analyses.project import project as analyse

    return analyse(store, **options)
