"""Paired tests by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from cls_probe.analyses.probing.scoring import accuracy_interval, compared_with


def test_exact_mcnemar_with_holm_by_hand():
    best = np.array([True] * 90 + [False] * 10)
    worse = best.copy()
    worse[:12] = False  # 12 rows lost, 2 won
    worse[90:92] = True
    close = best.copy()
    close[:3] = False  # 3 lost, 2 won
    close[90:92] = True
    p_values = compared_with(0, np.array([best, worse, close, best]))
    two_sided = 2 * binom.cdf(2, 14, 0.5)
    assert p_values == pytest.approx([1, 3 * two_sided, 1, 1])
    assert np.isnan(compared_with(None, np.array([best, worse]))).all()
    assert compared_with(0, np.array([best])).tolist() == [1]


def test_the_exact_interval_reaches_the_ends():
    assert accuracy_interval(np.ones(20, dtype=bool), 0.95) == pytest.approx((1, 0.025 ** (1 / 20), 1))
    assert accuracy_interval(np.zeros(20, dtype=bool), 0.95) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 20)))
