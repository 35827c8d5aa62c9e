"""Pairs of texts, with a human score of their similarity where there is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.data.read import Table, guess_column, keep_rows, listed, read_table
from cls_probe.data.rows import Rows
from cls_probe.errors import InputError

FIRST_COLUMNS = ("sentence1", "text1", "text")
SECOND_COLUMNS = ("sentence2", "text2", "text_pair")
SCORE_COLUMNS = ("score", "similarity", "similarity_score")


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """Checked pairs of texts."""

    rows: Rows
    """First and second texts; each pair is a row."""
    scores: NDArray[np.float64] | None = None
    """(n_pairs,) human similarity, in any unit that grows with it; None without."""

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.rows)

    @property
    def texts(self) -> list[str]:
        """Distinct texts, in order of appearance, first texts before second ones."""
        return list(dict.fromkeys([*self.rows.texts, *(self.rows.text_pairs or ())]))


def read_pairs(
    source: Any,
    *,
    text_column: str | None = None,
    text_pair_column: str | None = None,
    score_column: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Pairs:
    """Read pairs of texts, and their scores where there are any.

    Parameters
    ----------
    source
        Anything that :func:`cls_probe.data.read_rows` takes and that has two columns of texts, or ``"sample-pairs"``
        for 60 bundled ones with scores from 0 to 5.
    text_column, text_pair_column, score_column
        Column names; guessed when not named: sentence1, text1, text; sentence2, text2, text_pair; score, similarity.
    limit, sample, seed
        As in :func:`cls_probe.data.read_rows`.

    Raises
    ------
    InputError
        One line naming the source and the row.

    """
    table = read_table(source)
    first = _column(table, "first text", text_column, FIRST_COLUMNS)
    second = _column(table, "second text", text_pair_column, SECOND_COLUMNS)
    score = score_column or guess_column(list(table.columns), SCORE_COLUMNS)
    if score is not None:
        _column(table, "score", score, SCORE_COLUMNS)
    keep = keep_rows(len(table.columns[first]), limit, sample, seed, table.source)
    rows = Rows(
        texts=[table.columns[first][row] for row in keep],
        text_pairs=[table.columns[second][row] for row in keep],
        source=table.source,
        lines=None if table.lines is None else [table.lines[row] for row in keep],
    )
    scores = None if score is None else [table.columns[score][row] for row in keep]
    return Pairs(rows=rows, scores=None if scores is None else _numbers(scores, rows))


def _column(table: Table, kind: str, name: str | None, usual: Sequence[str]) -> str:
    found = name or guess_column(list(table.columns), usual)
    if found is None or found not in table.columns:
        wanted = f"no column {name!r}" if name else f"no column named {', '.join(usual)}"
        raise InputError(
            f"{table.source}: {wanted} for the {kind}; the columns are {listed(list(table.columns))}; name one"
        )
    return found


def _numbers(values: Sequence[Any], rows: Rows) -> NDArray[np.float64]:
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            numbers[row] = float(value)
        except (TypeError, ValueError):
            numbers[row] = np.nan
        if not np.isfinite(numbers[row]):
            raise InputError(f"{rows.place(row)}: the score is {value!r:.60}; expected a number")
    return numbers
