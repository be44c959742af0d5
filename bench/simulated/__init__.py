"""How well predictions do on the simulated NIC: what is profiled, what is asked, and judging."""

import sys
from pathlib import Path

# The simulated NIC, and models that no command has.
sys.path.append(str(Path(__file__).resolve().parents[2] / "research"))
