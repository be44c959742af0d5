"""Tests the documentation site in a browser, opened as files without a server.

`make docs` builds the site. Most tests need it, in the folder that `SLOWPATH_SITE` names.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from browser import loaded, looked_at_all
from support import ROOT

SETTINGS = ROOT / "docs/site"

PAGES = (
    "index.html",
    "how-to/chains.html",
    "reference/cli.html",
    "reference/json.html",
    "reference/targets.html",
    "explanation/contention-accuracy.html",
    "ARCHITECTURE.html",
)

LOOK = """
function channels(color) { return color.match(/[0-9.]+/g).map(Number); }
function luminance(color) {
  const [r, g, b] = channels(color).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function background(view, element) {
  for (; element; element = element.parentElement) {
    const color = view.getComputedStyle(element).backgroundColor;
    if (channels(color)[3] !== 0) return color;
  }
  return 'rgb(255, 255, 255)';
}
function look(frame, width) {
  const view = frame.contentWindow, root = frame.contentDocument;
  const faint = new Map();
  for (const one of root.querySelectorAll('article *')) {
    if (![...one.childNodes].some(node => node.nodeType == 3 && node.data.trim())) continue;
    const style = view.getComputedStyle(one);
    if (style.visibility != 'visible' || !one.getClientRects().length) continue;
    const [a, b] = [style.color, background(view, one)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.set(one.className + ' ' + style.color, contrast);
  }
  const wide = [];
  for (let one = root.querySelector('article'); one; one = one.parentElement)
    if (view.getComputedStyle(one).overflowX != 'visible' && one.scrollWidth > one.clientWidth)
      wide.push(one.className || one.tagName);
  return {
    wide, faint: [...faint],
    background: luminance(background(view, root.body)), texts: root.body.innerText.length,
  };
}
"""


@pytest.fixture(scope="module")
def site() -> Path:
    folder = os.environ.get("SLOWPATH_SITE")
    if folder is None:
        pytest.skip("SLOWPATH_SITE does not name the folder of a built site (make docs)")
    return Path(folder).resolve()


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_phone_and_are_legible(site: Path, tmp_path: Path, *, dark: bool) -> None:
    pages = [(site / page).as_uri() for page in PAGES]
    found = looked_at_all(pages, tmp_path, LOOK, [390], dark=dark)
    for page, one in zip(PAGES, found, strict=True):
        assert one["texts"] > 500, page
        assert not one["wide"], page
        assert (one["background"] < 0.1) == dark, page
        assert not one["faint"], page


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("P4", "how-to/calibrate"),
        ("SARIF", "how-to/ci"),
        ("DPDK", "how-to/port"),
        ("aarch64", "reference/support"),
        ("witness", "GLOSSARY"),
    ],
)
def test_the_search_finds_pages_without_a_server(
    site: Path, tmp_path: Path, word: str, page: str
) -> None:
    content = loaded(f"{(site / 'search.html').as_uri()}?q={word}", tmp_path)
    assert f"{page}.html" in re.findall(r'<li[^>]*><a href="([^"?#]+)', content)


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    used = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not used.search(page.read_text()), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)[\s\"']*(?:https?:)?//", sheet.read_text()), sheet


@pytest.mark.usefixtures("site")
def test_broken_links_and_anchors_fail_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    links = "[a](no-page.md) [b](#no-anchor) [c](other.md#no-anchor)"
    (pages / "index.md").write_text(f"# A\n\n{links}\n")
    (pages / "other.md").write_text("# B\n")
    words: list[str | Path] = [
        "--fail-on-warning",
        "--quiet",
        "--conf-dir",
        SETTINGS,
        pages,
        tmp_path / "site",
    ]
    build = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, check=False
    )
    assert build.returncode != 0
    found = re.findall(r"index.md:3: WARNING: (.*)", build.stderr)
    assert len(found) == 3, build.stderr


def test_links_lead_to_pages_of_the_site() -> None:
    specification = importlib.util.spec_from_file_location("conf", SETTINGS / "conf.py")
    assert specification
    assert specification.loader
    settings = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(settings)
    text = """[a](../CONTRIBUTING.md#oracles) [b](GLOSSARY.md) [c](#d) [e](https://a.b/c.md)
[f](../fuzz/README.md) [g](figures) [h](../layers.toml) ![i](figures/i.svg) [j](no-page.md)"""
    page = ROOT / "docs/ARCHITECTURE.md"
    assert settings.relocated(text, page, page) == (
        """[a](contributing.md#oracles) [b](GLOSSARY.md) [c](#d) [e](https://a.b/c.md)
f g [h](../layers.toml) ![i](figures/i.svg) [j](no-page.md)"""
    )
    source, page = ROOT / "examples/README.md", ROOT / "docs/examples.md"
    text = "[a](../docs/how-to/port.md) [b](chain/chain.yaml)"
    shown = "[a](how-to/port.md) [b](../examples/chain/chain.yaml)"
    assert settings.relocated(text, source, page) == shown
