"""The encoder: a Hugging Face model in inference mode that gives pooled vectors of every state."""

import inspect
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from cls_probe.encoding import pooling
from cls_probe.encoding.attention import AttentionReader, cls_row
from cls_probe.encoding.files import ModelFiles
from cls_probe.encoding.last_block import narrowed, narrows
from cls_probe.encoding.loading import load, pick_device, quiet
from cls_probe.encoding.tokens import Batch, Tokens, pad, tokenize
from cls_probe.errors import EncoderError

Dtype = Literal["float32", "float16", "bfloat16"]
Key = tuple[str, int]
"""Pooling and layer."""
Vectors = dict[str, torch.Tensor]
"""Pooling -> (batch, hidden_size), of one state."""
States = list[Vectors]

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""How far a vector may move with the texts beside it, as a share of the largest coordinate of its layer."""
CPU_BATCH_TOKENS, CUDA_BATCH_TOKENS = 1024, 65_536
"""Most tokens of a batch: on a CPU their states stay in its caches; on CUDA no more than fit are taken."""
_CHECK_TEXTS = ("a", "two texts of different length, so that one of them is padded")
_log = logging.getLogger("cls_probe")


@dataclass(frozen=True, kw_only=True)
class SelfCheck:
    """What became of some texts alone against the same texts in a batch."""

    n_texts: int
    n_tokens: tuple[int, int]
    """Tokens of the shortest and the longest."""
    difference: float
    """Largest difference of a coordinate, as a share of the largest coordinate of its pooling and layer."""
    tolerance: float
    padded: bool
    """Whether batches are padded; if not, they hold texts of one length."""

    def describe(self) -> str:
        """Say it in a few lines, for people."""
        shortest, longest = self.n_tokens
        pairs = [
            ("texts", f"{self.n_texts}, of {shortest} to {longest} tokens, alone and in a batch"),
            (
                "difference",
                f"{self.difference:.2g} of the largest coordinate of a layer (tolerance {self.tolerance:g})",
            ),
            ("batches", "padded" if self.padded else "of one length, since padding moves this model's vectors"),
        ]
        return "\n".join(f"{name:<10} {value}" for name, value in pairs)


class Encoder:
    """A model and its tokenizer; `encode` gives pooled vectors of every state."""

    def __init__(
        self,
        files: ModelFiles,
        *,
        device: str = "auto",
        dtype: Dtype = "float32",
        poolings: Sequence[str] = ("cls",),
        specials: bool = True,
    ) -> None:
        """Load from safetensors, or draw random weights, on the device, in eval mode.

        Raises EncoderError when the model cannot be loaded, lacks weights, or has no token for a pooling.
        """
        self.name = files.name
        self.dtype = dtype
        self.device = pick_device(device)
        self.poolings = tuple(poolings)
        self.specials = specials
        self.padded = True
        self.tokenizer, self.model, missing = load(files, getattr(torch, dtype))
        self.model.to(self.device).eval()
        self._check_poolings(missing)
        self._names = frozenset(inspect.signature(self.model.forward).parameters)
        self._reader: AttentionReader | None = None
        self._blocks: list[torch.nn.Module] = []
        self._narrow = False
        self._settle()

    @property
    def batch_tokens(self) -> int:
        """Most tokens of a batch, padding included: those whose states half of the free memory of a GPU holds."""
        if self.device.type != "cuda":
            return CPU_BATCH_TOKENS
        free, _ = torch.cuda.mem_get_info(self.device)
        token = 20 * self.hidden_size * self.model.dtype.itemsize  # what a block holds of one: 8 states, 3 of 4 times
        return int(min(CUDA_BATCH_TOKENS, max(CPU_BATCH_TOKENS, free // (2 * token))))

    def tokenize(
        self, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int
    ) -> tuple[Tokens, NDArray[np.int32]]:
        """Tokenize and truncate; also the number of tokens before truncation, specials included, (n_texts,)."""
        return tokenize(self.tokenizer, texts, pairs, max_length)

    def encode(self, tokens: Tokens) -> dict[Key, NDArray[np.float32]]:
        """Vectors of every pooling and state of one batch, (batch, hidden_size) each.

        Every hidden state is reduced as soon as its block has run, so that the states of a whole batch are never
        held together; so are the attentions. The last state is the model's own output, after its final norm.
        A batch that the memory of the GPU does not hold is halved.
        """
        try:
            return self._encode(tokens)
        except torch.cuda.OutOfMemoryError as error:
            if len(tokens) == 1:
                raise EncoderError(
                    f"{self.name}: the memory of {self.device} does not hold a text of {len(tokens[0]['input_ids'])} "
                    "tokens; lower --max-length, or choose --dtype float16 or --device cpu"
                ) from error
        torch.cuda.empty_cache()
        half = len(tokens) // 2
        first, second = self.encode(tokens[:half]), self.encode(tokens[half:])
        return {key: np.concatenate([values, second[key]]) for key, values in first.items()}

    def _encode(self, tokens: Tokens) -> dict[Key, NDArray[np.float32]]:
        batch = self._batch(tokens)
        with torch.inference_mode():
            states = self._states_by_hooks(batch) if self._blocks else self._states(batch)
            vectors = {(name, layer): vector for layer, state in enumerate(states) for name, vector in state.items()}
            stacked = torch.stack([vector.float() for vector in vectors.values()]).cpu().numpy()
        return dict(zip(vectors, stacked, strict=True))

    def cls_attentions(self, tokens: Tokens) -> NDArray[np.float32]:
        """Attention that [CLS] pays to every token of one batch, (batch, n_layers, heads, tokens); padding gets none.

        Layer k (from 1) is at k - 1, what block k reads to give state k. For an encoder with the pooling attention;
        its attentions are reduced to the row of [CLS] as soon as a block has run.
        """
        with torch.inference_mode():
            _, rows = self._run(self._batch(tokens))
            return torch.stack([row.float() for row in rows], dim=1).cpu().numpy()

    def check(self, tokens: Tokens) -> SelfCheck:
        """Encode texts alone and in one padded batch, and decide whether batches may be padded.

        Raises EncoderError when even a batch of texts of one length moves their vectors.
        """
        alone = [self.encode([row]) for row in tokens]
        lengths = [len(row["input_ids"]) for row in tokens]
        difference = _largest_difference(alone, self.encode(tokens))
        tolerance = TOLERANCE[self.dtype]
        self.padded = difference <= tolerance
        if not self.padded:
            _log.info(
                "%s: padding moves its vectors by %.2g of their largest coordinate (tolerance %.2g), so that batches "
                "hold texts of one length",
                *(self.name, difference, tolerance),
            )
            twice = [self.encode([row, row]) for row in tokens]
            difference = max(_largest_difference([a, a], b) for a, b in zip(alone, twice, strict=True))
        if not difference <= tolerance:
            raise EncoderError(
                f"{self.name}: the vector of a text differs by {difference:.2g} of its largest coordinate when the "
                f"text stands in a batch (tolerance {tolerance:g}); this model's vectors cannot be trusted"
            )
        return SelfCheck(
            n_texts=len(tokens),
            n_tokens=(min(lengths), max(lengths)),
            difference=difference,
            tolerance=tolerance,
            padded=self.padded,
        )

    def _check_poolings(self, missing: frozenset[str]) -> None:
        """Refuse poolings that this model cannot have."""
        self.has_cls = self.tokenizer.cls_token_id is not None and all(
            self.tokenizer.cls_token_id in row for row in self.tokenizer(list(_CHECK_TEXTS), verbose=False)["input_ids"]
        )
        for name in self.poolings:
            if name in ("cls", "attention", "pooler") and not self.has_cls:
                raise EncoderError(
                    f"{self.name}: its tokenizer gives no [CLS] token, so that there is no [CLS] vector to read; "
                    "use an encoder of the BERT family, or --pooling mean or --pooling last"
                )
        if "pooler" in self.poolings:
            self._check_pooler(missing)
        if "attention" in self.poolings:
            with quiet():
                self.model.set_attn_implementation("eager")  # the others give no attention weights

    def _check_pooler(self, missing: frozenset[str]) -> None:
        if getattr(self.model, "pooler", None) is None:
            raise EncoderError(f"{self.name}: has no pooler; choose another pooling, such as cls")
        if lacking := sorted(name for name in missing if "pooler" in name):
            raise EncoderError(
                f"{self.name}: its pooler has no trained weights ({lacking[0]} is missing and would be random); "
                "choose another pooling, such as cls"
            )

    def _settle(self) -> None:
        """Find sizes, attention modules and blocks by running the model on two texts."""
        tokens, _ = tokenize(self.tokenizer, _CHECK_TEXTS, None, 1_000_000)
        batch = self._batch(tokens)
        with torch.inference_mode():
            output = self.model(**batch.inputs, output_hidden_states=True)
            self.n_layers = len(output.hidden_states) - 1
            self.hidden_size = int(output.last_hidden_state.shape[-1])
            if "attention" in self.poolings:
                self._reader = self._find_reader(batch)
            plain = self._states(batch)
            self._blocks = self._find_blocks(batch, plain)
            self._narrow = self._can_narrow(batch, plain)
        if not self._blocks:
            _log.info("%s: reads all hidden states of a batch at once (blocks were not recognised)", self.name)

    def _batch(self, tokens: Tokens) -> Batch:
        return pad(self.tokenizer, tokens, names=self._names, device=self.device, with_cls=self.has_cls)

    def _run(self, batch: Batch, **options: Any) -> tuple[Any, list[torch.Tensor]]:
        """Run the model; its output, and the [CLS] row of every block's attention where a pooling needs it."""
        whole = "attention" in self.poolings and self._reader is None
        with self._reading(batch) as rows:
            output = self.model(**batch.inputs, output_attentions=whole, **options)
        if whole:
            rows = [cls_row(block, self._cls_positions(batch)) for block in output.attentions]
        return output, rows

    def _states(self, batch: Batch) -> States:
        """Pool all hidden states of the batch: the plain way, for any architecture."""
        output, rows = self._run(batch, output_hidden_states=True)
        states = [self._pool(batch, layer, hidden, rows) for layer, hidden in enumerate(output.hidden_states[:-1])]
        return [*states, self._pool_last(batch, output, rows)]

    def _states_by_hooks(self, batch: Batch) -> States:
        """Pool each state as its block is entered: the lean way."""
        states: States = []

        def before(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            hidden = args[0] if args else kwargs["hidden_states"]
            states.append(self._pool(batch, len(states), hidden, rows))

        with ExitStack() as stack:
            for block in self._blocks:
                stack.callback(block.register_forward_pre_hook(before, with_kwargs=True).remove)
            if self._narrow:
                stack.enter_context(narrowed(self._blocks[-1], self._cls_positions(batch), batch.mask))
            rows = stack.enter_context(self._reading(batch))
            output = self.model(**batch.inputs)
        if self._narrow:
            return [*states, {"cls": output.last_hidden_state[:, 0]}]
        return [*states, self._pool_last(batch, output, rows)]

    def _pool(self, batch: Batch, layer: int, hidden: torch.Tensor, rows: list[torch.Tensor]) -> Vectors:
        """Reduce a state to one vector per text for every pooling that it has; `rows` are the attentions so far."""
        if hidden.ndim == 2:  # the tokens of all texts in one row, without padding
            flat, hidden = hidden, hidden.new_zeros(*batch.mask.shape, hidden.shape[1])
            hidden[batch.mask] = flat
        counted = batch.mask if self.specials else batch.mask & ~batch.specials
        vectors: Vectors = {}
        for name in self.poolings:
            if name == "cls":
                vectors[name] = pooling.cls(hidden, self._cls_positions(batch))
            elif name == "mean":
                vectors[name] = pooling.mean(hidden, counted)
            elif name == "max":
                vectors[name] = pooling.maximum(hidden, counted)
            elif name == "last":
                vectors[name] = pooling.last(hidden, batch.mask)
            elif name == "attention" and layer > 0:
                vectors[name] = pooling.attention(hidden, rows[layer - 1].float().mean(dim=1))
        return vectors

    def _pool_last(self, batch: Batch, output: Any, rows: list[torch.Tensor]) -> Vectors:
        """Reduce the model's own output, which is the last state after its final norm, and add the pooler's."""
        vectors = self._pool(batch, self.n_layers, output.last_hidden_state, rows)
        return {**vectors, "pooler": output.pooler_output} if "pooler" in self.poolings else vectors

    def _cls_positions(self, batch: Batch) -> torch.Tensor:
        assert batch.cls_positions is not None, "poolings were checked"
        return batch.cls_positions

    def _reading(self, batch: Batch) -> AbstractContextManager[list[torch.Tensor]]:
        """Read the attention of [CLS] off every block, where a pooling needs it."""
        return nullcontext([]) if self._reader is None else self._reader.reading(self._cls_positions(batch))

    def _find_reader(self, batch: Batch) -> AttentionReader | None:
        try:
            return AttentionReader.find(self.model, batch.inputs)
        except LookupError as error:
            raise EncoderError(
                f"{self.name}: gives {error}; choose another model, or another pooling than attention, such as cls"
            ) from error

    def _find_blocks(self, batch: Batch, plain: States) -> list[torch.nn.Module]:
        """Blocks whose inputs are the hidden states; none when the lean way does not equal the plain one."""
        modules = [m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == self.n_layers]
        for candidate in modules:
            self._blocks = list(candidate)
            try:
                if self._same(self._states_by_hooks(batch), plain):
                    return self._blocks
            except (RuntimeError, ValueError, IndexError, KeyError, AttributeError):
                continue  # a list of something else
        return []

    def _can_narrow(self, batch: Batch, plain: States) -> bool:
        """Say whether the last block may be run for [CLS] alone."""
        if self.poolings != ("cls",) or not self._blocks or not narrows(self.model.config):
            return False
        self._narrow = True
        try:
            return self._same(self._states_by_hooks(batch), plain)
        except (RuntimeError, TypeError, AttributeError):
            return False  # a version of transformers whose blocks are built otherwise

    def _same(self, lean: States, plain: States) -> bool:
        """Say whether two ways agree, but for the last bits of sums in another order."""
        tolerance = TOLERANCE[self.dtype] / 10
        return len(lean) == len(plain) and all(
            bool((a[name] - b[name]).abs().max() <= tolerance * b[name].abs().max())
            for a, b in zip(lean, plain, strict=True)
            for name in b
        )


def _largest_difference(alone: Sequence[Mapping[Key, NDArray[Any]]], batch: Mapping[Key, NDArray[Any]]) -> float:
    """Largest difference of a coordinate, as a share of the largest coordinate of its pooling and layer."""
    shares = []
    for key, together in batch.items():
        single = np.concatenate([vectors[key] for vectors in alone])
        finite = np.isfinite(single) & np.isfinite(together)  # what is not finite is told later, with its row
        single, together = single[finite], together[finite]
        largest = max(np.abs(single).max(initial=0), np.finfo(np.float32).tiny)
        shares.append(np.abs(single - together).max(initial=0) / largest)
    return float(max(shares))
