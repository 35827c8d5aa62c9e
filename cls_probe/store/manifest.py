"""The manifest: what a store holds, what it was made from, and its parts."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from cls_probe.errors import StoreError

FORMAT = 1
"""Number of the store format; a reader refuses any other by name.

It goes up when a reader of before would fail on the new store or misread it: a column, a key or a number format that
means something else or is gone, or a new key of the manifest, since readers refuse keys that they do not know.
"""
MANIFEST = "manifest.json"

IDENTITY = (
    "rows_sha256",
    "n_rows",
    "weights_sha256",
    "config_sha256",
    "tokenizer_sha256",
    "poolings",
    "specials",
    "layers",
    "max_length",
    "dtype",
    "store_dtype",
    "part_size",
)
"""The keys that make a store: two extractions that agree in all of them give the same store."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file of a store: the unit of work, of crash safety and of resuming."""

    file: str
    start: int
    """First row."""
    stop: int
    """One past the last row."""
    bytes: int
    """Size of the file."""
    sha256: str
    """Hex digest of the file."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a store holds and what it was made from; `layers` index hidden_states, 0 = embeddings."""

    model: str | None
    """Folder or hub id as the user named it; None for arrays brought by the user."""
    revision: str | None = None
    random_weights: int | None = None
    """Seed of freshly drawn weights in the place of the trained ones; `weights_sha256` tells them apart."""
    weights_sha256: str | None = None
    config_sha256: str | None = None
    tokenizer_sha256: str | None = None
    n_layers: int
    """Blocks of the model; it has n_layers + 1 states."""
    layers: tuple[int, ...]
    """The states stored."""
    hidden_size: int
    poolings: tuple[str, ...]
    specials: bool = True
    """Whether special tokens count in the poolings mean and max."""
    dtype: str
    """Number format of the computation."""
    store_dtype: str
    """Number format of the stored vectors."""
    max_length: int = 0
    """Texts are truncated to so many tokens; 0 for arrays."""
    n_rows: int
    rows_source: str = "arrays"
    rows_sha256: str | None = None
    label_names: tuple[str, ...] = ()
    """Class names in class order, empty without labels."""
    part_size: int
    """Rows of a part."""
    versions: Mapping[str, str]
    """Versions of the libraries that made the store."""
    parts: tuple[Part, ...] = ()
    complete: bool = False
    format: int = FORMAT

    @property
    def fingerprint(self) -> str:
        """Hex digest of everything in `IDENTITY`."""
        return fingerprint({key: getattr(self, key) for key in IDENTITY})

    def difference(self, wanted: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
        """First key in which `wanted` differs, as (key, here, wanted); layers None stands for all."""
        for key in IDENTITY:
            here, want = getattr(self, key), wanted[key]
            if key == "layers" and want is None:
                want = tuple(range(self.n_layers + 1))
            if here != want:
                return key, here, want
        return None

    def to_json(self) -> str:
        """Give the manifest as JSON text, the same bytes for the same content."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of a store; StoreError when there is none or it cannot be used."""
        path = folder / MANIFEST
        if not path.is_file():
            raise StoreError(
                f"{folder}: not a vector store (no {MANIFEST}); make one with: clsprobe extract DATA -o {folder}"
            )
        try:
            content = json.loads(path.read_bytes())
            number = content["format"]
            if number == FORMAT:
                return cls._from_content(content)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path}: damaged manifest ({type(error).__name__}: {error}); extract again with --overwrite"
            ) from error
        raise StoreError(f"{folder}: store format {number}; this version reads format {FORMAT}")

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> "Manifest":
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(content) - known):
            raise ValueError(f"unknown key {unknown[0]!r}")
        for key in ("layers", "poolings", "label_names"):
            content[key] = tuple(content[key])
        content["parts"] = tuple(Part(**part) for part in content["parts"])
        return cls(**content)

    def write(self, folder: Path) -> None:
        """Replace the manifest of a folder in one step."""
        with new_file(folder / MANIFEST) as path:
            path.write_bytes(self.to_json().encode())


def fingerprint(identity: Mapping[str, Any]) -> str:
    """Hex digest of a mapping of the keys in `IDENTITY`."""
    return sha256(json.dumps({key: identity[key] for key in IDENTITY}).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary name in the same folder to write to; flush to disk and rename when that went well."""
    temporary = path.with_name(f".{path.name}.tmp")
    yield temporary
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
