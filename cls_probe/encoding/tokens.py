"""Tokens: from texts to padded batches, with the places of [CLS] and of special tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cls_probe.encoding import pooling

Tokens = list[dict[str, NDArray[np.int32]]]
"""One mapping per text: input_ids and whatever else the model reads, without padding."""
_CHUNK = 512
"""Texts that the tokenizer gets at a time: it gives lists of Python numbers, which take ten times the memory."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Texts padded to one length, on the device."""

    inputs: dict[str, torch.Tensor]
    """(batch, tokens) each: what the model reads."""
    mask: torch.Tensor
    """(batch, tokens) bool: which tokens are no padding."""
    specials: torch.Tensor
    """(batch, tokens) bool: which are special tokens, such as [CLS] and [SEP]."""
    cls_positions: torch.Tensor | None
    """(batch,) place of [CLS]; None for a tokenizer without."""


def tokenize(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int
) -> tuple[Tokens, NDArray[np.int32]]:
    """Tokenize and truncate, of a pair the longer text first; also the number of tokens before, (n_texts,)."""
    tokens = _tokens(tokenizer, texts, pairs, truncation=False)
    n_tokens = np.array([len(row["input_ids"]) for row in tokens], dtype=np.int32)
    long = np.flatnonzero(n_tokens > max_length).tolist()
    if long:
        some = [pairs[i] for i in long] if pairs is not None else None
        cut = _tokens(tokenizer, [texts[i] for i in long], some, truncation=True, max_length=max_length)
        for i, row in zip(long, cut, strict=True):
            tokens[i] = row
    return tokens, n_tokens


def _tokens(tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, **options: Any) -> Tokens:
    tokens: Tokens = []
    for start in range(0, len(texts), _CHUNK):
        some = slice(start, start + _CHUNK)
        encoded = tokenizer(list(texts[some]), None if pairs is None else list(pairs[some]), verbose=False, **options)
        for row in zip(*encoded.values(), strict=True):
            tokens.append(dict(zip(encoded, (np.array(values, dtype=np.int32) for values in row), strict=True)))
    return tokens


def pad(tokenizer: Any, tokens: Tokens, *, names: frozenset[str], device: torch.device, with_cls: bool) -> Batch:
    """Pad texts to the longest, on the right: absolute positions then begin at 0, as they do for a text alone.

    `names` are the inputs that the model reads; an attention mask is made where the tokenizer gives none.
    """
    fill = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id or 0}
    rows = [{**row, "attention_mask": np.ones_like(row["input_ids"])} for row in tokens]
    padded = {name: _right([row[name] for row in rows], fill.get(name, 0)).to(device) for name in rows[0]}
    ids, mask = padded["input_ids"], padded["attention_mask"].bool()
    special = [i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id]
    return Batch(
        inputs={name: values for name, values in padded.items() if name in names},
        mask=mask,
        specials=torch.isin(ids, torch.tensor(special, dtype=ids.dtype, device=device)) & mask,
        cls_positions=pooling.cls_positions(ids, mask, tokenizer.cls_token_id) if with_cls else None,
    )


def _right(rows: list[NDArray[np.int32]], fill: int) -> torch.Tensor:
    """Fill rows up to the longest, (rows, longest)."""
    padded = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for values, row in zip(padded, rows, strict=True):
        values[: len(row)] = row
    return torch.from_numpy(padded)
