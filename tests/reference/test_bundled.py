"""The bundled weights: they load by name, offline, and do what the model card says."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import cls_probe
from cls_probe.encoding.files import locate
from cls_probe.reference.classifier import load_classifier

FILES = locate("agnews")


def test_what_the_folder_holds():
    assert FILES.max_length == 192
    assert (FILES.config["num_hidden_layers"], FILES.config["hidden_size"]) == (6, 384)
    assert sorted(FILES.config["label2id"]) == ["Business", "Sci/Tech", "Sports", "World"]
    assert (FILES.folder / "model.safetensors").stat().st_size < 50_000_000
    model, _ = load_classifier(FILES)
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_the_card_and_the_metrics_agree():
    metrics = json.loads((FILES.folder / "metrics.json").read_text(encoding="utf-8"))
    card = (FILES.folder / "README.md").read_text(encoding="utf-8")
    assert f"{metrics['test']['accuracy']:.4f}" in card
    assert metrics["test"]["accuracy"] >= 0.928
    assert min(metrics["test"]["recall"]) >= 0.87


def test_the_bundled_sample_is_classified():
    result = cls_probe.classify("sample")
    assert result.accuracy > 0.8
    assert np.nanmin(result.recall) > 0.6


def test_rows_of_the_test_set_are_classified(real_data):
    rows = cls_probe.read_rows(real_data / "ag_news" / "test.csv", sample=300)
    result = cls_probe.classify(rows)
    assert result.accuracy > 0.88  # .93 on all 7,600, four standard errors below


def test_other_tools_load_the_encoder_part_and_extract_reads_the_same_vectors(tmp_path):
    text = "The goalkeeper saved two penalties."
    store = cls_probe.extract([text, "Shares rose."], out=tmp_path / "s")
    assert store.manifest.model == "agnews"
    tokenizer, model = AutoTokenizer.from_pretrained(FILES.folder), AutoModel.from_pretrained(FILES.folder)
    with torch.no_grad():
        states = model.float().eval()(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
    for layer in store.layers:
        np.testing.assert_allclose(store.layer(layer)[0], states[layer][0, 0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The goalkeeper saved two penalties in the final.", "Sports"),
        ("Shares rose after the merger lifted quarterly profit.", "Business"),
        ("Astronomers found a planet with a new space telescope.", "Sci/Tech"),
        ("The president met the prime minister for peace talks.", "World"),
    ],
)
def test_plain_cases(text, label):
    assert cls_probe.classify([text]).predicted == (label,)
