"""Surface features of texts."""

import numpy as np
import pytest

from cls_probe import VectorStore, layer_probe
from cls_probe.analyses.probing.split import split_rows
from cls_probe.analyses.probing.surface import surface_features


def store(texts, labels):
    vectors = np.random.default_rng(0).normal(size=(len(labels), 1, 4))
    return VectorStore.from_arrays(vectors, labels=labels, texts=texts)


def test_lengths_and_words():
    labels = ["a", "b"] * 4
    split = split_rows(store(["one Two two", "x"] * 4, labels), None, 2, 0)
    features = surface_features(split)
    transform, lengths = features["text length"]
    assert (transform, lengths[:2].tolist()) == ("standardize", [[11, 3], [1, 1]])
    transform, words = features["bag of words"]
    assert (transform, words.shape) == ("none", (8, 2))
    assert sorted(np.abs(words[0].toarray()[0])) == pytest.approx([1 / 5**0.5, 2 / 5**0.5])
    assert words[1].nnz == 0  # words of one letter do not count, as in scikit-learn
    assert surface_features(split_rows(store(None, labels), None, 2, 0)) == {}


def test_baselines_find_what_is_on_the_surface():
    rng = np.random.default_rng(0)
    labels = ["long" if i % 2 else "short" for i in range(80)]
    length = [f"{'word ' * (rng.integers(10, 20) if i % 2 else rng.integers(1, 8))}" for i in range(80)]
    words = [f"{'good' if i % 2 else 'poor'} {' '.join(rng.permutation(['so', 'it', 'is']))}" for i in range(80)]
    by_length, by_words = (layer_probe(store(texts, labels)) for texts in (length, words))
    assert by_length.surface == by_words.surface == ("text length", "bag of words")
    assert by_length.surface_accuracy[0] == 1
    assert by_words.surface_accuracy.tolist()[1] == 1
    assert by_words.surface_accuracy[0] < 0.7
    assert "text length 1.000 [0.955, 1.000], bag of words" in by_length.table().replace("\n", " ")
    none = layer_probe(store(length, labels), baselines=False)
    assert none.surface is none.surface_accuracy is None
    assert "text length" not in none.table()


def test_texts_without_words_are_no_obstacle():
    result = layer_probe(store(["a", "b"] * 20, ["x", "y"] * 20))
    assert result.surface_accuracy[1] == result.majority_accuracy == 0.5
