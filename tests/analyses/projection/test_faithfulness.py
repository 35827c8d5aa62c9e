"""Measures of a picture against their definitions, by brute force."""

import numpy as np
import pytest

from cls_probe.analyses.projection.faithfulness import as_space, distances, own_class_share, trustworthiness


def cloud(n=30, width=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def test_trustworthiness_as_venna_and_kaski_define_it():
    full, picture, k = cloud(), cloud(width=2, seed=1), 4
    between = distances(as_space(full, "cosine"), "cosine")
    n = len(full)
    penalty = 0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        ranked = sorted(others, key=lambda j: between[i, j])
        shown = sorted(others, key=lambda j: np.linalg.norm(picture[i] - picture[j]))[:k]
        penalty += sum(max(ranked.index(j) + 1 - k, 0) for j in shown)
    expected = 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * penalty
    assert trustworthiness(between, picture, k) == pytest.approx(expected, abs=1e-12)
    assert trustworthiness(distances(picture, "euclidean"), picture, k) == 1


def test_own_class_share_is_the_share_among_the_nearest_others():
    points, codes, k = cloud(width=2), np.arange(30) % 3, 5
    between = distances(points, "euclidean")
    shares = []
    for i in range(30):
        nearest = sorted((j for j in range(30) if j != i), key=lambda j: between[i, j])[:k]
        shares.append(np.mean([codes[j] == codes[i] for j in nearest]))
    assert own_class_share(between, codes, k) == pytest.approx(np.mean(shares))
    assert (np.diag(between) == 0).all()  # left as it was


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_no_scale_is_lost(scale):
    points = as_space(cloud() * scale, "cosine")
    np.testing.assert_allclose(points, as_space(cloud(), "cosine"), rtol=1e-12)
    assert np.abs(as_space(cloud() * scale, "euclidean")).max() == 1
    assert (as_space(np.zeros((3, 2)), "euclidean") == 0).all()
