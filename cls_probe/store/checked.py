"""Which parts are whole: a checksum is computed when a file is first met on this machine, and when it has changed."""

import contextlib
import json
import logging
import os
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cls_probe.store.manifest import Part, file_sha256, new_file

_TELL_BYTES = 1_000_000_000
"""From so many bytes on, checking is told, since it takes seconds."""
_SETTLED_NS = 2_000_000_000
_log = logging.getLogger("cls_probe")


def cache_folder() -> Path:
    """Where stores without a folder of their own lie: ``$CLS_PROBE_CACHE`` or ``~/.cache/cls_probe``."""
    if named := os.environ.get("CLS_PROBE_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cls_probe"


def damaged(folder: Path, parts: Sequence[Part], *, anew: bool = False) -> list[Part]:
    """Parts that are missing or not of the size and checksum that the manifest records.

    A checksum that was right is remembered in the cache with size, time of change and inode of the file, and is not
    computed again while these stay the same, unless `anew`. A file younger than two seconds is not remembered, since
    clocks of file systems are coarse, and a change of the next moment could leave its time as it is.
    """
    note = cache_folder() / "checked" / f"{sha256(str(folder.absolute()).encode()).hexdigest()[:32]}.json"
    known = {} if anew else _read(note)
    states = {part.file: _state(folder / part.file) for part in parts}
    unknown = [part for part in parts if known.get(part.file) != [part.sha256, *states[part.file]]]
    if (size := sum(part.bytes for part in unknown)) >= _TELL_BYTES:
        _log.info("%s: checking %.1f GB, once on this machine", folder, size / 1e9)
    bad = [
        part
        for part in unknown
        if states[part.file][:1] != [part.bytes] or file_sha256(folder / part.file) != part.sha256
    ]
    old = time.time_ns() - _SETTLED_NS
    settled = [part for part in parts if part not in bad and states[part.file][1] < old]
    if unknown and settled:
        _write(note, {part.file: [part.sha256, *states[part.file]] for part in settled})
    return bad


def _state(path: Path) -> list[int]:
    """Size, time of change and place of a file; nothing where there is none."""
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev]


def _read(note: Path) -> dict[str, object]:
    try:
        content = json.loads(note.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(note: Path, content: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # a cache that cannot be written: the next open checks again
        note.parent.mkdir(parents=True, exist_ok=True)
        with new_file(note) as path:
            path.write_text(json.dumps(content), encoding="utf-8")
