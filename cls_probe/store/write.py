"""Writing a store part by part, so that an interrupted run goes on where it stopped."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cls_probe.errors import StoreError
from cls_probe.store.checked import damaged
from cls_probe.store.manifest import FORMAT, MANIFEST, Manifest, Part, file_sha256, new_file
from cls_probe.store.remote import Remote

LOCK = ".lock"
"""File that a writer locks; the system unlocks it when the process ends, however that happens."""
PART_SIZE = 4096
"""Rows of a part, unless asked otherwise."""
Columns = Mapping[str, Sequence[Any] | NDArray[Any] | None]
"""text, text_pair, label, n_tokens, truncated -> (rows of the part,) values, None for absent."""
Vectors = Mapping[tuple[str, int], NDArray[Any]]
"""(pooling, layer) -> (rows of the part, hidden_size)."""


class StoreWriter:
    """Writes the parts of one store; a part is on disk whole or not at all."""

    def __init__(self, folder: Path, manifest: Manifest, remote: Remote | None = None) -> None:
        """Take up the work on `folder`, which is new, empty, or holds an unfinished store of this manifest.

        Where `folder` is the copy of a remote store, every file goes there too as soon as it is written.
        """
        self.folder = folder
        self.manifest = manifest
        self.remote = remote

    @classmethod
    @contextlib.contextmanager
    def begin(
        cls, folder: Path, manifest: Manifest, *, overwrite: bool = False, remote: Remote | None = None
    ) -> Iterator["StoreWriter"]:
        """Start or resume, as the only writer of the folder while the context lasts; or replace what is there.

        The caller has made sure that a manifest already there is the same in identity. Raises StoreError when the
        folder cannot be written, or another process writes it.
        """
        with _only_writer(folder):
            try:
                if overwrite:
                    _remove_store(folder)
                    if remote:
                        remote.clear()
                if (folder / MANIFEST).exists():
                    there = Manifest.read(folder)
                    bad = damaged(folder, there.parts)
                    whole = tuple(part for part in there.parts if part not in bad)
                    manifest = replace(manifest, parts=whole, versions=there.versions)
                for leftover in folder.glob(".*.tmp"):
                    leftover.unlink()
            except OSError as error:
                raise StoreError(f"{folder}: cannot be written ({error.strerror or error})") from error
            writer = cls(folder, manifest, remote)
            writer._write_manifest()
            yield writer

    @property
    def missing(self) -> list[range]:
        """Rows of every part that is not there yet."""
        size, n_rows = self.manifest.part_size, self.manifest.n_rows
        done = {part.start for part in self.manifest.parts}
        return [range(start, min(start + size, n_rows)) for start in range(0, n_rows, size) if start not in done]

    def write(self, rows: range, columns: Columns, vectors: Vectors) -> None:
        """Write the part of these rows and enter it into the manifest."""
        self.enter(self.write_part(rows, columns, vectors))

    def write_part(self, rows: range, columns: Columns, vectors: Vectors) -> Part:
        """Write the file of these rows, and leave the manifest as it is."""
        number = rows.start // self.manifest.part_size
        batch = record_batch(
            rows, columns, vectors, identity={"fingerprint": self.manifest.fingerprint, "part": number}
        )
        file = f"part-{number:05d}.arrow"
        try:
            with new_file(self.folder / file) as path:
                with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as arrow:
                    arrow.write_batch(batch)
                size, digest = path.stat().st_size, file_sha256(path)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: part {number} cannot be written ({error.strerror or error}); "
                "the parts before it are kept, and the same command resumes"
            ) from error
        self._push(file)
        return Part(file=file, start=rows.start, stop=rows.stop, bytes=size, sha256=digest)

    def enter(self, part: Part) -> None:
        """Enter a written part into the manifest."""
        parts = sorted((*self.manifest.parts, part), key=lambda part: part.start)
        self.manifest = replace(self.manifest, parts=tuple(parts))
        self._write_manifest()

    def finish(self) -> None:
        """Mark the store complete."""
        if self.missing:
            raise StoreError(f"{self.folder}: {len(self.missing)} parts are missing; run the same command again")
        self.manifest = replace(self.manifest, complete=True)
        self._write_manifest()

    def _write_manifest(self) -> None:
        try:
            self.manifest.write(self.folder)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: cannot be written ({error.strerror or error}); once it can, the same command resumes"
            ) from error
        self._push(MANIFEST)

    def _push(self, name: str) -> None:
        if self.remote:
            self.remote.push(name)


def holds_store(folder: Path) -> bool:
    """Say whether a folder holds a store, begun or finished; StoreError when it holds anything else."""
    if (folder / MANIFEST).is_file():
        return True
    if folder.exists() and (not folder.is_dir() or any(not _is_leftover(path) for path in folder.iterdir())):
        raise StoreError(f"{folder}: exists and is not a vector store; name a new or an empty folder")
    return False


def _is_leftover(path: Path) -> bool:
    return path.name == LOCK or (path.name.startswith(".") and path.name.endswith(".tmp"))


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Make the folder and lock it while the context lasts."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise StoreError(
            f"{folder}: another process is writing this store; wait until it ends, or name another folder"
        ) from error
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error})") from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()
        lock.release()


def _remove_store(folder: Path) -> None:
    """Remove the files of a store, and nothing else, from a folder."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in (*folder.glob("part-*.arrow"), *folder.glob(".*.tmp")):
        path.unlink()


def record_batch(rows: range, columns: Columns, vectors: Vectors, *, identity: Mapping[str, Any]) -> pa.RecordBatch:
    """Lay rows and vectors out as one Arrow batch, the vectors without a copy."""
    types = {"text": pa.large_string(), "text_pair": pa.large_string(), "label": pa.large_string()}
    types |= {"n_tokens": pa.int32(), "truncated": pa.bool_()}
    arrays: dict[str, pa.Array] = {"row": pa.array(np.arange(rows.start, rows.stop, dtype=np.int64))}
    for name, kind in types.items():
        values = columns.get(name)
        if values is not None:
            arrays[name] = pa.array(values, type=kind)
    for (pooling, layer), values in vectors.items():
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        arrays[f"{pooling}.{layer}"] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    return batch.replace_schema_metadata({"cls_probe": json.dumps({"format": FORMAT, **identity})})
