"""When texts count as the same: the project's only normalisation, endings, and rows that match each other."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cls_probe.data.rows import Rows

ENDING = 80
"""Letters and digits at a text's end that tell one story told twice (news feeds repeat stories under new titles)."""
Found = tuple[int, int, int, float]
"""Row, other row, number of the first row of what they share, Jaccard similarity (NaN where it is not measured)."""


def normalised(rows: Rows) -> list[str]:
    """Give each row's letters and digits in lower case, second text included (the bare text where there are none)."""
    pairs = rows.text_pairs or [""] * len(rows)
    both = [text + pair for text, pair in zip(rows.texts, pairs, strict=True)]
    return ["".join(filter(str.isalnum, text.lower())) or text for text in both]


def repeats(keys: Sequence[Any], known: Sequence[Any] | None) -> Iterator[Found]:
    """Give rows whose key is among the known ones, or without those has occurred before."""
    first: dict[Any, int] = {}
    for row, key in enumerate(known or ()):
        first.setdefault(key, row)
    for row, key in enumerate(keys):
        if key in first:
            yield row, first[key], first[key], np.nan
        elif known is None:
            first[key] = row


def differing(
    keys: Sequence[Any], members: Sequence[str], known_keys: Sequence[Any], known_members: Sequence[str]
) -> Iterator[Found]:
    """Give rows of which a known row has the same key and another member; a key of None matches nothing."""
    table: dict[Any, dict[str, int]] = {}
    for row, (key, member) in enumerate(zip(known_keys, known_members, strict=True)):
        if key is not None:
            table.setdefault(key, {}).setdefault(member, row)
    for row, (key, member) in enumerate(zip(keys, members, strict=True)):
        known = table.get(key, {})
        others = [other for name, other in known.items() if name != member]
        if others:
            yield row, min(others), min(known.values()), np.nan
