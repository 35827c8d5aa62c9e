"""Class gap against brute force over all pairs."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from cls_probe import VectorStore, class_gap
from cls_probe.errors import InputError
from cls_probe.result import TABLE_WIDTH


def brute(vectors, labels):
    """Within and between by every pair, and the class-by-class matrix."""
    cosine, labels = cosine_similarity(vectors), np.array(labels)
    i, j = np.triu_indices(len(vectors), k=1)
    same = labels[i] == labels[j]
    names = sorted(set(labels.tolist()))
    matrix = np.empty((len(names), len(names)))
    for a, first in enumerate(names):
        for b, second in enumerate(names):
            pairs = ((labels[i] == first) & (labels[j] == second)) | ((labels[i] == second) & (labels[j] == first))
            matrix[a, b] = cosine[i, j][pairs].mean() if pairs.any() else np.nan
    return cosine[i, j][same].mean(), cosine[i, j][~same].mean(), matrix


def clouds(sizes, width=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = [name for name, size in zip("abcdefgh", sizes, strict=False) for _ in range(size)]
    centres = {name: rng.normal(size=width) for name in set(labels)}
    vectors = np.array([centres[name] + rng.normal(size=width) for name in labels])
    order = rng.permutation(len(labels))
    return vectors[order], [labels[i] for i in order]


@pytest.mark.parametrize("sizes", [(2, 2), (5, 3), (40, 40, 40), (60, 7, 2, 31)])
def test_all_values_equal_brute_force(sizes):
    vectors, labels = clouds(sizes)
    result = class_gap(VectorStore.from_arrays(vectors, labels=labels))
    within, between, matrix = brute(vectors, labels)
    assert result.within_cosine[0] == pytest.approx(within, abs=1e-12)
    assert result.between_cosine[0] == pytest.approx(between, abs=1e-12)
    assert result.gap[0] == pytest.approx(within - between, abs=1e-12)
    np.testing.assert_allclose(result.class_cosine[0], matrix, atol=1e-12)
    diagonal = np.eye(len(sizes), dtype=bool)
    assert result.class_within_cosine[0] == pytest.approx(matrix[diagonal].mean(), abs=1e-12)
    assert result.class_between_cosine[0] == pytest.approx(matrix[~diagonal].mean(), abs=1e-12)
    assert result.class_gap[0] == pytest.approx(matrix[diagonal].mean() - matrix[~diagonal].mean(), abs=1e-12)
    assert result.class_sizes.tolist() == list(sizes)


def test_intervals_are_the_brute_force_jackknife():
    from scipy.stats import t

    vectors, labels = clouds((12, 9, 7))
    result = class_gap(VectorStore.from_arrays(vectors, labels=labels))
    n = len(labels)
    without = np.array([brute(np.delete(vectors, i, axis=0), np.delete(labels, i))[:2] for i in range(n)])
    without = np.column_stack([without, without[:, 0] - without[:, 1]])
    of = [np.array(labels) == name for name in "abc"]  # class sizes are given, so the variances of the classes add up
    variances = np.array([(k.sum() - 1) ** 2 / k.sum() * without[k].var(axis=0, ddof=1) for k in of])
    freedom = variances.sum(axis=0) ** 2 / sum(v**2 / (k.sum() - 1) for v, k in zip(variances, of, strict=True))
    half = t.ppf(0.975, freedom) * np.sqrt(variances.sum(axis=0))
    for name, h in zip(("within_cosine", "between_cosine", "gap"), half, strict=True):
        value = getattr(result, name)[0]
        assert getattr(result, f"{name}_low")[0] == pytest.approx(value - h, abs=1e-12)
        assert getattr(result, f"{name}_high")[0] == pytest.approx(value + h, abs=1e-12)


def test_the_gap_interval_covers_the_truth():
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        codes = np.arange(n) % 2
        return rng.normal(size=(n, 4)) + np.array([[1.0, 0, 0, 1], [0, 1, 0, 1]])[codes], codes

    vectors, codes = draw(400_000, 999)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    means = [units[codes == k].mean(axis=0) for k in (0, 1)]
    truth = (means[0] @ means[0] + means[1] @ means[1]) / 2 - means[0] @ means[1]
    inside = 0
    for seed in range(200):
        sample, codes = draw(80, seed)
        result = class_gap(VectorStore.from_arrays(sample, labels=codes.tolist()))
        inside += result.gap_low[0] <= truth <= result.gap_high[0]
    assert 180 <= inside <= 199


def test_planted_classes(planted):
    result = class_gap(planted)
    assert result.undefined == ("all vectors are the same", "", "")
    assert (result.within_cosine[0], result.between_cosine[0], result.gap[0]) == (1, 1, 0)
    assert np.isnan(result.gap_low[0])
    assert result.gap_low[1] < 0 < result.gap_high[1]  # noise has no gap
    assert result.gap[2] == pytest.approx(1, abs=0.01)  # orthogonal classes
    assert result.best == 2
    assert "Mean cosine by class, layer 2" in result.table()


def test_one_row_per_class_one_class_and_classes_of_one_row():
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    for labels, reason in ((["a", "b", "c", "d"], "no class has two rows"), (["a"] * 4, "only one class")):
        result = class_gap(VectorStore.from_arrays(vectors, labels=labels))
        assert result.undefined == (reason,)
        assert result.records()[0]["gap"] is None
        assert result.best is None
    result = class_gap(VectorStore.from_arrays(vectors, labels=["a", "a", "a", "b"]))
    assert result.gap[0] == pytest.approx(np.subtract(*brute(vectors, ["a", "a", "a", "b"])[:2]))
    assert np.isnan(result.class_within_cosine[0])  # b has no pair of its own
    assert np.isnan(result.class_cosine[0, 1, 1])
    assert "| nan" not in result.table()


def test_class_names_that_do_not_occur_are_left_out_of_the_averages():
    vectors, labels = clouds((5, 5))
    store = VectorStore.from_arrays(vectors, labels=labels, label_names=["a", "never", "b"])
    plain = class_gap(VectorStore.from_arrays(vectors, labels=labels))
    assert class_gap(store).class_gap[0] == pytest.approx(plain.class_gap[0])


def test_labels_are_needed():
    with pytest.raises(InputError, match="the store has no labels; extract rows with a label column, or pass labels="):
        class_gap(VectorStore.from_arrays(np.eye(3)))


def test_the_gap_of_every_class_equals_brute_force():
    vectors, labels = clouds((20, 7, 12))
    cosine, labels = cosine_similarity(vectors), np.array(labels)
    result = class_gap(VectorStore.from_arrays(vectors, labels=labels.tolist()))
    for k, name in enumerate("abc"):
        own, other = labels == name, labels != name
        n = own.sum()
        within = (cosine[np.ix_(own, own)].sum() - n) / (n * (n - 1))
        assert result.gap_by_class[0, k] == pytest.approx(within - cosine[np.ix_(own, other)].mean(), abs=1e-12)


def test_a_class_of_one_row_has_no_gap_and_the_table_says_why():
    vectors, labels = clouds((20, 1, 12))
    result = class_gap(VectorStore.from_arrays(vectors, labels=labels))
    assert np.isnan(result.gap_by_class[0]).tolist() == [False, True, False]
    assert result.records()[0]["class_gap"] is None
    assert np.isfinite(result.gap_low[0])
    assert "layer 0: undefined: class_within_cosine and class_gap (a class has one row)" in result.table()
    assert result.best == 0


def test_unequal_spread_does_not_blow_up_the_interval():
    """Class sizes count as given; pooled over the classes, the jackknife would give a half width of 0.11 here."""
    rng = np.random.default_rng(0)
    labels = ["a", "b"] * 50
    vectors = rng.normal(size=(100, 16)) * np.array([1, 0.3] * 50)[:, None]
    vectors[:, 3] += 1
    vectors[::2, 0] += 1
    vectors[1::2, 1] += 1
    result = class_gap(VectorStore.from_arrays(vectors, labels=labels))
    assert 0.03 < (result.gap_high[0] - result.gap_low[0]) / 2 < 0.07


def test_the_widest_numbers_fit_the_table(planted):
    result = class_gap(planted)
    ends = {f"gap{end}": np.full(3, -1.53e-06) for end in ("", "_low", "_high")}
    wide = {name: np.full(3, -0.12346) for name in ("within_cosine", "between_cosine", "silhouette")}
    small = {"fisher_ratio": np.full(3, 1.23e-5), "p_value": np.full(3, 1.23e-5)}
    table = dataclasses.replace(result, layers=(10, 11, 12), **ends, **wide, **small).table()
    for cell in ("layer", "-1.53e-06 [-1.53e-06, -1.53e-06]", "-0.1235", "silhouette", "centroid", "1.2e-05"):
        assert cell in table
    assert max(map(len, table.splitlines())) <= TABLE_WIDTH


def test_the_heat_map_shows_the_best_layer(planted):
    result = class_gap(planted)
    cells = result.plot().axes[3]
    assert [text.get_text() for text in cells.texts[:3]] == [f"{v:.4f}" for v in result.class_cosine[2, 0]]
    labels = [f"c{i % 12}" for i in range(48)]
    many = class_gap(VectorStore.from_arrays(np.random.default_rng(0).normal(size=(48, 5)), labels=labels))
    assert not many.plot().axes[3].texts
    nothing = class_gap(VectorStore.from_arrays(np.ones((12, 4)), labels=["a", "b"] * 6))
    assert "undefined:\nall vectors are the same" in nothing.plot().axes[3].texts[0].get_text()
