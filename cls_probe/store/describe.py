"""A store in a few lines of text, for people."""

from collections import Counter

from cls_probe.store.vectors import VectorStore


def describe(store: VectorStore) -> str:
    """Say what a store holds: rows, classes, states, truncated rows, size on disk."""
    manifest = store.manifest
    pairs = [
        ("store", str(store.folder) if store.folder else "in memory"),
        ("model", _model(store)),
        ("rows", f"{store.n_rows:,} from {manifest.rows_source}"),
        ("classes", _classes(store)),
        ("states", f"{_layers(store)}, {store.hidden_size} wide, {', '.join(store.poolings)}, {manifest.store_dtype}"),
        ("truncated", _truncated(store)),
        ("on disk", _size(store)),
    ]
    return "\n".join(f"{name:<10} {value}" for name, value in pairs)


def _model(store: VectorStore) -> str:
    name, seed = store.manifest.model or "arrays", store.manifest.random_weights
    return name if seed is None else f"{name} with random weights (seed {seed})"


def _layers(store: VectorStore) -> str:
    if store.layers == tuple(range(store.n_layers + 1)):
        return f"{len(store.layers)} (0 = embedding output, to {store.n_layers})"
    return f"{len(store.layers)} of {store.n_layers + 1} ({', '.join(map(str, store.layers))})"


def _classes(store: VectorStore) -> str:
    if store.labels is None:
        return "no labels"
    counts = Counter(store.labels)
    shown = ", ".join(f"{name} {counts[name]:,}" for name in store.label_names[:8])
    more = len(store.label_names) - 8
    return f"{len(store.label_names)}: {shown}" + (f" and {more} more" if more > 0 else "")


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
