#!/usr/bin/env python3
"""Results of `slowpath bound` for a collection of BPF objects, by project and reason.

Runs every program of a manifest separately, with a deadline, and writes Markdown tables: how many
programs get an exact result, an exact one under conditions, a bound because of the deadline, or none
and why; the conditions of results; and the time it took.
A crash or a process that ignores its deadline is listed and makes the exit code 1.

The manifest is JSON: a list of {"project", "url", "object", "section", "program", "accepted"}, where
"object" is the path of an object file and "accepted" says whether a kernel's verifier accepts the
program (null: not known). Neither it nor the objects are part of this repository.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

QUICK = 5  # seconds
SHARE = 0.9  # of the programs
OUTCOMES = ["exact", "conditional", "bounds", "refused", "broken"]
SHOWN = OUTCOMES[:4]
ANSWERED = OUTCOMES[:3]

PLACE = re.compile(
    r"^section .*?, instruction \d+(?: \(.*?:\d+\))?: |^(?:\S+:\d+: )?instruction \S+: "
)
HINT = re.compile(
    r"; (?:docs/reference/support|\[helper|give the|sizes that|the kernel's verifier|define).*$"
)
NAMES = [
    (re.compile(r"^CO-RE relocation of .*?: "), "CO-RE relocation: "),
    (re.compile(r"^map \S+ of type"), "map of type"),
    (re.compile(r"the maps in \S+ look"), "the maps in a map of maps look"),
    (re.compile(r"`[^`]*`"), "`…`"),
    (re.compile(r"register \S+"), "a register"),
    (re.compile(r"^address: `…` is"), "a value is"),
    (
        re.compile(r"^error: invalid value for '--section': no program matches.*"),
        "there is no such program",
    ),
    (re.compile(r"\d{4,}"), "N"),
]


class Answer(NamedTuple):
    """The outcome of analysing one program, with the reason and the time."""

    outcome: str
    reason: str
    seconds: float
    conditions: tuple[str, ...] = ()  # without names of a program


def classify(error: str) -> str:
    """Remove names that occur in the program, and numbers, from an error message.

    Errors of one kind then have equal texts, and can be counted.
    """
    reason = HINT.sub("", PLACE.sub("", error))
    for pattern, general in NAMES:
        reason = pattern.sub(general, reason)
    return reason


CONDITIONS = [
    (
        re.compile(r"^(?:paths end at tail calls through|slots of|pointers to values of|map) \S+"),
        None,
    ),
    (re.compile(r"the loop at .*? runs"), "a loop runs"),
    (re.compile(r"no map is both in \S+ and in \S+"), "no map is in two maps of maps"),
    (re.compile(r" is not in \S+ as well"), " is in no map of maps as well"),
]


def condition(sentence: str) -> str:
    """Remove names that occur in the program from the text of an assumption.

    Assumptions of one kind then have equal texts, and can be counted.
    """
    for pattern, general in CONDITIONS:
        sentence = pattern.sub(general or _without_last, sentence)
    return sentence


def _without_last(match: re.Match[str]) -> str:
    return f"{match[0].rsplit(' ', 1)[0]} …"


def ask(slowpath: str, entry: dict, deadline: float, kept: Path | None) -> Answer:
    """Analyse one program of the manifest.

    If `kept` is given, the JSON result is written to this file.
    """
    command = [slowpath, "bound", entry["object"], "--target", "ebpf", "--format", "json"]
    command += ["--deadline", str(deadline)]
    command += ["-n", entry["program"], "-s", entry["section"]]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=2 * deadline + 30,
            env=os.environ | {"SLOWPATH_NO_CACHE": "1"},  # times are those of analyses
        )
    except subprocess.TimeoutExpired:
        return Answer("broken", "the deadline was ignored", time.monotonic() - started)
    seconds = time.monotonic() - started
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        outcome = "refused" if done.returncode in (2, 3) else "broken"
        return Answer(outcome, classify(last), seconds)
    if kept:
        kept.write_text(done.stdout)
    result = results[0]
    if result["error"]:
        broken = "panicked" in result["error"] or "internal" in result["error"]
        # Only time was lacking.
        if "deadline" in result["error"]:
            return Answer("bounds", "no bound before the deadline", seconds)
        return Answer("broken" if broken else "refused", classify(result["error"]), seconds)
    conditions = tuple(sorted({condition(text) for text in result["assumptions"]}))
    if result["guarantee"]["verdict"] != "bound":
        return Answer(result["guarantee"]["verdict"], "", seconds, conditions)
    return Answer("bounds", result["guarantee"]["stopped"] or "", seconds, conditions)


def table(entries: list[dict], answers: list[Answer]) -> str:
    """Format the results of all programs as Markdown tables, by project and by reason."""
    projects: dict[str, Counter] = defaultdict(Counter)
    reasons: Counter = Counter()
    wanted: Counter = Counter()
    for entry, answer in zip(entries, answers, strict=True):
        projects[entry["project"]][answer.outcome] += 1
        if answer.outcome not in ANSWERED:
            reasons[answer.reason] += 1
            wanted[answer.reason] += entry["accepted"] is True
    lines = [f"| project | programs | {' | '.join(SHOWN)} |", f"|{'---|' * (len(SHOWN) + 2)}"]
    for project, counts in sorted(projects.items()):
        cells = [sum(counts.values()), *(counts[outcome] for outcome in SHOWN)]
        lines.append(f"| {project} | " + " | ".join(map(str, cells)) + " |")
    total = Counter(answer.outcome for answer in answers)
    cells = [len(answers), *(total[outcome] for outcome in SHOWN)]
    lines.append("| **all** | " + " | ".join(map(str, cells)) + " |")
    lines += [
        "",
        "| refused because | programs | of these accepted by the kernel |",
        "|---|---|---|",
    ]
    for reason, count in reasons.most_common():
        lines.append(f"| {reason} | {count} | {wanted[reason]} |")
    conditions = Counter(text for answer in answers for text in answer.conditions)
    lines += ["", "| depends on | programs |", "|---|---|"]
    lines += [f"| {text} | {count} |" for text, count in conditions.most_common()]
    return "\n".join([*lines, "", duration(answers)])


def duration(answers: list[Answer]) -> str:
    """Format the running times of the analyses as a table with one line."""
    seconds = sorted(answer.seconds for answer in answers)
    quick = sum(answer.seconds <= QUICK and answer.outcome == "exact" for answer in answers)
    exact = sum(answer.outcome == "exact" for answer in answers)
    cells = [
        f"{len(answers)}",
        f"{exact}",
        f"{statistics.median(seconds):.2f}",
        f"{seconds[math.ceil(SHARE * len(seconds)) - 1]:.2f}",
        f"{seconds[-1]:.1f}",
        f"{100 * quick / len(answers):.1f} %",
    ]
    heading = f"programs | exact | median | nine in ten within | longest | exact within {QUICK} s"
    return f"| {heading} |\n|{'---|' * len(cells)}\n| {' | '.join(cells)} |"


def answers(
    slowpath: str, entries: list[dict], deadline: float, jobs: int, folder: Path | None = None
) -> list[Answer]:
    """Analyse all programs of the manifest, `jobs` at a time.

    Their results are written to `folder`, if given.
    """
    if folder:
        folder.mkdir(parents=True, exist_ok=True)

    def answer(numbered: tuple[int, dict]) -> Answer:
        number, entry = numbered
        return ask(slowpath, entry, deadline, folder / f"{number}.json" if folder else None)

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(answer, enumerate(entries)))


def main() -> int:
    """Run the survey that the command line describes; return 1 if an analysis crashed or hung."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--slowpath", default="slowpath", help="the command to run")
    parser.add_argument("--deadline", type=float, default=60, help="seconds a program")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--answers", type=Path, help="where to write every answer as JSON")
    parser.add_argument("--results", type=Path, help="folder for results, N.json of entry N")
    arguments = parser.parse_args()
    entries = json.loads(arguments.manifest.read_text())
    inputs = (arguments.slowpath, entries, arguments.deadline, arguments.jobs)
    found = answers(*inputs, arguments.results)
    if arguments.answers:
        keys = ("project", "object", "section", "program", "accepted")
        rows = [
            {key: entry[key] for key in keys} | answer._asdict()
            for entry, answer in zip(entries, found, strict=True)
        ]
        arguments.answers.write_text(json.dumps(rows, indent=1))
    print(table(entries, found))
    broken = [
        f"{entry['object']} {entry['program']}: {answer.reason}"
        for entry, answer in zip(entries, found, strict=True)
        if answer.outcome == "broken"
    ]
    print(*broken, sep="\n", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
