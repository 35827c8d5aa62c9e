"""The solver against scikit-learn at a tight tolerance: the same loss, weights and predictions."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from cls_probe.analyses.probing import solver
from cls_probe.analyses.probing.solver import fit_path


def some(n=600, width=40, classes=4, seed=0, apart=0.3):
    """Correlated dimensions of unequal scale and place, as vectors of a layer have."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    vectors = rng.normal(size=(n, width)) + apart * rng.normal(size=(classes, width))[codes]
    mixed = vectors * np.geomspace(1, 0.01, width) @ np.linalg.qr(rng.normal(size=(width, width)))[0]
    return mixed / mixed.std(axis=0) + 0.5, codes


def objective(weights, features, codes, c):
    """Mean loss with the penalty, by its definition; `weights` (1 or n_classes, width + 1)."""
    if len(weights) == 1:
        weights = np.concatenate([0 * weights, weights])
    scores = features @ weights[:, :-1].T + weights[:, -1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    loss = log_loss(codes, shares / shares.sum(axis=1, keepdims=True))
    return loss + (weights[:, :-1] ** 2).sum() / (2 * c * len(codes))


def scikit_learn(features, codes, c):
    probe = LogisticRegression(C=c, tol=1e-9, max_iter=100_000).fit(features, codes)
    return np.column_stack([probe.coef_, probe.intercept_]), probe


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("c", [0.001, 1.0, 100.0])
@pytest.mark.parametrize("apart", [0.0, 0.3, 2.0])
def test_the_loss_is_that_of_scikit_learn(classes, c, apart):
    features, codes = some(classes=classes, apart=apart)
    (fitted,) = fit_path(features, codes, [c], max_iter=1000)
    weights, probe = scikit_learn(features, codes, c)
    ours, theirs = (objective(w, features, codes, c) for w in (fitted.weights, weights))
    assert fitted.converged
    assert theirs * (1 - 1e-9) < ours < theirs * (1 + 1e-4)
    predicted = fitted.probabilities(features)
    assert abs((predicted.argmax(axis=1) == codes).mean() - probe.score(features, codes)) <= 2e-3  # one of 600 rows
    np.testing.assert_allclose(predicted, probe.predict_proba(features), atol=0.01)


def test_a_path_gives_the_optimum_of_every_c():
    features, codes = some()
    cs = [1e-3, 1.0, 100.0]
    for c, fitted in zip(cs, fit_path(features, codes, cs, max_iter=1000), strict=True):
        best = objective(scikit_learn(features, codes, c)[0], features, codes, c)
        assert objective(fitted.weights, features, codes, c) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_derivatives_are_those_of_the_loss(classes):
    features, codes = some(n=80, width=5, classes=classes)
    problem = solver._Problem(features, codes, 0.1)
    at = np.random.default_rng(1).normal(size=problem.zeros.shape)
    value, slopes = problem.loss(at)
    whole = problem.whole(at)
    assert value == pytest.approx(objective(whole, features, codes, 0.1))
    steps = 1e-5 * np.eye(at.size).reshape(-1, *at.shape)
    numeric = [(problem.loss(at + step)[0] - problem.loss(at - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(slopes.ravel(), numeric, atol=1e-8)
    second = np.array([(problem.loss(at + step)[1] - problem.loss(at - step)[1]) / 2e-5 for step in steps])
    second = second.reshape(*at.shape, *at.shape)
    mean = np.mean([second[k, :, k] for k in range(len(at))], axis=0)
    np.testing.assert_allclose(problem.curvature(at), mean, atol=1e-8)


def test_blocks_of_rows_change_nothing(monkeypatch):
    features, codes = some()
    (whole,) = fit_path(features, codes, [1.0], max_iter=1000)
    monkeypatch.setattr(solver, "_BLOCK", 70 * features.shape[1])
    (blocks,) = fit_path(features, codes, [1.0], max_iter=1000)
    np.testing.assert_allclose(blocks.weights, whole.weights, atol=1e-3)


def test_few_rows_and_sparse_ones_are_scikit_learns():
    features, codes = some(n=30)
    for rows in (features, csr_array(features)):
        (fitted,) = fit_path(rows, codes, [1.0], max_iter=1000)
        probe = LogisticRegression(max_iter=1000).fit(rows, codes)
        np.testing.assert_allclose(fitted.probabilities(rows), probe.predict_proba(rows), atol=1e-12)


def test_what_the_solver_gives_up_is_scikit_learns(monkeypatch):
    features, codes = some(classes=2)
    monkeypatch.setattr(solver, "_minimise", lambda *_: None)
    fitted = list(fit_path(features, codes, [0.1, 1.0], max_iter=1000))
    for c, one in zip([0.1, 1.0], fitted, strict=True):
        probe = LogisticRegression(C=c, max_iter=1000).fit(features, codes)
        np.testing.assert_allclose(one.probabilities(features), probe.predict_proba(features), atol=1e-12)


def test_a_matrix_without_a_root_is_given_up():
    features, codes = some(classes=2)
    features[:, 1] = features[:, 0]  # without a penalty the curvature is singular
    problem = solver._Problem(features, codes, np.inf)
    problem.penalty[:] = -1e-6
    assert solver._minimise(problem, problem.zeros, 100) is None


def test_max_iter_is_kept_and_told():
    features, codes = some()
    few, many = (next(fit_path(features, codes, [1.0], max_iter=n)) for n in (3, 1000))
    assert (few.converged, many.converged) == (False, True)
    assert objective(few.weights, features, codes, 1.0) > objective(many.weights, features, codes, 1.0)
