"""Anisotropy against brute force, scikit-learn and closed forms."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from cls_probe import VectorStore, anisotropy
from cls_probe.analyses.anisotropy_result import METRICS
from cls_probe.errors import InputError, MissingDependencyError
from cls_probe.result import explain


def brute(vectors):
    upper = np.triu_indices(len(vectors), k=1)
    return cosine_similarity(vectors)[upper].mean()


def cone(n, width, shift, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width)) + shift


@pytest.mark.parametrize(("n", "width", "shift"), [(2, 3, 0), (3, 5, 1), (50, 8, 0), (200, 16, 3), (97, 4, 100)])
def test_mean_cosine_equals_brute_force(n, width, shift):
    vectors = cone(n, width, shift)
    result = anisotropy(VectorStore.from_arrays(vectors))
    assert result.mean_cosine[0] == pytest.approx(brute(vectors), abs=1e-12)


def test_the_interval_is_the_brute_force_jackknife():
    from scipy.stats import t

    vectors = cone(30, 6, 0.5)
    result = anisotropy(VectorStore.from_arrays(vectors), confidence=0.9)
    without = np.array([brute(np.delete(vectors, i, axis=0)) for i in range(30)])
    error = np.sqrt(29 / 30 * ((without - without.mean()) ** 2).sum())
    half = t.ppf(0.95, 29) * error
    assert result.mean_cosine_low[0] == pytest.approx(brute(vectors) - half, abs=1e-12)
    assert result.mean_cosine_high[0] == pytest.approx(brute(vectors) + half, abs=1e-12)


def test_the_interval_covers_the_truth():
    """E cos of independent rows is |E u|^2, taken here from a large sample of its own."""
    units = cone(400_000, 5, 0.7, seed=99)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    truth = float((units.mean(axis=0) ** 2).sum())
    inside = 0
    for seed in range(200):
        result = anisotropy(VectorStore.from_arrays(cone(60, 5, 0.7, seed=seed)))
        inside += result.mean_cosine_low[0] <= truth <= result.mean_cosine_high[0]
    assert 180 <= inside <= 199  # 95 % of 200, within 3 standard deviations


def test_closed_forms():
    orthogonal = anisotropy(VectorStore.from_arrays(np.eye(6) * 3))
    assert orthogonal.mean_cosine[0] == pytest.approx(0, abs=1e-15)
    assert orthogonal.norm_mean[0] == 3
    assert orthogonal.mev[0] == pytest.approx(1 / 6)
    opposite = anisotropy(VectorStore.from_arrays(np.array([[1.0, 0], [-2, 0]])))
    assert opposite.mean_cosine[0] == pytest.approx(-1)
    assert opposite.norm_std[0] == pytest.approx(np.std([1, 2], ddof=1))


def test_scale_of_a_row_does_not_change_its_cosine():
    vectors = cone(40, 6, 1)
    scaled = vectors * np.random.default_rng(3).uniform(0.1, 9, size=(40, 1))
    one, other = (anisotropy(VectorStore.from_arrays(v)) for v in (vectors, scaled))
    np.testing.assert_allclose(one.mean_cosine, other.mean_cosine, atol=1e-14)


def test_norms():
    vectors = cone(120, 9, 2)
    result = anisotropy(VectorStore.from_arrays(vectors))
    np.testing.assert_allclose(result.norm_mean[0], np.linalg.norm(vectors, axis=1).mean())
    np.testing.assert_allclose(result.norm_std[0], np.linalg.norm(vectors, axis=1).std(ddof=1))


def test_a_crowded_layer_keeps_its_precision():
    """Cosines that differ from 1 by 1e-9 are told apart in float64."""
    rng = np.random.default_rng(4)
    vectors = 1 + 1e-5 * rng.normal(size=(300, 32))
    result = anisotropy(VectorStore.from_arrays(vectors))
    distance = 1 - brute(vectors)
    assert result.records()[0]["cosine_distance"] == pytest.approx(distance, rel=1e-5)
    assert f"{distance:.3g}" in result.table()


def test_more_rows_than_a_batch_give_the_same():
    vectors = cone(9000, 4, 1)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = units.sum(axis=0)
    result = anisotropy(VectorStore.from_arrays(vectors))
    assert result.mean_cosine[0] == pytest.approx((total @ total - 9000) / (9000 * 8999), abs=1e-12)


def test_undefined_layers_say_why_and_the_rest_goes_on(planted):
    result = anisotropy(planted)
    assert result.undefined == ("all vectors are the same", "", "")
    assert result.mean_cosine[0] == result.mev[0] == 1
    assert np.isnan([result.mean_cosine_low[0], result.pca_top_share[0]]).all()
    assert result.records()[0]["pca_top_share"] is None
    assert np.isfinite(result.mean_cosine[1:]).all()
    assert result.best == 1
    assert "layer 0: undefined: all vectors are the same" in result.table()
    zero = anisotropy(VectorStore.from_arrays(np.array([[1.0, 2], [0, 0], [3, 4]])))
    assert zero.undefined == ("row 1 is a zero vector",)
    assert zero.records()[0]["mean_cosine"] is None
    one = anisotropy(VectorStore.from_arrays(np.array([[3.0, 4]])))
    assert one.undefined == ("only one row",)
    assert one.norm_mean[0] == 5


def test_metrics_choose_the_columns():
    store = VectorStore.from_arrays(cone(40, 6, 1))
    result = anisotropy(store, metrics=["isoscore", "participation_ratio"])
    assert list(result.to_frame()) == [
        "layer",
        *(f"{name}{end}" for name in ("isoscore", "participation_ratio") for end in ("", "_low", "_high")),
        "undefined",
    ]
    assert result.isoscore[0] == pytest.approx((result.participation_ratio[0] - 1) / 5)
    assert result.best is None
    with pytest.raises(AttributeError, match="no column 'mev' among the metrics that were asked for"):
        _ = result.mev
    back = type(result).from_json(result.to_json())
    np.testing.assert_array_equal(back.isoscore, result.isoscore)
    with pytest.raises(ValueError, match="read-only"):
        back.isoscore[0] = 1
    both = anisotropy(store, metrics=["hubness", "hubness"])
    assert both.metrics == ("hubness",)


def test_all_metrics_have_definitions_and_fit_the_table():
    pytest.importorskip("skdim", reason="the package scikit-dimension is not installed")
    result = anisotropy(VectorStore.from_arrays(cone(60, 6, 1).reshape(60, 1, 6)), metrics=tuple(METRICS))
    assert max(map(len, result.table().splitlines())) <= 100
    assert set(result.to_frame()) == {column.name for column in type(result).documented}
    assert result.undefined == ("",)
    for name, columns in METRICS.items():
        assert columns[0].heading in result.table(), name
        assert f"{columns[0].name}: " in explain(type(result))


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["mean_cosine", "iso"], "metrics has 'iso'; expected some of mean_cosine, norm,"),
        ([], r"metrics is \[\]; expected a list of some of mean_cosine"),
        ("mev", "metrics has 'm'; expected some of"),
    ],
)
def test_metrics_that_do_not_exist(metrics, message):
    with pytest.raises(InputError, match=message):
        anisotropy(VectorStore.from_arrays(np.eye(3)), metrics=metrics)


def test_a_missing_package_is_named_before_any_work(monkeypatch):
    module = import_module("cls_probe.analyses.anisotropy")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[dimension\]'"):
        anisotropy(VectorStore.from_arrays(np.eye(3)), metrics=["intrinsic_dimension"])


def test_the_isotropic_baseline_and_the_note_on_few_rows():
    result = anisotropy(VectorStore.from_arrays(cone(50, 40, 0)), metrics=["isoscore", "mean_cosine"])
    ratio = 40 * (49 + 2 / 40) / (49 + 41)  # E tr(S)^2 / E |S|^2 of a Wishart matrix
    assert result.isotropic["isoscore"] == pytest.approx((ratio - 1) / 39, abs=0.05)
    assert "50 rows are fewer than ten per dimension (40): IsoScore then depend" in result.table().replace("\n", " ")
    many = anisotropy(VectorStore.from_arrays(cone(400, 40, 0)), metrics=["isoscore"])
    assert "fewer than ten" not in many.table()
    assert many.isotropic["isoscore"] == pytest.approx(many.isoscore[0], abs=0.02)


def test_a_transform_moves_the_cosine():
    vectors = cone(300, 6, 4)
    store = VectorStore.from_arrays(vectors)
    assert anisotropy(store).mean_cosine[0] > 0.9
    centred = anisotropy(store, transform="center")
    assert centred.mean_cosine[0] == pytest.approx(brute(vectors - vectors.mean(axis=0)), abs=1e-12)
    white = anisotropy(store, transform="whiten", metrics=["participation_ratio"])
    assert white.participation_ratio[0] == pytest.approx(6)
    constant = anisotropy(VectorStore.from_arrays(np.ones((9, 3))), transform="center")
    assert constant.undefined == ("all vectors are the same",)
    assert np.isnan(constant.mean_cosine[0])
