"""Vectors of a store for other tools, and vectors of other tools as a store."""

from cls_probe.exchange.exporting import export
from cls_probe.exchange.importing import import_vectors

__all__ = ["export", "import_vectors"]
