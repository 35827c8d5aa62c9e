"""Layer probe: how well a linear classifier reads the class from the vectors of a layer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.calibration import calibration_bins
from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.analyses.interval import check_confidence
from cls_probe.analyses.probing.classifier import (
    Classifier,
    Logistic,
    Neighbours,
    Prediction,
    frequencies,
    predict_folds,
)
from cls_probe.analyses.probing.portions import CURVE, codelength, compression, curve_folds
from cls_probe.analyses.probing.result import LayerProbeResult
from cls_probe.analyses.probing.scoring import (
    accuracy_interval,
    compared_with,
    confusion_matrix,
    macro_f1_interval,
)
from cls_probe.analyses.probing.split import Split, control_split, same_rows, split_rows
from cls_probe.analyses.probing.surface import surface_features
from cls_probe.analyses.transform import check_transform
from cls_probe.errors import InputError, check_seed
from cls_probe.result import best_defined, ends, ratio
from cls_probe.store import VectorStore

__all__ = ["LayerProbeResult", "layer_probe"]

Floats = NDArray[np.float64]


def layer_probe(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "standardize",
    test: VectorStore | None = None,
    folds: int = 5,
    c: float | Literal["auto"] = 1.0,
    max_iter: int = 1000,
    control: bool = True,
    baselines: bool = True,
    baseline: VectorStore | None = None,
    knn: bool = False,
    k: int = 10,
    mdl: bool = False,
    curve: bool = False,
    seed: int = 0,
    confidence: float = 0.95,
) -> LayerProbeResult:
    """Train and test a linear probe on every layer (Alain & Bengio 2016).

    Multinomial logistic regression with L2 penalty, at the optimum of scikit-learn's. By default every row is predicted
    once by stratified k-fold cross-validation. Every column is defined in `LayerProbeResult`.

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
        Inverse strength of the penalty, scikit-learn's C; "auto" chooses it from 10^-4, 10^-3, ... 10^2 by the
        accuracy in 3 stratified folds within the training rows, the smallest of equals.
    max_iter
        Most iterations of the solver.
    control
        Probe random labels too (Hewitt & Liang 2019): drawn from the class frequencies, equal texts labelled alike.
    baselines
        Train the same classifier on text length and on a bag of words, where the store has texts.
    baseline
        Store of the same rows from another model, such as one with random weights, to probe beside this one.
    knn
        Classify by nearest neighbours too.
    k
        Number of neighbours.
    mdl
        Measure the online codelength of the labels of `store` (Voita & Titov 2020).
    curve
        Train on 1/16, 1/8, 1/4 and 1/2 of the training rows too.
    seed
        Shuffles the rows into folds and portions, draws control labels and the bootstrap.
    confidence
        Confidence of the intervals, exact binomial for accuracies and percentile bootstrap over rows (2,000 draws)
        for macro-F1; a layer is as good as the best while its p-value is above 1 - confidence.

    Returns
    -------
    LayerProbeResult
        One score per layer; where all vectors are the same the probe says the majority class.

    Raises
    ------
    InputError
        No labels, a class with fewer rows than folds, a test store or a baseline store that does not match.

    """
    check_confidence(confidence)
    check_seed(seed)
    layers = store.select_layers(layers, pooling=pooling)
    split = split_rows(store, test, folds, seed)
    _check_solver(c, max_iter, k)
    check_transform(transform, store.hidden_size)
    n_classes = len(store.label_names)
    plan = _Plan(
        split=split,
        control=control_split(split, seed) if control else None,
        baseline=None if baseline is None else same_rows(split, baseline, layers),
        pooling=pooling,
        logistic=Logistic(n_classes=n_classes, transform=transform, c=c, max_iter=max_iter, seed=seed),
        neighbours=Neighbours(n_classes=n_classes, transform=transform, k=k) if knn else None,
        mdl=mdl,
        curve=curve,
        confidence=confidence,
        seed=seed,
    )
    found = [_one_layer(plan, layer) for layer in layers]
    values: dict[str, Any] = {name: np.array([one[name] for one in found]) for name in found[0]}
    values["undefined"] = tuple(one["undefined"] for one in found)
    best = best_defined(values["accuracy"], values["undefined"])
    right = values.pop("right")
    values["p_best"] = compared_with(best, right)
    chosen = {"layers": layers, "pooling": pooling, "seed": seed, "confidence": confidence}
    fitted = {"transform": transform, "folds": folds, "c": c, "max_iter": max_iter}
    asked = {"control": control, "baselines": baselines, "knn": knn, "k": k, "mdl": mdl, "curve": curve}
    stores = {"test": test and test.source, "baseline": baseline and baseline.source}
    return LayerProbeResult(
        params={**chosen, **fitted, **asked, **stores},
        source=store.source,
        layers=layers,
        label_names=store.label_names,
        n_test=len(split.tested),
        n_repeated=split.n_repeated,
        **_majority(split, confidence),
        **(_surface(plan) if baselines else {}),
        curve_rows=_curve_rows(split) if curve else None,
        as_good_as_best=values["p_best"] > 1 - confidence,
        wrong=tuple(tuple(np.flatnonzero(~layer).tolist()) for layer in right),
        **values,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """What is measured on every layer; None and False for what was not asked for."""

    split: Split
    control: Split | None
    baseline: Split | None
    pooling: str
    logistic: Logistic
    neighbours: Neighbours | None
    mdl: bool
    curve: bool
    confidence: float
    seed: int

    def accuracy(self, name: str, right: NDArray[np.bool_]) -> dict[str, float]:
        """Give an accuracy and the ends of its interval by the names of their fields."""
        return dict(zip(ends(name), accuracy_interval(right, self.confidence), strict=True))


def _one_layer(plan: _Plan, layer: int) -> dict[str, Any]:
    """Field -> value of one layer."""
    features, reason = _features(plan.split, layer, plan.pooling)
    values = {**_probed(plan, features), "undefined": reason}
    if plan.control is not None:
        predictions = _predictions(plan.logistic, features, plan.control)
        values |= plan.accuracy("control_accuracy", plan.control.right(predictions))
        values["selectivity"] = values["accuracy"] - values["control_accuracy"]
    if plan.baseline is not None:
        predictions = _predictions(plan.logistic, _features(plan.baseline, layer, plan.pooling)[0], plan.baseline)
        values |= plan.accuracy("baseline_accuracy", plan.baseline.right(predictions))
    if plan.neighbours is not None:
        values |= _neighbours(plan, plan.neighbours, features, reason)
    if plan.mdl:
        n, n_classes = plan.split.n_train, plan.logistic.n_classes
        bits = codelength(plan.logistic, features[:n], plan.split.codes[:n], n_classes, plan.seed)
        values |= {"codelength": bits, "compression": compression(bits, n, n_classes)}
    if plan.curve:
        values |= _curve(plan, features, values, reason)
    return values


def _features(split: Split, layer: int, pooling: str) -> tuple[Floats, str]:
    """Vectors of all rows, (n_rows, hidden_size), and why they tell nothing; then they are (n_rows, 0)."""
    if Cloud(split.stores[0], layer, pooling=pooling).is_constant:
        return np.empty((len(split.codes), 0)), SAME
    return split.features(layer, pooling), ""


def _predictions(classifier: Classifier, features: Any, split: Split) -> list[Prediction]:
    """One prediction a fold; where there is nothing to read, the class frequencies of all training rows."""
    if features.shape[1] == 0:
        codes, n_classes = split.codes[: split.n_train], int(split.codes.max()) + 1
        return [frequencies(codes, n_classes, len(test)) for _, test in split.folds]
    return predict_folds(classifier, features, split.codes, split.folds)


def _probed(plan: _Plan, features: Floats) -> dict[str, Any]:
    """Give the scores of the probe itself."""
    split, n_classes = plan.split, plan.logistic.n_classes
    predictions = _predictions(plan.logistic, features, split)
    probabilities = split.tested_probabilities(predictions)
    right = split.right(predictions)
    confusion = confusion_matrix(split.codes[split.tested], probabilities.argmax(axis=1), n_classes)
    chosen = np.quantile([prediction.c for prediction in predictions], 0.5, method="lower")
    f1 = macro_f1_interval(confusion, plan.confidence, plan.seed)
    return {
        **plan.accuracy("accuracy", right),
        **dict(zip(ends("macro_f1"), f1, strict=True)),
        "confusion": confusion,
        "recall": ratio(np.diagonal(confusion), confusion.sum(axis=1)),
        "calibration_error": calibration_bins(probabilities.max(axis=1), right)[0],
        "converged": all(prediction.converged for prediction in predictions),
        "right": right,
        **({"chosen_c": chosen} if plan.logistic.c == "auto" else {}),
    }


def _neighbours(plan: _Plan, neighbours: Neighbours, features: Floats, reason: str) -> dict[str, float]:
    if reason:
        return dict.fromkeys(ends("knn_accuracy"), np.nan)
    return plan.accuracy("knn_accuracy", plan.split.right(_predictions(neighbours, features, plan.split)))


def _curve(plan: _Plan, features: Floats, values: dict[str, Any], reason: str) -> dict[str, Floats]:
    """Accuracy at every size of the learning curve; the last is the probe's own."""
    names = ends("curve_accuracy")
    if reason:
        return dict.fromkeys(names, np.full(len(CURVE) + 1, np.nan))
    points = []
    for size in CURVE:
        split = replace(plan.split, folds=tuple(curve_folds(plan.split.folds, size, plan.seed)))
        right = split.right(_predictions(plan.logistic, features, split))
        points.append(accuracy_interval(right, plan.confidence))
    points.append(tuple(values[name] for name in ends("accuracy")))
    return dict(zip(names, np.array(points).T, strict=True))


def _curve_rows(split: Split) -> NDArray[np.int64]:
    whole = np.mean([len(train) for train, _ in split.folds])
    return np.array([max(1, round(size * whole)) for size in (*CURVE, 1)])


def _majority(split: Split, confidence: float) -> dict[str, Any]:
    """Accuracy of always saying the most frequent class of the training rows."""
    majority = np.bincount(split.codes[: split.n_train]).argmax()
    found = accuracy_interval(split.codes[split.tested] == majority, confidence)
    return dict(zip(ends("majority_accuracy"), found, strict=True))


def _surface(plan: _Plan) -> dict[str, Any]:
    """Names and accuracies of the surface baselines; nothing without texts."""
    features = surface_features(plan.split)
    if not features:
        return {}
    right = [
        plan.split.right(_predictions(replace(plan.logistic, transform=transform), values, plan.split))
        for transform, values in features.values()
    ]
    triples = np.array([accuracy_interval(one, plan.confidence) for one in right]).T
    return {"surface": tuple(features), **dict(zip(ends("surface_accuracy"), triples, strict=True))}


def _check_solver(c: float | str, max_iter: int, k: int) -> None:
    if c != "auto" and not (isinstance(c, float | int) and c > 0):
        raise InputError(f"c is {c}; expected a number above 0, or auto")
    if max_iter < 1:
        raise InputError(f"max_iter is {max_iter}; expected at least 1")
    if k < 1:
        raise InputError(f"k is {k}; expected at least 1")
