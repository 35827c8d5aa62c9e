"""Attention of [CLS]: read off every block as it runs, so that no more than one block's attentions exist at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class AttentionReader:
    """Knows which modules of a model give attention weights, (batch, heads, tokens, tokens), and where."""

    def __init__(self, places: list[tuple[torch.nn.Module, int]]) -> None:
        """Take modules and the index of the weights in their output; `find` finds them."""
        self.places = places

    @classmethod
    def find(cls, model: Any, inputs: dict[str, torch.Tensor]) -> "AttentionReader | None":
        """Find the modules by running the model once; None when they do not give what the model reports.

        Raises LookupError for a model that reports no attention of every token to every token.
        """
        seen: list[tuple[torch.nn.Module, int, torch.Tensor]] = []

        def look(module: torch.nn.Module, _: Any, output: Any) -> None:
            for index, value in enumerate(output if isinstance(output, tuple) else ()):
                if isinstance(value, torch.Tensor) and value.ndim == 4 and value.shape[-1] == value.shape[-2]:
                    seen.append((module, index, value))

        hooks = [module.register_forward_hook(look) for module in model.modules()]
        try:
            attentions = getattr(model(**inputs, output_attentions=True), "attentions", None) or ()
        finally:
            for hook in hooks:
                hook.remove()
        batch, tokens = inputs["input_ids"].shape
        if not attentions or any(
            value is None or value.shape != (batch, value.shape[1], tokens, tokens) for value in attentions
        ):
            raise LookupError("no attention of every token to every token")
        places: list[tuple[torch.nn.Module, int]] = []
        for wanted in attentions:
            found = next(((module, index) for module, index, value in seen if value is wanted), None)
            if found is None:
                return None
            if found not in places:
                places.append(found)
        reader = cls(places)
        return reader if reader._agrees(model, inputs, attentions) else None

    @contextmanager
    def reading(self, positions: torch.Tensor) -> Iterator[list[torch.Tensor]]:
        """Give a list that fills with the [CLS] row of every block as the model runs, (batch, heads, tokens) each."""
        rows: list[torch.Tensor] = []

        def hook(index: int) -> Any:
            def read(module: torch.nn.Module, args: Any, output: Any) -> None:
                weights = output[index] if isinstance(output, tuple) and index < len(output) else None
                if isinstance(weights, torch.Tensor):
                    rows.append(cls_row(weights, positions))

            return read

        hooks = [module.register_forward_hook(hook(index)) for module, index in self.places]
        try:
            yield rows
        finally:
            for handle in hooks:
                handle.remove()

    def _agrees(self, model: Any, inputs: dict[str, torch.Tensor], attentions: Any) -> bool:
        positions = torch.zeros(attentions[0].shape[0], dtype=torch.int64, device=attentions[0].device)
        with self.reading(positions) as rows:
            model(**inputs)
        return len(rows) == len(attentions) and all(
            torch.allclose(row, cls_row(whole, positions)) for row, whole in zip(rows, attentions, strict=True)
        )


def cls_row(attentions: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Pick the attention that [CLS] pays: (batch, heads, tokens, tokens) -> (batch, heads, tokens)."""
    return attentions.take_along_dim(positions[:, None, None, None], dim=2).squeeze(2)
