"""The solver of the probe: scikit-learn's logistic regression, in coordinates in which few iterations lead to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

TOLERANCE = 1e-5
"""Largest element of the gradient of the mean loss, in the solver's coordinates, that counts as the optimum."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """Weights of a logistic regression."""

    weights: Floats
    """(n_classes, width + 1), the last column the intercepts; of two classes the first has zeros."""
    converged: bool
    """Whether the solver came to its optimum."""

    def probabilities(self, features: Any) -> Floats:
        """Softmax of the scores, (n_rows, width) -> (n_rows, n_classes)."""
        return _softmax(_scores(self.weights, features))[0].T


def fit_path(features: Any, codes: Codes, cs: Sequence[float], *, max_iter: int) -> Iterator[Fitted]:
    """Fit a logistic regression for every C, each from the one before; rows (n_rows, width), classes 0, 1, ...

    The objective is scikit-learn's: the mean loss plus |W|^2 / (2 C n), intercepts free, one vector of weights for
    two classes. Sparse rows, and fewer rows than dimensions, go to scikit-learn itself, and so does what the solver
    here gives up before max_iter.
    """
    if not isinstance(features, np.ndarray) or len(features) <= features.shape[1]:
        yield from (_scikit_learn(features, codes, c, max_iter) for c in cs)
        return
    problem = _Problem(features, codes)
    weights = np.zeros((problem.n_free, features.shape[1] + 1))
    for c in cs:
        fitted = _minimise(problem, c, weights, max_iter)
        if fitted is None:
            yield _scikit_learn(features, codes, c, max_iter)
        else:
            weights = fitted.weights[-problem.n_free :]
            yield fitted


class _Problem:
    """Mean loss of rows and classes by the weights, and a matrix above its second derivatives."""

    def __init__(self, features: Floats, codes: Codes) -> None:
        self.features = features
        self.codes = codes
        self.n_classes = int(codes.max()) + 1
        self.n_free = 1 if self.n_classes == 2 else self.n_classes
        """Classes with weights of their own; of two classes the first has none."""

    @cached_property
    def bound(self) -> Floats:
        """(width + 1, width + 1) at least the second derivative by any class (Boehning 1992): X'X / (2n), or / (4n)."""
        n, width = self.features.shape
        gram = np.empty((width + 1, width + 1))
        gram[:width, :width] = self.features.T @ self.features
        gram[width, :width] = gram[:width, width] = self.features.sum(axis=0)
        gram[width, width] = n
        return gram / ((4 if self.n_free == 1 else 2) * n)

    def loss(self, weights: Floats, penalty: Floats) -> tuple[float, Floats]:
        """Value and gradient, (n_free, width + 1); `penalty` (width + 1,) weighs the squares, divided by 2."""
        n, rows = len(self.codes), np.arange(len(self.codes))
        scores = _scores(self.whole(weights), self.features)
        residuals, log_sums = _softmax(scores)
        value = (log_sums - scores[self.codes, rows]).mean() + (penalty * weights * weights).sum() / 2
        residuals[self.codes, rows] -= 1
        residuals = residuals[-self.n_free :] / n
        slopes = np.column_stack([residuals @ self.features, residuals.sum(axis=1)])
        return float(value), slopes + penalty * weights

    def whole(self, weights: Floats) -> Floats:
        """(n_classes, width + 1) weights, zeros for the class that has none."""
        return np.pad(weights, ((self.n_classes - self.n_free, 0), (0, 0)))


def _minimise(problem: _Problem, c: float, start: Floats, max_iter: int) -> Fitted | None:
    """L-BFGS in the coordinates in which the bound is the identity; None where it gives up."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular
    from scipy.optimize import minimize

    penalty = np.full(start.shape[1], 1 / (c * len(problem.codes)))
    penalty[-1] = 0  # the intercept is free
    try:
        root = cholesky(problem.bound + np.diag(penalty), lower=True)
    except LinAlgError:
        return None

    def loss(point: Floats) -> tuple[float, Floats]:
        weights = solve_triangular(root, point.reshape(start.shape).T, lower=True, trans="T").T
        value, slopes = problem.loss(weights, penalty)
        return value, solve_triangular(root, slopes.T, lower=True).T.ravel()

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": TOLERANCE, "ftol": 64 * np.finfo(float).eps}
    found = minimize(loss, (start @ root).ravel(), jac=True, method="L-BFGS-B", options=options)
    if found.status == 2:  # neither the optimum nor max_iter
        return None
    weights = solve_triangular(root, found.x.reshape(start.shape).T, lower=True, trans="T").T
    return Fitted(weights=problem.whole(weights), converged=found.status == 0)


def _scikit_learn(features: Any, codes: Codes, c: float, max_iter: int) -> Fitted:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    probe = LogisticRegression(C=c, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported per layer instead
        probe.fit(features, codes)
    weights = np.column_stack([probe.coef_, probe.intercept_])
    weights = np.pad(weights, ((len(probe.classes_) - len(weights), 0), (0, 0)))
    return Fitted(weights=weights, converged=bool(probe.n_iter_.max() < max_iter))


def _scores(weights: Floats, features: Any) -> Floats:
    """(n_classes, n_rows) scores of every class."""
    scores: Floats = (features @ weights[:, :-1].T).T + weights[:, -1:]
    return scores


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Shares of the classes, (n_classes, n_rows), and the logarithm of the sum of exponentials, (n_rows,)."""
    largest = scores.max(axis=0)
    shares = np.exp(scores - largest)
    total = shares.sum(axis=0)
    return shares / total, largest + np.log(total)
