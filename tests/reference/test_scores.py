import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from cls_probe.analyses.calibration import calibration_bins
from cls_probe.reference.scores import scores, softmax


def planted(n_rows=500, n_classes=4):
    rng = np.random.default_rng(0)
    codes = rng.integers(n_classes, size=n_rows)
    return softmax((rng.normal(size=(n_rows, n_classes)) + 2 * np.eye(n_classes)[codes]).astype(np.float32)), codes


def test_softmax_by_hand_and_for_huge_logits():
    logits = np.array([[0, np.log(3)], [1000, 1000]], dtype=np.float32)
    np.testing.assert_allclose(softmax(logits), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)


def test_scores_are_those_of_scikit_learn():
    probabilities, codes = planted()
    predicted = probabilities.argmax(axis=1)
    given = scores(probabilities, codes)
    precision, recall, f1, _ = precision_recall_fscore_support(codes, predicted)
    for name, expected in (("precision", precision), ("recall", recall), ("f1", f1)):
        np.testing.assert_allclose(given[name], expected)
    assert (given["confusion"] == confusion_matrix(codes, predicted)).all()
    assert given["accuracy"] == np.mean(predicted == codes)
    assert given["macro_f1"] == pytest.approx(f1_score(codes, predicted, average="macro"))


def test_the_interval_is_wilsons():
    given = scores(np.array([[0.9, 0.1]] * 10), np.array([0] * 8 + [1] * 2))
    z = 1.959964
    middle, half = (0.8 + z**2 / 20) / (1 + z**2 / 10), z * np.sqrt(0.8 * 0.2 / 10 + z**2 / 400) / (1 + z**2 / 10)
    assert (given["accuracy_low"], given["accuracy_high"]) == pytest.approx((middle - half, middle + half), abs=1e-6)


def test_a_class_that_never_occurs_is_undefined_and_left_out_of_the_mean():
    given = scores(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]), np.array([0, 0]))
    np.testing.assert_array_equal(given["precision"], [1, 0, np.nan])
    np.testing.assert_array_equal(given["recall"], [0.5, np.nan, np.nan])
    np.testing.assert_allclose(given["f1"], [2 / 3, 0, np.nan])
    assert given["macro_f1"] == pytest.approx(1 / 3)


def test_calibration_error_is_that_of_brute_force():
    probabilities, codes = planted()
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    by_hand = 0.0
    for i in range(15):
        bin_ = (confidence > i / 15) & (confidence <= (i + 1) / 15)
        if bin_.any():
            by_hand += bin_.mean() * abs(right[bin_].mean() - confidence[bin_].mean())
    error, rows, _, _ = calibration_bins(confidence, right)
    assert error == pytest.approx(by_hand)
    assert rows.sum() == 500


def test_calibration_at_the_ends():
    error, rows, accuracy, mean = calibration_bins(np.array([1.0, 1.0, 0.5]), np.array([True, False, True]))
    assert (rows[14], rows[7], accuracy[14], mean[14]) == (2, 1, 0.5, 1)
    assert error == pytest.approx((2 * 0.5 + 0.5) / 3)


def test_without_labels_there_are_no_scores():
    assert set(scores(np.array([[1.0, 0.0]]), None).values()) == {None}
