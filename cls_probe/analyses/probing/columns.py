"""Columns of a layer probe with their definitions."""

from dataclasses import replace

import numpy as np

from cls_probe.result import LAYER, UNDEFINED, Column, with_interval

SHARE = (0.0, 1.0)


def _score(name: str, meaning: str, heading: str | None = None) -> tuple[Column, Column, Column]:
    """Give a share and the ends of its interval, which the text table leaves out."""
    value, low, high = with_interval(name, meaning, heading, ".3f", range=SHARE)
    return replace(value, interval=False), low, high


COLUMNS = (
    LAYER,
    *with_interval(
        "accuracy",
        "share of rows predicted right by the probe, none of which it was trained on (Alain & Bengio 2016); interval: "
        "exact binomial (Clopper & Pearson 1934) over all predicted rows together",
        "accuracy",
        ".3f",
        range=SHARE,
    ),
    *_score(
        "macro_f1",
        "unweighted mean of the classes' F1, 0 for a class never predicted right (as in scikit-learn); interval: "
        "percentile bootstrap over rows, 2,000 draws",
        "macro-F1",
    ),
    *_score(
        "control_accuracy",
        "accuracy of the same probe on control labels, which are drawn from the class frequencies, equal texts "
        "labelled alike; above chance only if the probe can remember texts (Hewitt & Liang 2019)",
        "control",
    ),
    Column(
        name="selectivity",
        meaning="accuracy - control_accuracy (Hewitt & Liang 2019)",
        heading="selectivity",
        format=".3f",
        range=(-1, 1),
    ),
    *_score(
        "baseline_accuracy",
        "accuracy of the same probe on this layer of the baseline store, same rows and folds",
        "baseline",
    ),
    *_score(
        "knn_accuracy",
        "accuracy of the vote of the k nearest training rows by cosine, vectors transformed as for the probe; nothing "
        "is trained",
        "kNN",
    ),
    Column(
        name="codelength",
        meaning="bits of the labels of the store in the online code: n_1 log2 K for the first portion, then "
        "-log2((n p + 1)/(n + K)) for every label, p by the probe trained on the n rows before its portion, "
        "K classes; portions end at 0.1 0.2 0.4 0.8 1.6 3.2 6.25 12.5 25 50 100 % (Voita & Titov 2020)",
        range=(0, np.inf),
    ),
    Column(
        name="compression",
        meaning="N log2 K / codelength, N rows: how many times shorter than the uniform code (Voita & Titov 2020)",
        heading="compression",
        format=".2f",
        range=(0, np.inf),
    ),
    Column(
        name="chosen_c",
        meaning="inverse strength of the penalty (scikit-learn's C), chosen by accuracy in 3 stratified folds within "
        "the training rows; the lower median of the folds",
        range=(1e-4, 1e2),
    ),
    Column(
        name="p_best",
        meaning="p-value of the exact McNemar test against the most accurate layer on the same rows, adjusted for the "
        "number of layers (Holm 1979), 1 for that layer itself; approximate, since these rows chose the layer too",
        range=SHARE,
    ),
    Column(name="as_good_as_best", meaning="whether p_best is above 1 - confidence"),
    Column(
        name="calibration_error",
        meaning="expected calibration error: mean distance between confidence and accuracy in 15 equal-width bins of "
        "confidence, weighted by rows (Guo et al. 2017)",
        range=SHARE,
    ),
    *_score("majority_accuracy", "accuracy of always saying the most frequent class of the training rows"),
    Column(name="converged", meaning="whether the solver converged in every fold"),
    UNDEFINED,
)
