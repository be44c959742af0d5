#!/usr/bin/env python3
"""Renews the pictures of HTML pages in docs/figures/pages. Needs Chromium, and Pillow.

Chromium is the command in $CHROMIUM, or `chromium` or `google-chrome` in PATH. Measured pages are
not part of the pictures, because each run measures other times.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs/figures/pages"
EXAMPLES = "examples"
_COLOURS = 96
"""Number of colours of a picture; more would not be visible, but need more space."""
_MOST = 120_000
"""Maximum size of a picture in bytes."""


class Picture(NamedTuple):
    """A picture to make: its name, the command that writes the page, and the window's size."""

    name: str
    command: tuple[str, ...]
    size: tuple[int, int]
    dark: bool = False


_BOUND = ("bound", f"{EXAMPLES}/firewall.bpf.o", "--paths", "3")
_DIFF = ("diff", f"{EXAMPLES}/count_min.4.bpf.o", f"{EXAMPLES}/count_min.8.bpf.o")
_CHAIN = ("chain", "optimize", f"{EXAMPLES}/chain/chain.yaml", "--packets", "0")
_SWEEP = ("sweep", f"{EXAMPLES}/count_min.bpf.c", "-D", "HASHES=1..8")
PICTURES = (
    Picture("bound-light", _BOUND, (1200, 800)),
    Picture("bound-dark", _BOUND, (1200, 800), dark=True),
    Picture("diff", _DIFF, (1200, 640)),
    Picture("chain", _CHAIN, (1200, 800)),
    Picture("sweep", _SWEEP, (1200, 640)),
)


def main() -> None:
    """Write all pictures, or those that the arguments name."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        if sys.argv[1:] and picture.name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = _compressed(_shot(picture, Path(folder)))
        if len(data) > _MOST:
            sys.exit(f"error: {picture.name} has {len(data):,} bytes, more than {_MOST:,}")
        (FIGURES / f"{picture.name}.png").write_bytes(data)
        print(f"{picture.name}: {len(data):,} bytes")


def _shot(picture: Picture, folder: Path) -> Path:
    page, shot = folder / "page.html", folder / "shot.png"
    command = [sys.executable, "-m", "slowpath", *picture.command, "--html", str(page)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    width, height = picture.size
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    words += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
    words += [f"--blink-settings=preferredColorScheme={0 if picture.dark else 1}"]
    words += [f"--screenshot={shot}", page.as_uri()]
    subprocess.run([_chromium(), *words], stderr=subprocess.DEVNULL, check=True, timeout=120)
    return shot


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        sys.exit("error: there is no Chromium in PATH or $CHROMIUM")
    return found


def _compressed(shot: Path) -> bytes:
    """Convert a picture to a PNG file with few colours, and return its bytes."""
    content = io.BytesIO()
    with Image.open(shot) as picture:
        few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(content, "PNG", optimize=True)
    return content.getvalue()


if __name__ == "__main__":
    main()
