"""The projection: principal components against an eigendecomposition, UMAP, measures, samples, pictures."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from cls_probe import VectorStore, project
from cls_probe.errors import InputError
from tests.test_contract import check_result, degenerate_stores


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
    undefined = dict.fromkeys(["x", "y", "trustworthiness", "own_class", "own_class_full"])
    assert result.records()[0] == {
        **{"method": "pca", "layer": 0, "row": 0, "label": "a"},
        **{**undefined, "undefined": "all vectors are the same"},
    }
    assert result.explained_variance_ratio[2].sum() > 0.95  # three classes span a plane
    assert len(result.records()) == 3 * 90
    assert "PC1 + PC2" in result.table()


def test_a_zero_vector_is_no_obstacle_but_too_few_rows_are():
    result = project(VectorStore.from_arrays(np.eye(4) - np.eye(4)[0]))
    assert result.undefined == ("trustworthiness: row 0 is a zero vector",)
    assert np.isfinite(result.coordinates).all()
    assert project(VectorStore.from_arrays(np.eye(4) - np.eye(4)[0]), metric="euclidean").undefined == ("",)
    assert project(VectorStore.from_arrays(np.eye(2))).undefined == ("fewer than three rows",)
    assert project(VectorStore.from_arrays(np.arange(5.0)[:, None])).undefined == ("fewer than two dimensions",)


def test_the_grid_has_a_panel_for_each_layer_and_a_legend(planted):
    figure = project(planted).plot()
    assert [ax.get_title() for ax in figure.axes] == ["layer 0", "layer 1", "layer 2"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c"]
    assert "undefined" in figure.axes[0].texts[0].get_text()
    assert figure.axes[2].get_xlabel().endswith("trustworthiness 0.96, own class 1.00")


def test_classes_are_drawn_in_a_mixed_order_each_point_in_its_look(planted):
    result = project(planted)
    (drawn,) = result.plot().axes[2].collections
    offsets = np.asarray(drawn.get_offsets())
    rows = [int(np.flatnonzero((result.coordinates[2] == point).all(axis=1))[0]) for point in offsets]
    assert sorted(rows) == list(range(90))
    classes = [row % 3 for row in rows]
    assert len(set(classes[:10])) == len(set(classes[-10:])) == 3
    looks = {
        (tuple(colour), path.vertices.tobytes())
        for colour, path in zip(drawn.get_facecolors(), drawn.get_paths(), strict=True)
    }
    assert len(looks) == 3
    by_class = {c: {tuple(drawn.get_facecolors()[i]) for i in range(90) if classes[i] == c} for c in range(3)}
    assert [len(colours) for colours in by_class.values()] == [1, 1, 1]


def test_both_methods_beside_each_other(planted):
    result = project(planted, method="both")
    check_result(result)
    assert result.to_json() == project(planted, method="both").to_json()
    assert result.methods == ("pca",) * 3 + ("umap",) * 3
    assert result.layers == (0, 1, 2) * 2
    assert result.undefined == ("all vectors are the same", "", "") * 2
    assert result.own_class[5] == result.own_class_full[5] == 1
    assert result.trustworthiness[4] > result.trustworthiness[1]  # noise: UMAP keeps more neighbours than a plane
    assert result.params["versions"]["umap-learn"]
    for piece in ("seed 0: the same picture again", "another one elsewhere", "by chance 0.326", "k = 15"):
        assert piece in " ".join(result.table().split())
    titles = [ax.get_title() for ax in result.plot().axes]
    assert titles[2:4] == ["layer 2, PCA", "layer 0, UMAP"]


def test_aligned_pictures_have_one_frame(planted):
    result = project(planted, method="umap", align=True)
    check_result(result)
    frames = {(ax.get_xlim(), ax.get_ylim()) for ax in result.plot().axes[1:]}
    assert len(frames) == 1
    assert "aligned" in result.table()


@pytest.mark.parametrize("options", [{}, {"align": True}, {"metric": "euclidean"}], ids=str)
def test_degenerate_stores_by_umap(options):
    reasons = {}
    for name, store in degenerate_stores().items():
        result = project(store, method="umap", **options)
        check_result(result)
        result.plot()
        reasons[name] = set(result.undefined)
    assert reasons["constant"] == reasons["all zero"] == {"all vectors are the same"}
    assert reasons["two rows"] == {"fewer than three rows"}
    assert reasons["one row differs"] == {"fewer than three different vectors"}
    assert reasons["three rows"] == reasons["duplicated"] == reasons["float16"] == {""}
    zero = {""} if options.get("metric") == "euclidean" else {"", "row 3 is a zero vector"}
    assert reasons["a zero vector"] == zero


def test_fewer_rows_than_neighbours_are_told():
    result = project(VectorStore.from_arrays(np.random.default_rng(0).normal(size=(10, 4))), method="umap")
    assert result.k == 4
    assert "UMAP looked at 10 neighbours at most, not at 15" in " ".join(result.notes())


def test_a_sample_keeps_the_row_numbers_and_says_so(planted):
    result = project(planted, max_points=30, seed=5)
    assert result.rows.tolist() == sorted(set(result.rows.tolist()))
    assert len(result.rows) == 30
    whole = project(planted)
    np.testing.assert_array_equal(result.coordinates[2], whole.coordinates[2][result.rows])
    np.testing.assert_array_equal(result.explained_variance_ratio, whole.explained_variance_ratio)
    assert result.labels == tuple("abc"[row % 3] for row in result.rows)
    assert [record["row"] for record in result.records()[:30]] == result.rows.tolist()
    assert "30 of 90 rows, drawn with seed 5; the principal components are those of all." in result.table()
    assert result.plot().get_suptitle() == "30 of 90 rows, drawn with seed 5"
    assert whole.plot().get_suptitle() == ""
    assert project(planted, max_points=30, seed=6).rows.tolist() != result.rows.tolist()


def test_principal_components_first(planted):
    few, all_of_them = (project(planted, layers=[1], method="umap", pca_dims=n) for n in (3, 8))
    assert few.coordinates.tobytes() != all_of_them.coordinates.tobytes()
    assert few.own_class_full[0] == all_of_them.own_class_full[0]  # the full space stays the full space
    axes = np.diag([10.0, 9.0, 1.0, 1.0])  # rows 2 and 3 lie off the first two components
    result = project(VectorStore.from_arrays(np.concatenate([axes, -axes])), method="umap", pca_dims=2)
    assert result.undefined == ("row 2 is a zero vector after the first 2 principal components",)


def test_a_store_without_labels_has_no_columns_about_classes():
    result = project(VectorStore.from_arrays(np.random.default_rng(0).normal(size=(20, 4))))
    check_result(result)
    assert "own_class" not in result.records()[0]
    assert "own class" not in result.table()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "tsne"}, "method is 'tsne'; expected one of pca, umap, both"),
        ({"metric": "manhattan"}, "metric is 'manhattan'; expected one of cosine, euclidean"),
        ({"n_neighbors": 1}, "n_neighbors is 1; expected at least 2"),
        ({"min_dist": 1.5}, "min_dist is 1.5; expected 0 to 1"),
        ({"seed": -1}, "seed is -1; expected 0 to 4294967295"),
        ({"max_points": 2}, "max_points is 2; expected at least 3"),
        ({"method": "umap", "pca_dims": 9}, "pca_dims is 9; expected 2 to 8"),
        ({"align": True}, "align and pca_dims are for UMAP; choose method umap or both"),
        ({"pca_dims": 3}, "align and pca_dims are for UMAP; choose method umap or both"),
    ],
)
def test_options_out_of_range(planted, options, message):
    with pytest.raises(InputError, match=message):
        project(planted, **options)
