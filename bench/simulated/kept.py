"""What was simulated, in a folder: nothing is simulated twice."""

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
    """Where tables and outcomes are, and how they are made."""

    folder: Path
    settings: Settings

    def file(self, name: str, made: Callable[[], str]) -> Path:
        """A file, made by a function unless it is there."""
        file = self.folder / name
        if not file.is_file():
            started = time.monotonic()
            text = made()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            took = time.monotonic() - started
            if took >= 1:
                print(f"{name}: {took:.0f} s", file=sys.stderr, flush=True)
        return file

    def throughputs(self, name: str, mixes: Sequence[Mix], settings: Settings) -> list[list[float]]:
        """Throughput of each function of each mix; other mixes or settings are other files."""

        def made() -> str:
            found = run_all(mixes, settings)
            return json.dumps([[one["throughput"] for one in mix["clients"]] for mix in found])

        # Any number of threads has the same outcome.
        asked = json.dumps([mixes, settings._replace(threads=1)])
        key = hashlib.sha256(asked.encode()).hexdigest()[:12]
        found: list[list[float]] = json.loads(self.file(f"{name}.{key}.json", made).read_text())
        return found
