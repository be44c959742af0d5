"""Reports comparisons with oracles, which `make test` lists at its end.

An oracle is an independent source of expected results, such as the kernel. `crates/oracle` explains
the names of oracles and the environment variables.
"""

import os
from pathlib import Path
from typing import NoReturn

import pytest


def compared(oracle: str, count: int, what: str) -> None:
    """Report the number of comparisons with an oracle; `what` names the compared things."""
    assert count > 0, f"{oracle}: no {what} were compared"
    _write(oracle, "compared", str(count), what)


def missing(oracle: str, reason: str) -> NoReturn:
    """Skip a test because its oracle is missing, or fail if SLOWPATH_REQUIRE names the oracle.

    `reason` tells how to get the oracle.
    """
    required = os.environ.get("SLOWPATH_REQUIRE", "").split(",")
    if oracle in (name.strip() for name in required):
        pytest.fail(f"SLOWPATH_REQUIRE has {oracle}, and it is missing: {reason}")
    _write(oracle, "missing", reason)
    pytest.skip(reason)


def folder(oracle: str, variable: str, what: str) -> Path:
    """Return the folder of published data that an environment variable names.

    Skip the test if it is not set; `what` describes the data.
    """
    if variable not in os.environ:
        missing(oracle, f"{variable} names no folder with {what}")
    return Path(os.environ[variable])


def _write(*fields: str) -> None:
    if reports := os.environ.get("SLOWPATH_ORACLES"):
        line = "\t".join(" ".join(field.split()) for field in fields)
        with Path(reports, "pytest.tsv").open("a") as file:
            file.write(line + "\n")
