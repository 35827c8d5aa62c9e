"""Silhouette, Fisher ratio, nearest centroid and permutations against brute force and scikit-learn."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.metrics import calinski_harabasz_score, silhouette_score
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize

from cls_probe import VectorStore, class_gap
from cls_probe.analyses import separation
from cls_probe.errors import InputError
from tests.analyses.test_class_gap import brute, clouds

SIZES = pytest.mark.parametrize("sizes", [(5, 3), (40, 40, 40), (60, 7, 1, 31), (9, 1)])


def gap_of(vectors, labels, **options):
    return class_gap(VectorStore.from_arrays(np.asarray(vectors, float), labels=labels), **options)


@SIZES
def test_silhouette_is_that_of_scikit_learn(sizes):
    vectors, labels = clouds(sizes)
    expected = silhouette_score(vectors, labels, metric="cosine")
    assert gap_of(vectors, labels).silhouette[0] == pytest.approx(expected, abs=1e-12)


def test_silhouette_by_hand():
    result = gap_of([[1, 0], [1, 0], [0, 1], [0, 1]], ["a", "a", "b", "b"])
    assert result.silhouette[0] == 1
    result = gap_of([[1, 0], [0, 1], [1, 0], [0, 1]], ["a", "a", "b", "b"])
    assert result.silhouette[0] == pytest.approx(-0.5)  # own distance 1, other 1/2, in every row


@SIZES
def test_fisher_ratio_is_a_scaled_calinski_harabasz_score(sizes):
    vectors, labels = clouds(sizes)
    n, k = len(labels), len(sizes)
    expected = calinski_harabasz_score(vectors, labels) * (k - 1) / (n - k)
    assert gap_of(vectors, labels).fisher_ratio[0] == pytest.approx(expected, rel=1e-12)


def test_fisher_ratio_by_hand_and_where_no_class_scatters():
    assert gap_of([[1], [3], [5], [7]], ["a", "a", "b", "b"]).fisher_ratio[0] == pytest.approx(16 / 4)
    result = gap_of([[1, 0], [1, 0], [0, 1], [0, 1]], ["a", "a", "b", "b"])
    assert np.isnan(result.fisher_ratio[0])
    assert result.records()[0]["fisher_ratio"] is None
    assert "layer 0: undefined: fisher_ratio (no class scatters)" in result.table()
    assert result.best == 0  # the gap is defined


@SIZES
def test_nearest_centroid_equals_brute_force_with_the_row_left_out(sizes):
    vectors, labels = clouds(sizes)
    units, labels = normalize(vectors), np.array(labels)
    right = 0
    for i, label in enumerate(labels):
        keep = np.arange(len(labels)) != i
        if not (labels[keep] == label).any():
            continue  # the only row of its class counts as wrong
        centroids = {name: units[keep & (labels == name)].sum(axis=0) for name in set(labels[keep])}
        cosine = {name: units[i] @ centre / np.linalg.norm(centre) for name, centre in centroids.items()}
        right += max(cosine, key=cosine.get) == label
    result = gap_of(vectors, labels.tolist())
    assert result.centroid_accuracy[0] == pytest.approx(right / len(labels))
    assert result.centroid_accuracy_low[0] < result.centroid_accuracy[0] < result.centroid_accuracy_high[0]


def test_nearest_centroid_with_the_row_left_in_is_that_of_scikit_learn():
    vectors, labels = clouds((400, 300, 200), seed=3)
    units = normalize(vectors)
    model = NearestCentroid().fit(units, labels)
    model.centroids_ = normalize(model.centroids_)  # then the nearest is that of the largest cosine
    left_in = np.mean(model.predict(units) == np.array(labels))
    assert gap_of(vectors, labels).centroid_accuracy[0] == pytest.approx(left_in, abs=0.01)


def test_ties_of_centroids_count_as_wrong():
    labels = ["a", "b"] * 6
    assert gap_of(np.arange(1, 13)[:, None], labels).centroid_accuracy[0] == 0  # one dimension: every cosine is 1
    assert gap_of([[1, 0], [0, 1], [1, 0], [0, 1]], ["a", "a", "b", "b"]).centroid_accuracy[0] == 0


def test_the_p_value_is_near_that_of_all_permutations():
    vectors, labels = clouds((4, 3), seed=2)
    choices = itertools.combinations(range(7), 4)  # rows that could be the class of four
    labellings = [["a" if i in chosen else "b" for i in range(7)] for chosen in choices]
    gaps = [np.subtract(*brute(vectors, labelling)[:2]) for labelling in labellings]
    gap = np.subtract(*brute(vectors, labels)[:2])
    exact = np.mean(np.array(gaps) >= gap - 1e-12)
    assert len(gaps) == 35
    assert exact < 0.9
    assert gap_of(vectors, labels, permutations=20_000).p_value[0] == pytest.approx(exact, abs=0.01)


def test_the_smallest_p_value_and_the_same_partition():
    vectors, labels = clouds((30, 30, 30))
    assert gap_of(vectors * 1.0, labels, permutations=199).p_value[0] == 1 / 200
    assert gap_of([[1, 0], [1, 0.1], [0, 1]], ["a", "a", "b"], permutations=999).p_value[0] == pytest.approx(
        1 / 3, abs=0.05
    )


def test_many_classes_give_the_p_value_of_few(monkeypatch):
    vectors, labels = clouds((9, 8, 7))
    dense = gap_of(vectors, labels, permutations=300, seed=5).p_value[0]
    monkeypatch.setattr(separation, "_DENSE_CLASSES", 1)
    assert gap_of(vectors, labels, permutations=300, seed=5).p_value[0] == dense


def test_labels_without_meaning_are_rejected_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    labels = ["a", "b"] * 15
    p = [gap_of(rng.normal(size=(30, 4)), labels, permutations=99, seed=i).p_value[0] for i in range(300)]
    assert 5 <= np.sum(np.array(p) <= 0.05) <= 28  # 15 expected
    assert np.mean(p) == pytest.approx(0.5, abs=0.06)


def test_a_large_store_is_tested_on_a_sample_and_says_so(monkeypatch):
    vectors, labels = clouds((60, 60))
    monkeypatch.setattr(separation, "PERMUTATION_ROWS", 50)
    monkeypatch.setattr("cls_probe.analyses.class_gap_result.PERMUTATION_ROWS", 50)
    result = gap_of(vectors, labels, permutations=99, seed=3)
    assert 0 < result.p_value[0] <= 1
    assert "p is of 50 rows drawn at random (seed 3); the rest is exact." in result.table()
    assert result.to_json() == gap_of(vectors, labels, permutations=99, seed=3).to_json()


def test_without_permutations_there_is_no_p_value():
    vectors, labels = clouds((6, 5))
    result = gap_of(vectors, labels, permutations=0)
    assert result.p_value is None
    assert "p_value" not in result.to_csv()
    assert type(result).from_json(result.to_json()).p_value is None
    for option in ("permutations", "seed"):
        with pytest.raises(InputError, match=f"{option} is -1; expected 0 or more"):
            gap_of(vectors, labels, **{option: -1})


def test_rounding_is_no_separation():
    rng = np.random.default_rng(0)
    vectors = np.tile(rng.normal(size=7), (12, 1)).astype(np.float32)
    vectors[0] *= np.float32(1.5)  # the same direction
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = gap_of(vectors, ["a", "b", "c"] * 4)
    assert (result.silhouette[0], result.centroid_accuracy[0]) == (0, 0)
