"""Rows that tell themselves apart by one word, and an encoder that can learn it in seconds."""

from dataclasses import replace

import numpy as np
import pytest

from cls_probe.data import Rows, read_rows
from cls_probe.reference.recipe import Recipe
from tests.conftest import WORDS, save_tokenizer

QUICK = Recipe(epochs=8, batch_size=8, lr=5e-3, head_lr=5e-3, max_length=32, held_out=0.2)


def animal_rows(n_rows, *, seed=0, labels=("cat", "dog"), **reading):
    """Texts of an animal, which is the label, between random letters; cats and dogs take turns, no text twice."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    items = []
    for row in range(n_rows):
        word = ("cat", "dog")[row % 2]
        drawn = " ".join(rng.choice(letters, size=int(rng.integers(4, 8))))
        items.append({"text": f"the {word} {drawn} the {word}", "label": labels[row % 2]})
    assert len({item["text"] for item in items}) == n_rows
    return read_rows(items, **reading)


@pytest.fixture(scope="session")
def learner(tmp_path_factory):
    """Folder of a random BERT, 2 layers, 16 wide, small enough in its weights to learn."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "learner"
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=64, initializer_range=0.1, **sizes)
    model = BertModel(config)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    assert len(model.encoder.layer) == 2
    return folder


@pytest.fixture
def rows():
    return animal_rows(96)


@pytest.fixture
def eval_rows():
    return animal_rows(40, seed=1)


@pytest.fixture(scope="session")
def trained(learner, tmp_path_factory):
    """Folder of a classifier stored in float16, trained with the class order dog, cat, which knows them all."""
    from cls_probe.reference.evaluate import classify
    from cls_probe.reference.finetune import finetune

    folder = tmp_path_factory.mktemp("trained") / "animals"
    rows = animal_rows(96)
    permuted = Rows(texts=rows.texts, labels=rows.labels, label_names=["dog", "cat"])
    finetune(permuted, base=learner, out=folder, recipe=replace(QUICK, float16=True))
    assert classify(animal_rows(40, seed=1), model=folder).accuracy == 1
    return folder
