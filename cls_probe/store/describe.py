"""A store in a few lines of text, for people."""

from collections import Counter
from collections.abc import Mapping

from cls_probe.result import model_name
from cls_probe.store.vectors import VectorStore


def describe(store: VectorStore) -> str:
    """Say what a store holds: rows, classes, states, truncated rows, size on disk."""
    manifest = store.manifest
    pairs = [
        ("store", str(store.folder) if store.folder else "in memory"),
        ("model", model_name(store.source)),
        ("rows", f"{store.n_rows:,} from {manifest.rows_source}"),
        ("classes", _classes(store)),
        ("states", f"{_layers(store)}, {store.hidden_size} wide, {', '.join(store.poolings)}, {manifest.store_dtype}"),
        ("truncated", _truncated(store)),
        ("on disk", _size(store)),
    ]
    return "\n".join(f"{name:<10} {value}" for name, value in pairs)


def class_sizes(sizes: Mapping[str, int], most: int) -> str:
    """Count classes and name so many of them with their rows."""
    shown = ", ".join(f"{name} {size:,}" for name, size in list(sizes.items())[:most])
    more = len(sizes) - most
    return f"{len(sizes)}: {shown}" + (f" and {more} more" if more > 0 else "")


def _layers(store: VectorStore) -> str:
    if store.layers == tuple(range(store.n_layers + 1)):
        return f"{len(store.layers)} (0 = embedding output, to {store.n_layers})"
    return f"{len(store.layers)} of {store.n_layers + 1} ({', '.join(map(str, store.layers))})"


def _classes(store: VectorStore) -> str:
    if store.labels is None:
        return "no labels"
    counts = Counter(store.labels)
    return class_sizes({name: counts[name] for name in store.label_names}, 8)


def _truncated(store: VectorStore) -> str:
    if store.truncated is None or store.n_tokens is None:
        return "not known"
    count = int(store.truncated.sum())
    longest = int(store.n_tokens.max())
    limit = store.manifest.max_length
    return f"{count:,} rows ({count / store.n_rows:.1%}) at {limit} tokens; the longest has {longest:,}"


def _size(store: VectorStore) -> str:
    parts = store.manifest.parts
    return f"{sum(part.bytes for part in parts) / 1e6:.1f} MB in {len(parts)} part{'s' if len(parts) != 1 else ''}"
