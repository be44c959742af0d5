"""Compiles C++ functions that use the Click headers, and loads them into the test process."""

import ctypes
import shutil
import subprocess
from pathlib import Path

from oracles import missing
from slowpath.insights.source.sources import HEADERS


def native(folder: Path, source: Path) -> ctypes.CDLL:
    """Compile a C++ source with slowpath's Click headers, and load it as a shared library."""
    names = ("clang++", "clang++-16", "g++")
    compiler = next((name for name in names if shutil.which(name)), None)
    if compiler is None:
        missing("compiler", "there is no C++ compiler")
    made = folder / f"{source.stem}.so"
    words = ("-std=gnu++17", "-O1", "-fno-rtti", "-shared", "-fPIC", "-w", "-isystem", HEADERS)
    subprocess.run([compiler, *words, "-o", made, source], check=True)
    return ctypes.CDLL(str(made))
