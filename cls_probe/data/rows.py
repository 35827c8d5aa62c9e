"""Rows in memory: checked texts, optional second texts, optional labels."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cls_probe.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Checked rows; a row is its number (from 0), so duplicated texts stay separate rows.

    Built by :func:`cls_probe.data.read_rows`; the constructor checks the rows too.
    Raises :class:`InputError`, naming source and row, for no rows, an empty or missing text, text
    that is not valid Unicode, a missing label, or labels that cannot be classes.
    """

    texts: Sequence[str]
    """n_rows texts, exactly as they came."""
    text_pairs: Sequence[str] | None = None
    """n_rows second texts, or None."""
    labels: Sequence[str] | None = None
    """n_rows class names, or None; integers and booleans are kept by their name ("0", "True")."""
    label_names: Sequence[str] | None = None
    """Class order; by default integers ascending, any other names sorted by code point."""
    source: str = "texts"
    """Where the rows came from, for messages."""
    lines: Sequence[int] | None = None
    """n_rows line numbers in the source file (from 1), for messages."""

    def __post_init__(self) -> None:
        """Check what every later stage relies on."""
        if not self.texts:
            raise InputError(f"{self.source}: no rows; expected at least one text")
        self._check_texts("text", self.texts)
        if self.text_pairs is not None:
            self._check_texts("second text", self.text_pairs)
        if self.labels is not None:
            self._check_labels(self.labels)

    def place(self, row: int) -> str:
        """Name a row for a message: "file.csv, row 3 (line 5)"."""
        line = f" (line {self.lines[row]})" if self.lines is not None else ""
        return f"{self.source}, row {row}{line}"

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.texts)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that occur, in class order; empty without labels."""
        if self.labels is None:
            return ()
        present = set(self.labels)
        return tuple(name for name in self.label_names or class_order(present) if name in present)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of texts, second texts and labels, in row order."""
        return rows_sha256(self.texts, self.text_pairs, self.labels)

    def _check_texts(self, what: str, texts: Sequence[str]) -> None:
        if len(texts) != len(self.texts):
            raise InputError(f"{self.source}: {len(self.texts)} texts but {len(texts)} {what}s; give one for every row")
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                came = "nothing" if _is_missing(text) else f"{type(text).__name__} {text!r:.60}"
                raise InputError(f"{self.place(row)}: the {what} is {came}; expected a string")
            if not text.strip():
                raise InputError(f"{self.place(row)}: the {what} is empty; fill it or remove the row")
            if not _is_unicode(text):
                raise InputError(f"{self.place(row)}: the {what} holds a lone surrogate, which is not valid Unicode")

    def _check_labels(self, labels: Sequence[str]) -> None:
        if len(labels) != len(self.texts):
            raise InputError(f"{self.source}: {len(self.texts)} texts but {len(labels)} labels; give one for every row")
        for row, label in enumerate(labels):
            if not _is_unicode(label):
                raise InputError(f"{self.place(row)}: the label holds a lone surrogate, which is not valid Unicode")
        n_classes = len(set(labels))
        advice = "name another label column, or read without labels (--no-labels)"
        if n_classes == 1:
            raise InputError(
                f"{self.place(0)}: the label is {labels[0]!r:.60} here and in all {len(labels)} rows; "
                f"expected at least two classes (did a limit cut the others off?); {advice}"
            )
        if n_classes == len(labels):
            raise InputError(
                f"{self.place(0)}: the label {labels[0]!r:.60} and those of all {len(labels)} rows differ; "
                f"expected classes that hold several rows; {advice}"
            )


def rows_sha256(*columns: Sequence[str] | None) -> str:
    """Hex digest of texts, second texts and labels, in this order, None for what there is not."""
    digest = hashlib.sha256()
    for column in columns:
        digest.update(b"column" if column is not None else b"absent")
        for value in column or ():
            data = value.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def label_name(value: object) -> str | None:
    """Give a label's name, None for a missing one: "World", "3", "True"; 3.0 is "3"."""
    if _is_missing(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def class_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Order class names: ascending when all are integers, else sorted by code point."""
    names = set(labels)
    try:
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    except ValueError:
        return tuple(sorted(names))


def _is_missing(value: object) -> bool:
    if value is None or isinstance(value, str):
        return not value
    try:
        return bool(value != value)  # NaN, NaT
    except TypeError:  # pandas.NA has no truth value
        return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
