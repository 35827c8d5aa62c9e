import numpy as np
import pytest

from cls_probe.data import Rows, read_rows
from cls_probe.errors import InputError
from cls_probe.reference.held_out import refuse_leaks, split, subset
from tests.reference.conftest import animal_rows


def test_a_test_row_that_stands_in_train_is_refused():
    train = read_rows(["One two.", "three", "Three!", "four"], labels=["a", "b", "a", "b"])
    test = read_rows(["zero", "THREE", "one, two", "five"], labels=["a", "b", "a", "b"])
    with pytest.raises(InputError) as caught:
        refuse_leaks(train, test)
    assert str(caught.value) == (
        "2 of 4 eval rows stand in the training rows too (letters and digits, lower case); the first is "
        "texts, row 1, equal to texts, row 1; remove them from one of the two"
    )


def test_rows_without_a_letter_are_compared_as_they_are():
    train = read_rows(["?", "!", "...", "-"], labels=["a", "b", "a", "b"])
    refuse_leaks(train, read_rows(["??", "a", "b", "c"], labels=["a", "b", "a", "b"]))
    with pytest.raises(InputError, match="1 of 4 eval rows"):
        refuse_leaks(train, read_rows(["?", "a", "b", "c"], labels=["a", "b", "a", "b"]))


def test_every_class_gives_its_share():
    rows = animal_rows(300)
    train, held_out = split(rows, fraction=0.1, seed=0)
    assert sorted([*train, *held_out]) == list(range(300))
    assert [subset(rows, held_out).labels.count(name) for name in ("cat", "dog")] == [15, 15]
    again = split(rows, fraction=0.1, seed=0)[1]
    assert (again == held_out).all()
    assert set(split(rows, fraction=0.1, seed=1)[1]) != set(held_out)


def test_rows_that_end_alike_are_never_held_out():
    story = "the same long story, which runs on for more than eighty letters and digits, from several feeds at once"
    texts = [f"Title {i}: {story}." for i in range(30)] + [f"story number {i}" for i in range(10)]
    labels = ["a", "b"] * 20
    _, held_out = split(read_rows(texts, labels=labels), fraction=0.5, seed=0)
    assert set(held_out) == set(range(30, 40))


def test_a_class_without_a_row_to_spare_is_refused():
    rows = read_rows(["x", "x", "y", "z"], labels=["a", "a", "b", "b"])
    with pytest.raises(InputError, match=r"class 'a' has no row to hold out \(2 rows, 0 of them unlike all others\)"):
        split(rows, fraction=0.5, seed=0)


def test_a_subset_keeps_class_order_and_places():
    rows = Rows(texts=list("abcd"), labels=["x", "y", "x", "y"], label_names=["y", "x"], lines=[2, 3, 4, 5])
    part = subset(rows, np.array([1, 2]).repeat(2))
    assert (part.texts, part.labels, part.classes) == (list("bbcc"), ["y", "y", "x", "x"], ("y", "x"))
    assert part.place(2) == "texts, row 2 (line 4)"
