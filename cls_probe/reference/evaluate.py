"""Classifying rows, and how good the answers are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.calibration import N_BINS
from cls_probe.data import Rows, read_rows
from cls_probe.encoding.files import AGNEWS, ModelFiles, locate
from cls_probe.errors import InputError
from cls_probe.plotting import drawable, heat_map, panels, style
from cls_probe.reference.scores import scores, softmax
from cls_probe.result import Column, Record, Result, number_or_none, shortened, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from transformers import PreTrainedTokenizerBase

    from cls_probe.reference.classifier import ClsClassifier

_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 60
_MATRIX_CLASSES = 8
_CLASS_COLUMNS = (
    Column(name="class", meaning="", heading="class"),
    Column(name="rows", meaning="", heading="rows"),
    Column(name="precision", meaning="", heading="precision", format=".4f"),
    Column(name="recall", meaning="", heading="recall", format=".4f"),
    Column(name="f1", meaning="", heading="F1", format=".4f"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassifyResult(Result):
    """Predictions of a classifier; scores are None where the rows have no labels."""

    texts: tuple[str, ...]
    """The rows' texts, as they came."""
    labels: tuple[str, ...] | None
    """The rows' own class names, or None."""
    label_names: tuple[str, ...]
    """The model's class names, in the order of its class numbers."""
    predicted: tuple[str, ...]
    """(n_rows,) name of the most probable class."""
    probabilities: NDArray[np.float64]
    """(n_rows, n_classes) softmax of the logits, in [0, 1]."""
    n_truncated: int
    """Rows of more tokens than the model reads; their rest was cut off."""
    accuracy: float | None
    """Share of rows predicted right, in [0, 1]."""
    accuracy_low: float | None
    """Lower end of its Wilson interval."""
    accuracy_high: float | None
    """Upper end of its Wilson interval."""
    macro_f1: float | None
    """Unweighted mean of the F1 of the classes that occur as label or prediction, in [0, 1]."""
    confusion: NDArray[np.int64] | None
    """(n_classes, n_classes) rows by true class (first) and predicted class (second)."""
    precision: NDArray[np.float64] | None
    """(n_classes,) share of the rows predicted so that are so; NaN where none is predicted so."""
    recall: NDArray[np.float64] | None
    """(n_classes,) share of the class's rows that are found; NaN for a class without rows."""
    f1: NDArray[np.float64] | None
    """(n_classes,) harmonic mean of precision and recall; NaN for a class neither true nor predicted."""
    calibration_error: float | None
    """Expected calibration error in [0, 1]: mean |accuracy - confidence| of 15 equal-width bins, weighted by rows."""
    bin_rows: NDArray[np.int64] | None
    """(15,) rows by confidence, the probability of the predicted class: bin i holds (i/15, (i+1)/15]."""
    bin_accuracy: NDArray[np.float64] | None
    """(15,) accuracy of the bin's rows; NaN for an empty bin."""
    bin_confidence: NDArray[np.float64] | None
    """(15,) mean confidence of the bin's rows; NaN for an empty bin."""

    title = "Classification by the [CLS] vector of the last layer"
    meaning = "probability is the model's own for the class it predicts."

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the records; the last ones are named after the classes."""
        return (
            Column(name="row", meaning="number of the row, from 0", heading="row"),
            Column(name="text", meaning="the row's text", heading="text"),
            Column(name="label", meaning="the row's own class name, empty without labels"),
            Column(name="predicted", meaning="name of the most probable class", heading="predicted"),
            Column(name="probability", meaning="its probability, in [0, 1]", heading="probability", format=".4f"),
            *(Column(name=f"p({name})", meaning="probability of this class, in [0, 1]") for name in self.label_names),
        )

    def records(self) -> list[Record]:
        """One record a row."""
        return [
            {
                "row": row,
                "text": text,
                "label": None if self.labels is None else self.labels[row],
                "predicted": self.predicted[row],
                "probability": float(self.probabilities[row].max()),
                **{f"p({n})": float(p) for n, p in zip(self.label_names, self.probabilities[row], strict=True)},
            }
            for row, text in enumerate(self.texts)
        ]

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show the scores class by class, or without labels the first rows."""
        if self.confusion is None:
            first = self.records()[:_SHOWN_ROWS]
            return self.columns, [{**record, "text": shortened(record["text"], _SHOWN_CHARACTERS)} for record in first]
        scores: Mapping[str, NDArray[np.float64]] = {
            name: getattr(self, name) for name in ("precision", "recall", "f1")
        }
        sizes = self.confusion.sum(axis=1)
        return _CLASS_COLUMNS, [
            {
                "class": name,
                "rows": int(sizes[i]),
                **{score: number_or_none(values[i]) for score, values in scores.items()},
            }
            for i, name in enumerate(self.label_names)
        ]

    def notes(self) -> list[str]:
        """Give the scores over all rows and the confusion matrix, or what the table left out."""
        cut = [f"{self.n_truncated} of {len(self.texts)} texts were cut to the model's length."] * (
            self.n_truncated > 0
        )
        if self.confusion is None:
            left_out = len(self.texts) - _SHOWN_ROWS
            more = [f"{left_out} more rows are not shown; all of them with: --csv"] * (left_out > 0)
            return [*more, *cut, self.meaning]
        low, high = self.accuracy_low, self.accuracy_high
        notes = [
            f"accuracy          {self.accuracy:.4f} [{low:.4f}, {high:.4f}] (Wilson interval)",
            f"macro-F1          {self.macro_f1:.4f}",
            f"calibration error {self.calibration_error:.4f} ({N_BINS} equal-width bins of confidence)",
            *cut,
        ]
        if len(self.label_names) <= _MATRIX_CLASSES:
            cells = [[n, *map(str, row)] for n, row in zip(self.label_names, self.confusion.tolist(), strict=True)]
            notes += ["", "Rows by true class (down) and predicted class (across)", ""]
            notes += [text_table(["class", *self.label_names], cells)]
        return notes

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the confusion matrix and the reliability diagram, or without labels the predicted classes."""
        with style():
            figure, axes = panels(ax, 1 if self.confusion is None else 2, height=3.4)
            if self.confusion is None:
                counts = [self.predicted.count(name) for name in self.label_names]
                axes[0].barh(drawable(self.label_names), counts)
                axes[0].invert_yaxis()
                axes[0].set_xlabel("rows predicted")
                return figure
            _draw_confusion(axes[0], self.confusion, self.label_names)
            if ax is None:
                _draw_reliability(axes[1], self.bin_confidence, self.bin_accuracy)
        return figure


def classify(
    rows: Any, *, model: str | Path = AGNEWS, batch_size: int = 64, device: str = "auto", confidence: float = 0.95
) -> ClassifyResult:
    """Predict the class of every row; with labels, say how good the predictions are.

    Parameters
    ----------
    rows
        :class:`Rows`, or what :func:`cls_probe.data.read_rows` takes: texts, a file, a frame. Labels are compared
        by name, so their order does not matter.
    model
        Folder or hub id of a classifier made by ``finetune``, or ``agnews``.
    batch_size
        Texts in a batch; batches hold texts of like length.
    device
        Where to compute: auto, cpu, cuda[:i], mps.
    confidence
        Confidence of the accuracy's Wilson interval.

    Returns
    -------
    ClassifyResult
        Labels, probabilities and scores (expected calibration error: Guo et al. 2017, 15 equal-width bins).

    Raises
    ------
    InputError
        Unusable rows or options, or a label that the model does not know.
    EncoderError
        A model that cannot be loaded or is no classifier.

    """
    from cls_probe.reference.classifier import load_classifier

    rows = rows if isinstance(rows, Rows) else read_rows(rows)
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a share between 0 and 1, such as 0.95")
    files = locate(model)
    classifier, tokenizer = load_classifier(files)
    names = tuple(classifier.config.id2label[number] for number in range(classifier.config.num_labels))
    codes = label_codes(rows, names, files.name)
    logits, n_truncated = class_logits(classifier, tokenizer, rows, batch_size=batch_size, device=device)
    probabilities = softmax(logits)
    return ClassifyResult(
        params={"model": str(model), "batch_size": batch_size, "confidence": confidence},
        source=_source(rows, files),
        texts=tuple(rows.texts),
        labels=None if rows.labels is None else tuple(rows.labels),
        label_names=names,
        predicted=tuple(names[code] for code in probabilities.argmax(axis=1)),
        probabilities=probabilities,
        n_truncated=n_truncated,
        **scores(probabilities, codes, confidence=confidence),
    )


def class_logits(
    model: "ClsClassifier",
    tokenizer: "PreTrainedTokenizerBase",
    rows: Rows,
    *,
    batch_size: int = 64,
    device: str = "auto",
) -> tuple[NDArray[np.float32], int]:
    """Run the model over rows in batches of like length.

    Returns
    -------
    tuple
        Logits, float32, (n_rows, n_classes), and the number of rows that were cut to the model's length.

    """
    import torch

    from cls_probe.encoding.loading import pick_device
    from cls_probe.encoding.tokens import tokenize

    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}; expected at least 1")
    max_length = model.config.tokenizer_max_length
    tokens, n_tokens = tokenize(tokenizer, rows.texts, rows.text_pairs, max_length)
    order = np.argsort(-np.minimum(n_tokens, max_length), kind="stable")
    logits = np.empty((len(rows), model.config.num_labels), dtype=np.float32)
    model.to(pick_device(device)).eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            inputs = tokenizer.pad([tokens[row] for row in batch], return_tensors="pt").to(model.device)
            logits[batch] = model(**inputs).logits.float().cpu().numpy()
    return logits, int((n_tokens > max_length).sum())


def label_codes(rows: Rows, names: Sequence[str], model: str) -> NDArray[np.int64] | None:
    """Give the model's class number of every row, int64 (n_rows,); InputError for a label that it does not know."""
    if rows.labels is None:
        return None
    number = {name: i for i, name in enumerate(names)}
    for row, label in enumerate(rows.labels):
        if label not in number:
            known = ", ".join(names[:12])
            raise InputError(
                f"{rows.place(row)}: the label {label!r:.60} is not known to {model}, whose classes are {known}; "
                "rename the labels, or classify without them (--no-labels)"
            )
    return np.array([number[label] for label in rows.labels], dtype=np.int64)


def _source(rows: Rows, files: ModelFiles) -> dict[str, Any]:
    return {
        "model": files.name,
        "revision": files.revision,
        **files.identity,
        "rows": rows.source,
        "rows_sha256": rows.sha256,
    }


def _draw_reliability(ax: "Axes", confidence: Any, accuracy: Any) -> None:
    """Draw accuracy against confidence, bin by bin."""
    ax.plot([0, 1], [0, 1], color="#666666", linestyle=":", label="perfectly calibrated")
    ax.plot(confidence, accuracy, marker="o", label="rows, by confidence")
    ax.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1.02), ylim=(0, 1.02))
    ax.legend(loc="upper left")


def _draw_confusion(ax: "Axes", confusion: NDArray[np.int64], names: Sequence[str]) -> None:
    """Shade each row of the matrix by its shares and write the counts."""
    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    form = (lambda i, j: str(confusion[i, j])) if len(names) <= _MATRIX_CLASSES else None
    heat_map(ax, shares, names, low=0, high=1, form=form)
    ax.set(xlabel="predicted", ylabel="true")
