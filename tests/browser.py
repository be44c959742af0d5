"""Inspects HTML pages in a browser, at the widths of phones and of desktop screens."""

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_FRAMES = """<!doctype html><body><script>
const widths = [360, 414, 768, 1280], found = [];
%s
function next(at) {
  if (at == widths.length) {
    document.body.textContent = btoa(JSON.stringify(found));
    return;
  }
  const frame = document.createElement('iframe');
  frame.width = widths[at]; frame.height = 800;
  frame.onload = () => { found.push(look(frame, widths[at])); next(at + 1); };
  frame.src = 'page.html';
  document.body.append(frame);
}
next(0);
</script></body>
"""


def find_chromium() -> str:
    """Return the command that starts Chromium. Skip the test if Chromium is not installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no Chromium in PATH or $CHROMIUM (apt install chromium)")
    return found


def looked_at(page: Path, folder: Path, look: str, *, dark: bool) -> list[dict[str, Any]]:
    """Call the JavaScript function `look` on a page at several widths and return its results.

    The parameters of the function are a frame with the page, and the frame's width.
    """
    chromium = find_chromium()
    shutil.copy(page, folder / "page.html")
    (folder / "frames.html").write_text(_FRAMES % look)
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    words += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=10000"]
    words += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom"]
    browser = subprocess.run(
        [chromium, *words, f"file://{folder / 'frames.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (encoded,) = re.findall(r"<body>\s*([A-Za-z0-9+/=]{20,})", browser.stdout) or [""]
    assert encoded, browser.stderr
    found: list[dict[str, Any]] = json.loads(base64.b64decode(encoded))
    return found
