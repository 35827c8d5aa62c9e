"""Which rows choose the checkpoint, and whether test rows hide in the training rows."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from cls_probe.data import Rows
from cls_probe.data.matching import ENDING, normalised
from cls_probe.errors import InputError


def refuse_leaks(train: Rows, test: Rows) -> None:
    """Raise :class:`InputError` when a test row stands in train, compared by :func:`normalised`."""
    known = {key: row for row, key in reversed(list(enumerate(normalised(train))))}
    leaks = [(row, known[key]) for row, key in enumerate(normalised(test)) if key in known]
    if leaks:
        row, twin = leaks[0]
        raise InputError(
            f"{len(leaks)} of {len(test)} eval rows stand in the training rows too (letters and digits, lower case); "
            f"the first is {test.place(row)}, equal to {train.place(twin)}; remove them from one of the two"
        )


def split(rows: Rows, *, fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Set rows aside, class by class, to choose the checkpoint with.

    Only rows whose ending no other row shares are set aside, so that no twin of theirs is trained on.

    Returns
    -------
    tuple
        Row numbers to train on and row numbers held out, both int64 and ascending.

    Raises
    ------
    InputError
        A class without a row to set aside.

    """
    endings = [key[-ENDING:] for key in normalised(rows)]
    seen = Counter(endings)
    single = np.array([seen[ending] == 1 for ending in endings])
    labels = np.array(rows.labels)
    rng = np.random.default_rng(seed)
    held_out = []
    for name in rows.classes:
        members = np.flatnonzero(labels == name)
        n_wanted = min(max(2, round(fraction * len(members))), len(members) - 1)
        free = members[single[members]]
        if len(members) < 2 or not len(free):
            raise InputError(
                f"{rows.source}: class {name!r:.60} has no row to hold out ({len(members)} rows, {len(free)} of them "
                "unlike all others); give every class at least two different rows"
            )
        held_out.append(rng.permutation(free)[:n_wanted])
    aside = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(rows)), aside), aside


def subset(rows: Rows, keep: NDArray[np.int64]) -> Rows:
    """Give the rows of these numbers, with the class order of all."""
    places = keep.tolist()
    return Rows(
        texts=[rows.texts[row] for row in places],
        text_pairs=None if rows.text_pairs is None else [rows.text_pairs[row] for row in places],
        labels=None if rows.labels is None else [rows.labels[row] for row in places],
        label_names=rows.classes or None,
        source=rows.source,
        lines=None if rows.lines is None else [rows.lines[row] for row in places],
    )
