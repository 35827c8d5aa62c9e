"""Measures of a cloud against closed forms, brute force and the values that papers and libraries give."""

import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics.pairwise import cosine_similarity

from cls_probe import VectorStore
from cls_probe.analyses import geometry
from cls_probe.analyses.cloud import Cloud

VECTORS = np.random.default_rng(0).normal(size=(150, 7)) @ np.diag([6, 4, 2, 1, 1, 0.5, 0.1]) + np.arange(7)


def cloud(vectors, **options):
    return Cloud(VectorStore.from_arrays(vectors), 0, **options)


def spectral(vectors, measure, confidence=0.95):
    return geometry.spectral(cloud(vectors), [measure], confidence)[measure]


def equal_directions(width, k):
    """2k points whose covariance has k equal eigenvalues and width - k of 0."""
    return np.concatenate([np.eye(width)[:k], -np.eye(width)[:k]])


def sphere(n, width, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, width))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def ball(n, width, seed=0):
    return sphere(n, width, seed) * np.random.default_rng(seed + 1).uniform(size=(n, 1)) ** (1 / width)


@pytest.mark.parametrize(
    ("width", "k", "expected"), [(3, 1, 0), (3, 2, 0.5), (10, 5, 4 / 9), (768, 100, 99 / 767), (8, 8, 1)]
)
def test_isoscore_of_equal_directions(width, k, expected):
    vectors = equal_directions(width, k)
    assert spectral(vectors, "isoscore").value == pytest.approx(expected, abs=1e-12)
    assert spectral(vectors, "participation_ratio").value == pytest.approx(k)
    assert spectral(vectors, "effective_rank").value == pytest.approx(k)
    assert spectral(vectors, "pca_top_share").value == pytest.approx(1 / k)
    assert spectral(vectors, "pca_top10_share").value == pytest.approx(min(10 / k, 1))


def test_isoscore_ignores_shift_scale_and_rotation():
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0]
    plain = spectral(VECTORS, "isoscore")
    moved = spectral(3 * VECTORS @ rotation - 5, "isoscore")
    np.testing.assert_allclose(plain, moved, rtol=1e-9)


@pytest.mark.parametrize(("n", "published"), [(200, 0.205), (500, 0.394), (1000, 0.565)])
def test_isoscore_of_few_rows_has_the_known_bias(n, published):
    vectors = np.random.default_rng(2).normal(size=(n, 768))
    ratio = 768 * (n - 1 + 2 / 768) / (n - 1 + 769)  # E tr(S)^2 / E |S|^2 of a Wishart matrix
    assert spectral(vectors, "isoscore").value == pytest.approx(published, abs=0.003)
    assert spectral(vectors, "isoscore").value == pytest.approx((ratio - 1) / 767, abs=0.003)


def test_spectral_measures_equal_their_definitions_and_scikit_learn():
    shares = PCA().fit(VECTORS).explained_variance_ratio_
    assert spectral(VECTORS, "pca_top_share").value == pytest.approx(shares[0], rel=1e-10)
    assert spectral(VECTORS, "participation_ratio").value == pytest.approx(1 / (shares**2).sum(), rel=1e-10)
    singular = np.linalg.svd(VECTORS - VECTORS.mean(axis=0), compute_uv=False)
    entropy = stats.entropy(singular / singular.sum())
    assert spectral(VECTORS, "effective_rank").value == pytest.approx(np.exp(entropy), rel=1e-10)
    assert spectral(VECTORS, "spectral_entropy").value == pytest.approx(entropy / np.log(7), rel=1e-10)
    svd = TruncatedSVD(1, algorithm="arpack").fit(VECTORS)
    mev = geometry.mev(cloud(VECTORS), 0.95)
    assert mev.value == pytest.approx(svd.singular_values_[0] ** 2 / (VECTORS**2).sum(), rel=1e-10)


@pytest.mark.parametrize("measure", [*geometry.SPECTRAL, "mev"])
def test_the_delta_interval_is_the_jackknife_of_many_rows(measure):
    vectors = np.random.default_rng(3).normal(size=(400, 12)) @ np.diag(np.linspace(1, 4, 12)) + 0.5

    def value(rows):
        if measure == "mev":
            return geometry.mev(cloud(rows), 0.9)
        return spectral(rows, measure, 0.9)

    without = np.array([value(np.delete(vectors, i, axis=0)).value for i in range(400)])
    half = stats.t.ppf(0.95, 399) * np.sqrt(399 / 400 * ((without - without.mean()) ** 2).sum())
    estimate = value(vectors)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half, rel=0.05)
    assert estimate.value == pytest.approx((estimate.low + estimate.high) / 2)


def test_the_delta_interval_covers_the_truth():
    """Participation ratio of a Gaussian with known variances."""
    variances = np.array([1.0, 2, 3, 4, 5])
    truth = variances.sum() ** 2 / (variances**2).sum()
    inside = 0
    for seed in range(200):
        vectors = np.random.default_rng(seed).normal(size=(500, 5)) * np.sqrt(variances)
        estimate = spectral(vectors, "participation_ratio")
        inside += estimate.low <= truth <= estimate.high
    assert 180 <= inside <= 199  # 95 % of 200, within 3 standard deviations


@pytest.mark.parametrize(("width", "published"), [(3, -2.0798), (64, -3.8752), (384, -3.9792), (768, -3.9896)])
def test_uniformity_of_the_uniform_sphere(width, published):
    closed_form = -4 + np.log(special.hyp0f1(width / 2, 4))
    assert closed_form == pytest.approx(published, abs=1e-4)
    estimate = geometry.uniformity(cloud(sphere(1500, width)), 0.999, seed=0)
    assert estimate.low <= closed_form <= estimate.high
    assert estimate.high - estimate.low < 0.05


def test_uniformity_equals_brute_force():
    units = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    expected = np.log(np.exp(-2 * pdist(units, "sqeuclidean")).mean())
    estimate = geometry.uniformity(cloud(VECTORS), 0.95, seed=0)
    assert estimate.value == pytest.approx(expected, abs=1e-12)
    without = [np.log(np.exp(-2 * pdist(np.delete(units, i, axis=0), "sqeuclidean")).mean()) for i in range(len(units))]
    half = stats.t.ppf(0.975, 149) * np.sqrt(149 / 150 * ((without - np.mean(without)) ** 2).sum())
    assert estimate.high - estimate.value == pytest.approx(half, rel=1e-9)


def test_rogue_dimensions_add_up_to_the_mean_cosine():
    units = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    upper = np.triu_indices(len(units), k=1)
    contributions = np.array([np.outer(u, u)[upper].mean() for u in units.T])
    assert contributions.sum() == pytest.approx(cosine_similarity(VECTORS)[upper].mean())
    dimensions, shares = geometry.rogue_dimensions(cloud(VECTORS))
    order = np.argsort(-np.abs(contributions))[:3]
    assert dimensions.tolist() == order.tolist()
    np.testing.assert_allclose(shares, contributions[order] / contributions.sum(), rtol=1e-9)
    planted = np.random.default_rng(4).normal(size=(200, 6))
    planted[:, 4] += 20
    dimensions, shares = geometry.rogue_dimensions(cloud(planted))
    assert dimensions[0] == 4
    assert shares[0] > 0.99
    dimensions, shares = geometry.rogue_dimensions(cloud(planted[:, :2]))
    assert dimensions[2] == -1
    assert np.isnan(shares[2])


@pytest.mark.parametrize(("width", "low", "high"), [(2, 1.94, 2.02), (5, 4.62, 4.82), (10, 8.88, 9.28), (20, 15.7, 16)])
def test_twonn_of_the_uniform_ball(width, low, high):
    pytest.importorskip("skdim", reason="the package scikit-dimension is not installed")
    values = [geometry.intrinsic_dimension(cloud(ball(2000, width, seed)), seed=0) for seed in range(0, 10, 2)]
    assert low - 0.1 <= np.mean(values) <= high + 0.1
    doubled = np.repeat(ball(2000, width), 2, axis=0)
    assert geometry.intrinsic_dimension(cloud(doubled), seed=0) == pytest.approx(values[0])
    rounding = doubled + 1e-9 * np.random.default_rng(5).normal(size=doubled.shape)
    assert geometry.intrinsic_dimension(cloud(rounding), seed=0) == pytest.approx(values[0], rel=1e-3)


def test_twonn_needs_points():
    pytest.importorskip("skdim", reason="the package scikit-dimension is not installed")
    assert np.isnan(geometry.intrinsic_dimension(cloud(np.repeat(ball(19, 3), 9, axis=0)), seed=0))


def test_hubness_equals_brute_force():
    similarity = cosine_similarity(VECTORS)
    np.fill_diagonal(similarity, -2)
    nearest = np.argsort(-similarity, axis=1)[:, :10]
    counts = np.bincount(nearest.ravel(), minlength=len(VECTORS))
    assert geometry.hubness(cloud(VECTORS), seed=0) == pytest.approx(stats.skew(counts))
    assert np.isnan(geometry.hubness(cloud(VECTORS[:11]), seed=0))


def test_a_hub_is_seen():
    spread = sphere(300, 20)
    with_hub = np.concatenate([spread + 0.3, spread.mean(axis=0, keepdims=True) + 0.3])
    assert geometry.hubness(cloud(with_hub), seed=0) > geometry.hubness(cloud(spread), seed=0) + 1


def test_many_rows_are_drawn_with_the_seed(monkeypatch):
    monkeypatch.setattr(geometry, "PAIR_ROWS", 60)
    one, same, other = (geometry.uniformity(cloud(VECTORS), 0.95, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
