"""What the analyses of cosines share."""

import numpy as np
import pytest

from cls_probe import VectorStore
from cls_probe.analyses.cosine import all_same, degenerate, jackknife_interval
from cls_probe.errors import InputError


def store_of(vectors, **options):
    return VectorStore.from_arrays(np.asarray(vectors), **options)


def test_reasons():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(5000, 6))
    assert degenerate(store_of(some), 0, "cls") == ""
    assert degenerate(store_of(some[:1]), 0, "cls") == "only one row"
    assert degenerate(store_of(np.repeat(some[:1], 5000, axis=0)), 0, "cls") == "all vectors are the same"
    zero = some.copy()
    zero[4500] = 0
    assert degenerate(store_of(zero), 0, "cls") == "row 4500 is a zero vector"
    nothing = store_of(np.zeros((3, 2)))
    assert degenerate(nothing, 0, "cls") == "row 0 is a zero vector"
    assert all_same(nothing, 0, "cls")


def test_rounding_is_the_same_but_a_crowded_layer_is_not():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(1, 64)) * np.ones((200, 1))
    noise = rng.normal(size=(200, 64))
    rounding = (base + 1e-7 * noise).astype(np.float32)
    assert degenerate(store_of(rounding), 0, "cls") == "all vectors are the same"
    crowded = (base + 1e-4 * noise).astype(np.float32)  # mean cosine above 0.99999999
    assert degenerate(store_of(crowded), 0, "cls") == ""


def test_one_row_that_differs_in_a_later_batch_is_seen():
    vectors = np.ones((9000, 3))
    vectors[8999, 1] = 2
    assert degenerate(store_of(vectors), 0, "cls") == ""


def test_jackknife_of_a_mean_is_the_t_interval():
    from scipy import stats

    values = np.random.default_rng(2).normal(size=30)
    without = (values.sum() - values) / 29
    expected = stats.t.interval(0.9, 29, loc=values.mean(), scale=stats.sem(values))
    got = jackknife_interval(values.mean(), without, confidence=0.9, low=-9, high=9)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert jackknife_interval(0.99, np.array([0.5, 0.9, 1.0]), confidence=0.95, low=-1, high=1)[1] == 1
    assert np.isnan(jackknife_interval(0.5, np.array([0.5, 0.5]), confidence=0.95, low=-1, high=1)).all()


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, float("nan")])
def test_confidence_is_a_share(confidence):
    from cls_probe import anisotropy

    with pytest.raises(InputError, match=r"expected a share between 0 and 1, such as 0\.95"):
        anisotropy(store_of(np.eye(3)), confidence=confidence)
