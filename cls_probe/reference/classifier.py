"""The reference classifier: any encoder, its [CLS] vector of the last layer, and a small head."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from cls_probe.encoding import pooling
from cls_probe.encoding.files import ModelFiles
from cls_probe.encoding.loading import quiet
from cls_probe.errors import EncoderError

HEAD_SIZE = 256
"""Width of the head's one hidden layer."""


class ClsClassifier(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped
    """[CLS] of the last layer -> dropout -> linear (256) -> GELU -> dropout -> linear (n_classes).

    The config is the encoder's own, with ``id2label``, ``cls_token_id``, ``tokenizer_max_length`` (tokens) and
    ``head_dropout`` beside it, and the encoder stands under the name that Hugging Face gives it, so a
    saved folder's encoder also loads with plain ``AutoModel.from_pretrained``.
    """

    # The encoder, built first, has already refused an attention kernel that it cannot use.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(self, config: PretrainedConfig) -> None:
        """Build encoder and head with random weights; :func:`new_classifier` makes the config."""
        encoder = AutoModel.from_config(config)
        super().__init__(config)
        self.base_model_prefix = encoder.base_model_prefix
        setattr(self, encoder.base_model_prefix, encoder)
        self.head = nn.Sequential(
            nn.Dropout(config.head_dropout),
            nn.Linear(config.hidden_size, HEAD_SIZE),
            nn.GELU(),
            nn.Dropout(config.head_dropout),
            nn.Linear(HEAD_SIZE, config.num_labels),
        )
        self._takes_types = "token_type_ids" in inspect.signature(encoder.forward).parameters
        self.post_init()

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *args: Any, config: PretrainedConfig | None = None, **options: Any
    ) -> Any:
        """Load a saved classifier, or with ``config`` a bare encoder under a new head.

        Weights come from safetensors only and are float32 in memory, whatever they are on disk.
        """
        config = AutoConfig.from_pretrained(folder) if config is None else config
        options = {"dtype": torch.float32, **options, "use_safetensors": True}
        return super().from_pretrained(folder, *args, config=config, **options)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Give logits, and the mean cross-entropy where there are labels.

        Parameters
        ----------
        input_ids, attention_mask, token_type_ids
            int64, (n_rows, n_tokens); [CLS] is found by its id, wherever it stands.
        labels
            Class numbers, int64, (n_rows,).

        Returns
        -------
        SequenceClassifierOutput
            ``logits`` (n_rows, n_classes), ``loss`` a scalar or None.

        Raises
        ------
        ValueError
            A row without [CLS].

        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        positions = pooling.cls_positions(input_ids, mask, self.config.cls_token_id)
        types = {"token_type_ids": token_type_ids} if self._takes_types else {}
        hidden = self.base_model(input_ids=input_ids, attention_mask=mask, **types).last_hidden_state
        logits = self.head(pooling.cls(hidden, positions))  # (n_rows, n_classes)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def new_classifier(
    files: ModelFiles, *, classes: Sequence[str], max_length: int, head_dropout: float = 0.1
) -> tuple[ClsClassifier, PreTrainedTokenizerBase]:
    """Put a new head on an encoder; torch's random state decides its weights.

    Parameters
    ----------
    files
        Encoder and tokenizer.
    classes
        Class names; a class's number is its place.
    max_length
        Tokens of a text; the tokenizer's own limit from here on.
    head_dropout
        Share of the head's inputs dropped in training, in [0, 1).

    Raises
    ------
    EncoderError
        Files that transformers cannot load, weights without the whole encoder, a tokenizer without [CLS].

    """
    with _loading(files):
        tokenizer = AutoTokenizer.from_pretrained(files.folder)
        config = AutoConfig.from_pretrained(files.folder, local_files_only=True)
    if tokenizer.cls_token_id is None:
        raise EncoderError(f"{files.name}: its tokenizer has no [CLS] token; use an encoder of the BERT family")
    tokenizer.model_max_length = max_length
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: number for number, name in enumerate(classes)}
    config.cls_token_id = tokenizer.cls_token_id
    config.tokenizer_max_length = max_length  # plain "max_length" belongs to text generation
    config.head_dropout = head_dropout
    return _load(files, config), tokenizer


def load_classifier(files: ModelFiles) -> tuple[ClsClassifier, PreTrainedTokenizerBase]:
    """Load a saved classifier and its tokenizer; EncoderError when the folder holds something else."""
    if files.config.get("architectures") != [ClsClassifier.__name__]:
        raise EncoderError(
            f"{files.name}: is no classifier of cls-probe; "
            f"make one of it with: clsprobe finetune {files.name} DATA -o DIR"
        )
    with _loading(files):
        tokenizer = AutoTokenizer.from_pretrained(files.folder)
        config = AutoConfig.from_pretrained(files.folder, local_files_only=True)
    return _load(files, config, lacks=()), tokenizer


def _load(files: ModelFiles, config: PretrainedConfig, lacks: tuple[str, ...] = ("head.",)) -> ClsClassifier:
    """Load weights; tensors whose names begin with ``lacks``, and the unused pooler, may stay random."""
    with _loading(files):
        model, loaded = ClsClassifier.from_pretrained(
            files.folder,
            config=config,
            local_files_only=True,
            ignore_mismatched_sizes=bool(lacks),
            output_loading_info=True,
        )
    missing = sorted(name for name in loaded["missing_keys"] if not name.startswith(lacks) and "pooler" not in name)
    if missing:
        raise EncoderError(
            f"{files.name}: the weights lack {len(missing)} tensors, such as {missing[0]}, which would stay random"
        )
    classifier: ClsClassifier = model
    return classifier


@contextmanager
def _loading(files: ModelFiles) -> Iterator[None]:
    try:
        with quiet():
            yield
    except Exception as error:  # transformers raises many kinds for folders that are no models
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(f"{files.name}: transformers cannot load it ({reason:.200})") from error
