"""Near-duplicates of normalised texts: MinHash finds candidates, the exact Jaccard similarity confirms them."""

import zlib
from collections.abc import Iterator, Sequence

from cls_probe.data.matching import Found
from cls_probe.errors import InputError, MissingDependencyError

SHINGLE = 5
"""Letters and digits of a shingle; a shorter text is one shingle."""
_HASHES = 128
_RECALL = 0.99


def check_near(near: float) -> None:
    """Refuse a threshold that is none, and a missing package, before any work starts."""
    if not 0 <= near <= 1:
        raise InputError(f"near is {near}; expected a Jaccard similarity such as 0.8, or 0 to leave near repeats out")
    if near:
        try:
            import datasketch  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "near repeats need the package datasketch; install it with: pip install 'cls-probe[leaks]', "
                "or leave them out (--near 0)"
            ) from error


def shingles(text: str) -> set[str]:
    """Give the runs of SHINGLE characters of a normalised text."""
    return {text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))}


def jaccard(first: set[str], second: set[str]) -> float:
    """Size of the intersection over size of the union, in [0, 1]."""
    common = len(first & second)
    return common / (len(first) + len(second) - common)


class NearIndex:
    """Normalised texts by row number, to look up the first one that is near to another."""

    def __init__(self, threshold: float, seed: int) -> None:
        """Choose the bands: as selective as they can be while a pair at the threshold is found with chance 0.99."""
        from datasketch import MinHash, MinHashLSH

        width = max((r for r in range(1, _HASHES + 1) if _recall(threshold, r) >= _RECALL), default=1)
        self._threshold = threshold
        self._bands = MinHashLSH(num_perm=_HASHES, params=(_HASHES // width, width))
        self._empty = MinHash(num_perm=_HASHES, seed=seed, hashfunc=zlib.crc32)
        self._texts: dict[int, str] = {}

    def within(self, texts: Sequence[str]) -> Iterator[Found]:
        """Add different texts one by one; give each one that is near to an earlier one."""
        seen = set()
        for row, text in enumerate(texts):
            if text not in seen:
                seen.add(text)
                yield from self._look_up(row, text, add=True)

    def across(self, texts: Sequence[str]) -> Iterator[Found]:
        """Give each text that is near, but not equal, to one in the index."""
        known = set(self._texts.values())
        for row, text in enumerate(texts):
            if text not in known:
                yield from self._look_up(row, text, add=False)

    def _look_up(self, row: int, text: str, *, add: bool) -> Iterator[Found]:
        mine = shingles(text)
        hashes = self._empty.copy()
        hashes.update_batch([shingle.encode() for shingle in mine])
        for other in sorted(self._bands.query(hashes)):
            similarity = jaccard(mine, shingles(self._texts[other]))
            if similarity >= self._threshold:
                yield row, other, other, similarity
                break
        if add:
            self._texts[row] = text
            self._bands.insert(row, hashes)


def _recall(threshold: float, width: int) -> float:
    """Chance that two texts at the threshold share one of the bands of this width."""
    chance: float = 1 - (1 - threshold**width) ** (_HASHES // width)
    return chance
