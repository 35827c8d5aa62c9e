"""One command for each analysis of a store."""

from pathlib import Path

import click

from cls_probe.cli.options import analysis_command, confidence_option, output_options, show


@click.command()
@analysis_command
@confidence_option
@output_options
def anisotropy(
    store_path: Path,
    layers: tuple[int, ...] | None,
    pooling: str,
    confidence: float,
    form: str,
    save: Path | None,
    plot: Path | None,
) -> None:
    """Measure how narrow the cone is in which the vectors lie.

    Per layer: the exact mean cosine over all pairs of distinct rows, with its interval; norms; MEV, the share of
    the first singular direction (uncentred); the share of the first principal component (centred).
    """
    from cls_probe.analyses.anisotropy import anisotropy as analyse
    from cls_probe.store import VectorStore

    result = analyse(VectorStore.open(store_path), layers=layers, pooling=pooling, confidence=confidence)
    show(result, form=form, save=save, plot=plot)


@click.command("class-gap")
@analysis_command
@confidence_option
@output_options
def class_gap(
    store_path: Path,
    layers: tuple[int, ...] | None,
    pooling: str,
    confidence: float,
    form: str,
    save: Path | None,
    plot: Path | None,
) -> None:
    """Compare cosines within classes with cosines between classes.

    Per layer: mean cosine of pairs of one class, of pairs of two classes, and their difference (the gap), with
    intervals; every pair counted alike, and every class counted alike. Needs labels.
    """
    from cls_probe.analyses.class_gap import class_gap as analyse
    from cls_probe.store import VectorStore

    result = analyse(VectorStore.open(store_path), layers=layers, pooling=pooling, confidence=confidence)
    show(result, form=form, save=save, plot=plot)


@click.command("layer-probe")
@analysis_command
@click.option(
    "--test",
    "test_path",
    type=click.Path(path_type=Path),
    metavar="STORE2",
    help="Test rows, same model; no folds then.",
)
@click.option("--folds", type=int, default=5, show_default=True, help="Folds of the cross-validation.")
@click.option("-C", "c", type=float, default=1.0, show_default=True, help="Inverse strength of the L2 penalty.")
@click.option("--max-iter", type=int, default=1000, show_default=True, help="Most iterations of the solver.")
@click.option("--seed", type=int, default=0, show_default=True, help="Shuffles rows into folds, draws the bootstrap.")
@confidence_option
@output_options
def layer_probe(
    store_path: Path,
    layers: tuple[int, ...] | None,
    pooling: str,
    test_path: Path | None,
    folds: int,
    c: float,
    max_iter: int,
    seed: int,
    confidence: float,
    form: str,
    save: Path | None,
    plot: Path | None,
) -> None:
    """Train and test a linear classifier on every layer.

    Multinomial logistic regression, standardised on the training rows. Accuracy and macro-F1 come from stratified
    k-fold cross-validation, or from --test, with intervals and the majority baseline. Needs labels.
    """
    from cls_probe.analyses.layer_probe import layer_probe as analyse
    from cls_probe.store import VectorStore

    test = None if test_path is None else VectorStore.open(test_path)
    result = analyse(
        VectorStore.open(store_path),
        layers=layers,
        pooling=pooling,
        test=test,
        folds=folds,
        c=c,
        max_iter=max_iter,
        seed=seed,
        confidence=confidence,
    )
    show(result, form=form, save=save, plot=plot)


@click.command()
@analysis_command
@output_options
def project(
    store_path: Path, layers: tuple[int, ...] | None, pooling: str, form: str, save: Path | None, plot: Path | None
) -> None:
    """Project the vectors on their first two principal components.

    --csv gives the coordinates of every row, --plot draws a grid of the layers coloured by class; the table says
    how much of the variance each picture holds.
    """
    from cls_probe.analyses.project import project as analyse
    from cls_probe.store import VectorStore

    show(analyse(VectorStore.open(store_path), layers=layers, pooling=pooling), form=form, save=save, plot=plot)
