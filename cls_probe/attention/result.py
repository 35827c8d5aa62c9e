"""Where [CLS] looks: the result, its tables and its pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.attention import pictures
from cls_probe.result import UNDEFINED, Column, Record, Result, number_or_none, text_tables, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
_INF = float("inf")
_SHOWN_WORDS = 40
_FEW = "fewer than three rows, so that there is no interval"

_COLUMNS = (
    *with_interval(
        "to_cls", "mass on [CLS] itself; Student interval of the mean over rows", "to [CLS]", ".3f", range=(0, 1)
    ),
    *with_interval(
        "to_special", "mass on [SEP] and other special tokens; Student interval", "to [SEP]", ".3f", range=(0, 1)
    ),
    *with_interval(
        "to_punctuation",
        "mass on tokens all of whose characters are punctuation or symbols (Unicode categories P, S); Student interval",
        "to punctuation",
        ".3f",
        range=(0, 1),
    ),
    *with_interval(
        "to_words",
        "mass on all other tokens; the four masses add up to 1; Student interval",
        "to words",
        ".3f",
        range=(0, 1),
    ),
    *with_interval(
        "entropy",
        "entropy of the distribution over the tokens of a row, -sum of p ln p, in nats: 0, all on one token, to ln "
        "n_tokens, all alike (Clark et al. 2019); Student interval",
        "entropy",
        ".2f",
        range=(0, _INF),
    ),
)
MEASURES: dict[str, Column] = {column.name: column for column in _COLUMNS if column.interval}
"""Name of every measure -> its column: masses in the order of KINDS, then the entropy."""
_UNIFORM = tuple(
    Column(name=f"uniform_{name}", meaning=f"{name} if every token of a row got the same attention", range=column.range)
    for name, column in MEASURES.items()
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClsAttentionResult(Result):
    """Attention of [CLS] in every layer and head asked for; each column can be read as an attribute too."""

    layers: tuple[int, ...]
    """Layer k is what block k reads to give state k, from 1."""
    values: Mapping[str, Floats]
    """Measure or end of its interval -> (n_layers, n_heads + 1) means over rows, the mean over heads last."""
    uniform: Mapping[str, float]
    """Measure -> its mean over rows if every token of a row got the same attention."""
    n_truncated: int
    """Rows of more tokens than were read."""
    top_words: NDArray[np.str_]
    """(n_layers, n_words) words of most mass per occurrence, mean over heads, in lower case, most first."""
    top_mass: Floats
    """(n_layers, n_words) their mean mass per occurrence, that of all tokens of the word added up, in [0, 1]."""
    top_uniform: Floats
    """(n_layers, n_words) what uniform attention would give them, their share of the row's tokens, per occurrence."""
    top_occurrences: NDArray[np.int64]
    """(n_layers, n_words) how often they occur in the rows."""
    map_words: tuple[str, ...]
    """Every word of every row, special tokens and punctuation too, in order; empty for more than a few rows."""
    map_rows: NDArray[np.int64]
    """(n_map_words,) row of each of these words."""
    map_mass: Floats
    """(n_layers, n_map_words) mass of each of these words, mean over heads; a row's masses add up to 1 in a layer."""

    title = "Where [CLS] looks: its attention in every layer, mean over heads and rows"
    meaning = (
        "to ...: share of the attention that [CLS] pays to tokens of that kind; uniform: the same if it paid every "
        "token alike. Every head by itself: --csv. Attention says what a layer reads, not what an answer rests on."
    )
    documented = (
        Column(
            name="layer",
            meaning="number of the block, from 1, that reads so to give the state of that number",
            heading="layer",
        ),
        Column(name="head", meaning='number of the head, from 0, or "all" for the mean over heads'),
        *_COLUMNS,
        *_UNIFORM,
        UNDEFINED,
    )

    def __getattr__(self, name: str) -> Floats:
        """Give the values of a column, (n_layers, n_heads + 1), the mean over heads last."""
        try:
            return self.__dict__["values"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"no column {name!r}") from None

    def records(self) -> list[Record]:
        """One row for each layer and head, and one for all heads of a layer."""
        n_heads = self.values["entropy"].shape[1] - 1
        uniform = {f"uniform_{name}": value for name, value in self.uniform.items()}
        undefined = _FEW if self.source["n_rows"] < 3 else ""
        return [
            {
                **{"layer": layer, "head": "all" if head == n_heads else str(head)},
                **{name: number_or_none(values[i, head]) for name, values in self.values.items()},
                **{**uniform, "undefined": undefined},
            }
            for i, layer in enumerate(self.layers)
            for head in range(n_heads + 1)
        ]

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show the mean over heads of every layer, and uniform attention."""
        every = [record for record in self.records() if record["head"] == "all"]
        nothing = dict.fromkeys(self.values)
        return self.columns, [*every, {**every[0], **nothing, **self.uniform, "layer": "uniform", "undefined": ""}]

    def notes(self) -> list[str]:
        """Name the favourite words of every layer, or of a few rows the mass of every word."""
        cut = [f"{self.n_truncated} of {self.source['n_rows']} texts were cut at {self.params['max_length']} tokens."]
        words = self._map_tables() if self.map_words else self._favourites()
        return [self.meaning, *cut * (self.n_truncated > 0), "", *words]

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw masses and entropy by layer, the heads as dots; of a few rows, maps of layers and words."""
        if self.map_words:
            rows = {row: self._map(row) for row in np.unique(self.map_rows).tolist()}
            return pictures.maps(self.layers, rows, ax)
        return pictures.curves(self.layers, self.values, self.uniform, ax)

    def _map(self, row: int) -> tuple[list[str], Floats]:
        """Words of a row and their masses, (n_layers, n_words); of a long row those of most mass, in their order."""
        places = np.flatnonzero(self.map_rows == row)
        most = np.argsort(-self.map_mass[:, places].max(axis=0), kind="stable")[:_SHOWN_WORDS]
        places = places[np.sort(most)]
        return [self.map_words[place] for place in places], self.map_mass[:, places]

    def _map_tables(self) -> list[str]:
        notes = []
        for row in np.unique(self.map_rows).tolist():
            words, mass = self._map(row)
            left_out = int((self.map_rows == row).sum()) - len(words)
            cells = [[word, *(f"{m:.3f}" for m in masses)] for word, masses in zip(words, mass.T, strict=True)]
            notes += [f"Row {row}: mass of every word by layer, mean over heads", ""]
            notes += text_tables(["word", *map(str, self.layers)], cells)
            notes += [f"{left_out} words of less mass are not shown; all of them: --json"] * (left_out > 0)
        return notes

    def _favourites(self) -> list[str]:
        if not self.top_words.size:
            return [f"No word occurs {self.params['min_occurrences']} times, so that none is named."]
        lines = [
            ", ".join(
                f"{word} {mass:#.2g} ({mass / uniform:.1f}x, {n})"
                for word, mass, uniform, n in zip(*columns, strict=True)
            )
            for columns in zip(self.top_words, self.top_mass, self.top_uniform, self.top_occurrences, strict=True)
        ]
        heading = "words of most mass: mean per occurrence (times uniform attention, occurrences)"
        return text_tables(
            ["layer", heading], [[str(layer), line] for layer, line in zip(self.layers, lines, strict=True)]
        )
