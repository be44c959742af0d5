"""CRC parameters as the projects name or document them, to compare with what was recovered.

`catalogue.tsv` has parameters by the names of G. Cook's catalogue of parametrised CRC algorithms.
A label is a name alone (initial value and final xor are the function's, or an earlier result is
continued), `NAME register` (the bare register: a step, a table; its caller has the rest), or
`NAME given` (the initial value is an argument, the final xor the function's). `ARGUMENT-n` has its
polynomial as an argument.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def catalogue() -> dict[str, dict[str, str]]:
    """By name."""
    with (HERE / "catalogue.tsv").open() as stream:
        return {row["name"]: row for row in csv.DictReader(stream, delimiter="\t")}


def differs(
    label: str, parameters: Mapping[str, str], known: Mapping[str, Mapping[str, str]]
) -> str:
    """What of recovered parameters is not as the label says; empty where all is."""
    name, _, how = label.partition(" ")
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
    final = 0 if how == "register" else int(expected["final"], 16)
    if int(parameters["final xor"], 16) != final:
        wrong.append(f"final xor is {parameters['final xor']}")
    start = _start(parameters["initial"])
    if start != (0 if how else int(expected["initial"], 16)):
        wrong.append(f"initial value is {parameters['initial']}")
    return "; ".join(wrong)


def _start(initial: str) -> int:
    """The initial register where an argument that it depends on is zero."""
    if initial.startswith("0x"):
        return int(initial, 16)
    return int(initial.partition(" ^ ")[2] or "0", 16)
