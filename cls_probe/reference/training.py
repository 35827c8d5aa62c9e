"""The training loop: transformers.Trainer with a learning rate for every layer and an order of rows that resumes."""

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import (
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_pt_utils import LengthGroupedSampler

from cls_probe.data import Rows
from cls_probe.encoding.loading import quiet
from cls_probe.encoding.tokens import tokenize
from cls_probe.reference.classifier import ClsClassifier
from cls_probe.reference.evaluate import label_codes
from cls_probe.reference.recipe import Recipe

N_CHECKPOINTS = 12
"""Checkpoints of a run; each is measured on the held-out rows."""
Example = dict[str, Any]


def train(
    model: ClsClassifier,
    tokenizer: PreTrainedTokenizerBase,
    *,
    rows: Rows,
    held_out: Rows,
    folder: Path,
    recipe: Recipe,
) -> dict[str, Any]:
    """Train the model in place, or go on from the last checkpoint in ``folder``; it ends with the chosen weights.

    Returns
    -------
    dict
        ``steps``, ``resumed_at_step``, ``seconds`` (of this process), ``chosen`` (whose weights),
        ``curve`` (held-out accuracy by step).

    """
    start = time.perf_counter()
    trainer = _trainer(
        model,
        tokenizer,
        train=examples(model, tokenizer, rows),
        held_out=examples(model, tokenizer, held_out),
        folder=folder,
        recipe=recipe,
    )
    checkpoint = last_checkpoint(folder)
    with quiet():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    curve = [(entry["step"], entry["eval_accuracy"]) for entry in trainer.state.log_history if "eval_accuracy" in entry]
    chosen = f"checkpoint of step {trainer.state.best_global_step}"
    if recipe.average and _try_average(trainer, folder, recipe.average):
        chosen = f"mean of the last {recipe.average} checkpoints"
    return {
        "steps": trainer.state.max_steps,
        "resumed_at_step": 0 if checkpoint is None else _step(checkpoint),
        "seconds": round(time.perf_counter() - start, 1),
        "chosen": chosen,
        "curve": [{"step": step, "accuracy": accuracy} for step, accuracy in curve],
    }


def examples(model: ClsClassifier, tokenizer: PreTrainedTokenizerBase, rows: Rows) -> list[Example]:
    """Tokenize labelled rows: one mapping a row, with its class number under ``labels``."""
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]
    codes = label_codes(rows, names, "the model")
    assert codes is not None
    tokens, _ = tokenize(tokenizer, rows.texts, rows.text_pairs, model.config.tokenizer_max_length)
    return [{**row, "labels": code} for row, code in zip(tokens, codes.tolist(), strict=True)]


def parameter_groups(
    model: ClsClassifier, *, lr: float, head_lr: float, layer_decay: float, weight_decay: float
) -> list[dict[str, Any]]:
    """Give every parameter its learning rate, and weight decay to weight matrices only.

    Layer l of n (from 1) gets ``lr * layer_decay ** (n - l)``, the embeddings count as layer 0, what stands
    outside the layers as layer n (Howard & Ruder 2018); the head gets ``head_lr``.
    """
    n_layers = model.config.num_hidden_layers
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        rate = head_lr if name.startswith("head.") else lr * layer_decay ** (n_layers - _depth(name, n_layers))
        groups.setdefault((rate, weight_decay if parameter.ndim > 1 else 0.0), []).append(parameter)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


def last_checkpoint(folder: Path) -> Path | None:
    """Find the newest checkpoint that was written to its end; the Trainer writes its state last."""
    found = sorted(folder.glob("checkpoint-*"), key=_step, reverse=True)
    return next((path for path in found if _is_whole(path / "trainer_state.json")), None)


class _ClassifierTrainer(Trainer):  # type: ignore[misc]
    """Trainer with :func:`parameter_groups` and :class:`_EpochSampler`."""

    def __init__(self, recipe: Recipe, **options: Any) -> None:
        super().__init__(**options)
        self.recipe = recipe

    def create_optimizer(self, model: ClsClassifier | None = None) -> torch.optim.Optimizer:
        recipe = self.recipe
        groups = parameter_groups(
            model or self.model,
            lr=recipe.lr,
            head_lr=recipe.head_lr,
            layer_decay=recipe.layer_decay,
            weight_decay=recipe.weight_decay,
        )
        self.optimizer = torch.optim.AdamW(groups)
        return self.optimizer

    def _get_train_sampler(self, train_dataset: Any = None) -> "_EpochSampler":
        lengths = [len(example["input_ids"]) for example in train_dataset or self.train_dataset]
        return _EpochSampler(self.args.train_batch_size, lengths=lengths, seed=self.recipe.seed)


class _EpochSampler(LengthGroupedSampler):  # type: ignore[misc]
    """Batches of like length, in an order that depends on seed and epoch only, so that a resumed run repeats it."""

    def __init__(self, batch_size: int, *, lengths: Sequence[int], seed: int) -> None:
        super().__init__(batch_size, lengths=list(lengths))
        self.seed = seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, from 0; the data loader calls it."""
        self.generator = torch.Generator().manual_seed(1_000_003 * self.seed + epoch)


class _Progress(TrainerCallback):  # type: ignore[misc]
    """One progress bar on stderr, where a person watches."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        from tqdm import tqdm

        hidden = None if state.is_world_process_zero else True  # None: hidden unless stderr is a terminal
        self.bar = tqdm(total=state.max_steps, initial=state.global_step, desc="steps", disable=hidden)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.update()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        shown = {"loss": "loss", "eval_accuracy": "held-out accuracy"}
        self.bar.set_postfix({shown[key]: f"{value:.4f}" for key, value in (logs or {}).items() if key in shown})

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.close()


def _trainer(
    model: ClsClassifier,
    tokenizer: PreTrainedTokenizerBase,
    *,
    train: list[Example],
    held_out: list[Example],
    folder: Path,
    recipe: Recipe,
) -> _ClassifierTrainer:
    on_accelerator = torch.accelerator.is_available()
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=2 * recipe.batch_size,
        warmup_steps=recipe.warmup,
        lr_scheduler_type="linear",
        label_smoothing_factor=recipe.label_smoothing,
        bf16=recipe.bf16,
        use_cpu=not on_accelerator,
        dataloader_pin_memory=on_accelerator,
        seed=recipe.seed,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=1 / N_CHECKPOINTS,
        save_steps=1 / N_CHECKPOINTS,
        save_total_limit=max(2, recipe.average + 1),
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        logging_steps=1 / (5 * N_CHECKPOINTS),
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = _ClassifierTrainer(
        recipe,
        model=model,
        args=arguments,
        train_dataset=train,
        eval_dataset=held_out,
        data_collator=_collate(tokenizer),
        compute_metrics=_accuracy,
        callbacks=[_Progress()],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _try_average(trainer: Trainer, folder: Path, n_checkpoints: int) -> bool:
    """Load the mean of the last checkpoints' weights if it is better on the held-out rows; tell whether it is."""
    chosen = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    last = sorted(folder.glob("checkpoint-*"), key=_step)[-n_checkpoints:]
    states = [load_file(path / "model.safetensors") for path in last]
    mean = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
    trainer.model.load_state_dict(mean, strict=False)
    if trainer.evaluate()["eval_accuracy"] > trainer.state.best_metric:
        return True
    trainer.model.load_state_dict(chosen)
    return False


def _collate(tokenizer: PreTrainedTokenizerBase) -> Callable[[list[Example]], dict[str, torch.Tensor]]:
    """Pad a batch to a multiple of 8 tokens, which spares the kernels odd shapes."""

    def pad(batch: list[Example]) -> dict[str, torch.Tensor]:
        return dict(tokenizer.pad(batch, pad_to_multiple_of=8, return_tensors="pt"))

    return pad


def _accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float(np.mean(prediction.predictions.argmax(axis=1) == prediction.label_ids))}


def _depth(name: str, n_layers: int) -> int:
    layer = re.search(r"\blayers?\.(\d+)\.", name)
    if layer:
        return int(layer[1]) + 1
    return 0 if "embeddings" in name else n_layers


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.rsplit("-", 1)[1])


def _is_whole(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True
