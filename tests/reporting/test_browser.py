"""The page in a real browser, offline, from a file."""

import base64
import csv
import io
import json
import shutil

import numpy as np
import pytest

import cls_probe
from cls_probe import VectorStore

BINARY, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
EVIL = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
SERIES = "return echarts.getInstanceByDom(document.getElementById('map-box')).getOption().series"


def planted_store():
    rng = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(59)] + [EVIL]
    return VectorStore.from_arrays(rng.normal(size=(60, 3, 8)), labels=["a", "b", "c"] * 20, texts=texts)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("selenium", reason="the package selenium is not installed")
    if not (BINARY and DRIVER):
        pytest.skip("chromium or chromedriver is not installed")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    out = cls_probe.report(planted_store(), out=tmp_path_factory.mktemp("page") / "r.html")
    options = ChromeOptions()
    options.binary_location = BINARY
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    driver.get(out.as_uri())
    yield driver
    driver.quit()


def set_value(browser, name, value):
    script = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, name, value)


def test_opens_without_an_error(browser):
    assert browser.get_log("browser") == []
    assert len(browser.execute_script(SERIES)) == 5


def test_slider_changes_the_points(browser):
    set_value(browser, "map-layer", 0)
    first = browser.execute_script(SERIES)[0]["data"]
    set_value(browser, "map-layer", 2)
    assert browser.execute_script(SERIES)[0]["data"] != first


def test_colour_tells_what_the_probe_of_the_layer_predicts_wrong(browser):
    choose = (
        "const e = document.getElementById('map-colour');"
        "e.value = [...e.options].findIndex((o) => o.text === arguments[0]); e.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(choose, "layer probe right or wrong")
    right = {}
    for layer in (0, 1):
        set_value(browser, "map-layer", layer)
        assert browser.find_element("id", "map-legend").text.split()[0] == "right"
        right[layer] = sorted(point[2] for point in browser.execute_script(SERIES)[0]["data"])
    browser.execute_script(choose, "class")
    probe = cls_probe.layer_probe(planted_store())
    assert right == {layer: sorted(set(range(60)) - set(probe.wrong[layer])) for layer in (0, 1)}
    assert right[0] != right[1]


def test_search_finds_a_row_and_markup_is_inert(browser):
    set_value(browser, "map-search", "<script>")
    found = browser.find_elements("css selector", "#map-found button")
    assert [EVIL in button.text for button in found] == [True]
    browser.execute_script("arguments[0].click()", found[0])
    assert EVIL in browser.find_element("id", "map-detail").text
    assert browser.execute_script("return window.hurt") is None
    set_value(browser, "map-search", "")


def test_hover_shows_the_text(browser):
    browser.execute_script(
        "echarts.getInstanceByDom(document.getElementById('map-box'))"
        ".dispatchAction({type: 'showTip', seriesIndex: 0, dataIndex: 0})"
    )
    assert "text 0" in browser.find_element("css selector", "#map-box .tip").get_attribute("textContent")


def test_a_class_is_toggled(browser):
    button = browser.find_element("css selector", "#map-legend button")
    for expected in (0, 20):
        browser.execute_script("arguments[0].click()", button)
        assert len(browser.execute_script(SERIES)[0]["data"]) == expected


def test_theme_switches_and_returns(browser):
    background = "return getComputedStyle(document.body).backgroundColor"
    button = browser.find_element("id", "theme")
    first, name = browser.execute_script(background), button.text
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(background) != first
    assert button.text != name
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(background) == first


def test_arrow_keys_move_the_slider(browser):
    from selenium.webdriver.common.keys import Keys

    set_value(browser, "map-layer", 0)
    first = browser.execute_script(SERIES)[0]["data"]
    browser.find_element("id", "map-layer").send_keys(Keys.ARROW_RIGHT)
    assert browser.find_element("id", "map-layer").get_attribute("value") == "1"
    assert browser.execute_script(SERIES)[0]["data"] != first


def test_tab_walks_through_the_controls(browser):
    from selenium.webdriver.common.keys import Keys

    browser.execute_script("document.getElementById('map-layer').focus()")
    reached = []
    for _ in range(6):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.switch_to.active_element.get_attribute("id"))
    assert [name for name in reached if name in ("map-search", "map-in", "map-out", "map-reset")] == [
        "map-search",
        "map-in",
        "map-out",
        "map-reset",
    ]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_downloads_hold_every_row(browser, form):
    browser.execute_script("URL.createObjectURL = (blob) => { window.kept = blob; return '#kept'; }")
    buttons = browser.find_elements("css selector", f".download[data-form={form}]")
    texts = []
    for button in buttons:
        browser.execute_script("arguments[0].click()", button)
        texts.append(browser.execute_async_script("window.kept.text().then(arguments[0])"))
    if form == "json":
        held = [json.loads(text) for text in texts]
        assert [len(one["labels"]) for one in held if "coordinates" in one] == [60]
    else:
        tables = [list(csv.DictReader(io.StringIO(text))) for text in texts]
        assert [len(rows) for rows in tables if "x" in rows[0]] == [60 * 3]


def test_prints_without_an_error(browser):
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF-")
    assert browser.get_log("browser") == []


def test_nothing_overflows_on_a_phone(browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wide = (
        "return [...document.querySelectorAll('body *')]"
        ".filter((e) => e.getBoundingClientRect().right > 391 && !e.closest('.table, pre, nav'))"
        ".map((e) => `${e.tagName}.${e.className}#${e.id}`)"
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, browser.execute_script(wide)


def test_a_page_of_many_points_is_small_and_still_moves(browser, tmp_path):
    rng = np.random.default_rng(0)
    texts = [f"text {i} " * 12 for i in range(10_000)]
    store = VectorStore.from_arrays(rng.normal(size=(10_000, 7, 4)), texts=texts)
    out = cls_probe.report([store, cls_probe.project(store, max_points=10_000)], out=tmp_path / "many.html")
    assert out.stat().st_size < 8e6
    page = browser.current_url
    browser.get(out.as_uri())
    assert sum(len(one["data"]) for one in browser.execute_script(SERIES)) == 10_000
    first = browser.execute_script(SERIES)[0]["data"][0]
    set_value(browser, "map-layer", 0)
    assert browser.execute_script(SERIES)[0]["data"][0] != first
    browser.get(page)
