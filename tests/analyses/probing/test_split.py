"""Control labels belong to texts; a baseline store has the same rows."""

import numpy as np
import pytest

from cls_probe import VectorStore
from cls_probe.analyses.probing.split import control_split, same_rows, split_rows
from cls_probe.errors import InputError


def store(texts=None, n=60, labels="aab", width=3, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, 1, width))
    return VectorStore.from_arrays(vectors, labels=[labels[i % len(labels)] for i in range(n)], texts=texts)


def test_every_row_is_tested_once_and_never_by_a_probe_that_saw_it():
    split = split_rows(store(), None, 5, 0)
    assert split.tested.tolist() == list(range(60))
    for train, test in split.folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 60


def test_control_labels_are_those_of_the_text():
    texts = [f"text {i % 20}" for i in range(60)]
    split = split_rows(store(texts), None, 5, 0)
    control = control_split(split, 0)
    by_text = {}
    for text, code in zip(texts, control.codes.tolist(), strict=True):
        assert by_text.setdefault(text, code) == code
    assert len(set(by_text.values())) == 2
    assert (control_split(split, 0).codes == control.codes).all()
    assert (control_split(split, 1).codes != control.codes).any()
    assert all((a[0] == b[0]).all() for a, b in zip(split.folds, control.folds, strict=True))


def test_both_stores_share_the_labels_of_texts():
    texts = [f"text {i}" for i in range(60)]
    split = split_rows(store(texts), store(texts[::-1], seed=1), 5, 0)
    codes = control_split(split, 0).codes
    assert (codes[:60] == codes[60:][::-1]).all()
    assert split.tested.tolist() == list(range(60, 120))


def test_without_texts_every_row_has_its_own_label_with_the_class_frequencies():
    control = control_split(split_rows(store(n=6000), None, 5, 0), 0)
    assert np.bincount(control.codes)[0] / 6000 == pytest.approx(2 / 3, abs=0.02)
    assert len(np.unique(control.codes[0::3])) == 2  # not bound to the label


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (store(["x"] * 60), "the baseline store holds other rows (texts or labels differ)"),
        (store(labels="abb"), "the baseline store holds other rows (texts or labels differ)"),
        (store(n=30), "the baseline store holds other rows (texts or labels differ)"),
    ],
)
def test_a_baseline_of_other_rows_is_refused(other, message):
    with pytest.raises(InputError) as caught:
        same_rows(split_rows(store(), None, 5, 0), other, [0])
    assert message in str(caught.value)


def test_a_baseline_lacking_a_layer_or_beside_a_test_store_is_refused():
    with pytest.raises(InputError, match="layer 1 is not in the baseline store; choose layers that both stores hold"):
        same_rows(split_rows(store(), None, 5, 0), store(width=7), [0, 1])
    with pytest.raises(InputError, match="a baseline store was given with a test store; expected one of them"):
        same_rows(split_rows(store(), store(), 5, 0), store(), [0])
