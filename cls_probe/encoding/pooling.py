"""Pooling: from the hidden states of a batch to one vector per text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import torch

Pooling = Literal["cls"]
"""Poolings that can be extracted: `cls` is the hidden state of the [CLS] token, before any pooler."""
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def cls_positions(input_ids: torch.Tensor, attention_mask: torch.Tensor, cls_token_id: int) -> torch.Tensor:
    """Find [CLS] by token id among the tokens that are no padding.

    `input_ids` and `attention_mask` are (batch, tokens); returns (batch,) positions of the first match.
    """
    found = (input_ids == cls_token_id) & (attention_mask != 0)
    if not bool(found.any(dim=1).all()):
        raise ValueError("a row without [CLS]")
    return found.int().argmax(dim=1)


def cls(hidden: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Pick the [CLS] vector: (batch, tokens, hidden_size) and (batch,) -> (batch, hidden_size)."""
    return hidden.take_along_dim(positions[:, None, None], dim=1).squeeze(1)
