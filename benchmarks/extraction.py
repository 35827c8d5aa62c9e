"""Extraction beside the loops that people write by hand, on the same rows, and beside the limit of the processor.

    python benchmarks/extraction.py [DATA.csv] [--rows 1024] [--repeats 5]

Every way runs once a round, so that all meet the same machine, and the medians over the rounds are compared. Ours
gives [CLS] of every state and writes the store; sentence-transformers gives one layer. The limit is the time that the
floating point operations of the rows take, padding left out and in the last block [CLS] alone, at the rate of matrix
products of the shapes of the model. Prints one JSON object a line, and a table. Without DATA.csv it takes the bundled
sample.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer, pipeline

import cls_probe
from cls_probe.data import read_rows
from cls_probe.encoding.files import locate

MODEL = "all-MiniLM-L6-v2"
MAX_LENGTH = 192
BATCH = 32


def ours(texts: list[str]) -> None:
    """Extract [CLS] of every state into a store."""
    out = Path(tempfile.mkdtemp())
    try:
        options = {"model": MODEL, "max_length": MAX_LENGTH, "on_truncate": "keep"}
        cls_probe.extract(texts, out=out / "store", progress=False, **options)
    finally:
        shutil.rmtree(out)


class Plain:
    """The loops written by hand."""

    def __init__(self, folder: Path) -> None:
        """Load the model once for all of them."""
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


def sentence_transformers(folder: Path) -> Callable[[list[str]], None]:
    """Use encode at its default batch size, which gives one vector a text."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = MAX_LENGTH
    return lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False)


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
    """Seconds of every way, median of the repeats, and how many times as long as ours."""
    texts = list(read_rows(source, limit=n_rows).texts)
    folder = locate(MODEL).folder
    plain = Plain(folder)
    limit = Limit(plain, texts)
    ways: dict[str, Callable[[list[str]], object]] = {
        "cls-probe, [CLS] of every state, stored": ours,
        f"sentence-transformers encode, batch {BATCH}, one layer": sentence_transformers(folder),
        f"transformers loop, batch {BATCH}, output_hidden_states": plain.batched,
        "transformers loop, one text at a time": plain.one_by_one,
        f"transformers feature-extraction pipeline, batch {BATCH}": plain.feature_extraction,
        "limit of matrix products": lambda _: None,
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for way in ways.values():
        way(texts[: 2 * BATCH])  # warm up
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way(texts)
            seconds[name].append(time.perf_counter() - start)
        seconds["limit of matrix products"][-1] = limit.seconds()
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    base = next(iter(medians.values()))
    return [
        {"way": name, "rows": len(texts), "seconds": round(median, 3), "ratio": round(median / base, 3)}
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
    print(f"\n{'way':<60} {'seconds':>8} {'times ours':>11}")
    for line in lines:
        print(f"{line['way']:<60} {line['seconds']:>8.2f} {line['ratio']:>11.2f}")


if __name__ == "__main__":
    main()
