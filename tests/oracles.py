"""What Python tests compare with oracles, for the table at the end of `make test`.

The names of oracles, and what the environment variables mean: `crates/oracle`.
"""

import os
from pathlib import Path
from typing import NoReturn

import pytest


def compared(oracle: str, count: int, what: str) -> None:
    """Reports that so many of something (a plural) were compared with an oracle."""
    assert count > 0, f"{oracle}: no {what} were compared"
    _write(oracle, "compared", str(count), what)


def missing(oracle: str, reason: str) -> NoReturn:
    """Leaves a test out: what it compares with is missing, and where to get it."""
    required = os.environ.get("SLOWPATH_REQUIRE", "").split(",")
    if oracle in (name.strip() for name in required):
        pytest.fail(f"SLOWPATH_REQUIRE has {oracle}, and it is missing: {reason}")
    _write(oracle, "missing", reason)
    pytest.skip(reason)


def folder(oracle: str, variable: str, what: str) -> Path:
    """The folder with published data that an environment variable names."""
    if variable not in os.environ:
        missing(oracle, f"{variable} names no folder with {what}")
    return Path(os.environ[variable])


def _write(*fields: str) -> None:
    if reports := os.environ.get("SLOWPATH_ORACLES"):
        line = "\t".join(" ".join(field.split()) for field in fields)
        with Path(reports, "pytest.tsv").open("a") as file:
            file.write(line + "\n")
