"""Stores the results of simulations in a folder, so that no simulation runs twice."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from nic_profiles import Settings, run_all
from nic_simulation import SimulatedClient

Mix = Sequence[SimulatedClient]
Value = TypeVar("Value")


class Kept(NamedTuple):
    """A folder that stores results of simulations, and the settings of simulations."""

    folder: Path
    settings: Settings

    def file(self, name: str, make: Callable[[], str]) -> Path:
        """Return the path of the file `name` in the folder; create the file if necessary.

        `make` returns the text of a new file.
        """
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

    def value(self, name: str, inputs: str, make: Callable[[], Value]) -> Value:
        """Return the value that is stored under `name` for some inputs; compute it if necessary.

        `inputs` is a text that differs for different inputs; `make` computes the value.
        """
        key = hashlib.sha256(inputs.encode()).hexdigest()[:12]
        file = self.file(f"{name}.{key}.json", lambda: json.dumps(make()))
        found: Value = json.loads(file.read_text())
        return found

    def throughputs(self, name: str, mixes: Sequence[Mix], settings: Settings) -> list[list[float]]:
        """Return the throughput of each function in each mix, stored or newly simulated."""

        def make() -> list[list[float]]:
            found = run_all(mixes, settings)
            return [[one["throughput"] for one in mix["clients"]] for mix in found]

        # The results do not depend on the number of threads.
        inputs = json.dumps([mixes, settings._replace(threads=1)])
        return self.value(name, inputs, make)
