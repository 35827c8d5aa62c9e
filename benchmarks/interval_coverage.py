"""How often 95 % intervals of mean cosine and class gap hold the truth, and how often the permutation test rejects.

    python benchmarks/interval_coverage.py [--measure mean_cosine|gap|permutation] --repetitions 1000

Draws Gaussian mixtures with fixed seeds, calls the public functions and prints one JSON line for every setting, then a
table. For the class gap, class sizes are fixed by design (n/2 and n/2, or 9n/10 and n/10), as its intervals take them;
for the mean cosine, which knows no classes, every row draws its class with these chances.

Where two classes of equal size do not differ ("no gap"), the first-order terms of the gap cancel (a degenerate
U-statistic), and its interval holds 0 too often: p is the test there.

The truth needs no pairs: rows are independent, so the expected cosine of two rows is the product of the mean unit
vectors of their classes. Expected within and between average it over the pairs for the class sizes; the expected mean
cosine is the squared length of the mean unit vector of all. Mean unit vectors come from 2,000,000 other draws a class.
"""

import argparse
import functools
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cls_probe

Floats = NDArray[np.float64]

WIDTH = 16
TRUTH_DRAWS = 2_000_000
SETTINGS = {
    "classes apart": (1.0, (1.0, 1.0)),
    "unequal spread": (1.0, (1.0, 0.3)),
    "no gap": (0.0, (1.0, 1.0)),
}
"""Name -> distance of the class means from their common mean, and standard deviation of each class."""
SIZES = [(n, share) for n in (100, 400, 2000) for share in (0.5, 0.9)]
"""Rows, and the share of the first class."""


def mean_of_class(k: int, apart: float) -> Floats:
    """(WIDTH,) mean of class k: one direction that both classes share, as in real clouds, and one of its own."""
    mean = np.zeros(WIDTH)
    mean[3], mean[k] = 1, apart
    return mean


def draw(rng: np.random.Generator, codes: NDArray[np.int64], apart: float, spread: tuple[float, float]) -> Floats:
    """(rows, WIDTH) one vector for each class number."""
    means = np.array([mean_of_class(k, apart) for k in (0, 1)])
    return rng.normal(size=(len(codes), WIDTH)) * np.array(spread)[codes][:, None] + means[codes]


@functools.cache
def mean_units(apart: float, spread: tuple[float, float]) -> Floats:
    """(2, WIDTH) mean unit vector of each class, from many draws."""
    rng, chunk = np.random.default_rng(2**32), 100_000
    sums = np.zeros((2, WIDTH))
    for k in (0, 1):
        for _ in range(TRUTH_DRAWS // chunk):
            vectors = draw(rng, np.full(chunk, k), apart, spread)
            sums[k] += (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).sum(axis=0)
    return sums / TRUTH_DRAWS


def truth(measure: str, units: Floats, sizes: NDArray[np.int64]) -> float:
    """Give the expected gap for these class sizes, or the expected mean cosine for these chances of the classes."""
    if measure == "mean_cosine":
        return float(((sizes / sizes.sum() @ units) ** 2).sum())
    cosine, pairs = units @ units.T, sizes * (sizes - 1)
    return float(pairs @ np.diag(cosine) / pairs.sum() - cosine[0, 1])


def repeat(measure: str, setting: str, n: int, share: float, repetitions: int) -> dict[str, Any]:
    """Draw and measure again and again; give the share of hits, and what else tells how good the numbers are."""
    apart, spread = SETTINGS[setting]
    sizes = np.array([round(n * share), n - round(n * share)])
    expected = truth(measure, mean_units(apart, spread), sizes)
    started, hits, values, widths = time.perf_counter(), 0, [], []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, n, sizes[0]])
        codes = (rng.random(n) >= share).astype(np.int64) if measure == "mean_cosine" else np.repeat([0, 1], sizes)
        store = cls_probe.VectorStore.from_arrays(draw(rng, codes, apart, spread), labels=codes.tolist())
        if measure == "permutation":
            p = cls_probe.class_gap(store, permutations=199, seed=10**6 + seed).p_value
            hits += int(p is not None and p[0] <= 0.05)
            continue
        result = cls_probe.class_gap(store, permutations=0) if measure == "gap" else cls_probe.anisotropy(store)
        value, low, high = (getattr(result, f"{measure}{end}")[0] for end in ("", "_low", "_high"))
        hits += int(low <= expected <= high)
        values.append(value - expected)
        widths.append((high - low) / 2)
    row = {"measure": measure, "setting": setting, "n": n, "classes": sizes.tolist(), "repetitions": repetitions}
    row |= {"rate": hits / repetitions, "seconds": round(time.perf_counter() - started, 1)}
    if values:
        row |= {"truth": expected, "bias": float(np.mean(values)), "sd": float(np.std(values))}
        row |= {"mean_half_width": float(np.mean(widths))}
    return row


def runs(measures: list[str], repetitions: int) -> Iterator[dict[str, Any]]:
    """All settings of the measures; the permutation test is run where no gap is."""
    for measure in measures:
        if measure == "permutation":
            for n, share in SIZES[:4]:
                yield repeat(measure, "no gap", n, share, repetitions)
            continue
        for setting in SETTINGS:
            for n, share in SIZES:
                yield repeat(measure, setting, n, share, repetitions)


def main() -> None:
    """Print a JSON line for every setting, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = ("mean_cosine", "gap", "permutation")
    parser.add_argument("--measure", action="append", choices=choices, help="May be repeated; all by default.")
    parser.add_argument("--repetitions", type=int, default=1000)
    args = parser.parse_args()
    lines = ["| measure | setting | classes | rate | wanted | seconds |", "|---|---|---|---|---|---|"]
    for row in runs(args.measure or list(choices), args.repetitions):
        print(json.dumps(row), flush=True)
        low, high = (0.04, 0.06) if row["measure"] == "permutation" else (0.93, 0.97)
        wanted = f"{low:.2f}-{high:.2f}" + ("" if low <= row["rate"] <= high else " (missed)")
        sizes = " + ".join(map(str, row["classes"]))
        cells = (row["measure"], row["setting"], sizes, f"{row['rate']:.3f}", wanted, str(row["seconds"]))
        lines.append("| " + " | ".join(cells) + " |")
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    main()
