"""Seconds of the measures against the number of rows, beside the field's libraries and all pairs by brute force.

    python benchmarks/analyses.py [--rows 1000 4000] [--width 384] [--repeats 3]

Gaussian classes about a common mean, one layer in memory; every way runs once a round, and medians over the rounds are
compared; IsoScore where it is installed (pip install IsoScore). Ours includes what stands beside the number: intervals
and the baseline. Prints one JSON object a line, and a table.
"""

import argparse
import functools
import json
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import cosine_similarity

import cls_probe
from cls_probe import VectorStore

CLASSES = "abcd"
Way = Callable[[], object]


def draw(n_rows: int, width: int) -> VectorStore:
    """Rows of four classes."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % len(CLASSES)
    means = 1 + rng.normal(size=(len(CLASSES), width))
    vectors = (means[codes] + rng.normal(size=(n_rows, width))).astype(np.float32)
    return VectorStore.from_arrays(vectors, labels=[CLASSES[code] for code in codes])


def pairs(store: VectorStore) -> tuple[float, float]:
    """Mean cosine within and between classes, over all pairs."""
    cosine = cosine_similarity(store.layer(0))
    same = store.codes[:, None] == store.codes
    return float(cosine[same].mean()), float(cosine[~same].mean())


def ways(store: VectorStore) -> dict[str, tuple[Way, str, Way]]:
    """Measure -> ours, the other's name, the other."""
    vectors = store.layer(0)

    def ours(metric: str) -> Way:
        return functools.partial(cls_probe.anisotropy, store, metrics=[metric])

    gap = functools.partial(cls_probe.class_gap, store, permutations=0)
    found: dict[str, tuple[Way, str, Way]] = {
        "mean cosine, with interval": (
            *(ours("mean_cosine"), "all pairs, scikit-learn"),
            lambda: cosine_similarity(vectors).mean(),
        ),
        "class gap and silhouette, with intervals": (
            *(gap, "all pairs and silhouette_score, scikit-learn"),
            lambda: (pairs(store), silhouette_score(vectors, store.codes, metric="cosine")),
        ),
    }
    if find_spec("IsoScore"):
        from IsoScore.IsoScore import IsoScore

        found["IsoScore"] = ours("isoscore"), "IsoScore", functools.partial(IsoScore, vectors)
    return found


def measure(sizes: list[int], width: int, repeats: int) -> list[dict[str, object]]:
    """Medians of ours and of the other's seconds, and their ratio, for every size."""
    lines: list[dict[str, object]] = []
    for n_rows in sizes:
        for name, (ours, other, theirs) in ways(draw(n_rows, width)).items():
            seconds: dict[Way, list[float]] = {ours: [], theirs: []}
            for _ in range(repeats):
                for way, times in seconds.items():
                    start = time.perf_counter()
                    way()
                    times.append(time.perf_counter() - start)
            mine, its = (statistics.median(times) for times in seconds.values())
            line = {"measure": name, "rows": n_rows, "seconds": round(mine, 4)}
            lines.append({**line, "other": other, "other_seconds": round(its, 4), "ratio": round(its / mine, 2)})
    return lines


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = measure(options.rows, options.width, options.repeats)
    for line in lines:
        print(json.dumps(line))
    print(f"\n{'measure':<42} {'rows':>7} {'seconds':>8} {'other':<46} {'seconds':>8} {'times ours':>11}")
    for line in lines:
        print(
            f"{line['measure']:<42} {line['rows']:>7,} {line['seconds']:>8.3f} {line['other']:<46} "
            f"{line['other_seconds']:>8.3f} {line['ratio']:>11.2f}"
        )


if __name__ == "__main__":
    main()
