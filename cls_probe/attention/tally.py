"""Adding up the attention of [CLS] row by row, so that no row's attention outlives its batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.interval import mean_interval
from cls_probe.attention.result import MEASURES
from cls_probe.attention.words import KINDS, Words
from cls_probe.result import ends

Floats = NDArray[np.float64]
_WORD = KINDS.index("words")


class Tally:
    """Running means over rows, totals of words, and the masses of every word of a few rows."""

    def __init__(self, layers: Sequence[int], *, n_maps: int) -> None:
        """Count nothing yet; `n_maps` first rows keep the masses of every word."""
        self.n_rows = 0
        self.n_truncated = 0
        self._blocks = np.array(layers) - 1
        self._n_maps = n_maps
        self._means: Any = 0.0  # (n_layers, n_heads + 1, measures)
        self._squares: Any = 0.0  # of the deviations from the means
        self._uniform = np.zeros(len(MEASURES))
        self._words: dict[str, Floats] = {}  # occurrences, uniform mass, mass in each layer
        self._maps: dict[int, tuple[Words, Floats]] = {}

    def add(self, row: int, words: Words, attention: NDArray[np.float32]) -> None:
        """Count one row; its attention is (all layers, n_heads, n_tokens)."""
        chosen = attention[self._blocks].astype(np.float64)
        chosen /= chosen.sum(axis=-1, keepdims=True)  # takes the rounding of float32 away
        self.n_rows += 1
        self.n_truncated += words.truncated
        values = measure(words, chosen)
        step = values - self._means
        self._means = self._means + step / self.n_rows
        self._squares = self._squares + step * (values - self._means)  # Welford 1962
        self._uniform += measure(words, np.full((1, 1, len(words.kinds)), 1 / len(words.kinds)))[0, 0]
        masses = words.add_up(chosen.mean(axis=1))
        self._count_words(words, masses)
        if row < self._n_maps:
            self._maps[row] = words, masses

    def means(self, confidence: float) -> dict[str, Any]:
        """Means over rows with their intervals, and what uniform attention gives."""
        stds = np.sqrt(self._squares / max(self.n_rows - 1, 1))
        values: dict[str, Floats] = {}
        for i, (name, column) in enumerate(MEASURES.items()):
            low, high = column.range or (-np.inf, np.inf)
            mean = self._means[:, :, i]
            interval = mean_interval(mean, stds[:, :, i], n_rows=self.n_rows, confidence=confidence, low=low, high=high)
            values |= dict(zip(ends(name), (mean, *interval), strict=True))
        uniform = dict(zip(MEASURES, (self._uniform / self.n_rows).tolist(), strict=True))
        return {"values": values, "uniform": uniform}

    def top_words(self, n_words: int, min_occurrences: int) -> dict[str, Any]:
        """Words of most mass per occurrence in each layer, at most `n_words`; equals by code point."""
        names = sorted(word for word, totals in self._words.items() if totals[0] >= min_occurrences)
        totals = np.array([self._words[name] for name in names]).reshape(len(names), 2 + len(self._blocks))
        masses = totals[:, 2:] / totals[:, :1]  # (n_names, n_layers)
        order = np.argsort(-masses, axis=0, kind="stable")[:n_words].T  # (n_layers, n_words)
        return {
            "top_words": np.array(names, dtype=np.str_)[order],
            "top_mass": np.take_along_axis(masses.T, order, axis=1),
            "top_uniform": (totals[:, 1] / totals[:, 0])[order],
            "top_occurrences": totals[:, 0].astype(np.int64)[order],
        }

    def maps(self) -> dict[str, Any]:
        """Every word of the kept rows, one row after the other, with its mass in each layer."""
        kept = [(row, *self._maps[row]) for row in sorted(self._maps)]
        nothing: Floats = np.zeros((len(self._blocks), 0))
        return {
            "map_words": tuple(word for _, words, _ in kept for word in words.words),
            "map_rows": np.array([row for row, words, _ in kept for _ in words.words], dtype=np.int64),
            "map_mass": np.concatenate([nothing, *(masses for *_, masses in kept)], axis=1),
        }

    def _count_words(self, words: Words, masses: Floats) -> None:
        uniform = words.n_tokens / len(words.kinds)
        lines = np.vstack([np.ones_like(uniform), uniform, masses]).T
        for word, kind, line in zip(words.words, words.word_kinds, lines, strict=True):
            if kind == _WORD:
                name = word.lower()
                self._words[name] = self._words[name] + line if name in self._words else line


def measure(words: Words, attention: Floats) -> Floats:
    """Masses by kind of token, and entropy in nats, by head and averaged over heads.

    `attention` is (n_layers, n_heads, n_tokens); returns (n_layers, n_heads + 1, measures), measures in the order of
    MEASURES, the mean over heads last.
    """
    of_kind = words.kinds[:, None] == np.arange(len(KINDS))  # (n_tokens, kinds)
    masses = attention @ of_kind.astype(np.float64)
    logs = np.log(attention, out=np.zeros_like(attention), where=attention > 0)
    entropy = np.maximum(-(attention * logs).sum(axis=-1, keepdims=True), 0)
    heads = np.concatenate([masses, entropy], axis=-1)
    return np.concatenate([heads, heads.mean(axis=1, keepdims=True)], axis=1)
