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
from tests.test_contract import check_result, degenerate_stores


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


def test_texts_in_both_stores_are_counted():
    vectors, labels = noisy(n=40)
    texts = [[f"{side if i > 2 else ''} {i}" for i in range(40)] for side in "ab"]
    stores = [VectorStore.from_arrays(vectors, labels=labels, texts=some) for some in texts]
    assert layer_probe(stores[0], test=stores[1]).n_repeated == 3
    assert layer_probe(stores[0]).n_repeated == 0


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
        ({"c": "many"}, "c is many; expected a number above 0, or auto"),
        ({"max_iter": 0}, "max_iter is 0; expected at least 1"),
        ({"k": 0}, "k is 0; expected at least 1"),
        ({"knn": True, "k": 40}, "k is 40; expected at most 32, the training rows of a fold"),
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


EVERYTHING = {"knn": True, "k": 2, "mdl": True, "curve": True}


def test_control_accuracy_is_near_the_majority_where_no_text_can_be_remembered():
    vectors, labels = noisy(n=1200)
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels))
    assert result.control_accuracy_low[0] < result.majority_accuracy < result.control_accuracy_high[0]
    assert result.selectivity[0] == result.accuracy[0] - result.control_accuracy[0]
    assert result.selectivity[0] > 0.2


def test_control_accuracy_rises_where_texts_recur():
    rng = np.random.default_rng(0)
    vectors = np.tile(rng.normal(size=(60, 80)), (3, 1))
    texts = [f"text {i}" for i in range(60)] * 3
    once = layer_probe(VectorStore.from_arrays(vectors, labels=["a", "b"] * 90))
    again = layer_probe(VectorStore.from_arrays(vectors, labels=["a", "b"] * 90, texts=texts))
    assert again.control_accuracy[0] > 0.95
    assert once.control_accuracy[0] < 0.65  # without texts no two rows are the same
    assert (again.n_repeated, once.n_repeated) == (180, None)
    assert "180 of them have the text of a row that their probe was trained on" in again.table().replace("\n", " ")


def test_the_last_point_of_the_curve_is_the_accuracy_and_the_first_are_fewer_rows():
    vectors, labels = noisy(n=400)
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels), curve=True)
    assert result.curve_rows.tolist() == [20, 40, 80, 160, 320]
    assert result.curve_accuracy[0, -1] == result.accuracy[0]
    assert result.curve_accuracy[0, 0] < result.accuracy[0]
    assert (result.curve_accuracy_low <= result.curve_accuracy).all()
    assert "Accuracy after training on so many rows" in result.table()
    assert len(result.plot().axes) == 2


def test_recall_and_calibration_are_those_of_the_out_of_fold_probabilities():
    vectors, labels = noisy()
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels))
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    split = StratifiedKFold(5, shuffle=True, random_state=0)
    shares = cross_val_predict(probe, vectors, labels, cv=split, method="predict_proba")
    right = shares.argmax(axis=1) == np.array([int(label[1]) for label in labels])
    bins = np.minimum((shares.max(axis=1) * 15).astype(int), 14)
    gaps = [abs(right[bins == b].mean() - shares.max(axis=1)[bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    assert result.calibration_error[0] == pytest.approx(sum(gaps), abs=0.01)
    assert result.recall[0] == pytest.approx(np.diag(result.confusion[0]) / 60)


def test_a_baseline_store_is_probed_on_the_same_folds():
    vectors, labels = noisy()
    weaker = vectors + np.random.default_rng(1).normal(scale=3, size=vectors.shape)
    stores = [VectorStore.from_arrays(one, labels=labels) for one in (vectors, weaker)]
    result = layer_probe(stores[0], baseline=stores[1])
    alone = layer_probe(stores[1])
    for end in ("", "_low", "_high"):
        assert getattr(result, f"baseline_accuracy{end}") == getattr(alone, f"accuracy{end}")
    assert "baseline: the same probe on the same rows of arrays." in result.table()


def test_chosen_c_is_reported_and_never_loses_much():
    vectors, labels = noisy()
    result = layer_probe(VectorStore.from_arrays(vectors, labels=labels), c="auto")
    assert result.chosen_c[0] in (1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100)
    assert f"C chosen within the training rows, by layer: 0: {result.chosen_c[0]:g}." in result.table()
    assert result.accuracy[0] > layer_probe(VectorStore.from_arrays(vectors, labels=labels)).accuracy[0] - 0.05


def test_layers_that_cannot_be_told_from_the_best_are_marked():
    vectors, labels = noisy(n=400)
    rng = np.random.default_rng(1)
    twin = vectors + rng.normal(scale=0.05, size=vectors.shape)
    layers = np.stack([rng.normal(size=vectors.shape), twin, vectors], axis=1)
    result = layer_probe(VectorStore.from_arrays(layers, labels=labels))
    assert result.as_good_as_best.tolist() == [False, True, True]
    assert result.p_best[result.best] == 1
    assert result.p_best[0] < 1e-6
    rows = [line for line in result.table().splitlines() if line[1:9].strip() in ("0", "1", "2")]
    assert sorted(row[0] for row in rows) == [" ", "*", "="]
    assert (
        f"= these rows cannot tell it from layer {result.layers[result.best]} (p > 0.05, exact McNemar test"
        in result.table()
    )


def test_what_was_not_asked_for_has_no_column(planted):
    asked = {"control_accuracy", "selectivity", "baseline_accuracy", "knn_accuracy", "codelength", "compression"}
    few = layer_probe(planted, control=False, baselines=False)
    assert not (asked | {"chosen_c"}) & set(few.records()[0])
    every = layer_probe(planted, baseline=planted, layers=[2], c="auto", **EVERYTHING)
    assert asked | {"chosen_c"} <= set(every.records()[0])
    assert set(few.records()[0]) < set(every.records()[0])


def test_everything_at_once_fits_and_is_reproduced(planted):
    result = layer_probe(planted, baseline=planted, **EVERYTHING)
    check_result(result)
    assert layer_probe(planted, baseline=planted, **EVERYTHING).to_json() == result.to_json()
    assert np.isnan(result.knn_accuracy[0])
    assert result.knn_accuracy[2] == 1
    assert result.compression[2] > 2 > result.compression[1]


@pytest.mark.parametrize("name", degenerate_stores())
@pytest.mark.parametrize("options", [EVERYTHING, {"c": "auto"}], ids=["everything", "auto"])
def test_degenerate_stores_with_everything_asked_for(name, options):
    store = degenerate_stores()[name]
    try:
        result = layer_probe(store, baseline=store, folds=3, **options)
    except InputError as error:
        assert "\n" not in str(error)
        assert any(reason in str(error) for reason in ("one class only", "fewer than the", "expected at most"))
        return
    check_result(result)
    result.plot()
