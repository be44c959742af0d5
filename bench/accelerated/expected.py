"""CRC parameters as projects name or document them, to compare with recovered parameters.

`catalogue.tsv` has parameters by the names of G. Cook's catalogue of parametrised CRC algorithms.
A label has one of three forms. `NAME`: the function uses the initial value and the final xor, or
continues an earlier result. `NAME register`: the function updates the bare register (a step, a
table), and its caller does the rest. `NAME given`: the initial value is an argument, and the
function uses the final xor. The polynomial of `ARGUMENT-n` is an argument.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def catalogue() -> dict[str, dict[str, str]]:
    """Return the parameters of all CRC algorithms in the catalogue, by name."""
    with (HERE / "catalogue.tsv").open() as stream:
        return {row["name"]: row for row in csv.DictReader(stream, delimiter="\t")}


def differs(
    label: str, parameters: Mapping[str, str], known: Mapping[str, Mapping[str, str]]
) -> str:
    """Describe the differences between CRC parameters from a proof and those of a label.

    The text is empty if they agree. `known` is the catalogue.
    """
    name, _, form = label.partition(" ")
    expected = known[name]
    wanted = {
        "width": expected["width"],
        "reflected in": expected["reflected"],
        "reflected out": expected["reflected"],
    }
    if expected["polynomial"] != "argument":
        wanted["polynomial"] = expected["polynomial"]
    elif parameters["polynomial"].startswith("0x"):
        return f"polynomial is {parameters['polynomial']}, not an argument"
    wrong = [
        f"{key} is {parameters[key]}, not {value}"
        for key, value in wanted.items()
        if parameters[key] != value
    ]
    final = 0 if form == "register" else int(expected["final"], 16)
    if int(parameters["final xor"], 16) != final:
        wrong.append(f"final xor is {parameters['final xor']}")
    start = _start(parameters["initial"])
    if start != (0 if form else int(expected["initial"], 16)):
        wrong.append(f"initial value is {parameters['initial']}")
    return "; ".join(wrong)


def _start(initial: str) -> int:
    """Convert the initial value of a CRC register to a number.

    If it depends on an argument, the argument counts as zero.
    """
    if initial.startswith("0x"):
        return int(initial, 16)
    return int(initial.partition(" ^ ")[2] or "0", 16)
