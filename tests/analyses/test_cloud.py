"""The vectors of one layer, and why their cosines may tell nothing."""

import tracemalloc

import numpy as np

from cls_probe import VectorStore, anisotropy, class_gap
from cls_probe.analyses.cloud import Cloud


def store_of(vectors, **options):
    return VectorStore.from_arrays(np.asarray(vectors), **options)


def test_reasons():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(5000, 6))
    assert Cloud(store_of(some), 0).degenerate == ""
    assert Cloud(store_of(some[:1]), 0).degenerate == "only one row"
    assert Cloud(store_of(np.repeat(some[:1], 5000, axis=0)), 0).degenerate == "all vectors are the same"
    zero = some.copy()
    zero[4500] = 0
    assert Cloud(store_of(zero), 0).degenerate == "row 4500 is a zero vector"
    nothing = store_of(np.zeros((3, 2)))
    assert Cloud(nothing, 0).degenerate == "row 0 is a zero vector"
    assert Cloud(nothing, 0).is_constant


def test_rounding_is_the_same_but_a_crowded_layer_is_not():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(1, 64)) * np.ones((200, 1))
    noise = rng.normal(size=(200, 64))
    rounding = (base + 1e-7 * noise).astype(np.float32)
    assert Cloud(store_of(rounding), 0).degenerate == "all vectors are the same"
    crowded = (base + 1e-4 * noise).astype(np.float32)  # mean cosine above 0.99999999
    assert Cloud(store_of(crowded), 0).degenerate == ""


def test_one_row_that_differs_in_a_later_batch_is_seen():
    vectors = np.ones((9000, 3))
    vectors[8999, 1] = 2
    assert Cloud(store_of(vectors), 0).degenerate == ""


def test_a_row_that_the_transform_removes_is_named():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(9, 4))
    vectors[5] = np.delete(vectors, 5, axis=0).mean(axis=0)  # the mean of all
    store = store_of(vectors)
    assert Cloud(store, 0, transform="center").degenerate == "row 5 is a zero vector after center"
    assert Cloud(store, 0, transform="standardize").degenerate == "row 5 is a zero vector after standardize"
    assert Cloud(store, 0).degenerate == ""
    crowded = store_of((1 + 1e-4 * rng.normal(size=(50, 4))).astype(np.float32))
    assert Cloud(crowded, 0, transform="standardize").degenerate == ""
    on_a_line = store_of(np.outer(np.arange(1, 9), [1.0, 2, 3]))
    assert (
        Cloud(on_a_line, 0, transform="all-but-the-top:1").degenerate
        == "row 0 is a zero vector after all-but-the-top:1"
    )
    assert Cloud(store_of(np.ones((5, 3))), 0, transform="whiten").degenerate == "all vectors are the same"


def test_moments_are_those_of_the_transformed_vectors():
    vectors = np.random.default_rng(4).normal(size=(60, 5)) * np.arange(1, 6) + 3
    for transform in ("none", "center", "standardize", "whiten"):
        cloud = Cloud(store_of(vectors), 0, transform=transform)
        array = cloud.array()
        np.testing.assert_allclose(cloud.mean, array.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(cloud.scatter, 59 * np.cov(array.T), atol=1e-9)


def test_rows_are_those_of_the_whole_array():
    vectors = np.random.default_rng(2).normal(size=(9000, 5)).astype(np.float32)
    cloud = Cloud(store_of(vectors), 0, transform="standardize")
    for numbers in (np.array([0, 4095, 4096, 8999]), np.array([5000]), np.arange(9000)):
        np.testing.assert_array_equal(cloud.rows(numbers), cloud.array()[numbers])


def bytes_a_row(analysis, **options):
    """How the peak of what an analysis allocates grows with the rows; a copy of a layer would be 8 * 64."""
    peaks = []
    sizes = 12_000, 36_000
    for n_rows in sizes:
        vectors = np.random.default_rng(3).normal(size=(n_rows, 64)).astype(np.float32)
        store = store_of(vectors, labels=["some class", "another"] * (n_rows // 2))
        tracemalloc.start()
        analysis(store, **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])


def test_memory_does_not_grow_with_the_rows():
    every = ("mean_cosine", "norm", "mev", "pca_top_share", "isoscore", "effective_rank", "rogue_dimensions")
    assert bytes_a_row(anisotropy, metrics=every) < 4
    assert bytes_a_row(class_gap, permutations=32) < 32  # numbers of rows and of classes
    assert bytes_a_row(lambda store: Cloud(store, 0).array()) > 500
