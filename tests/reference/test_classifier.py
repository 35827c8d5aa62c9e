import pytest
import torch
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from cls_probe.encoding.files import locate
from cls_probe.errors import EncoderError
from cls_probe.reference.classifier import ClsClassifier, load_classifier, new_classifier
from cls_probe.reference.finetune import save
from tests.conftest import WORDS, save_tokenizer

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
COMMON = {"vocab_size": 5 + len(WORDS), "max_position_embeddings": 66, "pad_token_id": 0, "initializer_range": 0.5}
ENCODERS = {
    "bert": (BertModel, BertConfig(**COMMON, **SIZES)),
    "distilbert": (DistilBertModel, DistilBertConfig(**COMMON, dim=16, n_layers=2, n_heads=2, hidden_dim=32)),
    "mpnet": (MPNetModel, MPNetConfig(**COMMON, **SIZES)),
    "roberta": (RobertaModel, RobertaConfig(**COMMON, **SIZES, type_vocab_size=2)),
}
TEXTS = ["the cat", "a b c the dog d e f", "."]


@pytest.fixture(params=ENCODERS)
def base(request, tmp_path):
    kind, config = ENCODERS[request.param]
    torch.manual_seed(0)
    encoder = kind(config)
    assert (encoder.config.num_hidden_layers, encoder.config.hidden_size) == (2, 16)
    encoder.save_pretrained(tmp_path / "base")
    save_tokenizer(tmp_path / "base")
    return tmp_path / "base"


def make(folder, **options):
    return new_classifier(locate(folder), classes=("x", "y", "z"), max_length=12, **options)


def inputs_for(tokenizer, texts=TEXTS):
    return tokenizer(texts, padding=True, return_tensors="pt")


def test_the_encoder_is_the_base_and_the_head_reads_its_cls(base):
    model, tokenizer = make(base)
    model.eval()
    inputs = inputs_for(tokenizer)
    with torch.inference_mode():
        plain = AutoModel.from_pretrained(base)(**inputs).last_hidden_state
        logits = model(
            **inputs, token_type_ids=torch.zeros_like(inputs["input_ids"])
        ).logits  # not all encoders take it
        assert logits.shape == (3, 3)
        torch.testing.assert_close(logits, model.head(plain[:, 0]), rtol=0, atol=1e-6)


def test_a_saved_folder_is_classifier_encoder_and_tokenizer(base, tmp_path):
    model, tokenizer = make(base)
    model.eval()
    save(model, tokenizer, tmp_path / "saved", float16=False)
    again, _ = load_classifier(locate(tmp_path / "saved"))
    encoder = AutoModel.from_pretrained(tmp_path / "saved")
    inputs = inputs_for(tokenizer)
    with torch.inference_mode():
        assert torch.equal(again(**inputs).logits, model(**inputs).logits)
        assert torch.equal(encoder(**inputs).last_hidden_state, model.base_model(**inputs).last_hidden_state)
    assert type(encoder) is type(model.base_model)
    assert (again.config.id2label, again.config.tokenizer_max_length) == ({0: "x", 1: "y", 2: "z"}, 12)
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").model_max_length == 12
    assert locate(tmp_path / "saved").max_length == 12
    assert {path.suffix for path in (tmp_path / "saved").iterdir()} == {".json", ".safetensors"}


def test_float16_on_disk_is_float32_in_memory(tiny_model, tmp_path):
    model, tokenizer = make(tiny_model)
    save(model, tokenizer, tmp_path / "whole", float16=False)
    save(model, tokenizer, tmp_path / "half", float16=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half")]
    assert 0.4 < sizes[1] / sizes[0] < 0.7
    assert AutoModel.from_pretrained(tmp_path / "half").dtype == torch.float32
    for again in (load_classifier(locate(tmp_path / "half"))[0], ClsClassifier.from_pretrained(tmp_path / "half")):
        assert {parameter.dtype for parameter in again.parameters()} == {torch.float32}
        for name, tensor in again.state_dict().items():
            assert torch.equal(tensor, model.state_dict()[name].half().float())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_cls_is_found_by_its_id_wherever_it_stands(tiny_model):
    model, tokenizer = make(tiny_model)
    model.eval()
    cls, pad, cat = tokenizer.convert_tokens_to_ids(["[CLS]", "[PAD]", "cat"])
    ids = torch.tensor([[cat, cat, cls, cat], [cls, cat, cls, pad]])
    mask = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 0]])  # the second row's first [CLS] is masked
    with torch.inference_mode():
        hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
        expected = model.head(hidden[[0, 1], [2, 2]])
        torch.testing.assert_close(model(ids, mask).logits, expected, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match=r"without \[CLS\]"):
        model(torch.tensor([[cat, cat]]))


def test_labels_give_the_cross_entropy(tiny_model):
    model, tokenizer = make(tiny_model)
    model.eval()
    output = model(**inputs_for(tokenizer), labels=torch.tensor([0, 2, 1]))
    by_hand = -output.logits.log_softmax(dim=1)[[0, 1, 2], [0, 2, 1]].mean()
    torch.testing.assert_close(output.loss, by_hand)
    assert model(**inputs_for(tokenizer)).loss is None


def test_a_masked_language_model_is_a_base_too(tmp_path):
    BertForMaskedLM(ENCODERS["bert"][1]).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    model, _ = make(tmp_path)
    assert model.config.num_labels == 3


def test_a_classifier_of_other_classes_is_a_base_too(tiny_model, tmp_path):
    model, tokenizer = new_classifier(locate(tiny_model), classes=("x", "y"), max_length=12)
    save(model, tokenizer, tmp_path, float16=False)
    again, _ = make(tmp_path)
    assert again.head[-1].out_features == 3
    for name, tensor in again.base_model.state_dict().items():
        assert torch.equal(tensor, model.base_model.state_dict()[name])


def test_what_is_no_classifier_is_refused(tiny_model):
    with pytest.raises(EncoderError, match=r"is no classifier of cls-probe; make one of it with: clsprobe finetune"):
        load_classifier(locate(tiny_model))


def test_a_tokenizer_without_cls_is_refused(tmp_path):
    BertModel(ENCODERS["bert"][1]).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, cls_token=None)
    with pytest.raises(EncoderError, match=r"tokenizer has no \[CLS\] token; use an encoder of the BERT family"):
        make(tmp_path)


def test_weights_that_lack_a_part_are_refused(tiny_model, tmp_path):
    from safetensors.torch import load_file, save_file

    model, tokenizer = make(tiny_model)
    save(model, tokenizer, tmp_path, float16=False)
    weights = load_file(tmp_path / "model.safetensors")
    name = next(name for name in weights if "attention" in name)
    del weights[name]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EncoderError, match=f"weights lack 1 tensors, such as {name}, which would stay random"):
        load_classifier(locate(tmp_path))


def test_a_damaged_file_is_one_line(tiny_model, tmp_path):
    model, tokenizer = make(tiny_model)
    save(model, tokenizer, tmp_path, float16=False)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EncoderError, match="transformers cannot load it") as caught:
        load_classifier(locate(tmp_path))
    assert "\n" not in str(caught.value)
