"""Online codelength and learning curve, by hand and against the published number."""

from types import SimpleNamespace

import numpy as np
import pytest

from cls_probe.analyses.probing.classifier import Logistic
from cls_probe.analyses.probing.portions import codelength, compression, curve_folds, portion_ends


def test_compression_of_the_published_codelength():
    # Voita & Titov 2020, part-of-speech tags: 45 classes, 950,028 tokens, 96.02 kbit
    assert compression(96.02 * 1024, 950028, 45) == pytest.approx(53.06, abs=0.005)


def test_portions_end_at_the_published_shares():
    assert portion_ends(100_000).tolist() == [100, 200, 400, 800, 1600, 3200, 6250, 12500, 25000, 50000, 100000]
    assert portion_ends(90).tolist() == [1, 3, 6, 11, 22, 45, 90]
    assert portion_ends(3).tolist() == [1, 2, 3]


def test_codelength_by_hand():
    # 4 rows end at 1, 2, 4; a classifier that always says (3/4, 1/4), true classes 0 1 1 0 after the shuffle
    order = np.random.default_rng(5).permutation(4)
    codes = np.empty(4, dtype=int)
    codes[order] = [0, 1, 1, 0]
    says = SimpleNamespace(
        predict=lambda _, __, new: SimpleNamespace(probabilities=np.tile([0.75, 0.25], (len(new), 1)))
    )
    by_hand = 1 - np.log2((0.25 + 1) / 3) - np.log2((0.5 + 1) / 4) - np.log2((1.5 + 1) / 4)
    assert portion_ends(4).tolist() == [1, 2, 4]
    assert codelength(says, np.zeros((4, 1)), codes, 2, seed=5) == pytest.approx(by_hand)


def test_classes_that_are_read_compress_and_noise_does_not():
    rng = np.random.default_rng(0)
    codes = np.arange(400) % 4
    noise = rng.normal(size=(400, 8))
    told = noise + 4 * np.eye(8)[codes]
    ratios = [
        compression(codelength(Logistic(n_classes=4), features, codes, 4, 0), 400, 4)
        for features in (noise, noise + 0.5 * told, told)
    ]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1.05
    assert ratios[2] > 4
    constant = compression(codelength(Logistic(n_classes=4), np.empty((400, 0)), codes, 4, 0), 400, 4)
    assert 0.95 < constant < 1


def test_a_class_unseen_so_far_costs_a_finite_number_of_bits():
    codes = np.array([0] * 30 + [1])
    for seed in range(5):
        bits = codelength(Logistic(n_classes=2), np.random.default_rng(0).normal(size=(31, 2)), codes, 2, seed)
        assert 0 < bits < 40


def test_curve_folds_keep_the_test_rows_and_cut_the_training_rows():
    folds = [(np.arange(10, 50), np.arange(10)), (np.arange(40), np.arange(40, 50))]
    cut = curve_folds(folds, 1 / 4, 0)
    for (train, test), (some, same) in zip(folds, cut, strict=True):
        assert len(some) == 10
        assert set(some) <= set(train)
        assert (same == test).all()
    smaller = curve_folds(folds, 1 / 8, 0)
    assert all(set(a) <= set(b) for (a, _), (b, _) in zip(smaller, cut, strict=True))
