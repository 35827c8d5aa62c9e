"""Rows: checks, class order, identity."""

import numpy as np
import pandas as pd
import pytest

from cls_probe.data import Rows, read_rows
from cls_probe.data.rows import class_order, label_name
from cls_probe.errors import InputError


def test_duplicated_texts_stay_separate_rows():
    rows = read_rows(["same", "same", "other"])
    assert len(rows) == 3
    assert rows.texts == ["same", "same", "other"]


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["b", "a", "b", "C"], ("C", "a", "b")),
        ([10, 9, 10, 1], ("1", "9", "10")),
        (["10", "9", "10"], ("9", "10")),
        ([True, False, True], ("False", "True")),
        (["10", "x", "10"], ("10", "x")),
        ([1.0, 2.0, 1.0], ("1", "2")),
    ],
)
def test_class_order(labels, order):
    rows = read_rows([f"t{i}" for i in range(len(labels))], labels=labels)
    assert rows.classes == order
    assert class_order(reversed(rows.labels)) == order  # not the order of appearance


@pytest.mark.parametrize("missing", [None, float("nan"), "", pd.NA, pd.NaT, np.nan])
def test_missing_labels(missing):
    assert label_name(missing) is None
    with pytest.raises(InputError, match="texts, row 1: the label is missing"):
        read_rows(["x", "y", "z"], labels=["a", missing, "a"])


def test_label_names_keep_their_type_by_name():
    assert [label_name(v) for v in (3, np.int64(3), 3.0, "3", True, 2.5)] == ["3", "3", "3", "3", "True", "2.5"]


def test_identity_depends_on_every_column_and_on_the_order():
    base = {"texts": ["ab", "c", "d"], "labels": ["x", "y", "x"]}
    others = [
        {**base, "texts": ["a", "bc", "d"]},
        {**base, "texts": ["c", "ab", "d"]},
        {**base, "labels": ["x", "x", "y"]},
        {**base, "labels": None},
        {**base, "text_pairs": ["p", "q", "r"]},
    ]
    digests = {Rows(**columns).sha256 for columns in (base, *others)}
    assert len(digests) == 6
    assert Rows(**base).sha256 == Rows(**base, source="elsewhere").sha256


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "texts: no rows; expected at least one text"),
        (["a", ""], "texts, row 1: the text is empty; fill it or remove the row"),
        (["a", " \t\n"], "texts, row 1: the text is empty; fill it or remove the row"),
        (["a", None], "texts, row 1: the text is nothing; expected a string"),
        (["a", float("nan")], "texts, row 1: the text is nothing; expected a string"),
        (["a", 7], "texts, row 1: the text is int 7; expected a string"),
        (["a", "\ud800"], "texts, row 1: the text holds a lone surrogate, which is not valid Unicode"),
    ],
)
def test_unusable_texts(texts, message):
    with pytest.raises(InputError) as caught:
        read_rows(texts)
    assert str(caught.value) == message


def test_labels_that_are_no_classes():
    with pytest.raises(
        InputError, match=r"texts, row 0: the label is 'x' here and in all 3 rows; expected at least two"
    ):
        read_rows(["a", "b", "c"], labels=["x"] * 3)
    with pytest.raises(InputError, match=r"texts, row 0: the label '1' and those of all 3 rows differ"):
        read_rows(["a", "b", "c"], labels=[1, 2, 3])
    with pytest.raises(InputError, match="texts: 3 texts but 2 labels; give one for every row"):
        read_rows(["a", "b", "c"], labels=["x", "y"])
    assert read_rows(["a", "b", "c"], labels=["x"] * 3, no_labels=True).labels is None
