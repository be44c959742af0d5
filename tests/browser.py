"""Inspects HTML pages in a browser, at the widths of phones and of desktop screens."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (360, 414, 768, 1280)

_FRAMES = """<!doctype html><body><script>
const pages = %s, widths = %s, found = [];
%s
function next(at) {
  if (at == pages.length * widths.length) {
    document.body.textContent = btoa(JSON.stringify(found));
    return;
  }
  const frame = document.createElement('iframe'), width = widths[at %% widths.length];
  frame.width = width; frame.height = 800;
  frame.onload = () => { found.push(look(frame, width)); frame.remove(); next(at + 1); };
  frame.src = pages[Math.floor(at / widths.length)];
  document.body.append(frame);
}
next(0);
</script></body>
"""


def find_chromium() -> str:
    """Return the path of Chromium; skip the test if Chromium is not installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no Chromium in PATH or $CHROMIUM (apt install chromium)")
    return found


def looked_at(page: Path, folder: Path, look: str, *, dark: bool) -> list[dict[str, Any]]:
    """Show a page in frames of several widths, and return the results of the function `look`.

    `look` is JavaScript; its parameters are a frame with the page, and the frame's width.
    """
    shutil.copy(page, folder / "page.html")
    return looked_at_all(["page.html"], folder, look, WIDTHS, dark=dark)


def looked_at_all(
    pages: Sequence[str], folder: Path, look: str, widths: Sequence[int], *, dark: bool
) -> list[dict[str, Any]]:
    """Show each page in frames of each width, and return the results of `look` as in `looked_at`.

    `pages` are addresses of pages.
    """
    frames = folder / "frames.html"
    frames.write_text(_FRAMES % (json.dumps(pages), json.dumps(widths), look))
    content = loaded(frames.as_uri(), folder, "--allow-file-access-from-files", dark=dark)
    (encoded,) = re.findall(r"<body>\s*([A-Za-z0-9+/=]{20,})", content) or [""]
    assert encoded, content
    found: list[dict[str, Any]] = json.loads(base64.b64decode(encoded))
    return found


def loaded(address: str, folder: Path, *flags: str, dark: bool = False) -> str:
    """Load the page at an address in Chromium, and return its HTML after its scripts have run."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", *flags]
    words += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=10000"]
    words += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom"]
    browser = subprocess.run(
        [find_chromium(), *words, address], capture_output=True, text=True, timeout=120, check=False
    )
    assert browser.stdout, browser.stderr
    return browser.stdout


def printed_pages(page: Path, folder: Path) -> int:
    """Return the number of A4 sheets on which a page is printed."""
    file = folder / "printed.pdf"
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    words += [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={file}"]
    command = [find_chromium(), *words, page.as_uri()]
    browser = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert file.exists(), browser.stderr
    content = file.read_bytes()
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    assert {(round(float(x)), round(float(y))) for x, y in sizes} == {_A4}
    return len(re.findall(rb"/Type /Page\b(?!s)", content))


_A4 = (595, 842)  # in points
_AXE = """<!doctype html><body><script>
const frame = document.createElement('iframe');
frame.width = %d; frame.height = 800; frame.src = 'page.html';
frame.onload = async () => {
  const script = frame.contentDocument.createElement('script');
  script.textContent = AXE;
  frame.contentDocument.head.append(script);
  const found = await frame.contentWindow.axe.run(frame.contentDocument);
  const texts = found.violations.map(one => one.id + ': ' + one.nodes.length + ' x '
    + one.nodes[0].html.slice(0, 200));
  document.body.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(texts))));
};
document.body.append(frame);
</script></body>
"""


def axe_violations(page: Path, folder: Path, width: int, *, dark: bool) -> list[str]:
    """Return the accessibility problems that axe-core finds in a page, one text for each rule.

    Skip the test if `SLOWPATH_AXE` does not name the file `axe.min.js` of the npm package axe-core.
    """
    axe = os.environ.get("SLOWPATH_AXE")
    if axe is None:
        pytest.skip("SLOWPATH_AXE does not name axe.min.js (npm install axe-core)")
    # The page's policy forbids scripts, and so axe-core; remove the policy.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    (folder / "page.html").write_text(text)
    source = json.dumps(Path(axe).read_text()).replace("</", "<\\/")
    frame = (_AXE % width).replace("AXE;", f"{source};")
    (folder / "axe.html").write_text(frame)
    address = (folder / "axe.html").as_uri()
    content = loaded(address, folder, "--allow-file-access-from-files", dark=dark)
    (encoded,) = re.findall(r"<body>\s*([A-Za-z0-9+/=]{4,})", content) or [""]
    assert encoded, content[:1000]
    found: list[str] = json.loads(base64.b64decode(encoded))
    return found
