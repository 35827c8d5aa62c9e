"""The vector store: a folder of Arrow parts and a manifest, or arrays in memory."""

from cls_probe.store.describe import describe
from cls_probe.store.manifest import Manifest, Part
from cls_probe.store.vectors import VectorStore
from cls_probe.store.write import StoreWriter

__all__ = ["Manifest", "Part", "StoreWriter", "VectorStore", "describe"]
