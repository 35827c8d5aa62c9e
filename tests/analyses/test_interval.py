"""Intervals and tests that several analyses share, against scipy and by hand."""

import numpy as np
import pytest

from cls_probe import VectorStore, anisotropy
from cls_probe.analyses.interval import holm, jackknife_interval, mean_interval
from cls_probe.errors import InputError


def test_jackknife_of_a_mean_is_the_t_interval():
    from scipy import stats

    values = np.random.default_rng(2).normal(size=30)
    without = (values.sum() - values) / 29
    expected = stats.t.interval(0.9, 29, loc=values.mean(), scale=stats.sem(values))
    got = jackknife_interval(values.mean(), without, confidence=0.9, low=-9, high=9)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert jackknife_interval(0.99, np.array([0.5, 0.9, 1.0]), confidence=0.95, low=-1, high=1)[1] == 1
    assert np.isnan(jackknife_interval(0.5, np.array([0.5, 0.5]), confidence=0.95, low=-1, high=1)).all()


def test_holm_by_hand():
    adjusted = holm(np.array([0.01, 0.04, np.nan, 0.03, 0.6]))
    np.testing.assert_allclose(adjusted, [0.04, 0.09, np.nan, 0.09, 0.6])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1, 1])
    assert holm(np.array([])).size == 0


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, float("nan")])
def test_confidence_is_a_share(confidence):
    with pytest.raises(InputError, match=r"expected a share between 0 and 1, such as 0\.95"):
        anisotropy(VectorStore.from_arrays(np.eye(3)), confidence=confidence)


def test_interval_of_means_is_the_t_interval():
    from scipy import stats

    rows = np.random.default_rng(3).normal(size=(20, 2, 3))
    low, high = stats.t.interval(0.9, 19, loc=rows.mean(axis=0), scale=stats.sem(rows))
    options = {"confidence": 0.9, "low": -9, "high": 9}
    got = mean_interval(rows.mean(axis=0), rows.std(axis=0, ddof=1), n_rows=20, **options)
    np.testing.assert_allclose(got, (low, high), rtol=1e-12)
    assert np.isnan(mean_interval(np.zeros(2), np.zeros(2), n_rows=2, **options)).all()
