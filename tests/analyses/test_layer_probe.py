"""The layer probe against scikit-learn on the same folds, and on planted classes."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cls_probe import VectorStore, layer_probe
from cls_probe.analyses.probing.scoring import macro_f1
from cls_probe.errors import InputError


def noisy(n=240, width=10, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    return rng.normal(size=(n, width)) + 0.8 * rng.normal(size=(classes, width))[codes], [f"c{k}" for k in codes]


@pytest.mark.parametrize(("c", "folds", "seed"), [(1.0, 5, 0), (0.01, 3, 7)])
def test_equals_scikit_learn_on_the_same_folds(c, folds, seed):
    vectors, labels = noisy()
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels), c=c, folds=folds, seed=seed)
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000))
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    predicted = cross_val_predict(probe, vectors, labels, cv=split)
    assert result.accuracy[0] == pytest.approx(accuracy_score(labels, predicted), abs=1e-3)
    assert result.macro_f1[0] == pytest.approx(f1_score(labels, predicted, average="macro"), abs=1e-3)
    assert np.abs(result.confusion[0] - confusion_matrix(labels, predicted)).sum() <= 2
    assert result.converged.all()


def test_the_exact_interval_by_its_definition():
    vectors, labels = noisy()
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels))
    right = round(result.accuracy[0] * 240)
    assert binom.sf(right - 1, 240, result.accuracy_low[0]) == pytest.approx(0.025)
    assert binom.cdf(right, 240, result.accuracy_high[0]) == pytest.approx(0.025)


def test_the_multinomial_bootstrap_is_the_bootstrap_over_rows():
    vectors, labels = noisy(seed=3)
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels))
    true, predicted = np.array([(a, b) for a in range(4) for b in range(4) for _ in range(result.confusion[0, a, b])]).T
    rng = np.random.default_rng(1)
    drawn = [rng.integers(240, size=240) for _ in range(1000)]
    values = [f1_score(true[rows], predicted[rows], average="macro") for rows in drawn]
    expected = np.quantile(values, [0.025, 0.975])
    np.testing.assert_allclose([result.macro_f1_low[0], result.macro_f1_high[0]], expected, atol=0.01)


def test_macro_f1_with_a_class_never_predicted_is_scikit_learns():
    confusion = np.array([[5, 0, 0], [2, 0, 0], [1, 0, 4]])
    true = [0] * 5 + [1] * 2 + [2] * 5
    predicted = [0] * 5 + [0] * 2 + [0] + [2] * 4
    assert macro_f1(confusion) == pytest.approx(f1_score(true, predicted, average="macro", zero_division=0))


def test_planted_classes(planted):
    result = layer_probe(planted)
    assert result.accuracy[0] == result.majority_accuracy == pytest.approx(1 / 3)
    assert result.undefined == ("all vectors are the same", "", "")
    assert result.accuracy_low[1] < 1 / 3 < result.accuracy_high[1] + 0.1
    assert result.accuracy[2] == 1
    assert result.best == 2
    assert "the probe can only say the majority class (chance)" in result.table()


def test_a_test_store_replaces_the_folds():
    vectors, labels = noisy()
    train, test = (
        VectorStore.from_arrays(vectors[part], labels=labels[part]) for part in (slice(160), slice(160, None))
    )
    result = layer_probe(train, test=test)
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(vectors[:160], labels[:160])
    assert result.accuracy[0] == pytest.approx(probe.score(vectors[160:], labels[160:]), abs=1e-3)
    assert result.n_test == 80
    assert result.params["test"]["n_rows"] == 80


def test_labels_of_the_test_store_are_matched_by_name():
    vectors, labels = noisy()
    train = VectorStore.from_arrays(vectors[:160], labels=labels[:160])
    names = ["c3", "c1", "c0", "c2"]
    plain = VectorStore.from_arrays(vectors[160:], labels=labels[160:])
    other = VectorStore.from_arrays(vectors[160:], labels=labels[160:], label_names=names)
    assert layer_probe(train, test=other).accuracy == layer_probe(train, test=plain).accuracy
    with pytest.raises(InputError, match="label 'new' of the test store does not occur in the training store"):
        layer_probe(train, test=VectorStore.from_arrays(vectors[:2], labels=["c1", "new"]))
    with pytest.raises(InputError, match="the test store is 3 wide; expected 10"):
        layer_probe(train, test=VectorStore.from_arrays(vectors[:2, :3], labels=["c1", "c2"]))


def test_majority_baseline_of_unbalanced_classes():
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    result = layer_probe(VectorStore.from_arrays(vectors, labels=["rare"] * 10 + ["often"] * 40))
    assert result.majority_accuracy == 0.8


def test_a_probe_that_does_not_converge_is_flagged_without_a_warning():
    vectors, labels = noisy()
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels), max_iter=2)
    assert not result.converged[0]
    assert "did not converge is not at its optimum: raise --max-iter" in result.table()


def test_the_seed_decides():
    vectors, labels = noisy(n=100)
    store = VectorStore.from_arrays(vectors, labels=labels)
    one, again, other = (layer_probe(store, seed=seed).to_json() for seed in (0, 0, 1))
    assert one == again
    assert one.replace('"seed": 0', '"seed": 1') != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds is 1; expected at least 2"),
        ({"folds": 11}, "class 'b' has 10 rows, fewer than the 11 folds; lower --folds or add rows"),
        ({"c": 0}, "c is 0; expected a number above 0"),
        ({"c": float("nan")}, "c is nan; expected a number above 0"),
        ({"max_iter": 0}, "max_iter is 0; expected at least 1"),
    ],
)
def test_options_that_cannot_be(options, message):
    store = VectorStore.from_arrays(np.random.default_rng(0).normal(size=(40, 3)), labels=["a"] * 30 + ["b"] * 10)
    with pytest.raises(InputError) as caught:
        layer_probe(store, **options)
    assert message in str(caught.value)


def test_one_class_is_refused():
    store = VectorStore.from_arrays(np.eye(6), labels=["a"] * 6)
    with pytest.raises(InputError, match="the store has one class only; a probe needs at least two"):
        layer_probe(store)
    with pytest.raises(InputError, match="the store has one class only"):
        layer_probe(store, test=store)
