"""Corrections of vectors, against scikit-learn and their definitions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from cls_probe.analyses.transform import TRANSFORMS, check_transform, fit
from cls_probe.errors import InputError

VECTORS = np.random.default_rng(0).normal(size=(80, 6)) @ np.diag([9, 5, 3, 1, 0.5, 0.1]) + [4, 0, -2, 1, 0, 0]


def transformed(name, vectors=VECTORS):
    mapping = fit(name, lambda: np.array_split(vectors, 3))
    return vectors if mapping is None else mapping(vectors)


def test_each_equals_its_definition():
    np.testing.assert_array_equal(transformed("none"), VECTORS)
    np.testing.assert_allclose(transformed("center"), VECTORS - VECTORS.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(transformed("standardize"), StandardScaler().fit_transform(VECTORS), atol=1e-12)
    pca = PCA().fit(VECTORS)
    top = pca.components_[:2]
    rest = (VECTORS - VECTORS.mean(axis=0)) @ (np.eye(6) - top.T @ top)
    np.testing.assert_allclose(transformed("all-but-the-top:2"), rest, atol=1e-12)
    np.testing.assert_allclose(np.cov(transformed("whiten").T), np.eye(6), atol=1e-9)
    white = PCA(whiten=True).fit_transform(VECTORS)
    np.testing.assert_allclose(np.abs(transformed("whiten")[:, ::-1]), np.abs(white), atol=1e-9)


def test_degenerate_directions():
    flat = VECTORS.copy()
    flat[:, 2] = 0.1  # 80 times 0.1 does not average to 0.1 exactly
    np.testing.assert_allclose(transformed("standardize", flat)[:, 2], 0, atol=1e-12)
    assert transformed("whiten", flat).shape == (80, 5)
    few = VECTORS[:4]  # rank 3
    white = transformed("whiten", few)
    assert white.shape == (4, 3)
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=1e-9)


def test_names():
    assert check_transform("all-but-the-top", 768) == ("all-but-the-top", 7)
    assert check_transform("all-but-the-top", 16) == ("all-but-the-top", 1)
    assert check_transform("all-but-the-top:3", 16) == ("all-but-the-top", 3)
    assert check_transform("whiten", 768) == ("whiten", 0)
    assert all(TRANSFORMS.values())


@pytest.mark.parametrize(
    "name", ["", "pca", "center:2", "all-but-the-top:0", "all-but-the-top:16", "all-but-the-top:x"]
)
def test_what_is_no_transform(name):
    with pytest.raises(InputError, match=r"transform is .*; expected"):
        check_transform(name, 16)
