"""Measures how the effort for a chain grows with its length: seconds, and solver queries."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from figures import Column, Row

from chains.description import Run, median, slowpath, write

LENGTHS = (1, 2, 4, 6, 8, 12, 16)
SHOWN = (2, 8, 16)  # in the page; the CSV file has all
FILTERS = ("counter", "blocklist", "port_filter")
DEADLINE = 60


class Command(NamedTuple):
    """A slowpath command that analyses chains, and whose effort is measured."""

    key: str
    title: str
    arguments: tuple[str, ...]


COMMANDS = (
    Command("facts", "chain facts", ("chain", "facts")),
    Command("optimize", "chain optimize --trust", ("chain", "optimize", "--trust")),
    Command("fuse", "chain optimize --fuse", ("chain", "optimize", "--fuse")),
    Command("bound", "chain bound", ("chain", "bound")),
)
COLUMNS = [
    Column("chain", "chain"),
    Column("programs", "number"),
    Column("instructions", "instructions"),
    *(
        column
        for command in COMMANDS
        for column in (
            Column(f"`{command.title}`, s", f"{command.key}_seconds", 2),
            Column("questions", f"{command.key}_queries"),
        )
    ),
    Column("not exact", "early"),
]


def filters_first(number: int) -> list[str]:
    """Return the names of `number` programs: filters, then firewall, then load balancer.

    A single program is the firewall.
    """
    return [*_filters(number - 2), "firewall", *_last(number)]


def firewall_first(number: int) -> list[str]:
    """Return the names of `number` programs: firewall, then filters, then load balancer.

    A single program is the firewall.
    """
    return ["firewall", *_filters(number - 2), *_last(number)]


def _last(number: int) -> list[str]:
    """Return the last program, the load balancer, as a list.

    If the chain has only one program, the list is empty.
    """
    return ["load_balancer"] if number > 1 else []


def _filters(number: int) -> list[str]:
    return [FILTERS[place % len(FILTERS)] for place in range(max(number, 0))]


CHAINS = {"filters first": filters_first, "firewall first": firewall_first}


def rows(python: Path, repeat: int) -> Iterator[Row]:
    """Yield a table row for each chain and length: seconds and solver queries by command.

    The values are medians of several runs; the commands take turns.
    """
    with tempfile.TemporaryDirectory() as temporary:
        for name, programs in CHAINS.items():
            for number in LENGTHS:
                chain = write(Path(temporary), f"chain_{number}", programs(number))
                runs = dict[str, list[Run]]()
                for _ in range(repeat):
                    for command in COMMANDS:
                        runs.setdefault(command.key, []).append(_run(python, command, chain))
                yield {"chain": name, **_row(number, runs)}


def _run(python: Path, command: Command, chain: Path) -> Run:
    options: list[object] = ["--deadline", DEADLINE]
    if "optimize" in command.arguments:
        options += ["--packets", 0]
    if command.key == "bound":
        options += ["--target", "ebpf"]
    return slowpath(python, *command.arguments, chain, *options)


def _row(number: int, runs: dict[str, list[Run]]) -> Row:
    first = runs["facts"][0].report["programs"]
    row: Row = {
        "number": number,
        "instructions": sum(program["instructions_before"] for program in first),
    }
    early = list[str]()
    for key, done in runs.items():
        row[f"{key}_seconds"] = median(run.seconds for run in done)
        row[f"{key}_queries"] = queries(done[0].report)
        early += [key] if is_early(done[0].report) else []
    row["early"] = ", ".join(early)
    return row


def queries(report: dict[str, Any]) -> int:
    """Return the number of solver queries that a command's report states."""
    if "results" in report:
        return sum(result["stats"]["solver_checks"] for result in report["results"])
    parts = [*report["programs"], *([report["fused"]] if report["fused"] else [])]
    proofs = [part["proof"]["queries"] for part in parts if part["proof"]]
    return sum(program["queries"] for program in report["programs"]) + sum(proofs)


def is_early(report: dict[str, Any]) -> bool:
    """Return true if a command ended before it had analysed and proved everything."""
    if "results" in report:
        return any(result["guarantee"]["verdict"] != "exact" for result in report["results"])
    proved = [program["proved"] for program in report["programs"]]
    proved += [report["fused"]["proved"]] if report["fused"] else []
    return bool(report["stopped"] or report["not_fused"] or False in proved)
