"""Transforms side by side against the anisotropy of each."""

import numpy as np
import pytest

from cls_probe import VectorStore, anisotropy, compare_transforms
from cls_probe.errors import InputError


def store_of(shift):
    vectors = np.random.default_rng(0).normal(size=(200, 2, 6)) * [1, 1, 1, 1, 1, 30] + shift
    return VectorStore.from_arrays(vectors)


def test_each_row_is_the_anisotropy_under_that_transform():
    store = store_of(3)
    result = compare_transforms(store)
    for t, transform in enumerate(("none", "center", "standardize")):
        alone = anisotropy(store, transform=transform)
        np.testing.assert_array_equal(result.mean_cosine[t], alone.mean_cosine)
        np.testing.assert_array_equal(result.mean_cosine_high[t], alone.mean_cosine_high)
        np.testing.assert_array_equal(result.rogue_dimension[t], alone.rogue_dimension_1)
        np.testing.assert_array_equal(result.rogue_share[t], alone.rogue_share_1)
    assert [record["transform"] for record in result.records()[:4]] == ["none", "center", "standardize", "none"]


def test_undefined_by_transform(planted):
    result = compare_transforms(planted, transforms=["none", "whiten"])
    assert result.mean_cosine[0, 0] == 1
    assert np.isnan(result.mean_cosine[1, 0])
    assert result.reasons == ("all vectors are the same", "", "", "all vectors are the same", "", "")
    assert result.records()[1]["rogue_dimension"] is None


def test_what_cannot_be_compared(planted):
    with pytest.raises(InputError, match="no transform was asked for"):
        compare_transforms(planted, transforms=[])
    with pytest.raises(InputError, match="transform is 'pca'; expected one of none, center"):
        compare_transforms(planted, transforms=["none", "pca"])
