"""Intervals and tests that several analyses share, against scipy and by hand."""

import numpy as np
import pytest

from cls_probe import VectorStore, anisotropy
from cls_probe.analyses.interval import Spread, delta_interval, holm, jackknife_interval, mean_interval
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


def test_a_spread_does_not_depend_on_the_batches():
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat([0, 1, 3], [30, 12, 1]))  # no value of class 2
    values = 1e6 + rng.normal(size=43) * (1 + codes)
    spread = Spread(4)
    for start in (0, 1, 9, 20):
        stop = {0: 1, 1: 9, 9: 20, 20: 43}[start]
        spread.add(values[start:stop], codes[start:stop])
    assert spread.sizes.tolist() == [30, 12, 0, 1]
    for k in (0, 1, 3):
        assert spread.means[k] == pytest.approx(values[codes == k].mean(), rel=1e-13)
        assert spread.squares[k] == pytest.approx(((values[codes == k] - values[codes == k].mean()) ** 2).sum())
    one = Spread()
    one.add(values)
    assert one.std == pytest.approx(values.std(ddof=1))


def test_a_spread_with_a_value_that_is_not_finite_is_undefined():
    spread = Spread()
    spread.add(np.arange(5.0))
    spread.add(np.array([1.0, np.inf]))
    assert np.isnan(spread.std)
    assert np.isnan(jackknife_interval(0.5, spread, confidence=0.95, low=0, high=1)).all()
    assert np.isnan(delta_interval(0.5, spread, confidence=0.95, low=0, high=1)).all()


def test_a_jackknife_by_class_adds_the_variances_of_the_classes():
    from scipy import stats

    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1, 2], [20, 9, 1])
    values = rng.normal(size=30) * (1 + codes)
    spread = Spread(3)
    spread.add(values, codes)
    parts = [(n - 1) / n * ((v - v.mean()) ** 2).sum() for n, v in ((20, values[:20]), (9, values[20:29]))]
    parts.append(29 / 30 * (values[29] - values.mean()) ** 2)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 19 + parts[1] ** 2 / 8 + parts[2] ** 2)
    half = stats.t.ppf(0.95, freedom) * np.sqrt(sum(parts))
    got = jackknife_interval(0.0, spread, confidence=0.9, low=-99, high=99)
    np.testing.assert_allclose(got, (-half, half), rtol=1e-10)
