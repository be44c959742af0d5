"""Prepares the tests of `research`: libraries use one thread, and modules can be imported."""

import os
import sys
from pathlib import Path

# The arrays of these tests are too small for several threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

_ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / folder) for folder in ("research", "bench", "tests", "tests/insights")]
