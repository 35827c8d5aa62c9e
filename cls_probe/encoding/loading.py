"""Loading: a tokenizer and an encoder from safetensors, on a device, without noise."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers

from cls_probe.encoding.files import ModelFiles
from cls_probe.errors import EncoderError, InputError


def load(files: ModelFiles, dtype: torch.dtype) -> tuple[Any, Any, frozenset[str]]:
    """Tokenizer, encoder, and names of weights that the files lack; from the folder and from safetensors alone.

    Random weights are drawn where the files ask for them. Of an encoder-decoder model it is the encoder. Raises
    EncoderError when transformers cannot load the files, or when they lack weights beside those of the pooler.
    """
    options: dict[str, Any] = {"local_files_only": True}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(files.folder, **options)
            config = transformers.AutoConfig.from_pretrained(files.folder, **options)
            if config.model_type == "big_bird":
                config.attention_type = "original_full"  # its sparse pattern depends on the padding of a batch
            if files.random_weights is not None:
                return tokenizer, _encoder_part(_untrained(config, files.random_weights, dtype)), frozenset()
            model, loaded = transformers.AutoModel.from_pretrained(
                files.folder, config=config, dtype=dtype, use_safetensors=True, output_loading_info=True, **options
            )
    except Exception as error:  # transformers raises many kinds for folders that are no models
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(f"{files.name}: transformers cannot load it ({reason:.200})") from error
    missing = frozenset(loaded["missing_keys"])
    if lacking := sorted(name for name in missing if "pooler" not in name):
        raise EncoderError(
            f"{files.name}: the weights lack {len(lacking)} tensors, such as {lacking[0]}, which would stay random; "
            "expected the weights of the whole encoder"
        )
    return tokenizer, _encoder_part(model), missing


def _encoder_part(model: Any) -> Any:
    return model.get_encoder() if model.config.is_encoder_decoder else model


def _untrained(config: Any, seed: int, dtype: torch.dtype) -> Any:
    """Draw the weights as the architecture initialises them, in float32; torch's own random state stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.AutoModel.from_config(config, dtype=torch.float32).to(dtype)


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
