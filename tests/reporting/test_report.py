"""The report: sentences, escaping, nothing loaded, nothing computed from saved results."""

import base64
import html
import json
import re

import numpy as np
import pytest

import cls_probe
from cls_probe import VectorStore
from cls_probe.analyses import ANALYSES
from cls_probe.errors import InputError
from cls_probe.reporting import report as module
from cls_probe.reporting.page import inert
from cls_probe.reporting.points import points_of
from cls_probe.reporting.summary import sentences

EVIL = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>\u2028\"'&"


def written(sources, tmp_path, **options):
    return cls_probe.report(sources, out=tmp_path / "r.html", **options).read_text(encoding="utf-8")


def test_json_is_inert_and_whole():
    text = inert([EVIL])
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == [EVIL]


def test_texts_labels_and_title_are_no_markup(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(30, 2, 4))
    store = VectorStore.from_arrays(vectors, labels=[EVIL, "b", "c"] * 10, texts=[EVIL] * 30)
    page = written(store, tmp_path, title=EVIL)
    assert "<img src=x" not in page
    assert page.count("</script>") == 3


def test_page_loads_nothing_and_is_the_same_again(planted, tmp_path):
    page = written(planted, tmp_path)
    assert page == written(planted, tmp_path)
    assert "default-src 'none'" in html.unescape(page)
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "http" not in markup.replace("http-equiv", "")
    assert not re.search(r"url\(|@import|<link|src=(?!\"data:)", markup)


def test_summary_names_the_planted_layer(planted):
    said = " ".join(sentences([cls_probe.layer_probe(planted), cls_probe.class_gap(planted)]))
    assert "peaks at layer 2: 1.000" in said
    assert "above every other layer" in said
    assert "gap is largest at layer 2" in said
    assert said.endswith("Undefined: layer 0 (all vectors are the same).")


def test_saved_results_are_not_computed_again(planted, tmp_path, monkeypatch):
    result = cls_probe.anisotropy(planted)
    path = tmp_path / "a.json"
    path.write_text(result.to_json(), encoding="utf-8")
    monkeypatch.setattr(module, "_analysed", lambda *args: pytest.fail("computed"))
    assert "Anisotropy" in written(path, tmp_path)


@pytest.mark.parametrize(
    ("sources", "message"), [([], "no store and no result"), ("nowhere", "nowhere: no such file or folder")]
)
def test_bad_sources_are_one_line_and_leave_nothing(sources, message, tmp_path):
    with pytest.raises(InputError, match=message):
        cls_probe.report(sources, out=tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_the_map_shows_the_rows_that_were_drawn():
    rng = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(60)]
    store = VectorStore.from_arrays(rng.normal(size=(60, 1, 4)), labels=["a", "b", "c"] * 20, texts=texts)
    result = cls_probe.project(store, max_points=20)
    shown = points_of([result], store)
    assert shown.points["rows"] == result.rows.tolist()
    assert shown.points["texts"] == [texts[row] for row in result.rows]
    codes = np.frombuffer(base64.b64decode(shown.points["classes"]), dtype="<u2")
    assert [store.label_names[code] for code in codes] == list(result.labels)
    places = np.frombuffer(base64.b64decode(shown.points["maps"][0]["xy"]), dtype="<f4").reshape(1, 20, 2)
    np.testing.assert_allclose(places, result.coordinates, rtol=1e-6)
    assert "The map shows 20 of 60 rows, drawn at random." in shown.notes


def test_every_method_has_its_map():
    vectors = np.random.default_rng(0).normal(size=(40, 2, 4))
    result = cls_probe.project(VectorStore.from_arrays(vectors), method="both", layers=[0, 1])
    maps = points_of([result], None).points["maps"]
    assert [(one["name"], one["layers"]) for one in maps] == [("PCA", [0, 1]), ("UMAP", [0, 1])]
    assert maps[1]["axes"][0] == ("UMAP 1", "UMAP 2")
    place = result.methods.index("umap")
    umap = np.frombuffer(base64.b64decode(maps[1]["xy"]), dtype="<f4").reshape(2, 40, 2)
    np.testing.assert_allclose(umap[0], result.coordinates[place], rtol=1e-6)


def test_the_map_stands_on_the_page_whatever_was_projected(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(40, 2, 4))
    for method in ("pca", "both"):
        saved = tmp_path / f"{method}.json"
        saved.write_text(cls_probe.project(VectorStore.from_arrays(vectors), method=method).to_json(), encoding="utf-8")
        assert written(saved, tmp_path).count('id="map-box"') == 1


def test_every_kind_of_result_has_its_section_and_command(tiny_model, planted, tmp_path):
    rows = cls_probe.read_rows([f"the {word} a b" for word in ("cat", "dog") * 6], labels=["c", "d"] * 6)
    pairs = cls_probe.read_pairs("sample-pairs")
    store = cls_probe.extract(pairs.texts, model=tiny_model, out=tmp_path / "store")
    results = [
        *(analysis.function(planted) for analysis in ANALYSES),
        cls_probe.cls_attention(rows, model=tiny_model),
        cls_probe.leaks(rows),
        cls_probe.pair_similarity(store, pairs=pairs),
        cls_probe.compare(
            [cls_probe.anisotropy(planted), cls_probe.anisotropy(planted, transform="center")], names=["raw", "centred"]
        ),
    ]
    saved = []
    for number, result in enumerate(results):
        saved.append(tmp_path / f"{number}.json")
        saved[-1].write_text(result.to_json(), encoding="utf-8")
    page = html.unescape(written(saved, tmp_path))
    assert all(result.title in page for result in results)
    for command in ("cls-attention texts --model", "leaks texts", "pair-similarity", "anisotropy"):
        assert f"clsprobe {command}" in page
