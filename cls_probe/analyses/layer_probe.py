"""Layer probe: how well a linear classifier reads the class from the vectors of a layer."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.analyses.interval import check_confidence
from cls_probe.analyses.transform import check_transform, fit
from cls_probe.errors import InputError
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, best_defined, number_or_none, with_interval
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Codes = NDArray[np.int64]
Fold = tuple[Codes, Codes]
_RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerProbeResult(Result):
    """Probe accuracy of every layer asked for; NaN stands for undefined."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    label_names: tuple[str, ...]
    """Class names, in the order of the confusion matrices."""
    n_test: int
    """Rows that were predicted: all rows once, out of fold, or those of the test store."""
    accuracy: NDArray[np.float64]
    """(n_layers,) share of rows predicted right, in [0, 1]."""
    accuracy_low: NDArray[np.float64]
    """(n_layers,) lower end of its Wilson interval."""
    accuracy_high: NDArray[np.float64]
    """(n_layers,) upper end of its Wilson interval."""
    macro_f1: NDArray[np.float64]
    """(n_layers,) unweighted mean of the classes' F1, in [0, 1]."""
    macro_f1_low: NDArray[np.float64]
    """(n_layers,) lower end of its bootstrap interval."""
    macro_f1_high: NDArray[np.float64]
    """(n_layers,) upper end of its bootstrap interval."""
    majority_accuracy: float
    """Accuracy of always saying the most frequent class of the training rows."""
    confusion: NDArray[np.int64]
    """(n_layers, n_classes, n_classes) rows by true class (first) and predicted class (second)."""
    converged: NDArray[np.bool_]
    """(n_layers,) whether the solver converged in every fold."""
    undefined: tuple[str, ...]
    """(n_layers,) why the vectors tell nothing, "" where they do."""

    title = "Layer probe: a linear classifier reads the class from [CLS]"
    star = "most accurate layer"
    meaning = (
        "Accuracy of logistic regression on rows that it was not trained on; intervals are Wilson (accuracy) and "
        "bootstrap over rows (macro-F1), given the trained probes."
    )
    documented = (
        LAYER,
        *with_interval("accuracy", "share of rows predicted right, in [0, 1]", "accuracy", ".4f", range=(0, 1)),
        *with_interval("macro_f1", "unweighted mean of the classes' F1, in [0, 1]", "macro-F1", ".4f", range=(0, 1)),
        Column(
            name="majority_accuracy",
            meaning="accuracy of the most frequent training class",
            heading="majority",
            format=".4f",
        ),
        Column(name="converged", meaning="whether the solver converged in every fold", heading="converged"),
        UNDEFINED,
    )

    def records(self) -> list[Record]:
        """One row a layer."""
        values = [f"{name}{end}" for name in ("accuracy", "macro_f1") for end in ("", "_low", "_high")]
        return [
            {
                "layer": layer,
                **{name: number_or_none(getattr(self, name)[i]) for name in values},
                "majority_accuracy": number_or_none(self.majority_accuracy),
                "converged": bool(self.converged[i]),
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]

    @property
    def best(self) -> int | None:
        """Position of the most accurate layer."""
        return best_defined(self.accuracy, self.undefined)

    def notes(self) -> list[str]:
        """Explain, and say where a layer is at chance because its vectors tell nothing."""
        notes = [self.meaning, f"{self.n_test} rows predicted, {len(self.label_names)} classes."]
        if any(self.undefined):
            notes.append("Where a layer is undefined, the probe can only say the majority class (chance).")
        if not self.converged.all():
            notes.append("A probe that did not converge is not at its optimum: raise --max-iter or lower -C.")
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw accuracy and macro-F1 with their bands, and the majority baseline."""
        with style():
            figure, axes = panels(ax, 1, width=4.6, height=3.4)
            for number, (name, label) in enumerate((("accuracy", "accuracy"), ("macro_f1", "macro-F1"))):
                value, low, high = (getattr(self, f"{name}{end}") for end in ("", "_low", "_high"))
                curve(axes[0], self.layers, value, low, high, label=label, number=number)
            if not np.isnan(self.majority_accuracy):
                axes[0].axhline(self.majority_accuracy, color="#666666", linestyle=":", label="majority class")
            layer_axis(axes[0], self.layers, "score on rows not trained on")
            axes[0].set_ylim(0, 1.02)
            axes[0].legend(loc="lower right")
        return figure


def layer_probe(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "standardize",
    test: VectorStore | None = None,
    folds: int = 5,
    c: float = 1.0,
    max_iter: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> LayerProbeResult:
    """Train and test a linear probe on every layer (Alain & Bengio 2016).

    Multinomial logistic regression with L2 penalty (scikit-learn, lbfgs). By default every row is predicted once by stratified k-fold cross-validation.

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer, with labels; all of it is training data if `test` is given.
    layers
        States to probe; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on the training rows alone: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    test
        Store of test rows from the same model; replaces cross-validation.
    folds
        Number of folds.
    c
        Inverse strength of the penalty, scikit-learn's C.
    max_iter
        Most iterations of the solver.
    seed
        Shuffles the rows into folds and draws the bootstrap.
    confidence
        Confidence of the intervals: Wilson for accuracy, percentile bootstrap over rows (2,000 draws) for
        macro-F1. Both take the trained probes as given and rows as independent.

    Returns
    -------
    LayerProbeResult
        One score per layer; where all vectors are the same the probe says the majority class.

    Raises
    ------
    InputError
        No labels, a class with fewer rows than folds, a test store that does not match.

    """
    check_confidence(confidence)
    layers = store.select_layers(layers, pooling=pooling)
    codes = store.codes
    test_codes = codes if test is None else _test_codes(store, test)
    split = _folds(store, folds, seed) if test is None else None
    _check_solver(c, max_iter)
    check_transform(transform, store.hidden_size)
    outcomes = [_one_layer(store, layer, pooling, transform, test, split, c, max_iter) for layer in layers]
    n_classes = len(store.label_names)
    confusion = np.array([_confusion(test_codes, predicted, n_classes) for predicted, *_ in outcomes])
    accuracy = np.array([_accuracy_interval(matrix, confidence) for matrix in confusion])
    f1 = np.array([_macro_f1_interval(matrix, confidence, seed) for matrix in confusion])
    majority = int(np.bincount(codes).argmax())
    return LayerProbeResult(
        params={
            **{
                "layers": layers,
                "pooling": pooling,
                "transform": transform,
                "test": None if test is None else test.source,
                "folds": folds,
            },
            **{"c": c, "max_iter": max_iter, "seed": seed, "confidence": confidence},
        },
        source=store.source,
        layers=layers,
        label_names=store.label_names,
        n_test=len(test_codes),
        **_columns("accuracy", accuracy),
        **_columns("macro_f1", f1),
        majority_accuracy=float((test_codes == majority).mean()),
        confusion=confusion,
        converged=np.array([converged for _, converged, _ in outcomes]),
        undefined=tuple(reason for *_, reason in outcomes),
    )


def _columns(name: str, triples: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return {f"{name}{end}": triples[:, i].copy() for i, end in enumerate(("", "_low", "_high"))}


def _check_solver(c: float, max_iter: int) -> None:
    if not c > 0:
        raise InputError(f"c is {c}; expected a number above 0")
    if max_iter < 1:
        raise InputError(f"max_iter is {max_iter}; expected at least 1")


def _folds(store: VectorStore, folds: int, seed: int) -> list[Fold]:
    """Training and test rows of every fold."""
    from sklearn.model_selection import StratifiedKFold

    if folds < 2:
        raise InputError(f"folds is {folds}; expected at least 2")
    sizes = np.bincount(store.codes, minlength=len(store.label_names))
    if (sizes > 0).sum() < 2:
        raise InputError("the store has one class only; a probe needs at least two")
    smallest = int(np.where(sizes > 0, sizes, sizes.max()).argmin())
    if sizes[smallest] < folds:
        raise InputError(
            f"class {store.label_names[smallest]!r:.60} has {sizes[smallest]} rows, fewer than the {folds} folds; "
            "lower --folds or add rows"
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return list(splitter.split(store.codes, store.codes))


def _test_codes(store: VectorStore, test: VectorStore) -> Codes:
    """Codes of the test rows in the class order of the training store."""
    known = store.source["weights_sha256"], test.source["weights_sha256"]
    if None not in known and known[0] != known[1]:
        raise InputError(
            "the test store was made with other weights than the training store; extract both with one model"
        )
    if test.hidden_size != store.hidden_size:
        raise InputError(
            f"the test store is {test.hidden_size} wide; expected {store.hidden_size} as in the training store"
        )
    if len(np.unique(store.codes)) < 2:
        raise InputError("the store has one class only; a probe needs at least two")
    position = {name: code for code, name in enumerate(store.label_names)}
    if unknown := sorted(set(test.label_names) - set(position)):
        raise InputError(f"label {unknown[0]!r:.60} of the test store does not occur in the training store")
    order: Mapping[int, int] = {code: position[name] for code, name in enumerate(test.label_names)}
    return np.array([order[code] for code in test.codes.tolist()], dtype=np.int64)


def _one_layer(
    store: VectorStore,
    layer: int,
    pooling: str,
    transform: str,
    test: VectorStore | None,
    split: Sequence[Fold] | None,
    c: float,
    max_iter: int,
) -> tuple[Codes, bool, str]:
    """Predicted codes of the test rows, whether every fold converged, why the vectors tell nothing."""
    n_test = store.n_rows if test is None else test.n_rows
    if Cloud(store, layer, pooling=pooling).is_constant:
        return np.full(n_test, np.bincount(store.codes).argmax()), True, SAME
    predicted, converged = np.empty(n_test, dtype=np.int64), True
    for rows, features, codes, test_features in _tasks(store, layer, pooling, test, split):
        predicted[rows], fine = _fit_predict(features, codes, test_features, transform, c, max_iter)
        converged = converged and fine
    return predicted, converged, ""


def _tasks(
    store: VectorStore, layer: int, pooling: str, test: VectorStore | None, split: Sequence[Fold] | None
) -> Iterator[tuple[Any, NDArray[Any], Codes, NDArray[Any]]]:
    """Rows to predict, training features and codes, test features."""
    features = store.layer(layer, pooling=pooling).astype(np.float64)
    if test is not None:
        yield slice(None), features, store.codes, test.layer(layer, pooling=pooling).astype(np.float64)
    for train_rows, test_rows in split or ():
        yield test_rows, features[train_rows], store.codes[train_rows], features[test_rows]


def _fit_predict(
    features: NDArray[Any], codes: Codes, test_features: NDArray[Any], transform: str, c: float, max_iter: int
) -> tuple[Codes, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    correction = fit(transform, lambda: [features])
    if correction is not None:
        features, test_features = correction(features), correction(test_features)
    probe = LogisticRegression(C=c, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported per layer instead
        probe.fit(features, codes)
    return probe.predict(test_features), bool(probe.n_iter_.max() < max_iter)


def _confusion(true: Codes, predicted: Codes, n_classes: int) -> NDArray[np.int64]:
    return np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def _accuracy_interval(confusion: NDArray[np.int64], confidence: float) -> tuple[float, float, float]:
    from scipy.stats import binomtest

    right, n = int(np.trace(confusion)), int(confusion.sum())
    interval = binomtest(right, n).proportion_ci(confidence, method="wilson")
    return right / n, float(interval.low), float(interval.high)


def _macro_f1(confusion: NDArray[np.int64]) -> NDArray[np.float64]:
    """Macro-F1 of confusion matrices (..., n_classes, n_classes), over the classes that occur among the true rows.

    A class without a right prediction has F1 0, as in scikit-learn.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(axis=-1) + confusion.sum(axis=-2)  # true + predicted rows
    f1 = np.divide(2 * right, both, out=np.zeros(right.shape), where=both > 0)
    mean: NDArray[np.float64] = f1.sum(axis=-1) / (both > 0).sum(axis=-1)
    return mean


def _macro_f1_interval(confusion: NDArray[np.int64], confidence: float, seed: int) -> tuple[float, float, float]:
    """Macro-F1 with its percentile bootstrap: resampling rows is a multinomial draw of the confusion cells."""
    n = int(confusion.sum())
    drawn = np.random.default_rng(seed).multinomial(n, confusion.ravel() / n, size=_RESAMPLES)
    resampled = _macro_f1(drawn.reshape(_RESAMPLES, *confusion.shape))
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(_macro_f1(confusion)), float(low), float(high)
