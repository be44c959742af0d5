"""Run Click's own elements, compiled with our headers, over a capture.

    bench/click_elements.py run ELEMENTS OUT.jsonl [--traffic FILE] [--only REGEX]
    bench/click_elements.py figures OUT.jsonl        # by folder, with reasons of failures

ELEMENTS is the folder `elements` of a copy of Click. For each source in the folders of
`bench/elements/folders.txt`, a line of OUT.jsonl tells whether it compiles by itself. It also tells
whether packets run through it, together with the sources that it requires (ELEMENT_REQUIRES). The
configuration is that of its class in `bench/elements/configurations.tsv`, if any.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.sources import aliases, load_source
from slowpath.insights.trace import RunSettings
from slowpath.insights.trace.running import run

HERE = Path(__file__).parent / "elements"
TRAFFIC = Path(__file__).parents[1] / "examples/insights/nat.pcap"
_NAMES = re.compile(r"^[ \t]*(?:EXPORT_ELEMENT|ELEMENT_PROVIDES)\((.*)\)", re.MULTILINE)
_NEEDS = re.compile(r"^[ \t]*ELEMENT_REQUIRES\((.*)\)", re.MULTILINE)
_EXPORTED = re.compile(r"^[ \t]*EXPORT_ELEMENT\((\w+)", re.MULTILINE)
_HEAD = """#include <click/element.hh>
#pragma push_macro("EXPORT_ELEMENT")
#undef EXPORT_ELEMENT
#define EXPORT_ELEMENT(name)
"""
_TAIL = '#pragma pop_macro("EXPORT_ELEMENT")\n'
"""Lines that surround required sources, so that only the element of the examined source is
exported.
"""
_OURS = ("AddressInfo", "AlignmentInfo", "ScheduleInfo")
"""Elements of Click that slowpath's own headers define."""
_WAYS = ("push", "simple_action", "pull")
_LACKED = re.compile(r"'([^']+)' file not found|(?:identifier|type name) '([^']+)'|'([^']+)'")


class Wish(NamedTuple):
    """Settings of a Click element with which packets run through it."""

    entry: str
    config: str
    strip: int
    outputs: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("elements", type=Path)
    running.add_argument("out", type=Path)
    running.add_argument("--traffic", type=Path, default=TRAFFIC)
    running.add_argument("--only", default="")
    commands.add_parser("figures").add_argument("out", type=Path)
    given = parser.parse_args()
    if given.command == "figures":
        rows = [json.loads(line) for line in given.out.read_text().splitlines()]
        print("\n".join(figures(rows)))
        return
    with given.out.open("w") as out:
        for row in examined(given.elements.resolve(), given.traffic, given.only):
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(row["source"], row.get("error") or row.get("stopped") or "runs", file=sys.stderr)


def examined(elements: Path, traffic: Path, only: str) -> Iterator[dict[str, object]]:
    """Compile and run each source of Click; yield a row with the result."""
    folders = (HERE / "folders.txt").read_text().split()
    sources = [one for name in folders for one in sorted((elements / name).glob("*.cc"))]
    providers = _providers(elements, sources)
    wishes = _wishes()
    flags = (f"-I{elements.parent}", *(f"-I{elements / name}" for name in folders))
    for source in sources:
        name = f"{source.parent.name}/{source.name}"
        if not re.search(only, name):
            continue
        row: dict[str, object] = {"source": name, "compiles": True, "runs": False}
        try:
            load_source(str(source), Clang(flags))
        except (InputError, StoppedError) as problem:
            yield row | {"compiles": False, "error": str(problem)}
            continue
        yield row | _run(source, _needed(source, providers), wishes, flags, traffic)


def _run(
    source: Path,
    needed: list[Path],
    wishes: dict[str, Wish],
    flags: tuple[str, ...],
    traffic: Path,
) -> dict[str, object]:
    """Run packets through the element classes of a source, until one accepts them.

    Return the result, or the reason of the last failure. `needed` are sources to compile with it.
    """
    stopped = "exports no element"
    every = _EXPORTED.findall(source.read_text(errors="replace"))
    alone = len(every) == 1 and not needed
    for exported in every:
        wish = wishes.get(exported, Wish("", "", 0, 0))
        with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
            file = source
            if needed:
                file = Path(folder, source.name)
                lines = [_HEAD, *(f'#include "{one}"\n' for one in needed), _TAIL]
                file.write_text("".join([*lines, f'#include "{source}"\n']))
            more = aliases(source.read_bytes())
            more += (f"-DSLOWPATH_OUTPUTS={wish.outputs}",) if wish.outputs else ()
            entries = [wish.entry] if wish.entry else _entries(exported, needed, alone)
            for entry in entries:
                setting = RunSettings(entry=entry, config=wish.config, strip=wish.strip)
                try:
                    report = run(str(file), str(traffic), setting, flags=(*flags, *more)).report
                except (InputError, StoppedError) as problem:
                    stopped = str(problem)
                    if "there is no function" in stopped:
                        continue
                    break
                return {"runs": True, "element": exported, "packets": report["traffic"]["packets"]}
    return {"stopped": stopped}


def _entries(exported: str, needed: list[Path], alone: bool) -> list[str | None]:
    """Return the methods of a class, or of its base classes, that may receive packets.

    None lets slowpath find the method.
    """
    if alone:
        return [None]
    others = [
        name
        for one in reversed(needed)
        for words in _NAMES.findall(one.read_text(errors="replace"))
        for name in words.split()[:1]
    ]
    return [f"{name}::{way}" for name in [exported, *others] for way in _WAYS]


def _providers(elements: Path, sources: list[Path]) -> dict[str, Path]:
    """Return the source file that provides each name, such as that of a class."""
    every = [*sources, *elements.glob("simple/*.cc"), *elements.glob("userlevel/*.cc")]
    return {
        name: source
        for source in every
        for words in _NAMES.findall(source.read_text(errors="replace"))
        for name in words.replace("-", " ").split()
        if name not in _OURS
    }


def _needed(source: Path, providers: dict[str, Path]) -> list[Path]:
    """Return the sources that a source requires, directly or not, in the order of compilation."""
    found, begun = list[Path](), {source}

    def add(one: Path) -> None:
        for words in _NEEDS.findall(one.read_text(errors="replace")):
            for name in words.split():
                other = providers.get(name)
                if other is not None and other not in begun:  # requirements can be circular
                    begun.add(other)
                    add(other)
                    found.append(other)

    add(source)
    return found


def _wishes() -> dict[str, Wish]:
    rows = (HERE / "configurations.tsv").read_text().splitlines()[1:]
    return {
        name: Wish(entry, config, int(strip), int(outputs))
        for name, entry, strip, outputs, config in (row.split("\t") for row in rows)
    }


def figures(rows: list[dict[str, object]]) -> Iterator[str]:
    """Yield a table of results by folder, frequent missing names, and reasons of failed runs."""
    folders = dict.fromkeys(str(row["source"]).partition("/")[0] for row in rows)
    yield "| folder | sources | compile | run |\n|---|---|---|---|"
    for name in [*folders, "all"]:
        of = [row for row in rows if name == "all" or str(row["source"]).startswith(f"{name}/")]
        compiled, ran = (sum(bool(row[key]) for row in of) for key in ("compiles", "runs"))
        yield f"| {name} | {len(of)} | {compiled} | {ran} |"
    lacked = Counter(_lacked(str(row["error"])) for row in rows if "error" in row)
    yield "\nLacked first: " + ", ".join(
        f"{name} ({count})" for name, count in lacked.most_common()
    )
    for row in rows:
        if "stopped" in row:
            yield f"{row['source']}: {row['stopped']}"


def _lacked(error: str) -> str:
    found = _LACKED.search(error.partition("; the command")[0])
    return next(filter(None, found.groups()), "") if found else error[:80]


if __name__ == "__main__":
    main()
