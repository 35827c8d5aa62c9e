"""The last block for [CLS] alone: keys and values of every token, all the rest of one token, to the same result.

Nothing reads the other tokens of the last state when only [CLS] is wanted, so that their queries, attention output and
feed-forward are left out: about a seventh of the operations of a model of 6 blocks.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from cls_probe.encoding import pooling

_FAMILIES = ("bert", "camembert", "distilbert", "electra", "ernie", "roberta", "xlm-roberta")


def narrows(config: Any) -> bool:
    """Say whether the last block of such a model is known: attention of all to all, norms behind the sums."""
    absolute = getattr(config, "position_embedding_type", None) in (None, "absolute")
    return config.model_type in _FAMILIES and absolute and not getattr(config, "is_decoder", False)


@contextmanager
def narrowed(block: Any, positions: torch.Tensor, mask: torch.Tensor) -> Iterator[None]:
    """Let the block give (batch, 1, hidden_size), the vector of [CLS], while the context lasts.

    `positions` (batch,) are those of [CLS], and `mask` (batch, tokens) says which tokens are no padding.
    """
    with ExitStack() as stack:
        (_distilbert if hasattr(block, "sa_layer_norm") else _bert)(stack, block, positions, mask)
        yield


def _bert(stack: ExitStack, block: Any, positions: torch.Tensor, mask: torch.Tensor) -> None:
    """Replace attention with its output and norm, whose result is all that goes on."""
    attention, own = block.attention, block.attention.self

    def forward(hidden: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
        one = _row(hidden, positions)
        heads = own.num_attention_heads
        context = _attend(own.query(one), own.key(hidden), own.value(hidden), heads, mask)
        return attention.output(context, one), None

    _replace(stack, attention, forward)


def _distilbert(stack: ExitStack, block: Any, positions: torch.Tensor, mask: torch.Tensor) -> None:
    """Let attention be added to the state of all tokens, as the block does, and take [CLS] before the norm."""
    own = block.attention

    def forward(hidden: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
        one = _row(hidden, positions)
        context = _attend(own.q_lin(one), own.k_lin(hidden), own.v_lin(hidden), own.n_heads, mask)
        return own.out_lin(context), None

    _replace(stack, own, forward)
    hook = block.sa_layer_norm.register_forward_pre_hook(lambda _, args: (_row(args[0], positions),))
    stack.callback(hook.remove)


def _row(hidden: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    return pooling.cls(hidden, positions)[:, None]


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, heads: int, mask: torch.Tensor
) -> torch.Tensor:
    """Attention of one token to the tokens of the mask, (batch, 1, hidden_size)."""
    query, key, value = (x.view(*x.shape[:2], heads, -1).transpose(1, 2) for x in (query, key, value))
    context = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
    return context.transpose(1, 2).flatten(2)


def _replace(stack: ExitStack, module: Any, forward: Any) -> None:
    """Put another forward in the place of the module's own, until the stack unwinds."""
    module.forward = forward
    stack.callback(lambda: module.__dict__.pop("forward"))
