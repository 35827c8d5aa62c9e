"""The classifiers of a probe: trained on some rows, they give class probabilities of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.solver import fit_path
from cls_probe.analyses.transform import fit
from cls_probe.errors import InputError

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Fold = tuple[Codes, Codes]
"""Training rows and test rows."""

C_GRID = tuple(10.0**power for power in range(-4, 3))
"""What c="auto" chooses from."""
INNER_FOLDS = 3
"""Folds within the training rows that choose C; fewer where the smallest class has fewer rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """What a classifier says of some rows."""

    probabilities: Floats
    """(n_rows, n_classes); 0 for a class that the training rows lack."""
    c: float = np.nan
    """C as used; NaN where nothing was trained."""
    converged: bool = True
    """Whether the solver came to its optimum."""

    @property
    def codes(self) -> Codes:
        """(n_rows,) most probable class, the first of equals."""
        codes: Codes = self.probabilities.argmax(axis=1)
        return codes


class Classifier(Protocol):
    """Anything that predicts the classes of some rows from other rows."""

    def predict(self, features: Any, codes: Codes, new: Any) -> Prediction:
        """Train on features (n_train, width) and codes (n_train,), predict new (n_new, width)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Logistic:
    """Multinomial logistic regression with L2 penalty, at the optimum of scikit-learn's, on transformed vectors."""

    n_classes: int
    transform: str = "standardize"
    c: float | Literal["auto"] = 1.0
    """Inverse strength of the penalty; "auto" chooses from `C_GRID` for every set of training rows."""
    max_iter: int = 1000
    seed: int = 0
    """Shuffles the rows into the inner folds."""

    def predict(self, features: Any, codes: Codes, new: Any) -> Prediction:
        """Train and predict; where the training rows have one class or no variance, class frequencies."""
        if features.shape[1] == 0 or len(np.unique(codes)) < 2:
            return frequencies(codes, self.n_classes, new.shape[0])
        c = self._choose(features, codes) if self.c == "auto" else float(self.c)
        return self._path(features, codes, new, [c])[0]

    def _path(self, features: Any, codes: Codes, new: Any, cs: Sequence[float]) -> list[Prediction]:
        """One prediction for every C."""
        features, new = transformed(self.transform, features, new)
        if features.shape[1] == 0:
            return [frequencies(codes, self.n_classes, new.shape[0])] * len(cs)
        present, codes = np.unique(codes, return_inverse=True)
        predictions = []
        for c, fitted in zip(cs, fit_path(features, codes, cs, max_iter=self.max_iter), strict=True):
            probabilities = np.zeros((new.shape[0], self.n_classes))
            probabilities[:, present] = fitted.probabilities(new)
            predictions.append(Prediction(probabilities=probabilities, c=c, converged=fitted.converged))
        return predictions

    def _choose(self, features: Any, codes: Codes) -> float:
        """C of the highest accuracy in stratified folds of these rows, the smallest of equals; 1 where none fit."""
        folds = min(INNER_FOLDS, int(np.unique(codes, return_counts=True)[1].min()))
        if folds < 2:
            return 1.0
        right = np.zeros(len(C_GRID), dtype=np.int64)
        for train, test in stratified_folds(codes, folds, self.seed):
            path = self._path(features[train], codes[train], features[test], C_GRID)
            right += [int((prediction.codes == codes[test]).sum()) for prediction in path]
        return C_GRID[int(np.argmax(right))]


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """k nearest neighbours by cosine among the training rows, each with one vote (scikit-learn)."""

    n_classes: int
    transform: str = "standardize"
    k: int = 10

    def predict(self, features: Any, codes: Codes, new: Any) -> Prediction:
        """Give the shares of the votes; a zero vector has cosine 0 with every row."""
        from sklearn.neighbors import KNeighborsClassifier

        if self.k > len(codes):
            raise InputError(f"k is {self.k}; expected at most {len(codes)}, the training rows of a fold")
        features, new = transformed(self.transform, features, new)
        voters = KNeighborsClassifier(self.k, metric="cosine", algorithm="brute").fit(features, codes)
        probabilities = np.zeros((new.shape[0], self.n_classes))
        probabilities[:, voters.classes_] = voters.predict_proba(new)
        return Prediction(probabilities=probabilities)


def transformed(transform: str, features: Any, new: Any) -> tuple[Any, Any]:
    """Training and new vectors after a transform that was fitted on the training vectors."""
    correction = fit(transform, lambda: [features])
    return (features, new) if correction is None else (correction(features), correction(new))


def stratified_folds(codes: Codes, folds: int, seed: int) -> list[Fold]:
    """Training and test rows of every fold, each with the classes in equal shares."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes))


def predict_folds(classifier: Classifier, features: Any, codes: Codes, folds: Sequence[Fold]) -> list[Prediction]:
    """One prediction of the test rows of every fold."""
    return [classifier.predict(features[train], codes[train], features[test]) for train, test in folds]


def frequencies(codes: Codes, n_classes: int, n_new: int) -> Prediction:
    """Predict without looking: the class frequencies of the training rows, for every new row."""
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    return Prediction(probabilities=np.tile(shares, (n_new, 1)))
