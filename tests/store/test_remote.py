"""Stores on other file systems: the bytes of a local one, resumed and read through a copy in the cache."""

import fsspec
import pytest
from click.testing import CliRunner

from cls_probe import extraction
from cls_probe.cli import cli
from cls_probe.errors import InputError, MissingDependencyError, StoreError
from cls_probe.extraction import extract
from cls_probe.store import VectorStore
from cls_probe.store.remote import Remote
from tests.test_extraction import LABELS, TEXTS, files


@pytest.fixture(params=["memory", "file"])
def url(request, tmp_path):
    """A place for a store in the process, and one on disk."""
    fsspec.filesystem("memory").store.clear()
    return "memory://bucket/s" if request.param == "memory" else f"file://{tmp_path}/bucket/s"


def content(url):
    system, path = fsspec.core.url_to_fs(url)
    return {name.rsplit("/", 1)[1]: system.cat_file(name) for name in sorted(system.ls(path, detail=False))}


def other_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("CLS_PROBE_CACHE", str(tmp_path / "another cache"))


def test_the_bytes_are_the_local_ones_and_every_command_reads_them(tiny_model, tmp_path, monkeypatch, url):
    local = extract(TEXTS, labels=LABELS, model=tiny_model, out=tmp_path / "local", part_size=16)
    store = extract(TEXTS, labels=LABELS, model=tiny_model, out=url, part_size=16)
    assert content(url) == files(tmp_path / "local")
    other_machine(tmp_path, monkeypatch)
    back = VectorStore.open(url)
    assert back.folder != store.folder
    assert (back.layer(2) == local.layer(2)).all()
    assert files(back.folder) == files(tmp_path / "local")
    for command in (["info", url, "--verify"], ["anisotropy", url], ["class-gap", url]):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
    assert content(url) == files(tmp_path / "local")


def test_another_machine_resumes_it_and_computes_the_missing_part_alone(tiny_model, tmp_path, monkeypatch, url):
    encode, computed = extraction._encode_part, []

    def stop_at_the_third(*given):
        computed.append(1)
        if len(computed) == 3:
            raise KeyboardInterrupt
        return encode(*given)

    monkeypatch.setattr(extraction, "_encode_part", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        extract(TEXTS, model=tiny_model, out=url, part_size=16)
    assert sorted(content(url)) == ["manifest.json", "part-00000.arrow", "part-00001.arrow"]
    other_machine(tmp_path, monkeypatch)
    with pytest.raises(StoreError, match="unfinished, 32 of 40 rows are there"):
        VectorStore.open(url)
    extract(TEXTS, model=tiny_model, out=url, part_size=16)
    assert len(computed) == 4
    extract(TEXTS, model=tiny_model, out=tmp_path / "local", part_size=16)
    assert content(url) == files(tmp_path / "local")


def test_overwriting_leaves_nothing_of_the_store_before(tiny_model, tmp_path, url):
    extract(TEXTS, model=tiny_model, out=url, part_size=8)
    with pytest.raises(StoreError, match="holds a store with another part_size"):
        extract(TEXTS, model=tiny_model, out=url)
    extract(TEXTS, model=tiny_model, out=url, overwrite=True)
    assert sorted(content(url)) == ["manifest.json", "part-00000.arrow"]


def test_a_damaged_remote_part_is_named(tiny_model, tmp_path, monkeypatch, url):
    extract(TEXTS, model=tiny_model, out=url, part_size=16)
    system, path = fsspec.core.url_to_fs(url)
    whole = system.cat_file(f"{path}/part-00001.arrow")
    system.pipe_file(f"{path}/part-00001.arrow", whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    other_machine(tmp_path, monkeypatch)
    with pytest.raises(StoreError, match=r"part-00001\.arrow: (part 1|belongs to)"):
        VectorStore.open(url)
    extract(TEXTS, model=tiny_model, out=url, part_size=16)
    assert content(url)["part-00001.arrow"] == whole


def test_places_that_cannot_be(tiny_model, url):
    system, path = fsspec.core.url_to_fs(url)
    with pytest.raises(StoreError, match="not a vector store"):
        VectorStore.open(url)
    system.makedirs(path, exist_ok=True)
    system.pipe_file(f"{path}/thesis.tex", b"years of work")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match="exists and is not a vector store; name a new or an empty folder"):
            extract(TEXTS, model=tiny_model, out=url, overwrite=overwrite)
    assert content(url) == {"thesis.tex": b"years of work"}


def test_file_systems_that_are_not_there(monkeypatch):
    with pytest.raises(InputError, match="Protocol not known: nowhere; expected a folder, or a URL such as s3://"):
        Remote.at("nowhere://bucket/s")

    def lacking(_):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lacking)
    with pytest.raises(MissingDependencyError, match=r"its file system needs a package \(Install s3fs"):
        Remote.at("s3://bucket/s")


def test_a_file_system_that_fails_is_one_line(tiny_model, monkeypatch):
    class Broken(Exception):
        pass

    def fail(*_, **__):
        raise Broken("no route\nto the host")

    remote = Remote.at("memory://bucket/s")
    monkeypatch.setattr(type(remote._files), "exists", fail)
    with pytest.raises(StoreError, match=r"^memory://bucket/s: cannot be read \(no route\)$"):
        remote.pull()
