"""The vectors of one layer as a cloud of points: transformed, in float64, batch by batch."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.transform import AffineMap, check_transform, fit
from cls_probe.store import VectorStore

Floats = NDArray[np.float64]

SAME = "all vectors are the same"
_SAME_TOLERANCE = 8 * float(np.finfo(np.float32).eps)
ROUNDING = 1e-11
"""What float64 leaves of a vector that a map removed, as a share of its length before."""


def drawn_rows(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Give all row numbers, or so many drawn without replacement, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


class Cloud:
    """The vectors of one layer of a store, after a transform that was fitted on them."""

    def __init__(self, store: VectorStore, layer: int, *, pooling: str = "cls", transform: str = "none") -> None:
        """Choose the vectors; InputError for a transform that does not exist."""
        check_transform(transform, store.hidden_size)
        self.store = store
        self.layer = layer
        self.pooling = pooling
        self.transform = transform
        self.n_rows = store.n_rows

    def raw_batches(self) -> Iterator[Floats]:
        """Give the vectors as stored, (rows, hidden_size)."""
        for batch in self.store.batches(self.layer, pooling=self.pooling):
            yield batch.astype(np.float64)

    def batches(self) -> Iterator[Floats]:
        """Give the transformed vectors, (rows, width)."""
        for batch in self.raw_batches():
            yield batch if self._map is None else self._map(batch)

    def units(self) -> Iterator[Floats]:
        """Give the transformed vectors, each divided by its norm, (rows, width)."""
        for batch in self.batches():
            yield batch / np.linalg.norm(batch, axis=1, keepdims=True)

    def array(self) -> Floats:
        """Give all transformed vectors at once, (n_rows, width)."""
        return np.concatenate(list(self.batches()))

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Give the transformed vectors of some rows, numbers ascending, (rows, width)."""
        parts, start = [], 0
        for batch in self.batches():
            first, last = np.searchsorted(numbers, (start, start + len(batch)))
            parts.append(batch[numbers[first:last] - start])
            start += len(batch)
        return np.concatenate(parts)

    @cached_property
    def width(self) -> int:
        """Dimensions after the transform: hidden_size, or fewer where whitening drops some."""
        return int(next(self.batches()).shape[1])

    @cached_property
    def is_constant(self) -> bool:
        """Whether all stored vectors are the same.

        They are when no coordinate moves by more than 8 float32 epsilons of the largest one, which is how far a
        constant can spread by rounding.
        """
        first = next(self.raw_batches())[0]
        tolerance = _SAME_TOLERANCE * np.abs(first).max()
        return all((np.abs(batch - first) <= tolerance).all() for batch in self.raw_batches())

    @cached_property
    def degenerate(self) -> str:
        """Why the cosines tell nothing: one row only, a zero vector, all vectors the same; "" when they do."""
        if self.n_rows == 1:
            return "only one row"
        if self.transform != "none" and self.is_constant:
            return SAME
        start = 0
        for raw, batch in zip(self.raw_batches(), self.batches(), strict=True):
            zero = np.flatnonzero(np.linalg.norm(batch, axis=1) <= self._rounding(raw))
            if zero.size:
                after = "" if self._map is None else f" after {self.transform}"
                return f"row {start + int(zero[0])} is a zero vector{after}"
            start += len(batch)
        return SAME if self.is_constant else ""

    @cached_property
    def mean(self) -> Floats:
        """(width,) mean of the transformed vectors."""
        total: Floats = sum(batch.sum(axis=0) for batch in self.batches()) / self.n_rows
        return total

    @cached_property
    def unit_sum(self) -> Floats:
        """(width,) sum of the unit vectors."""
        total = np.zeros(self.width)
        for units in self.units():
            total += units.sum(axis=0)
        return total

    @cached_property
    def scatter(self) -> Floats:
        """(width, width) sum of the outer products of the vectors about their mean."""
        scatter = np.zeros((self.width, self.width))
        for batch in self.batches():
            centred = batch - self.mean
            scatter += centred.T @ centred
        return scatter

    @cached_property
    def _map(self) -> AffineMap | None:
        return fit(self.transform, self.raw_batches)

    def _rounding(self, raw: Floats) -> Floats:
        """Length that rounding leaves of vectors that the transform removed, (rows,)."""
        if self._map is None:
            return np.zeros(len(raw))
        sizes = AffineMap(shift=np.zeros(1), factor=np.abs(self._map.factor))(np.abs(raw))
        lengths: Floats = ROUNDING * np.linalg.norm(sizes, axis=1)
        return lengths
