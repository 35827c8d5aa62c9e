"""The projection against scikit-learn and an eigendecomposition."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from cls_probe import VectorStore, project


@pytest.mark.parametrize("n", [30, 700])  # fewer and more rows than ten per dimension: two solvers
def test_equals_scikit_learn_and_the_covariance_to_sign(n):
    vectors = np.random.default_rng(0).normal(size=(n, 12)) @ np.diag(np.arange(1, 13)) + 100
    result = project(VectorStore.from_arrays(vectors))
    pca = PCA(2, svd_solver="full")
    expected = pca.fit_transform(vectors)
    values, directions = np.linalg.eigh(np.cov(vectors.T))
    brute = (vectors - vectors.mean(axis=0)) @ directions[:, [-1, -2]]
    for reference in (expected, brute):
        signs = np.sign((result.coordinates[0] * reference).sum(axis=0))
        np.testing.assert_allclose(result.coordinates[0], reference * signs, atol=1e-8)
    np.testing.assert_allclose(result.explained_variance_ratio[0], pca.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(result.explained_variance_ratio[0], values[[-1, -2]] / values.sum(), rtol=1e-9)


def test_planted_classes_and_the_constant_layer(planted):
    result = project(planted)
    assert result.undefined == ("all vectors are the same", "", "")
    assert np.isnan(result.coordinates[0]).all()
    assert result.records()[0] == {
        "layer": 0,
        "row": 0,
        "label": "a",
        "x": None,
        "y": None,
        "undefined": "all vectors are the same",
    }
    assert result.explained_variance_ratio[2].sum() > 0.95  # three classes span a plane
    assert len(result.records()) == 3 * 90
    assert "PC1 + PC2" in result.table()


def test_a_zero_vector_is_no_obstacle_but_too_few_rows_are():
    assert project(VectorStore.from_arrays(np.eye(4) - np.eye(4)[0])).undefined == ("",)
    assert project(VectorStore.from_arrays(np.eye(2))).undefined == ("fewer than three rows",)
    assert project(VectorStore.from_arrays(np.arange(5.0)[:, None])).undefined == ("fewer than two dimensions",)


def test_the_grid_has_a_panel_for_each_layer_and_a_legend(planted):
    figure = project(planted).plot()
    assert [ax.get_title() for ax in figure.axes] == ["layer 0", "layer 1", "layer 2"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c"]
    assert "undefined" in figure.axes[0].texts[0].get_text()
    assert len(figure.axes[2].collections) == 3
    offsets = figure.axes[2].collections[1].get_offsets()
    np.testing.assert_allclose(offsets, project(planted).coordinates[2][1::3])
