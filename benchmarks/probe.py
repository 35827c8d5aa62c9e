"""The probe's solver beside scikit-learn's LogisticRegression, on the same rows, to the same loss.

    python benchmarks/probe.py [STORE] [--layers 7] [--rows 7600] [--width 384] [--folds 5] [--c 1.0] [--fits N]

Every layer is fitted on the training rows of every fold, standardised. scikit-learn (lbfgs) runs at its default tol,
and where that leaves the loss more than 1e-4 above ours, at a smaller one; the time of the last run alone counts as
the time to the same loss. Without STORE the vectors are synthetic, with a spectrum as steep as that of a layer. With
--fits N so many fits are measured, and the seconds are scaled up to all of them: --layers 13 --rows 120000
--width 768 --fits 1 takes minutes instead of hours. Prints one JSON object a line, and a table.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
from sklearn.linear_model import LogisticRegression

import cls_probe
from cls_probe.analyses.probing.classifier import Codes, Floats, stratified_folds, transformed
from cls_probe.analyses.probing.solver import fit_path

TOLERANCES = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
"""scikit-learn's, the default first."""
SAME = 1e-4
"""Relative difference of two losses that count as the same."""
CLASSES = 4
OURS, DEFAULT, SAME_LOSS = "cls-probe", "scikit-learn, default tol", "scikit-learn, same loss"

Fit = tuple[Floats, Floats, Codes, Codes]
"""Training rows, test rows, and their classes."""


def synthetic(layers: int, rows: int, width: int) -> Iterator[tuple[Floats, Codes]]:
    """Layers of correlated dimensions, classes farther apart from one to the next."""
    rng = np.random.default_rng(0)
    codes = rng.integers(CLASSES, size=rows)
    scales = np.geomspace(1, 0.003, width)
    for layer in range(layers):
        means = (0.05 + 0.03 * layer) * rng.normal(size=(CLASSES, width))
        turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
        yield ((rng.normal(size=(rows, width)) + means[codes]) * scales) @ turn, codes


def stored(store: cls_probe.VectorStore, layers: int) -> Iterator[tuple[Floats, Codes]]:
    """Vectors of the last layers of a store."""
    for layer in store.layers[-layers:]:
        yield store.layer(layer).astype(np.float64), store.codes


def fits(vectors: Iterator[tuple[Floats, Codes]], folds: int) -> Iterator[Fit]:
    """Standardised training and test rows of every layer and fold."""
    for rows, codes in vectors:
        for train, test in stratified_folds(codes, folds, 0):
            yield (*transformed("standardize", rows[train], rows[test]), codes[train], codes[test])


def loss(weights: Floats, features: Floats, codes: Codes, c: float) -> float:
    """Mean loss and penalty; `weights` (n_classes or 1, width + 1)."""
    scores = features @ weights[:, :-1].T + weights[:, -1]
    if len(weights) == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    top = scores.max(axis=1)
    own = scores[np.arange(len(codes)), codes]
    entropy = (top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own).mean()
    return float(entropy + (weights[:, :-1] ** 2).sum() / (2 * c * len(codes)))


def one_fit(train: Floats, test: Floats, codes: Codes, truth: Codes, c: float) -> dict[str, tuple[float, float, float]]:
    """Way -> seconds, loss and number of test rows right."""
    start = time.perf_counter()
    (ours,) = fit_path(train, codes, [c], max_iter=10_000)
    seconds = time.perf_counter() - start
    right = int((ours.probabilities(test).argmax(axis=1) == truth).sum())
    found = {OURS: (seconds, loss(ours.weights, train, codes, c), right)}
    for tol in TOLERANCES:
        start = time.perf_counter()
        theirs = LogisticRegression(C=c, tol=tol, max_iter=10_000).fit(train, codes)
        seconds = time.perf_counter() - start
        weights = np.column_stack([theirs.coef_, theirs.intercept_])
        found[SAME_LOSS] = seconds, loss(weights, train, codes, c), int((theirs.predict(test) == truth).sum())
        found.setdefault(DEFAULT, found[SAME_LOSS])
        if found[SAME_LOSS][1] <= found[OURS][1] * (1 + SAME):
            break
    return found


def measure(every: Iterator[Fit], n_fits: int, n_measured: int, c: float) -> list[dict[str, object]]:
    """Seconds of all fits by every way, times as long as ours, loss against ours at worst, and accuracy."""
    found, n_test = [], 0
    for train, test, codes, truth in islice(every, n_measured):
        found.append(one_fit(train, test, codes, truth, c))
        n_test += len(truth)
    lines = []
    base = sum(one[OURS][0] for one in found)
    for way in (OURS, DEFAULT, SAME_LOSS):
        seconds = sum(one[way][0] for one in found)
        worst = max(one[way][1] / one[OURS][1] - 1 for one in found)
        lines.append(
            {
                **{"way": way, "fits": n_fits, "measured": len(found)},
                "seconds": round(seconds * n_fits / len(found), 3),
                "ratio": round(seconds / base, 2),
                "loss_above_ours": float(f"{worst:.1e}"),
                "accuracy": round(sum(one[way][2] for one in found) / n_test, 5),
            }
        )
    return lines


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    for name, default in (("layers", 7), ("rows", 7600), ("width", 384), ("folds", 5), ("fits", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--c", type=float, default=1.0)
    options = parser.parse_args()
    if options.store:
        store = cls_probe.VectorStore.open(options.store)
        vectors, n_layers = stored(store, options.layers), min(options.layers, len(store.layers))
    else:
        vectors, n_layers = synthetic(options.layers, options.rows, options.width), options.layers
    n_fits = n_layers * options.folds
    lines = measure(fits(vectors, options.folds), n_fits, options.fits or n_fits, options.c)
    for line in lines:
        print(json.dumps(line))
    print(f"\n{'way':<28} {'seconds':>8} {'times ours':>11} {'loss above ours':>16} {'accuracy':>9}")
    for line in lines:
        print(
            f"{line['way']:<28} {line['seconds']:>8.2f} {line['ratio']:>11.2f} {line['loss_above_ours']:>16.1e} "
            f"{line['accuracy']:>9.4f}"
        )


if __name__ == "__main__":
    main()
