#!/usr/bin/env python3
"""Renews the figures of docs/explanation/performance.md, by section.

A section begins with `<!-- figures: NAME -->` and ends with `<!-- end -->`; the text between is
replaced. Sections about programs outside this repository need a folder of listings or the manifest of
a survey, and are otherwise left as they are. CSV files with all rows and columns go to
docs/figures/performance/, as do plots if requested (plots.py, in the interpreter that runs this).
"""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anytime
import figures
import guarantees
import programs
import published
import scaling
import sections
import survey
import variants
from families import FAMILIES
from figures import Row

from measure import PYTHON, ROOT, TOOL, Program, start_up, take_turns

PAGE = ROOT / "docs/explanation/performance.md"
FOLDER = ROOT / "docs/figures/performance"
HIDDEN = ("solver_seconds", "solver_checks", "megabytes")
SHOWN = [column for column in guarantees.COLUMNS if column.key not in HIDDEN]
# Of the published count-min sketches, the page shows only the smallest and the largest.
BETWEEN = re.compile(r"xdp-count-min\.([2-9]|1\d)")
KIBIBYTES = 1 << 20  # in a gibibyte


class Renewal:
    """Computes the figures in sections of the page again, as the options select."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.deadline = ["--deadline", str(given.deadline)]

    def section(self, name: str) -> str | None:
        """Return the new figures of a section as text; None if its input was not given."""
        return {
            "machine": self._machine,
            "start-up": self._start_up,
            "published": self._published,
            "examples": self._examples,
            "all-paths": self._all_paths,
            "ablation": self._ablation,
            "solvers": self._solvers,
            "anytime": self._anytime,
            "scale": self._scale,
            "objects": self._objects,
        }[name]()

    def _machine(self) -> str:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
        cores = len([*Path("/sys/devices/system/cpu").glob("cpu[0-9]*")])
        parts = [f"{cores} cores"]
        if model:
            parts.append(model[1])
        if memory:
            parts.append(f"{round(int(memory[1]) / KIBIBYTES)} GiB of memory")
        system = f"{platform.system()} with Python {platform.python_version()}"
        return f"The machine has {', '.join(parts)}, and runs {system}."

    def _start_up(self) -> str:
        found = start_up(self.given.slowpath, self.given.python, 11)
        return ", and ".join(f"`{name}` takes {value:.3f} s" for name, value in found.items()) + "."

    def _examples(self) -> str:
        rows = self._rows("examples", programs.examples())
        fine = [row for row in rows if row["status"] != "refused"]
        exact = sum(row["status"] == "exact" for row in fine)

        def least_and_most(key: str, digits: int) -> str:
            values = [float(row[key]) for row in fine]
            return f"{min(values):.{digits}f} to {max(values):.{digits}f}"

        return (
            f"For {exact} of {len(fine)} programs, the bound is exact. Each process takes "
            f"{least_and_most('seconds', 2)} s and {least_and_most('megabytes', 0)} MB of memory. "
            f"Of this time, the engine takes {least_and_most('engine_seconds', 3)} s."
        )

    def _published(self) -> str | None:
        return self._table("published", self._listings(), SHOWN)

    def _all_paths(self) -> str | None:
        chosen = [
            replace(program, published_seconds=published.PROGRAMS[program.name].all_seconds)
            for program in self._listings()
            if program.name in published.PROGRAMS
            and published.PROGRAMS[program.name].all_seconds is not None
        ]
        columns = [*SHOWN, guarantees.PATHS]
        return self._table("all-paths", chosen, columns, ["--paths", "all"])

    def _ablation(self) -> str | None:
        if not self.given.listings:
            return None
        rows = variants.rows(self.given.listings, self.given.repeat, self.given.deadline)
        figures.write_csv(FOLDER / "ablation.csv", rows)
        return variants.markdown(rows, self.given.deadline)

    def _solvers(self) -> str | None:
        if not shutil.which("c++"):
            return None
        manifest = ROOT / "bench/solvers/Cargo.toml"
        command = ["cargo", "run", "--release", "--quiet", "--manifest-path", str(manifest)]
        options = ["--", "--markdown", "--repeat", str(self.given.repeat)]
        return subprocess.run(
            [*command, *options], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.rstrip()

    def _anytime(self) -> str | None:
        chosen = self._listings() or programs.examples()
        rows = anytime.rows(self.given.python, chosen, self.given.repeat, self.deadline)
        figures.write_csv(FOLDER / "anytime.csv", rows)
        improved = [row for row in rows if row["first_off"]]
        table = figures.markdown(improved, anytime.COLUMNS)
        others = len(rows) - len(improved)
        return f"{table}\n\nFor {others} other programs, the first bound is already the last bound."

    def _objects(self) -> str | None:
        if not self.given.manifest:
            return None
        entries = json.loads(self.given.manifest.read_text())
        return survey.duration(survey.answers(str(self.given.slowpath), entries, 15, 1))

    def _scale(self) -> str:
        table = []
        for family in FAMILIES:
            rows = scaling.measure(
                family, self.given.slowpath, self.given.repeat, self.given.deadline, None
            )
            figures.write_csv(FOLDER / f"{family.name}.csv", rows)
            table.append(scaling.summary(family, rows))
        if self.given.plots:
            script = Path(__file__).with_name("plots.py")
            subprocess.run([sys.executable, str(script), str(FOLDER)], check=True)
        return figures.markdown(table, scaling.SUMMARY)

    def _listings(self) -> list[Program]:
        return programs.of_paths([self.given.listings]) if self.given.listings else []

    def _table(
        self,
        name: str,
        chosen: list[Program],
        columns: list[figures.Column],
        options: list[str] | None = None,
    ) -> str | None:
        if not chosen:
            return None
        rows = _shown(self._rows(name, chosen, options))
        return figures.markdown(rows, [*columns, guarantees.STATUS])

    def _rows(
        self, name: str, chosen: list[Program], options: list[str] | None = None
    ) -> list[Row]:
        options = [*(options or []), *self.deadline]
        runs = take_turns(self.given.slowpath, chosen, self.given.repeat, options)
        rows: list[Row] = [figures.row(program, done) for program, done in runs.items()]
        figures.write_csv(FOLDER / f"{name}.csv", rows)
        return rows


def _shown(rows: list[Row]) -> list[Row]:
    """Return the rows to show on the page, which has fewer than the CSV files."""
    return [
        row
        for row in rows
        if row.get("status") != "refused" and not BETWEEN.fullmatch(str(row["program"]))
    ]


def main() -> int:
    names = sections.names(PAGE)
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    arguments.add_argument("--listings", type=Path, help="folder of the published listings")
    arguments.add_argument("--manifest", type=Path, help="of the survey, see survey.py")
    arguments.add_argument("--slowpath", type=Path, default=TOOL, help="the tool")
    arguments.add_argument("--python", type=Path, default=PYTHON, help="the interpreter with it")
    arguments.add_argument("--repeat", type=int, default=5, metavar="N")
    arguments.add_argument("--deadline", type=float, default=60, metavar="SECONDS")
    arguments.add_argument("--plots", action="store_true", help="draw plots too")
    given = arguments.parse_args()
    if unknown := set(given.sections) - set(names):
        arguments.error(f"no section {', '.join(sorted(unknown))} in {PAGE.name}")
    renewal = Renewal(given)
    for name in given.sections or names:
        text = renewal.section(name)
        if text is None:
            print(f"{name}: left as it is, for want of --listings or --manifest")
            continue
        # Renew each section at once, so that an early end loses no results.
        sections.renew(PAGE, name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
