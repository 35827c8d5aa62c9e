"""How often intervals of cross-validated accuracy hold the truth: simulated Gaussian classes, closed-form truth.

Two classes of unit variance, means some distance apart. Every repetition draws n rows from the mixture, trains and
tests a probe in 5 stratified folds as layer_probe does, and asks of every interval whether it holds

- `folds`: the mean population accuracy of the five probes just trained, and
- `procedure`: its mean over all repetitions, the expected accuracy of a probe trained on 4/5 of n rows.

The population accuracy of a linear rule is a sum of two normal probabilities, so that no test sample is needed.
Prints one JSON line for each setting, then a table. Run: python benchmarks/coverage_probe.py [--repetitions 1000]
"""

import argparse
import json
import time
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, norm, t

from cls_probe.analyses.probing.classifier import Logistic, stratified_folds

FOLDS = 5
CONFIDENCE = 0.95


class Setting(NamedTuple):
    """A mixture and a number of rows from it."""

    n: int
    share: float
    """Of class 0."""
    width: int = 10
    distance: float = 2.0
    """Between the two means, in standard deviations."""


SETTINGS = [Setting(n, share) for share in (0.5, 0.9) for n in (100, 400, 2000)]
HARD = [Setting(100, 0.5, width=50), Setting(400, 0.5, width=50), Setting(100, 0.5, distance=0.5)]
"""Probes that nearly interpolate, and classes that lie close together."""


def draw(rng, setting):
    """N independent rows, of class 0 with probability `share`; drawn anew until every fold can have every class."""
    n, share, width, distance = setting
    codes = np.zeros(n, dtype=np.int64)
    while np.bincount(codes, minlength=2).min() < FOLDS:
        codes = (rng.random(n) >= share).astype(np.int64)
    vectors = rng.normal(size=(n, width))
    vectors[:, 0] += distance * (codes - 0.5)
    return vectors, codes


def population_accuracy(weights, bias, setting):
    """P(right) of the rule weights.x + bias > 0 -> class 1."""
    share = setting.share
    length = np.linalg.norm(weights)
    shift = weights[0] * setting.distance / 2
    return share * norm.cdf((shift - bias) / length) + (1 - share) * norm.cdf((shift + bias) / length)


def rule(probe, features, codes):
    """Weights and bias in the space of the vectors, from the log odds at the origin and the unit vectors."""
    width = features.shape[1]
    points = np.vstack([np.zeros(width), np.eye(width)])
    shares = probe.predict(features, codes, points).probabilities
    odds = np.log(shares[:, 1]) - np.log(shares[:, 0])
    return odds[1:] - odds[0], odds[0]


def intervals(right):
    """Intervals of the accuracy from the right answers of every fold."""
    n, k = sum(map(len, right)), len(right)
    pooled = sum(int(r.sum()) for r in right)
    accuracy = pooled / n
    by_fold = np.array([r.mean() for r in right])
    spread, quantile = by_fold.std(ddof=1), t.ppf((1 + CONFIDENCE) / 2, k - 1)
    wilson = binomtest(pooled, n).proportion_ci(CONFIDENCE, method="wilson")
    exact = binomtest(pooled, n).proportion_ci(CONFIDENCE, method="exact")

    def student(factor):
        half = quantile * spread * np.sqrt(factor)
        return accuracy - half, accuracy + half

    return {
        "wilson": (wilson.low, wilson.high),
        "exact": (exact.low, exact.high),
        "student": student(1 / k),
        "nadeau_bengio": student(1 / k + 1 / (k - 1)),
    }


def one(rng, setting):
    """Intervals of one repetition, and the mean population accuracy of its probes."""
    vectors, codes = draw(rng, setting)
    probe = Logistic(n_classes=2)
    right, truth = [], []
    for train, test in stratified_folds(codes, FOLDS, int(rng.integers(2**31))):
        weights, bias = rule(probe, vectors[train], codes[train])
        right.append((vectors[test] @ weights + bias > 0) == (codes[test] == 1))
        truth.append(population_accuracy(weights, bias, setting))
    return intervals(right), float(np.mean(truth))


def coverage(setting, repetitions, seed):
    """Share of repetitions whose interval holds the truth, and the mean width, of every interval."""
    start = time.perf_counter()
    rng = np.random.default_rng([seed, setting.n, round(100 * setting.share)])
    done = [one(rng, setting) for _ in range(repetitions)]
    truths = np.array([truth for _, truth in done])
    line = {**setting._asdict(), "repetitions": repetitions, "accuracy": float(truths.mean())}
    line["sd_of_fold_truth"] = float(truths.std())
    for name in done[0][0]:
        low, high = np.array([found[name] for found, _ in done]).T
        line[name] = {
            "folds": float(((low <= truths) & (truths <= high)).mean()),
            "procedure": float(((low <= truths.mean()) & (truths.mean() <= high)).mean()),
            "width": float((high - low).mean()),
        }
    return {**line, "seconds": round(time.perf_counter() - start, 1)}


def main():
    """Run all settings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines = []
    for setting in [*SETTINGS, *HARD]:
        lines.append(coverage(setting, options.repetitions, options.seed))
        print(json.dumps(lines[-1]), flush=True)
    names = [name for name in lines[0] if isinstance(lines[0][name], dict)]
    print("\ncoverage of the truth of the folds / of the procedure (mean width)")
    print(f"{'n':>5} {'width':>5} {'classes':>8} {'accuracy':>9} ", *(f"{name:>22}" for name in names))
    for line in lines:
        cells = [
            f"{line[name]['folds']:.3f} / {line[name]['procedure']:.3f} ({line[name]['width']:.3f})" for name in names
        ]
        classes = "1:1" if line["share"] == 0.5 else "9:1"
        print(
            f"{line['n']:>5} {line['width']:>5} {classes:>8} {line['accuracy']:>9.4f} ",
            *(f"{cell:>22}" for cell in cells),
        )


if __name__ == "__main__":
    main()
