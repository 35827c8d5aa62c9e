"""UMAP's layout: the same twice, equal rows together, a row in its place, the process left alone."""

import itertools
import locale
import subprocess
import sys
import warnings

import numpy as np
import pytest

from cls_probe import VectorStore, project
from cls_probe.analyses.projection.layout import _nearest, umap_layouts
from cls_probe.errors import MissingDependencyError

OPTIONS = {"metric": "cosine", "n_neighbors": 5, "min_dist": 0.1, "seed": 3}


def groups(seed=0, n=40):
    """Two far groups of rows, the even and the odd."""
    rng = np.random.default_rng(seed)
    return np.eye(6)[np.arange(n) % 2] + 0.05 * rng.normal(size=(n, 6))


def spread(points):
    return np.linalg.norm(points - points.mean(axis=0), axis=1).mean()


def test_nearest_are_exact_and_equal_ones_come_by_number():
    rows = np.array([[0.0, 1], [0, 1], [0, 1], [1, 0], [1, 0.1]])
    nearest, between = _nearest(rows, "euclidean", 3)
    assert nearest.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 4, 0], [4, 3, 0]]
    np.testing.assert_allclose(between[3], [0, 0.1, 2**0.5], rtol=1e-6)


def test_the_same_seed_gives_the_same_layout_and_groups_stay_apart():
    first, again = (umap_layouts([groups()], **OPTIONS)[0] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert umap_layouts([groups()], **{**OPTIONS, "seed": 4})[0].tobytes() != first.tobytes()
    even, odd = first[::2], first[1::2]
    assert np.linalg.norm(even.mean(axis=0) - odd.mean(axis=0)) > 2 * max(spread(even), spread(odd))


def test_equal_rows_share_a_place_and_change_nothing():
    rows = groups()
    doubled = np.concatenate([rows, rows[:3], rows[:1].repeat(20, axis=0)])
    laid = umap_layouts([doubled], **OPTIONS)[0]
    assert laid.tobytes() == umap_layouts([doubled], **OPTIONS)[0].tobytes()
    np.testing.assert_array_equal(laid[40:43], laid[:3])
    np.testing.assert_array_equal(laid[43:], laid[:1].repeat(20, axis=0))
    np.testing.assert_array_equal(laid[:40], umap_layouts([rows], **OPTIONS)[0])


def test_aligned_a_row_keeps_its_place():
    spaces = [groups(), groups(seed=1), groups(seed=2)]
    laid = umap_layouts(spaces, **OPTIONS)
    again = umap_layouts(spaces, **OPTIONS)
    assert [a.tobytes() for a in laid] == [b.tobytes() for b in again]
    alone = [umap_layouts([space], **OPTIONS)[0] for space in spaces]

    def moved(layouts):
        return np.mean([np.linalg.norm(a - b, axis=1).mean() / spread(a) for a, b in itertools.pairwise(layouts)])

    assert moved(laid) < 0.5 * moved(alone)
    assert np.isfinite(laid).all()


@pytest.mark.parametrize("n_spaces", [1, 2])
def test_three_rows(n_spaces):
    laid = umap_layouts([np.eye(3)] * n_spaces, **OPTIONS)
    assert all(np.isfinite(points).all() and points.shape == (3, 2) for points in laid)


def test_threads_and_warnings_are_left_as_they_were():
    code = (
        "import torch\n"
        "import numpy as np\n"
        "from cls_probe.analyses.projection.layout import umap_layouts\n"
        "torch.set_num_threads(1)\n"
        "points = np.random.default_rng(0).normal(size=(40, 5))\n"
        "umap_layouts([points], metric='cosine', n_neighbors=5, min_dist=0.1, seed=0)\n"
        "print(torch.get_num_threads())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1"]
    filters = list(warnings.filters)
    umap_layouts([groups()], **OPTIONS)
    assert list(warnings.filters) == filters


def test_the_number_format_of_the_process_is_left_alone():
    names = [name for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8") if _settable(name)]
    if not names:
        pytest.skip("no locale but C is installed")
    code = (
        f"import locale; locale.setlocale(locale.LC_NUMERIC, {names[0]!r})\n"
        "before = locale.setlocale(locale.LC_NUMERIC)\n"
        "from cls_probe.analyses.projection.layout import load_umap\n"
        "assert load_umap()['umap-learn']\n"
        "assert locale.setlocale(locale.LC_NUMERIC) == before != 'C', before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _settable(name):
    kept = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_NUMERIC, kept)
    return True


@pytest.mark.parametrize("missing", [True, False])
def test_a_missing_or_broken_umap_is_found_before_the_work(monkeypatch, tmp_path, missing):
    for name in [name for name in sys.modules if name.split(".")[0] == "umap"]:
        monkeypatch.delitem(sys.modules, name)
    if missing:
        monkeypatch.setitem(sys.modules, "umap", None)
    else:
        (tmp_path / "umap.py").write_text("raise SystemError('llvmlite does not fit')")
        monkeypatch.syspath_prepend(tmp_path)
    store = VectorStore.from_arrays(groups())
    monkeypatch.setattr(VectorStore, "batches", lambda *args, **kwargs: pytest.fail("work began"))
    with pytest.raises(
        MissingDependencyError, match=r"umap-learn, which cannot be imported \((Module|System)"
    ) as error:
        project(store, method="umap")
    assert "pip install" in str(error.value)
    assert "\n" not in str(error.value)
