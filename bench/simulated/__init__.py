"""Compares throughput predictions with the simulated NIC, as in tables of the Tomur paper."""

import sys
from pathlib import Path

# `research` contains the simulated NIC, and models that no command uses.
sys.path.append(str(Path(__file__).resolve().parents[2] / "research"))
