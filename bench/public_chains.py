#!/usr/bin/env python3
"""Public XDP programs after other programs: what is known there, what is removed, is the rest right?

    public_chains.py OBJECTS OUT.csv [--chains FILE] [--only NAME...] [--markdown]

OBJECTS is the folder with the objects of the survey, which are not part of this repository: one folder
for each project, with sources compiled as `survey.py` says. `chains/public.json` says which of them
follow which others. Each chain is rewritten twice, with the check at the entry and with `--trust`, and
the result is compared with the original in the kernel (as root; `--packets 0` skips this). A row of
OUT.csv is one chain. The exit code is 1 if a chain disagrees, is refused by the kernel, or does not
end.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GRACE = 6  # times the deadline, which applies to facts, proof, a packet, and the kernel separately
SHOWN = 6  # facts in words
DIGITS = 16  # shown of the bytes of a fact
MODES = {"trust": ["--trust"], "guard": []}
COLUMNS = [
    *("downstream", "project", "upstream", "facts", "known", "branches", "before"),
    *("trust", "guard", "left", "guard_comparisons", "proved_trust", "proved_guard"),
    *("seconds_trust", "seconds_guard", "packets_trust", "packets_guard", "arbitrary"),
    *("ns_before_trust", "ns_trust", "ns_frame_trust", "rate_trust"),
    *("ns_before_guard", "ns_guard", "ns_frame_guard", "rate_guard", "why"),
]
HEADINGS = [
    *("program", "behind", "facts", "instructions", "`--trust`", "guarded", "s"),
    *("the same in the kernel", "ns, `--trust`", "ns, guarded", "rates", "notes"),
]


def words(fact: dict[str, Any]) -> str:
    """Format a fact about the packets that reach a program, as `slowpath chain facts` does."""
    at = fact.get("offset", 0)
    match fact["kind"]:
        case "length":
            return f"at least {fact['min']} bytes"
        case "headroom" | "metadata":
            return f"{fact['kind']} of {fact['min']} to {fact['max']} bytes"
        case "bytes":
            last = at + len(fact["value"]) // 2 - 1
            value = fact["value"]
            value = value if len(value) <= DIGITS else value[:DIGITS] + ".."
            return f"{at}-{last} = {value}" if last > at else f"{at} = {value}"
        case "bits":
            return f"{at} & {fact['mask']} = {fact['value']}"
        case "values":
            return f"{at} in {', '.join(fact['values'])}"
        case _:
            return f"{at} as {fact['other']}"


def described(chain: dict[str, Any], table: dict[str, Any], objects: Path) -> dict[str, Any]:
    """Return the description of a chain of two programs, for `slowpath chain`.

    `table` describes the programs, and `objects` is the folder of their objects.
    """

    def member(name: str, *, device: str | None) -> dict[str, str]:
        entry = table["programs"][name]
        folder = objects if entry.get("project") else HERE.parent
        written = {"name": name, "object": str((folder / entry["object"]).absolute())}
        written |= {"program": entry["program"]} if "program" in entry else {}
        return written | ({"device": device} if device else {})

    up, down = chain["upstream"], chain["downstream"]
    edge = {"from": up, "on": chain["on"], "to": down}
    apart = "network" in chain
    if apart:
        edge["network"] = chain["network"]
    programs = [
        member(up, device="first" if apart else None),
        member(down, device="second" if apart else None),
    ]
    return {"schema": 1, "programs": programs, "edges": [edge]}


def rewritten(slowpath: str, file: Path, options: list[str], deadline: float) -> dict[str, Any]:
    """Rewrite the second program of a chain; return the report on it, or an error."""
    words = [*slowpath.split(), "chain", "optimize", str(file), "--format", "json", *options]
    words += ["--deadline", f"{deadline:g}"]
    try:
        run = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=GRACE * deadline
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {GRACE * deadline:g} s"}
    if not run.stdout:
        return {"error": (run.stderr.strip().splitlines() or ["nothing was said"])[-1]}
    report = json.loads(run.stdout)
    return dict(report["programs"][1]) | {"all": report["engine_seconds"]}


def row(chain: dict[str, Any], table: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return a table row with the results for a chain, with and without `--trust`."""
    down = chain["downstream"]
    written: dict[str, Any] = {"downstream": down, "upstream": chain["upstream"]}
    written["project"] = table["programs"][down].get("project", "")
    written["why"] = chain.get("why", "")
    remarks = list[str]()
    for mode, report in found.items():
        if "error" in report:
            remarks.append(f"{mode}: {report['error']}")
            continue
        facts = report["facts"]
        written["facts"] = len(facts)
        written["known"] = "; ".join(words(fact) for fact in facts[:SHOWN])
        written["branches"] = sum("taken" in one["change"] for one in report["dropped"])
        written["before"] = report["instructions_before"]
        left = report["instructions_after"]
        written[mode] = report["guard"]["instructions"] if report["guard"] else left
        if mode == "trust":
            written["left"] = round(left / report["instructions_before"], 3)
        elif report["guard"]:
            written["guard_comparisons"] = report["guard"]["comparisons"]
        written[f"proved_{mode}"] = report["proved"]
        written[f"seconds_{mode}"] = round(report["all"], 2)
        remarks += report["remarks"]
        kernel = report["rehearsal"]
        if not kernel:
            continue
        failure = "DISAGREE" if kernel["difference"] else None
        written[f"packets_{mode}"] = kernel["packets"] if kernel["agrees"] else failure
        if mode == "guard":
            written["arbitrary"] = kernel["arbitrary"]
        if kernel["original_ns"] is not None:
            written[f"ns_before_{mode}"] = round(kernel["original_ns"], 1)
            written[f"ns_{mode}"] = round(kernel["rewritten_ns"], 1)
            written[f"ns_frame_{mode}"] = round(kernel["frame_ns"], 1)
        if kernel["rate_ratio"]:
            written[f"rate_{mode}"] = round(kernel["rate_ratio"], 2)
        remarks += [kernel[key] for key in ("difference", "why_not") if kernel[key]]
        remarks += kernel["notes"]
    unique = list(dict.fromkeys(remarks))
    written["why"] = "; ".join([part for part in (written["why"], *unique) if part])
    return written


def faults(written: dict[str, Any], packets: int) -> list[str]:
    """Return a message for each wrong result in the table row of a chain."""
    wrong = []
    for mode in MODES:
        if f"seconds_{mode}" not in written:
            wrong.append(f"{mode}: no report")
        if written.get(f"proved_{mode}") and packets:
            got = written.get(f"packets_{mode}") or 0
            if got == "DISAGREE" or got < packets:
                wrong.append(f"{mode}: {got} packets are the same")
    if written.get("proved_guard") and written.get("arbitrary", 0) < packets:
        wrong.append(f"guard: {written.get('arbitrary', 0)} arbitrary packets are the same")
    return wrong


def markdown(rows: list[dict[str, Any]]) -> str:
    """Format the rows of results as a Markdown table."""

    def number(value: float | str | None) -> str:
        return "-" if value in {None, ""} else f"{value}"

    def agreed(one: dict[str, Any]) -> str:
        counts = (one.get("packets_trust"), one.get("packets_guard"), one.get("arbitrary"))
        return " / ".join(number(count) for count in counts)

    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    for one in rows:
        times = [
            " / ".join(number(one.get(f"ns_{key}{mode}")) for key in ("before_", "", "frame_"))
            for mode in MODES
        ]
        rates = [number(one.get(f"rate_{mode}")) for mode in MODES]
        cells = [
            one["downstream"],
            one["upstream"],
            number(one.get("facts")),
            *(number(one.get(key)) for key in ("before", "trust", "guard")),
            " / ".join(number(one.get(f"seconds_{mode}")) for mode in MODES),
            agreed(one),
            *times,
            ", ".join(rates),
            one["why"],
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Rewrite and compare the programs of all chains, and write a table row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chains", type=Path, default=HERE / "chains/public.json")
    parser.add_argument("--slowpath", default=f"{sys.executable} -m slowpath")
    parser.add_argument("--deadline", type=float, default=60, help="seconds for each part")
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", default=[], help="those with DOWN, UP: or UP:DOWN")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    table = json.loads(arguments.chains.read_text())
    rows, wrong = list[dict[str, Any]](), list[str]()
    with tempfile.TemporaryDirectory() as folder, arguments.out.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        for chain in table["chains"]:
            name = f"{chain['upstream']}:{chain['downstream']}"
            named = {name, f"{chain['upstream']}:", chain["downstream"]}
            if arguments.only and not named & set(arguments.only):
                continue
            file = Path(folder) / "chain.yaml"
            file.write_text(json.dumps(described(chain, table, arguments.objects)))
            packets = ["--packets", str(arguments.packets)]
            found = {
                mode: rewritten(arguments.slowpath, file, [*options, *packets], arguments.deadline)
                for mode, options in MODES.items()
            }
            rows.append(row(chain, table, found))
            writer.writerow(rows[-1])
            out.flush()
            wrong += [f"{name}: {fault}" for fault in faults(rows[-1], arguments.packets)]
            print(name, {key: rows[-1].get(key) for key in COLUMNS[5:]}, file=sys.stderr)
    if arguments.markdown:
        print(markdown(rows))
    print(*wrong, sep=os.linesep, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
