"""The solver of the probe: scikit-learn's logistic regression, in coordinates in which few iterations lead to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

TOLERANCE = 1e-4
"""Largest element of the gradient in the solver's coordinates that counts as the optimum, by the root of the loss.

Half the square of that gradient is about the distance to the smallest loss, so that the loss is right to 1e-4 of it.
"""
_FIRST_ROUND = 25
"""Iterations of the first round; every next one may take four times as many."""
_FAR = 10
"""A loss that a round makes so many times smaller is not at the optimum yet."""
_BLOCK = 100_000
"""Numbers in a block of rows; so many stay in the cache of a core."""


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
    weights = None
    for c in cs:
        problem = _Problem(features, codes, c)
        found = _minimise(problem, problem.zeros if weights is None else weights, max_iter)
        if found is None:
            yield _scikit_learn(features, codes, c, max_iter)
        else:
            weights, converged = found
            yield Fitted(weights=problem.whole(weights), converged=converged)


class _Problem:
    """Mean loss of rows and classes by the weights, (n_free, width + 1), with its first and second derivatives."""

    def __init__(self, features: Floats, codes: Codes, c: float) -> None:
        self.n_rows, self.width = features.shape
        self.n_classes = int(codes.max()) + 1
        self.n_free = 1 if self.n_classes == 2 else self.n_classes
        """Classes with weights of their own; of two classes the first has none."""
        self.penalty = np.full(self.width + 1, 1 / (c * self.n_rows))
        """(width + 1,) weighs the squares of the weights; the intercept is free."""
        self.penalty[-1] = 0
        self._features = features
        self._sums = np.zeros((self.n_classes, self.width + 1))  # of the rows of every class, and how many they are
        for block, rows in self._blocks():
            hot = np.eye(self.n_classes)[codes[block]].T
            self._sums += np.column_stack([hot @ rows, hot.sum(axis=1)])

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """Value, and gradient (n_free, width + 1)."""
        whole = self.whole(weights)
        value, slopes = -np.vdot(whole, self._sums), -self._sums
        for _, rows in self._blocks():
            shares, log_sums = _softmax(_scores(whole, rows))
            value += log_sums.sum()
            slopes[:, :-1] += shares @ rows
            slopes[:, -1] += shares.sum(axis=1)
        mean = float(value / self.n_rows + (self.penalty * weights * weights).sum() / 2)
        return mean, slopes[-self.n_free :] / self.n_rows + self.penalty * weights

    def curvature(self, weights: Floats) -> Floats:
        """Second derivative by the weights of a class, (width + 1, width + 1), the mean over the classes."""
        whole = self.whole(weights)
        matrix = np.diag(self.penalty)
        for _, rows in self._blocks():
            shares = _softmax(_scores(whole, rows))[0]
            roots = np.sqrt((shares * (1 - shares)).mean(axis=0) / self.n_rows)[:, None]
            scaled = roots * np.column_stack([rows, np.ones(len(rows))])
            matrix += scaled.T @ scaled
        return matrix

    @property
    def zeros(self) -> Floats:
        """Weights that tell no class from another, (n_free, width + 1)."""
        return np.zeros((self.n_free, self.width + 1))

    def whole(self, weights: Floats) -> Floats:
        """(n_classes, width + 1) weights, zeros for the class that has none."""
        return np.pad(weights, ((self.n_classes - self.n_free, 0), (0, 0)))

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Rows a few at a time, so that the second use of a block finds it in the cache of the processor."""
        size = max(1, _BLOCK // self.width)
        for start in range(0, self.n_rows, size):
            block = slice(start, start + size)
            yield block, self._features[block]


def _minimise(problem: _Problem, start: Floats, max_iter: int) -> tuple[Floats, bool] | None:
    """Weights and whether they are at the optimum; None where the solver gives up.

    A round is L-BFGS in the coordinates in which the curvature at its start is the identity. Its tolerance goes by the
    loss at its start; where the loss falls far, that was too lax, and another round follows.
    """
    from scipy.linalg import LinAlgError

    weights, left, most = start, max_iter, _FIRST_ROUND
    loss = problem.loss(start)[0]
    while left > 0:
        before = loss
        try:
            weights, found = _round(problem, weights, TOLERANCE * np.sqrt(before), min(most, left))
        except LinAlgError:
            return None
        loss, left, most = float(found.fun), left - found.nit, 4 * most
        if found.status == 0 and before < _FAR * loss:
            return weights, True
        if found.status not in (0, 1):  # neither the optimum nor too few iterations
            return None
    return weights, False


def _round(problem: _Problem, start: Floats, tolerance: float, max_iter: int) -> tuple[Floats, Any]:
    """Weights that a round came to, and scipy's result."""
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import minimize

    root = cholesky(problem.curvature(start), lower=True)

    def weights(point: Floats) -> Floats:
        solved: Floats = solve_triangular(
            root, point.reshape(start.shape).T, lower=True, trans="T", check_finite=False
        ).T
        return solved

    def loss(point: Floats) -> tuple[float, Floats]:
        value, slopes = problem.loss(weights(point))
        return value, solve_triangular(root, slopes.T, lower=True, check_finite=False).T.ravel()

    options: Any = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tolerance, "ftol": 64 * np.finfo(float).eps}
    found = minimize(loss, (start @ root).ravel(), jac=True, method="L-BFGS-B", options=options)
    return weights(found.x), found


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
