"""The classifiers against scikit-learn, and where there is nothing to train on."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cls_probe.analyses.probing.classifier import C_GRID, Logistic, Neighbours
from cls_probe.errors import InputError


def some(n=150, width=20, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    return rng.normal(size=(n, width)) + 0.4 * rng.normal(size=(classes, width))[codes], codes


def test_logistic_is_scikit_learns():
    features, codes = some()
    found = Logistic(n_classes=4, c=0.1).predict(features[:100], codes[:100], features[100:])
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)).fit(features[:100], codes[:100])
    np.testing.assert_allclose(found.probabilities[:, :3], probe.predict_proba(features[100:]), atol=1e-3)
    assert (found.probabilities[:, 3] == 0).all()  # a class that the training rows lack
    assert (found.codes == probe.predict(features[100:])).all()
    assert (found.c, found.converged) == (0.1, True)


@pytest.mark.parametrize("seed", range(4))
def test_auto_chooses_as_a_grid_search_does(seed):
    features, codes = some(seed=seed)
    found = Logistic(n_classes=3, c="auto", seed=seed).predict(features[:100], codes[:100], features[100:])
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": C_GRID},
        scoring=lambda probe, x, y: (probe.predict(x) == y).sum() / len(codes),  # rows, not folds, count alike
        cv=StratifiedKFold(3, shuffle=True, random_state=seed),
    ).fit(features[:100], codes[:100])
    assert found.c == search.best_params_["logisticregression__C"]
    assert np.array(C_GRID) == pytest.approx(np.logspace(-4, 2, 7))


def test_auto_looks_at_training_rows_alone():
    features, codes = some()
    one = Logistic(n_classes=3, c="auto").predict(features[:100], codes[:100], features[100:])
    other = Logistic(n_classes=3, c="auto").predict(features[:100], codes[:100], np.full((50, 20), 1e3))
    assert one.c == other.c


def test_auto_with_a_class_of_one_row_takes_1():
    features, codes = some(n=20)
    codes = np.where(np.arange(20) == 3, 2, codes % 2)
    assert Logistic(n_classes=3, c="auto").predict(features, codes, features).c == 1


def test_without_variance_or_classes_the_frequencies_are_said():
    features, codes = some(n=12)
    for found in (
        Logistic(n_classes=3).predict(np.empty((12, 0)), codes, np.empty((2, 0))),
        Logistic(n_classes=3, transform="whiten").predict(np.ones((12, 4)), codes, np.ones((2, 4))),
    ):
        assert found.probabilities == pytest.approx(np.full((2, 3), 1 / 3))
    one = Logistic(n_classes=3).predict(features, np.ones(12, dtype=int), features[:2])
    assert one.probabilities.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_neighbours_are_scikit_learns():
    features, codes = some()
    found = Neighbours(n_classes=3, transform="none", k=5).predict(features[:100], codes[:100], features[100:])
    voters = KNeighborsClassifier(5, metric="cosine").fit(features[:100], codes[:100])
    assert (found.codes == voters.predict(features[100:])).all()
    cosine = features[100:] @ features[:100].T / np.linalg.norm(features[:100], axis=1)
    nearest = codes[np.argsort(-cosine, axis=1)[:, :5]]
    shares = np.stack([(nearest == k).mean(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(found.probabilities, shares)
    with pytest.raises(InputError, match="k is 101; expected at most 100, the training rows of a fold"):
        Neighbours(n_classes=3, k=101).predict(features[:100], codes[:100], features[100:])
