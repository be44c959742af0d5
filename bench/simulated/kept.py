"""A folder with results of simulations, which are kept and never repeated."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nic_profiles import Settings, run_all
from nic_simulation import SimulatedClient

Mix = Sequence[SimulatedClient]


class Kept(NamedTuple):
    """The folder of tables and results, and the settings of simulations."""

    folder: Path
    settings: Settings

    def file(self, name: str, make: Callable[[], str]) -> Path:
        """Return a file, and make it with a function unless it exists."""
        file = self.folder / name
        if not file.is_file():
            started = time.monotonic()
            text = make()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            took = time.monotonic() - started
            if took >= 1:
                print(f"{name}: {took:.0f} s", file=sys.stderr, flush=True)
        return file

    def throughputs(self, name: str, mixes: Sequence[Mix], settings: Settings) -> list[list[float]]:
        """Return the throughput of each function of each mix, from a file named by all inputs."""

        def make() -> str:
            found = run_all(mixes, settings)
            return json.dumps([[one["throughput"] for one in mix["clients"]] for mix in found])

        # The number of threads does not change the results.
        inputs = json.dumps([mixes, settings._replace(threads=1)])
        key = hashlib.sha256(inputs.encode()).hexdigest()[:12]
        found: list[list[float]] = json.loads(self.file(f"{name}.{key}.json", make).read_text())
        return found
