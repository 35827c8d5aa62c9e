"""The encoder: a Hugging Face model in inference mode that gives pooled vectors of every state."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from cls_probe.encoding import pooling
from cls_probe.encoding.files import ModelFiles
from cls_probe.errors import EncoderError, InputError

Dtype = Literal["float32", "float16", "bfloat16"]
Tokens = list[dict[str, list[int]]]
"""One mapping per text: input_ids and whatever else the model reads, without padding."""

_CHECK_TEXTS = ("a", "two texts of different length, so that one of them is padded")
_HOOK_TOLERANCE = 1e-5
_log = logging.getLogger("cls_probe")


class Encoder:
    """A model and its tokenizer; `encode` gives (texts, states, hidden_size)."""

    def __init__(self, files: ModelFiles, *, device: str = "auto", dtype: Dtype = "float32") -> None:
        """Load from safetensors, or draw random weights, on the device, in eval mode.

        Raises EncoderError when the model cannot be loaded, lacks weights or has no [CLS] token.
        """
        self.name = files.name
        self.device = pick_device(device)
        self.tokenizer, self.model = _load(files, getattr(torch, dtype))
        self.model.to(self.device).eval()
        if self.model.config.is_encoder_decoder:
            raise EncoderError(f"{self.name}: is an encoder-decoder model; expected an encoder of the BERT family")
        if self.tokenizer.cls_token_id is None:
            raise EncoderError(
                f"{self.name}: its tokenizer has no [CLS] token, so that there is no [CLS] vector to read; "
                "use an encoder of the BERT family"
            )
        self.n_layers = int(self.model.config.num_hidden_layers)
        self.hidden_size = int(self.model.config.hidden_size)
        self._blocks = self._find_blocks()

    def tokenize(
        self, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int
    ) -> tuple[Tokens, NDArray[np.int32]]:
        """Tokenize and truncate; also the number of tokens before truncation, specials included, (n_texts,)."""
        return tokenize(self.tokenizer, texts, pairs, max_length)

    def encode(self, tokens: Tokens) -> NDArray[np.float32]:
        """[CLS] vectors of every state of one batch, (batch, n_states, hidden_size).

        Every hidden state is reduced to (batch, hidden_size) as soon as its block has run, so that the states of
        a whole batch are never held together.
        """
        inputs = self.tokenizer.pad(tokens, return_tensors="pt").to(self.device)
        positions = pooling.cls_positions(inputs["input_ids"], inputs["attention_mask"], self.tokenizer.cls_token_id)
        with torch.inference_mode():
            states = self._states_by_hooks(inputs, positions) if self._blocks else self._states(inputs, positions)
            return torch.stack(states, dim=1).float().cpu().numpy()

    def _states(self, inputs: Any, positions: torch.Tensor) -> list[torch.Tensor]:
        """Take [CLS] of all hidden states of the batch: the plain way, for any architecture."""
        output = self.model(**inputs, output_hidden_states=True)
        return [pooling.cls(hidden, positions) for hidden in output.hidden_states]

    def _states_by_hooks(self, inputs: Any, positions: torch.Tensor) -> list[torch.Tensor]:
        """Take [CLS] as each block is entered: the lean way; the last state is the model's own output."""
        states: list[torch.Tensor] = []

        def before(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            hidden = args[0] if args else kwargs["hidden_states"]
            states.append(pooling.cls(hidden, positions))

        hooks = [block.register_forward_pre_hook(before, with_kwargs=True) for block in self._blocks]
        try:
            output = self.model(**inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return [*states, pooling.cls(output.last_hidden_state, positions)]

    def _find_blocks(self) -> list[torch.nn.Module]:
        """Blocks whose inputs are the hidden states; none when the lean way does not equal the plain one."""
        lists = [
            list(m) for m in self.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == self.n_layers
        ]
        tokens = _tokens(self.tokenizer, _CHECK_TEXTS, None)
        inputs = self.tokenizer.pad(tokens, return_tensors="pt").to(self.device)
        positions = pooling.cls_positions(inputs["input_ids"], inputs["attention_mask"], self.tokenizer.cls_token_id)
        with torch.inference_mode():
            plain = self._states(inputs, positions)
            for self._blocks in lists:
                if _same(self._states_by_hooks(inputs, positions), plain):
                    return self._blocks
        _log.info("%s: reads all hidden states of a batch at once (blocks were not recognised)", self.name)
        return []


def tokenize(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int
) -> tuple[Tokens, NDArray[np.int32]]:
    """Tokenize and truncate; also the number of tokens before truncation, specials included, (n_texts,)."""
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
    encoded = tokenizer(list(texts), None if pairs is None else list(pairs), verbose=False, **options)
    return [dict(zip(encoded, values, strict=True)) for values in zip(*encoded.values(), strict=True)]


def _same(lean: list[torch.Tensor], plain: list[torch.Tensor]) -> bool:
    return len(lean) == len(plain) and all(
        torch.allclose(a.float(), b.float(), rtol=0, atol=_HOOK_TOLERANCE) for a, b in zip(lean, plain, strict=True)
    )


def pick_device(name: str) -> torch.device:
    """Give the device of that name, for auto the best there is; InputError when it is not to be had."""
    if name == "auto":
        kind = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(kind)
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} is not to be had here; expected auto, cpu, cuda[:i] or mps") from error
    return device


def _load(files: ModelFiles, dtype: torch.dtype) -> tuple[Any, Any]:
    """Tokenizer and model, from the folder alone; trained weights from safetensors alone."""
    options: dict[str, Any] = {"local_files_only": True}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(files.folder, **options)
            if files.random_weights is not None:
                return tokenizer, _untrained(files.folder, files.random_weights, dtype)
            model, loaded = transformers.AutoModel.from_pretrained(
                files.folder, dtype=dtype, use_safetensors=True, output_loading_info=True, **options
            )
    except Exception as error:  # transformers raises many kinds for folders that are no models
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(f"{files.name}: transformers cannot load it ({reason:.200})") from error
    lacking = sorted(name for name in loaded["missing_keys"] if "pooler" not in name)
    if lacking:
        raise EncoderError(
            f"{files.name}: the weights lack {len(lacking)} tensors, such as {lacking[0]}, which would stay random; "
            "expected the weights of the whole encoder"
        )
    return tokenizer, model


def _untrained(folder: Path, seed: int, dtype: torch.dtype) -> Any:
    """Draw the weights as the architecture initialises them, in float32; torch's own random state stays as it was."""
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.AutoModel.from_config(config, dtype=torch.float32).to(dtype)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loading bars and reports of transformers off the screen, and leave its settings as they were."""
    settings = transformers.logging
    verbosity, bar = settings.get_verbosity(), settings.is_progress_bar_enabled()
    settings.set_verbosity_error()
    settings.disable_progress_bar()
    try:
        yield
    finally:
        settings.set_verbosity(verbosity)
        if bar:
            settings.enable_progress_bar()
