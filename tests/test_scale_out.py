"""Scale-out: workers on Ray write the bytes of the local engine, also when one dies."""

import os
import sys

import pytest

from cls_probe import extraction
from cls_probe.errors import InputError, MissingDependencyError
from cls_probe.extraction import extract
from cls_probe.scale_out import _check_room, threads_of
from cls_probe.store import Manifest
from tests.test_extraction import TEXTS, files


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(TEXTS))
    return path


@pytest.fixture
def local(tiny_model, rows, tmp_path, monkeypatch):
    import torch

    monkeypatch.setenv("OMP_NUM_THREADS", str(torch.get_num_threads()))
    return extract(rows, model=tiny_model, out=tmp_path / "local", part_size=8).folder


class DiesOnce(extraction.PartWorker):
    """A worker whose process ends in the middle of the third part, the first time."""

    def encode(self, part):
        mark = self.writer.folder.parent / "died"
        if part.start == 16 and not mark.exists():
            mark.touch()
            os._exit(1)
        return super().encode(part)


class DiesAlways(extraction.PartWorker):
    """A worker whose process ends at the third part."""

    def encode(self, part):
        return os._exit(1) if part.start == 16 else super().encode(part)


def half_a_local_store(rows, out, model, monkeypatch):
    encode, calls = extraction._encode_part, []

    def stop_at_the_third(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(extraction, "_encode_part", stop_at_the_third)
        extract(rows, model=model, out=out, part_size=8)
    assert len(Manifest.read(out).parts) == 2


@pytest.mark.filterwarnings("ignore")
def test_workers_write_the_local_bytes_also_when_they_die(tiny_model, rows, local, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    options = {"model": tiny_model, "part_size": 8, "engine": "ray", "workers": 2}
    monkeypatch.setattr(extraction, "PartWorker", DiesAlways)
    with pytest.raises(Exception, match="the workers at rows 16 to 23 died 3 times; the parts before are kept"):
        extract(rows, out=tmp_path / "ray", **options)
    assert 0 < len(Manifest.read(tmp_path / "ray").parts) < 5
    monkeypatch.setattr(extraction, "PartWorker", DiesOnce)
    extract(rows, out=tmp_path / "ray", **options)
    half_a_local_store(rows, tmp_path / "other", tiny_model, monkeypatch)
    before = (tmp_path / "other" / "part-00001.arrow").stat().st_mtime_ns
    extract(rows, out=tmp_path / "other", **options)
    assert (tmp_path / "other" / "part-00001.arrow").stat().st_mtime_ns == before
    assert (tmp_path / "died").exists()
    extract(rows, out=f"file://{tmp_path}/bucket/s", **options)
    stores = [files(folder) for folder in (tmp_path / "ray", tmp_path / "other", tmp_path / "bucket" / "s")]
    assert stores == [files(local)] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark"}, "engine is 'spark'; expected local or ray"),
        ({"workers": 2}, "address and workers belong to the engine ray"),
        ({"engine": "ray", "workers": 0}, "workers is 0; expected at least 1"),
        ({"engine": "ray"}, "the engine ray takes a file, hub:NAME or sample"),
    ],
)
def test_options_that_cannot_be(tiny_model, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        extract(TEXTS, model=tiny_model, out=tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_without_ray_one_line_says_what_to_install(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[ray\]'"):
        extract(rows, engine="ray")


def test_threads_of_a_worker(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [threads_of(workers, 8) for workers in (1, 3, 9)] == [8, 2, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert threads_of(4, 8) == 5


def test_more_workers_than_there_is_room_for():
    _check_room({"CPU": 4, "GPU": 1}, 4, 0)
    with pytest.raises(InputError, match="2 workers need 2 GPUs; Ray has 1"):
        _check_room({"CPU": 4, "GPU": 1}, 2, 1)


def test_other_threads_change_the_last_bits_at_most(tmp_path):
    import torch

    here = torch.get_num_threads()
    stores = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            stores.append(extract("sample", limit=24, out=tmp_path / str(threads)))
    finally:
        torch.set_num_threads(here)
    one, two = stores
    for layer in one.layers:
        there = one.layer(layer)
        assert abs(there - two.layer(layer)).max() <= 1e-6 * abs(there).max()
