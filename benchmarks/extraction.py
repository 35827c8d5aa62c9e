"""Extraction beside the loops that people write by hand, on the same rows, and beside the limit of the processor.

    python benchmarks/extraction.py [DATA.csv] [--rows 1024] [--repeats 5]

Every way runs once a round, so that all meet the same machine, and the medians over the rounds are compared. Loading
the model, with ours the check of it too, stands in a column of its own. Ours gives [CLS] of every state and writes the
store; sentence-transformers gives one layer. The limit is the time that the
floating point operations of the rows take, padding left out and in the last block [CLS] alone, at the rate of matrix
products of the shapes of the model. Prints one JSON object a line, and a table. Without DATA.csv it takes the bundled
sample.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer, pipeline

from cls_probe import extraction
from cls_probe.data import read_rows
from cls_probe.encoding.files import locate

MODEL = "all-MiniLM-L6-v2"
MAX_LENGTH = 192
BATCH = 32
LIMIT = "limit of matrix products"


Way = Callable[[list[str]], float]
"""Texts -> seconds that went into loading the model."""


class Ours:
    """Extraction into a store, and how long it took of that to load and check the model."""

    def __init__(self) -> None:
        """Put a clock to the two steps before the work."""
        self.loading = 0.0
        for step in ("_encoder", "check_encoder"):
            setattr(extraction, step, self._timed(getattr(extraction, step)))

    def _timed(self, step: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object) -> object:
            start = time.perf_counter()
            try:
                return step(*args)
            finally:
                self.loading += time.perf_counter() - start

        return run

    def __call__(self, texts: list[str]) -> float:
        """Extract [CLS] of every state."""
        self.loading, out = 0.0, Path(tempfile.mkdtemp())
        try:
            options = {"model": MODEL, "max_length": MAX_LENGTH, "on_truncate": "keep"}
            extraction.extract(texts, out=out / "store", progress=False, **options)
        finally:
            shutil.rmtree(out)
        return self.loading


def by_hand(load: Callable[[], Any], run: Callable[[Any, list[str]], object]) -> Way:
    """Load a model and run it on the texts."""

    def way(texts: list[str]) -> float:
        start = time.perf_counter()
        loaded = load()
        loading = time.perf_counter() - start
        run(loaded, texts)
        return loading

    return way


class Plain:
    """The loops written by hand."""

    def __init__(self, folder: Path) -> None:
        """Load the model."""
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    @torch.no_grad()
    def batched(self, texts: list[str], size: int = BATCH) -> None:
        """Give all hidden states of unsorted batches."""
        options = {"padding": True, "truncation": True, "max_length": MAX_LENGTH, "return_tensors": "pt"}
        for start in range(0, len(texts), size):
            states = self.model(**self.tokenizer(texts[start : start + size], **options), output_hidden_states=True)
            np.stack([state[:, 0].numpy() for state in states.hidden_states], axis=1)

    def one_by_one(self, texts: list[str]) -> None:
        """Give the states of one text at a time, as teaching texts do."""
        self.batched(texts, size=1)

    def feature_extraction(self, texts: list[str]) -> None:
        """Use the pipeline of transformers, which gives the last state."""
        options = {"truncation": True, "max_length": MAX_LENGTH}
        give = pipeline("feature-extraction", model=self.model, tokenizer=self.tokenizer, tokenize_kwargs=options)
        for vectors in give(texts, batch_size=BATCH, return_tensors=True):
            vectors[0, 0].numpy()


def sentence_transformer(folder: Path) -> Any:
    """Load the model in sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = MAX_LENGTH
    return model


def encode(model: Any, texts: list[str]) -> None:
    """Use encode at its default batch size, which gives one vector a text."""
    model.encode(texts, batch_size=BATCH, show_progress_bar=False)


class Limit:
    """Floating point operations of the rows, and the rate of the machine at the shapes of the model."""

    def __init__(self, plain: Plain, texts: list[str]) -> None:
        """Count operations of the products of every block; of the last block only those that [CLS] needs."""
        encoded = plain.tokenizer(texts, truncation=True, max_length=MAX_LENGTH)["input_ids"]
        tokens = np.array([len(row) for row in encoded], dtype=np.float64)
        config = plain.model.config
        self.width, self.inner = config.hidden_size, config.intermediate_size
        square, feed = 2 * self.width**2, 4 * self.width * self.inner  # of one token
        pairs = 4 * self.width * tokens  # scores and weighted sum of one token
        whole = (tokens * (4 * square + feed + pairs)).sum() * (config.num_hidden_layers - 1)
        last = (tokens * 2 * square + 2 * square + feed + pairs).sum()
        self.operations = whole + last

    def seconds(self) -> float:
        """Measure the rate, the products of one block on 8 batches of 2,048 tokens, and divide."""
        rows = torch.randn(2048, self.width)
        square = torch.randn(self.width, self.width)
        up, down = torch.randn(self.inner, self.width), torch.randn(self.width, self.inner)
        operations = 8 * len(rows) * (4 * 2 * self.width**2 + 4 * self.width * self.inner)
        linear = torch.nn.functional.linear
        with torch.inference_mode():
            middle = linear(rows, up)
            start = time.perf_counter()
            for _ in range(8):
                for _ in range(4):
                    linear(rows, square)
                linear(rows, up)
                linear(middle, down)
            return self.operations / (operations / (time.perf_counter() - start))


def measure(source: str, n_rows: int, repeats: int) -> list[dict[str, object]]:
    """Seconds of every way once the model is loaded, median of the repeats, and how many times as long as ours."""
    texts = list(read_rows(source, limit=n_rows).texts)
    folder = locate(MODEL).folder
    limit = Limit(Plain(folder), texts)
    ways: dict[str, Way] = {
        "cls-probe, [CLS] of every state, stored": Ours(),
        f"sentence-transformers encode, batch {BATCH}, one layer": by_hand(
            lambda: sentence_transformer(folder), encode
        ),
        f"transformers loop, batch {BATCH}, output_hidden_states": by_hand(lambda: Plain(folder), Plain.batched),
        "transformers loop, one text at a time": by_hand(lambda: Plain(folder), Plain.one_by_one),
        f"transformers feature-extraction pipeline, batch {BATCH}": by_hand(
            lambda: Plain(folder), Plain.feature_extraction
        ),
    }
    seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in [*ways, LIMIT]}
    for way in ways.values():
        way(texts[: 2 * BATCH])  # warm up
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            loading = way(texts)
            seconds[name].append((time.perf_counter() - start - loading, loading))
        seconds[LIMIT].append((limit.seconds(), 0.0))
    medians = {name: np.median(times, axis=0) for name, times in seconds.items()}
    base = next(iter(medians.values()))[0]
    return [
        {
            **{"way": name, "rows": len(texts), "seconds": round(median[0], 3), "loading": round(median[1], 3)},
            "ratio": round(median[0] / base, 3),
        }
        for name, median in medians.items()
    ]


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="sample")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    lines = measure(options.data, options.rows, options.repeats)
    for line in lines:
        print(json.dumps(line))
    print(f"\n{'way':<60} {'seconds':>8} {'times ours':>11} {'loading':>8}")
    for line in lines:
        print(f"{line['way']:<60} {line['seconds']:>8.2f} {line['ratio']:>11.2f} {line['loading']:>8.2f}")


if __name__ == "__main__":
    main()
