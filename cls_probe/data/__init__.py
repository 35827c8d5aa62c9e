"""Rows: texts with optional second texts and labels, from files, frames and iterables."""

from cls_probe.data.read import SAMPLE, read_rows
from cls_probe.data.rows import Rows

__all__ = ["SAMPLE", "Rows", "read_rows"]
