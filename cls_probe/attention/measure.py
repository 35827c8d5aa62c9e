"""Measuring the attention of [CLS]: rows through the encoder, a batch at a time, into means over rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.interval import check_confidence
from cls_probe.attention.result import ClsAttentionResult
from cls_probe.attention.tally import Tally
from cls_probe.attention.words import Words, read_words
from cls_probe.data import Rows, read_rows
from cls_probe.encoding.files import AGNEWS, ModelFiles, locate
from cls_probe.errors import EncoderError, InputError
from cls_probe.extraction import batches, check_encoder, check_max_length, progress_bar
from cls_probe.store.write import PART_SIZE

if TYPE_CHECKING:
    from cls_probe.encoding.encoder import Encoder

MAP_ROWS = 4
"""Up to so many rows, the masses of every word are kept and drawn."""
_SUM_TOLERANCE = 1e-4


def cls_attention(
    rows: Any,
    *,
    model: str | Path = AGNEWS,
    layers: Sequence[int] | None = None,
    max_length: int | None = None,
    n_words: int = 10,
    min_occurrences: int = 5,
    device: str = "auto",
    confidence: float = 0.95,
    progress: bool | None = None,
) -> ClsAttentionResult:
    """Measure where [CLS] looks: the attention that it pays to each kind of token, its entropy, its favourite words.

    Parameters
    ----------
    rows
        :class:`Rows`, or what :func:`cls_probe.data.read_rows` takes: texts, a file, a frame. Labels are left aside.
    model
        A model folder, a hub id, ``agnews`` or ``all-MiniLM-L6-v2``; with [CLS] and full attention.
    layers
        Layers to measure, 1 to n_layers: layer k is what block k reads to give state k; all by default.
    max_length
        Tokens at which a text is truncated; by default the model's own limit.
    n_words
        Most words to name in each layer.
    min_occurrences
        Least occurrences of a word that is named.
    device
        Where to compute: auto, cpu, cuda[:i], mps.
    confidence
        Confidence of the intervals.
    progress
        Show a progress bar on stderr; by default when it is a terminal.

    Returns
    -------
    ClsAttentionResult
        Means over rows, with Student intervals, of every layer and head; of at most four rows every word's mass too.

    Raises
    ------
    InputError
        Unusable rows or options, or a layer without attention.
    EncoderError
        A model that cannot be loaded, has no [CLS], or gives no attention of every token to every token.

    """
    rows = rows if isinstance(rows, Rows) else read_rows(rows, no_labels=True)
    check_confidence(confidence)
    for name, value in (("n_words", n_words), ("min_occurrences", min_occurrences)):
        if value < 1:
            raise InputError(f"{name} is {value}; expected at least 1")
    files = locate(model)
    length = files.max_length if max_length is None else max_length
    check_max_length(length, files)

    from cls_probe.encoding.encoder import Encoder

    encoder = Encoder(files, device=device, poolings=("attention",))
    layers = _select_layers(layers, encoder)
    check_encoder(encoder, rows, length)
    tally = Tally(layers, n_maps=len(rows) if len(rows) <= MAP_ROWS else 0)
    with progress_bar(len(rows), 0, progress, name="cls-attention") as bar:
        for row, words, attention in _attentions(encoder, rows, length, bar):
            tally.add(row, words, attention)
    return ClsAttentionResult(
        params={
            **{"model": str(model), "layers": layers, "max_length": length, "n_words": n_words},
            **{"min_occurrences": min_occurrences, "confidence": confidence},
        },
        source=_source(rows, files),
        layers=layers,
        n_truncated=tally.n_truncated,
        **tally.means(confidence),
        **tally.top_words(n_words, min_occurrences),
        **tally.maps(),
    )


def _select_layers(layers: Sequence[int] | None, encoder: "Encoder") -> tuple[int, ...]:
    every = range(1, encoder.n_layers + 1)
    chosen = tuple(every if layers is None else dict.fromkeys(layers))
    if not chosen or not set(chosen) <= set(every):
        raise InputError(
            f"layers are {list(chosen)}; expected some of 1 to {encoder.n_layers}, the blocks of {encoder.name} "
            "(layer 0, the embedding output, comes before any attention)"
        )
    return chosen


def _attentions(
    encoder: "Encoder", rows: Rows, max_length: int, bar: Any
) -> Iterator[tuple[int, Words, NDArray[np.float32]]]:
    """Give number, words and attention of [CLS], (n_layers, n_heads, n_tokens), of every row, a batch at a time."""
    for first in range(0, len(rows), PART_SIZE):
        texts = rows.texts[first : first + PART_SIZE]
        pairs = None if rows.text_pairs is None else rows.text_pairs[first : first + PART_SIZE]
        tokens, _ = encoder.tokenize(texts, pairs, max_length)
        words = read_words(encoder.tokenizer, texts, pairs, max_length, name=encoder.name)
        for batch in batches(tokens, encoder):
            found = encoder.cls_attentions([tokens[row] for row in batch])
            for row, attention in zip(batch.tolist(), found, strict=True):
                _check_sums(attention, rows.place(first + row))
                yield first + row, words[row], attention[:, :, : len(words[row].kinds)]
            bar.update(len(batch))


def _check_sums(attention: NDArray[np.float32], place: str) -> None:
    sums = attention.sum(axis=-1)
    if not np.allclose(sums, 1, rtol=0, atol=_SUM_TOLERANCE):
        layer, head = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
        raise EncoderError(
            f"{place}: the attention of [CLS] in layer {layer + 1}, head {head} adds up to {sums[layer, head]:.4g}; "
            "expected 1; this model's attention cannot be measured"
        )


def _source(rows: Rows, files: ModelFiles) -> dict[str, Any]:
    return {
        **{"model": files.name, "revision": files.revision, **files.identity},
        **{"rows_source": rows.source, "rows_sha256": rows.sha256, "n_rows": len(rows)},
    }
