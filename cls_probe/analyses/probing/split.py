"""Which rows train and which test a probe, and with what labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.classifier import Codes, Fold, Prediction, stratified_folds
from cls_probe.errors import InputError
from cls_probe.store import VectorStore

Floats = NDArray[np.float64]
Text = tuple[str, str]
"""A text and its second text, "" where there is none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """The rows of a store, and of a test store after them, numbered through; which of them train and test."""

    stores: tuple[VectorStore, ...]
    codes: Codes
    """(n_rows,) classes in the order of the first store."""
    folds: tuple[Fold, ...]

    @property
    def n_train(self) -> int:
        """Rows of the first store."""
        return self.stores[0].n_rows

    @cached_property
    def tested(self) -> Codes:
        """(n_test,) rows that are predicted, ascending."""
        return np.sort(np.concatenate([test for _, test in self.folds]))

    @cached_property
    def texts(self) -> list[Text] | None:
        """(n_rows,) texts, None when a store has none."""
        found = []
        for store in self.stores:
            if store.texts is None:
                return None
            found += list(zip(store.texts, store.text_pairs or [""] * store.n_rows, strict=True))
        return found

    @property
    def n_repeated(self) -> int | None:
        """Test rows whose text is also that of a training row of their fold; None without texts."""
        if self.texts is None:
            return None
        number: dict[Text, int] = {}
        text = np.array([number.setdefault(key, len(number)) for key in self.texts])
        return sum(int(np.isin(text[test], text[train]).sum()) for train, test in self.folds)

    def features(self, layer: int, pooling: str) -> Floats:
        """Vectors of all rows, (n_rows, hidden_size)."""
        return np.concatenate([store.layer(layer, pooling=pooling).astype(np.float64) for store in self.stores])

    def tested_probabilities(self, predictions: Sequence[Prediction]) -> Floats:
        """Put the predictions of the folds in the order of `tested`, (n_test, n_classes)."""
        order = np.argsort(np.concatenate([test for _, test in self.folds]))
        together: Floats = np.concatenate([prediction.probabilities for prediction in predictions])[order]
        return together

    def right(self, predictions: Sequence[Prediction]) -> NDArray[np.bool_]:
        """(n_test,) whether each row of `tested` is predicted right."""
        predicted = self.tested_probabilities(predictions).argmax(axis=1)
        correct: NDArray[np.bool_] = predicted == self.codes[self.tested]
        return correct


def split_rows(store: VectorStore, test: VectorStore | None, folds: int, seed: int) -> Split:
    """Stratified folds of one store, or the training and the test store as one fold."""
    codes = store.codes
    if len(np.unique(codes)) < 2:
        raise InputError("the store has one class only; a probe needs at least two")
    if test is None:
        _check_folds(store, folds)
        return Split(stores=(store,), codes=codes, folds=tuple(stratified_folds(codes, folds, seed)))
    codes = np.concatenate([codes, _test_codes(store, test)])
    rows = np.arange(len(codes))
    return Split(stores=(store, test), codes=codes, folds=((rows[: store.n_rows], rows[store.n_rows :]),))


def control_split(split: Split, seed: int) -> Split:
    """Give every distinct text a label drawn from the class frequencies of the training rows (Hewitt & Liang 2019).

    Equal texts get equal labels, in both stores; without texts every row gets its own.
    """
    shares = np.bincount(split.codes[: split.n_train]) / split.n_train
    numbers: dict[object, int] = {}
    keys: Sequence[object] = split.texts or range(len(split.codes))
    text = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    drawn = np.random.default_rng(seed).choice(len(shares), size=len(numbers), p=shares)
    return replace(split, codes=drawn[text])


def same_rows(split: Split, baseline: VectorStore, layers: Sequence[int]) -> Split:
    """Give the same split of the same rows in another store; InputError when rows are others or a layer is missing."""
    store = split.stores[0]
    if len(split.stores) > 1:
        raise InputError("a baseline store was given with a test store; expected one of them: leave the test store out")
    here, there = store.source["rows_sha256"], baseline.source["rows_sha256"]
    if here != there:
        raise InputError(
            f"the baseline store holds other rows (rows_sha256 {_short(there)}; expected {_short(here)} as in the "
            "store); extract both from the same rows"
        )
    if (store.labels, store.texts) != (baseline.labels, baseline.texts):
        raise InputError(
            "the baseline store holds other rows (texts or labels differ); make both stores from the same rows"
        )
    if missing := sorted(set(layers) - set(baseline.layers)):
        raise InputError(f"layer {missing[0]} is not in the baseline store; choose layers that both stores hold")
    return replace(split, stores=(baseline,))


def _short(digest: str | None) -> str:
    return "none" if digest is None else f"{digest[:12]}..."


def _check_folds(store: VectorStore, folds: int) -> None:
    if folds < 2:
        raise InputError(f"folds is {folds}; expected at least 2")
    sizes = np.bincount(store.codes, minlength=len(store.label_names))
    smallest = int(np.where(sizes > 0, sizes, sizes.max()).argmin())
    if sizes[smallest] < folds:
        raise InputError(
            f"class {store.label_names[smallest]!r:.60} has {sizes[smallest]} rows, fewer than the {folds} folds; "
            "lower --folds or add rows"
        )


def _test_codes(store: VectorStore, test: VectorStore) -> Codes:
    """Codes of the test rows in the class order of the training store."""
    known = store.source["weights_sha256"], test.source["weights_sha256"]
    if None not in known and known[0] != known[1]:
        raise InputError(
            "the test store was made with other weights than the training store; extract both with one model"
        )
    if test.hidden_size != store.hidden_size:
        raise InputError(
            f"the test store is {test.hidden_size} wide; expected {store.hidden_size} as in the training store"
        )
    position = {name: code for code, name in enumerate(store.label_names)}
    if unknown := sorted(set(test.label_names) - set(position)):
        raise InputError(f"label {unknown[0]!r:.60} of the test store does not occur in the training store")
    order: Mapping[int, int] = {code: position[name] for code, name in enumerate(test.label_names)}
    return np.array([order[code] for code in test.codes.tolist()], dtype=np.int64)
