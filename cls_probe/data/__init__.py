"""Rows: texts with optional second texts and labels, from files, frames and iterables."""

from cls_probe.data.pairs import Pairs, read_pairs
from cls_probe.data.read import SAMPLE, SAMPLE_PAIRS, read_rows
from cls_probe.data.rows import Rows

__all__ = ["SAMPLE", "SAMPLE_PAIRS", "Pairs", "Rows", "read_pairs", "read_rows"]
