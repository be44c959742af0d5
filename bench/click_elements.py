"""How many of Click's own elements compile with our headers, and run over a capture.

    bench/click_elements.py run ELEMENTS OUT.jsonl [--traffic FILE] [--only REGEX]
    bench/click_elements.py figures OUT.jsonl        # by folder, and what the others lack

ELEMENTS is the folder `elements` of a copy of Click; what it contains stays there. Of each source in
`bench/elements/folders.txt`, a line says whether it compiles by itself, and, with those that it says
it needs (ELEMENT_REQUIRES), whether packets run through it: with the configuration that
`bench/elements/configurations.tsv` has for its class, else without one.
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
from slowpath.insights.source.framework import aliases
from slowpath.insights.source.sources import load_source
from slowpath.insights.trace.request import RunSettings
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
"""What stands around the sources that one needs: only its own element is made."""
_OURS = ("AddressInfo", "AlignmentInfo", "ScheduleInfo")
"""What our headers have of Click's elements."""
_WAYS = ("push", "simple_action", "pull")
_LACKED = re.compile(r"'([^']+)' file not found|(?:identifier|type name) '([^']+)'|'([^']+)'")


class Wish(NamedTuple):
    """How an element is run."""

    entry: str
    config: str
    strip: int
    outputs: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    wanted = commands.add_parser("run")
    wanted.add_argument("elements", type=Path)
    wanted.add_argument("out", type=Path)
    wanted.add_argument("--traffic", type=Path, default=TRAFFIC)
    wanted.add_argument("--only", default="")
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
    """Each source with what became of it."""
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
    """What becomes of packets: of the classes that a source exports, the first that takes them."""
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
    """What may take packets: methods of the class, or of those that it may be derived from."""
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
    """Which source has a class, or what it says it provides."""
    every = [*sources, *elements.glob("simple/*.cc"), *elements.glob("userlevel/*.cc")]
    return {
        name: source
        for source in every
        for words in _NAMES.findall(source.read_text(errors="replace"))
        for name in words.replace("-", " ").split()
        if name not in _OURS
    }


def _needed(source: Path, providers: dict[str, Path]) -> list[Path]:
    """The sources that one needs, each behind those that it needs itself."""
    found, begun = list[Path](), {source}

    def add(one: Path) -> None:
        for words in _NEEDS.findall(one.read_text(errors="replace")):
            for name in words.split():
                other = providers.get(name)
                if other is not None and other not in begun:  # they may need each other
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
    """Counts by folder, then what sources that do not compile lack first, and why others stop."""
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
