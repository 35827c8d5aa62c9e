"""From the tokens of a text to kinds of tokens and whole words."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import EncoderError

KINDS = ("cls", "special", "punctuation", "words")
"""Kinds of tokens, each token of exactly one:

- cls: the [CLS] token itself;
- special: [SEP] and every other special token of the tokenizer, save the one for unknown words;
- punctuation: a token all of whose characters are punctuation or symbols (Unicode categories P and S);
- words: every other token.
"""
_CLS, _SPECIAL, _PUNCTUATION, _WORD = range(len(KINDS))


@dataclass(frozen=True, kw_only=True, eq=False)
class Words:
    """Tokens of one text, without padding, and the words that they make up.

    A word is a run of tokens of one kind that the tokenizer counts to one word (its `word_ids`), so that it never
    holds a space; every special token is a word of its own.
    """

    kinds: NDArray[np.int8]
    """(n_tokens,) index into KINDS."""
    starts: NDArray[np.int64]
    """(n_words,) number of the first token of every word."""
    words: tuple[str, ...]
    """(n_words,) the words as the text writes them; special tokens by their name."""
    truncated: bool
    """Whether the text has more tokens than these."""

    @property
    def word_kinds(self) -> NDArray[np.int8]:
        """(n_words,) index into KINDS."""
        return self.kinds[self.starts]

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """(n_words,) tokens of every word."""
        return np.diff(self.starts, append=len(self.kinds))

    def add_up(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what the tokens of each word get: (n_layers, n_tokens) -> (n_layers, n_words)."""
        return np.add.reduceat(masses, self.starts, axis=1)


def read_words(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int, *, name: str
) -> list[Words]:
    """Words of every text, of the tokens that `cls_probe.encoding.tokens.tokenize` gives for the same arguments.

    Raises EncoderError for a tokenizer that does not tell which characters a token stands for.
    """
    if not tokenizer.is_fast:
        raise EncoderError(
            f"{name}: its tokenizer does not tell which word a token belongs to; expected a fast tokenizer, "
            "saved as tokenizer.json"
        )
    encoded = tokenizer(
        list(texts), None if pairs is None else list(pairs), truncation=True, max_length=max_length, verbose=False
    )
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    columns = (texts,) if pairs is None else (texts, pairs)
    return [
        _words(encoding, [column[row] for column in columns], special, tokenizer.cls_token_id)
        for row, encoding in enumerate(encoded.encodings)
    ]


class _Piece(NamedTuple):
    """A token, and where it stands in a text."""

    kind: int
    word: tuple[Any, ...]
    """Alike for neighbours that are one word."""
    text: str
    start: int
    stop: int


def _words(encoding: Any, texts: Sequence[str], special: set[int], cls_id: int) -> Words:
    """Words of one text or pair of texts."""
    pieces = [_piece(encoding, place, texts, special) for place in range(len(encoding.ids))]
    kinds = np.array([piece.kind for piece in pieces], dtype=np.int8)
    kinds[encoding.ids.index(cls_id)] = _CLS
    starts = [i for i, piece in enumerate(pieces) if i == 0 or piece.word != pieces[i - 1].word]
    ends = [*starts[1:], len(pieces)]
    words = (
        pieces[i].text[pieces[i].start : pieces[end - 1].stop].strip() for i, end in zip(starts, ends, strict=True)
    )
    return Words(
        kinds=kinds,
        starts=np.array(starts, dtype=np.int64),
        words=tuple(word or encoding.tokens[i] for i, word in zip(starts, words, strict=True)),
        truncated=bool(encoding.overflowing),
    )


def _piece(encoding: Any, place: int, texts: Sequence[str], special: set[int]) -> _Piece:
    if encoding.ids[place] in special:
        name = encoding.tokens[place]
        return _Piece(_SPECIAL, ("special", place), name, 0, len(name))
    sequence, (start, stop) = encoding.sequence_ids[place], encoding.offsets[place]
    kind = _PUNCTUATION if _is_punctuation(texts[sequence][start:stop]) else _WORD
    return _Piece(kind, (sequence, encoding.word_ids[place], kind), texts[sequence], start, stop)


def _is_punctuation(piece: str) -> bool:
    piece = piece.strip()
    return bool(piece) and all(unicodedata.category(character)[0] in "PS" for character in piece)
