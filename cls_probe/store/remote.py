"""Stores on other file systems (s3://, gs://, whatever fsspec knows), worked on by a copy in the cache."""

import contextlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from cls_probe.errors import InputError, MissingDependencyError, StoreError
from cls_probe.store.checked import cache_folder, damaged
from cls_probe.store.manifest import MANIFEST, Manifest, new_file


class Remote:
    """A store at a URL, and the folder of its copy."""

    def __init__(self, url: str) -> None:
        """Find the file system; nothing is read yet. InputError, MissingDependencyError when there is none."""
        import fsspec

        self.url = url.rstrip("/")
        self.folder = cache_folder() / "remote" / sha256(self.url.encode()).hexdigest()[:32]
        try:
            self._files, self._path = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            raise MissingDependencyError(f"{self.url}: its file system needs a package ({error})") from error
        except ValueError as error:
            raise InputError(f"{self.url}: {error}; expected a folder, or a URL such as s3://BUCKET/STORE") from error

    @staticmethod
    def at(place: str | Path) -> "Remote | None":
        """Give the remote store that a URL names, and None for a folder."""
        return Remote(place) if isinstance(place, str) and "://" in place else None

    def pull(self) -> Path:
        """Bring manifest and parts into the copy, those alone that it lacks; give its folder.

        Raises StoreError when there is something other than a store, or the file system fails.
        """
        with self._telling("read"):
            if not self._files.exists(f"{self._path}/{MANIFEST}"):
                if self._files.exists(self._path) and self._files.ls(self._path, detail=False):
                    raise StoreError(f"{self.url}: exists and is not a vector store; name a new or an empty folder")
                (self.folder / MANIFEST).unlink(missing_ok=True)
                return self.folder
            self.folder.mkdir(parents=True, exist_ok=True)
            self._fetch(MANIFEST)
            for part in damaged(self.folder, Manifest.read(self.folder).parts):
                if self._files.exists(f"{self._path}/{part.file}"):
                    self._fetch(part.file)
        return self.folder

    def push(self, name: str) -> None:
        """Write a file of the copy to the store."""
        with self._telling("written"):
            self._files.makedirs(self._path, exist_ok=True)
            self._files.put_file(str(self.folder / name), f"{self._path}/{name}")

    def clear(self) -> None:
        """Remove the files of the store, and nothing else."""
        with self._telling("written"):
            for path in self._files.glob(f"{self._path}/part-*.arrow"):
                self._files.rm_file(path)
            if self._files.exists(f"{self._path}/{MANIFEST}"):
                self._files.rm_file(f"{self._path}/{MANIFEST}")

    def _fetch(self, name: str) -> None:
        with new_file(self.folder / name) as path:
            self._files.get_file(f"{self._path}/{name}", str(path))

    @contextlib.contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Tell of the failures of any file system, whose kinds of errors are as many as there are of these."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            line: Any = str(error).split("\n")[0] or type(error).__name__
            raise StoreError(f"{self.url}: cannot be {what} ({line})") from error
