"""A damaged part is named by verify and by extract computed anew, that part alone."""

import pytest

from cls_probe import extraction
from cls_probe.errors import StoreError
from cls_probe.extraction import extract
from cls_probe.store import VectorStore
from tests.test_extraction import TEXTS, files


def truncate(folder):
    path = folder / "part-00001.arrow"
    path.write_bytes(path.read_bytes()[:-10])


def flip(folder):
    path = folder / "part-00001.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def swap(folder):
    (folder / "part-00001.arrow").write_bytes((folder / "part-00002.arrow").read_bytes())


def delete(folder):
    (folder / "part-00001.arrow").unlink()


@pytest.mark.parametrize("damage", [truncate, flip, swap, delete])
def test_a_damaged_part_is_named_and_computed_anew(tiny_model, tmp_path, monkeypatch, damage):
    folder = tmp_path / "s"
    extract(TEXTS, model=tiny_model, out=folder, part_size=8)
    before = files(folder)
    damage(folder)
    with pytest.raises(StoreError, match=r"part-00001\.arrow"):
        VectorStore.open(folder).verify()

    encode, computed = extraction._encode_part, []
    monkeypatch.setattr(extraction, "_encode_part", lambda *given: computed.append(1) or encode(*given))
    extract(TEXTS, model=tiny_model, out=folder, part_size=8).verify()
    assert len(computed) == 1
    assert files(folder) == before
