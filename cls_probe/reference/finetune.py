"""Fine-tuning: from labelled rows and an encoder to a folder that holds a classifier."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cls_probe.data import Rows
from cls_probe.encoding.files import ModelFiles, locate
from cls_probe.errors import InputError, MissingDependencyError
from cls_probe.reference.card import model_card
from cls_probe.reference.evaluate import ClassifyResult, classify
from cls_probe.reference.held_out import refuse_leaks, split, subset
from cls_probe.reference.recipe import Recipe

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from cls_probe.reference.classifier import ClsClassifier

RUN, CHECKPOINTS, METRICS, CARD = "run.json", "checkpoints", "metrics.json", "README.md"
_LIBRARIES = ("cls-probe", "torch", "transformers", "tokenizers", "accelerate", "numpy")


@dataclass(frozen=True, kw_only=True)
class FinetuneResult:
    """A finished fine-tuning; all figures stand in ``metrics.json`` too."""

    folder: Path
    """Holds config, weights, tokenizer, model card (README.md) and metrics.json."""
    metrics: Mapping[str, Any]
    """Base, rows, recipe, held-out accuracy by step, scores on held-out and test rows, versions, seconds."""

    @property
    def held_out_accuracy(self) -> float:
        """Accuracy on the rows that chose the checkpoint, in [0, 1]; a little flattering for that reason."""
        return float(self.metrics["held_out"]["accuracy"])

    @property
    def test_accuracy(self) -> float | None:
        """Accuracy on the eval rows with the saved weights, in [0, 1]; None without eval rows."""
        return None if self.metrics["test"] is None else float(self.metrics["test"]["accuracy"])


def finetune(
    rows: Rows, *, base: str | Path, out: str | Path, eval_rows: Rows | None = None, recipe: Recipe | None = None
) -> FinetuneResult:
    """Fine-tune an encoder into a :class:`~cls_probe.reference.classifier.ClsClassifier` and save it.

    A killed run goes on from its last checkpoint when it is called again with the same arguments. Under
    ``torchrun`` every process calls it, and the first one writes.

    Parameters
    ----------
    rows
        Labelled rows; a part of them, class by class, is held out to choose the checkpoint.
    base
        Encoder to start from: a folder, a hub id or a short name; its weights must be safetensors.
    out
        A new or empty folder, or that of the killed run.
    eval_rows
        Labelled test rows, touched once, at the end.
    recipe
        How to train; the defaults suit BERT-base and MiniLM.

    Returns
    -------
    FinetuneResult
        The folder and all figures.

    Raises
    ------
    InputError
        No labels, eval rows that stand in train, labels that train lacks, a folder that holds something else.
    EncoderError
        A base that cannot be loaded or has no [CLS] token.
    MissingDependencyError
        Without the package accelerate.

    """
    if find_spec("accelerate") is None:
        raise MissingDependencyError(
            "fine-tuning needs the package accelerate; install it with: pip install 'cls-probe[finetune]'"
        )
    recipe, out, files = recipe or Recipe(), Path(out), locate(base)
    _check(rows, eval_rows, recipe, files)
    run = {
        "base": files.name,
        "base_revision": files.revision,
        "base_weights_sha256": files.weights_sha256,
        "rows": _describe(rows),
        "eval_rows": None if eval_rows is None else _describe(eval_rows),
        "recipe": asdict(recipe),
    }
    is_first = os.environ.get("RANK", "0") == "0"
    if is_first:
        _begin(out, run)
    train_rows, held_out_rows = split(rows, fraction=recipe.held_out, seed=recipe.seed)
    held_out = subset(rows, held_out_rows)
    model, tokenizer, told = _train(subset(rows, train_rows), held_out, files, out / CHECKPOINTS, recipe)
    if is_first:
        save(model, tokenizer, out, float16=recipe.float16)
        counts = {"n_train": len(train_rows), "n_held_out": len(held_out_rows)}
        _finish(out, {**run, **counts, **told}, held_out, eval_rows)
    _wait_for_all()
    return FinetuneResult(folder=out, metrics=_read(out / METRICS))


def save(model: "ClsClassifier", tokenizer: "PreTrainedTokenizerBase", folder: Path, *, float16: bool) -> None:
    """Write config, weights as safetensors and tokenizer; float16 halves the file and is read as float32."""
    from cls_probe.encoding.loading import quiet

    weights = {name: tensor.half() for name, tensor in model.state_dict().items()} if float16 else None
    with quiet():
        model.save_pretrained(folder, state_dict=weights)
        tokenizer.save_pretrained(folder)


def _check(rows: Rows, eval_rows: Rows | None, recipe: Recipe, files: ModelFiles) -> None:
    """Refuse before any work what would fail or mislead after hours of it."""
    for given in (rows,) if eval_rows is None else (rows, eval_rows):
        if given.labels is None:
            raise InputError(f"{given.source}: no labels; expected a column of class names (--label-column)")
    if recipe.max_length > files.max_length:
        raise InputError(
            f"max_length is {recipe.max_length}; expected at most {files.max_length}, the most that {files.name} takes"
        )
    if eval_rows is None:
        return
    known = set(rows.classes)
    for row, label in enumerate(eval_rows.labels or ()):
        if label not in known:
            raise InputError(
                f"{eval_rows.place(row)}: the label {label!r:.60} does not occur in {rows.source}, whose classes are "
                f"{', '.join(rows.classes[:12])}; use the same label names in both"
            )
    refuse_leaks(rows, eval_rows)


def _describe(rows: Rows) -> dict[str, Any]:
    return {"source": rows.source, "n_rows": len(rows), "sha256": rows.sha256, "classes": list(rows.classes)}


def _begin(out: Path, run: Mapping[str, Any]) -> None:
    """Take a new folder, or that of the same run; refuse any other."""
    if (out / METRICS).exists():
        raise InputError(f"{out}: holds a finished model; name another folder")
    if not (out / RUN).exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out}: exists and holds something else; name a new or an empty folder")
        out.mkdir(parents=True, exist_ok=True)
        _write(out / RUN, run)
        return
    before, now = _flat(_read(out / RUN)), _flat(run)
    for key, value in now.items():
        if before.get(key) != value:
            here = before.get(key)
            raise InputError(
                f"{out}: holds an unfinished run with another {key} ({here!s:.60}; asked for {value!s:.60}); "
                "repeat its options to go on with it, or name another folder"
            )


def _train(
    rows: Rows, held_out: Rows, files: ModelFiles, checkpoints: Path, recipe: Recipe
) -> "tuple[ClsClassifier, PreTrainedTokenizerBase, dict[str, Any]]":
    from transformers import set_seed

    from cls_probe.reference.classifier import new_classifier
    from cls_probe.reference.training import train

    set_seed(recipe.seed)
    model, tokenizer = new_classifier(
        files, classes=rows.classes, max_length=recipe.max_length, head_dropout=recipe.dropout
    )
    told = train(model, tokenizer, rows=rows, held_out=held_out, folder=checkpoints, recipe=recipe)
    return model, tokenizer, told


def _finish(out: Path, told: Mapping[str, Any], held_out: Rows, eval_rows: Rows | None) -> None:
    """Measure the weights as they were saved, write card and metrics, remove the checkpoints."""
    metrics = {
        **told,
        "held_out": scores_of(classify(held_out, model=out)),
        "test": None if eval_rows is None else scores_of(classify(eval_rows, model=out)),
        "versions": {name: version(name) for name in _LIBRARIES},
    }
    (out / CARD).write_text(model_card(metrics), encoding="utf-8")
    _write(out / METRICS, metrics)
    shutil.rmtree(out / CHECKPOINTS)
    (out / RUN).unlink()


def scores_of(result: ClassifyResult) -> dict[str, Any]:
    """Give the scores of labelled rows as plain numbers, for ``metrics.json``."""
    content = json.loads(result.to_json())
    names = ("accuracy", "accuracy_low", "accuracy_high", "macro_f1", "calibration_error")
    by_class = ("precision", "recall", "f1", "confusion")
    return {
        "n_rows": len(result.texts),
        **{name: content[name] for name in names},
        "classes": content["label_names"],
        **{name: content[name] for name in by_class},
    }


def _wait_for_all() -> None:
    """Let the other processes of torchrun wait for the one that writes."""
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        distributed.barrier()


def _flat(run: Mapping[str, Any]) -> dict[str, Any]:
    """Name every setting of a run by one word, for a message; where rows lie does not matter, their digest does."""
    digests = {key: (run[key] or {}).get("sha256") for key in ("rows", "eval_rows")}
    return {**{key: value for key, value in run.items() if key != "recipe"}, **digests, **run["recipe"]}


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON whole or not at all."""
    draft = path.with_name(f"{path.name}.tmp")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
