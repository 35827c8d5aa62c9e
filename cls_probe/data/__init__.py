"""Rows: texts with optional second texts and labels, from files, frames and iterables."""

from cls_probe.data.read import read_rows
from cls_probe.data.rows import Rows

__all__ = ["Rows", "read_rows"]
