"""Pooling: from the hidden states of a batch to one vector per text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import torch

Pooling = Literal["cls", "mean", "max", "last", "attention", "pooler"]
"""Poolings that can be extracted, of every state:

- cls: the hidden state of the [CLS] token, before any pooler;
- mean, max: over the tokens that are no padding, with or without special tokens;
- last: the hidden state of the last token that is no padding;
- attention: the mean of the output of block l weighted by the attention of [CLS] in block l, mean over heads; not of
  state 0;
- pooler: the model's own dense + tanh layer on [CLS]; of the last state alone, and only with trained weights.
"""
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def pooled_layers(pooling: str, layers: tuple[int, ...], n_layers: int) -> tuple[int, ...]:
    """Give those of `layers` that a pooling has: attention not state 0, pooler the last state alone."""
    first = {"attention": 1, "pooler": n_layers}.get(pooling, 0)
    return tuple(layer for layer in layers if layer >= first)


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


def mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Average the tokens of the mask (batch, tokens), in float32; zeros for a row without any."""
    weights = mask.float()
    return attention(hidden, weights / weights.sum(dim=1, keepdim=True).clamp(min=1))


def maximum(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Take the largest value of every dimension over the tokens of the mask, in float32; zeros without any."""
    filled = hidden.float().masked_fill(~mask[:, :, None], float("-inf"))
    return filled.amax(dim=1).masked_fill(~mask.any(dim=1, keepdim=True), 0)


def last(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Pick the last token of the mask, (batch, hidden_size)."""
    return cls(hidden, mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1))


def attention(hidden: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Add up the tokens with weights (batch, tokens) that are 0 on padding, in float32."""
    return (weights.float()[:, None, :] @ hidden.float()).squeeze(1)
