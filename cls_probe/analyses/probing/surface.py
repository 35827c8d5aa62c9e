"""Surface baselines: what the same classifier reads from the texts without any encoder."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.split import Split

SURFACE = {
    "text length": "number of characters, of words and, if stored, of tokens, standardised",
    "bag of words": "counts of lower-case words hashed to 2^18 columns, each row divided by its norm",
}
"""Baseline -> the features that the classifier gets."""


def surface_features(split: Split) -> dict[str, tuple[str, Any]]:
    """Baseline -> transform and features, (n_rows, width); nothing when there are no texts."""
    if split.texts is None:
        return {}
    texts = [" ".join(filter(None, text)) for text in split.texts]
    return {"text length": ("standardize", _lengths(split, texts)), "bag of words": ("none", _words(texts))}


def _lengths(split: Split, texts: list[str]) -> NDArray[np.float64]:
    counts = [np.array([len(text) for text in texts]), np.array([len(text.split()) for text in texts])]
    tokens = [store.n_tokens for store in split.stores]
    if all(count is not None for count in tokens):
        counts.append(np.concatenate([count for count in tokens if count is not None]))
    return np.column_stack(counts).astype(np.float64)


def _words(texts: list[str]) -> Any:
    """Sparse counts; columns that no text uses are left out, which changes no prediction."""
    from sklearn.feature_extraction.text import HashingVectorizer

    counts = HashingVectorizer(n_features=2**18).transform(texts)
    return counts[:, np.unique(counts.indices)]
