"""A damaged part is named by verify and by extract computed anew, that part alone."""

import os

import pytest
from click.testing import CliRunner

from cls_probe import extraction
from cls_probe.cli import cli
from cls_probe.errors import StoreError
from cls_probe.extraction import extract
from cls_probe.store import VectorStore, checked
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


def from_another_run(folder):
    part = "part-00001.arrow"
    (folder / part).write_bytes((folder.parent / "other" / part).read_bytes())


@pytest.mark.parametrize("damage", [truncate, flip, swap, delete, from_another_run])
def test_a_damaged_part_is_named_and_computed_anew(tiny_model, tmp_path, monkeypatch, damage):
    folder = tmp_path / "s"
    extract(TEXTS, model=tiny_model, out=folder, part_size=8)
    extract(TEXTS[::-1], model=tiny_model, out=tmp_path / "other", part_size=8)
    before = files(folder)
    damage(folder)
    for verify in (True, False):
        with pytest.raises(StoreError, match=r"part-00001\.arrow"):
            VectorStore.open(folder, verify=verify).verify()
    command = CliRunner().invoke(cli, ["anisotropy", str(folder)])
    assert isinstance(command.exception, StoreError)
    assert command.stdout == ""
    command = CliRunner().invoke(cli, ["info", str(folder), "--verify"])
    assert isinstance(command.exception, StoreError)

    encode, computed = extraction._encode_part, []
    monkeypatch.setattr(extraction, "_encode_part", lambda *given: computed.append(1) or encode(*given))
    extract(TEXTS, model=tiny_model, out=folder, part_size=8).verify()
    assert len(computed) == 1
    assert files(folder) == before


def test_a_checksum_is_computed_on_first_open_and_after_a_change(tiny_model, tmp_path, monkeypatch, caplog):
    folder = tmp_path / "s"
    extract(TEXTS, model=tiny_model, out=folder, part_size=8)
    digest, computed = checked.file_sha256, []
    monkeypatch.setattr(checked, "file_sha256", lambda path: computed.append(path.name) or digest(path))
    monkeypatch.setattr(checked, "_TELL_BYTES", 1)
    parts = [part.file for part in VectorStore.open(folder).manifest.parts]
    assert computed == parts  # too young to be remembered
    for part in parts:
        os.utime(folder / part, (1e9, 1e9))
    VectorStore.open(folder)
    assert computed == parts * 2
    caplog.clear()
    with caplog.at_level("INFO", "cls_probe"):
        VectorStore.open(folder)
        extract(TEXTS, model=tiny_model, out=folder, part_size=8)
    assert computed == parts * 2
    assert "checking" not in caplog.text
    os.utime(folder / parts[1], (1e9, 1e9 + 1))
    VectorStore.open(folder)
    assert computed == [*parts * 2, parts[1]]
    VectorStore.open(folder).verify()
    assert computed == [*parts * 2, parts[1], *parts]
    folder.rename(tmp_path / "t")
    with caplog.at_level("INFO", "cls_probe"):
        VectorStore.open(tmp_path / "t")
    assert "checking 0.0 GB, once on this machine" in caplog.text


def test_a_cache_that_cannot_be_written_checks_every_time(tiny_model, tmp_path, monkeypatch):
    folder = extract(TEXTS, model=tiny_model, out=tmp_path / "s").folder
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLS_PROBE_CACHE", str(tmp_path / "file"))
    os.utime(folder / "part-00000.arrow", (1e9, 1e9))
    VectorStore.open(folder)
    flip_first(folder)
    with pytest.raises(StoreError, match="does not match its checksum"):
        VectorStore.open(folder)


def flip_first(folder):
    path = folder / "part-00000.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
