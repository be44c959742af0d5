"""Reads the corpus of labelled functions in public source files, and analyses these files.

A label names the kind of accelerator that could replace the function, such as `crc`.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from examined import examined
from learning import Row

HERE = Path(__file__).parent
OWN = HERE.parent.parent / "tests/accelerators"
_SECONDS = 600


class Labelled(NamedTuple):
    """A function of the corpus, and the kind of accelerator that could replace it, if any."""

    project: str
    path: str
    function: str
    label: str  # a kind, `none`, or `other` for algorithms outside the search
    crc: str  # for CRCs: parameters according to names and documentation, see `expected.py`


def read(file: Path) -> list[Labelled]:
    with file.open() as stream:
        return [Labelled(**row) for row in csv.DictReader(stream, delimiter="\t")]


def _flags(project: str, path: str) -> list[str]:
    """Return the flags with which clang compiles a file of a project."""
    with (HERE / "flags.tsv").open() as stream:
        return [
            one
            for row in csv.DictReader(stream, delimiter="\t")
            if row["project"] == project and row["path"] in ("*", path)
            for one in row["flags"].split()
        ]


def examine(known: Iterable[Labelled], folder: Path, out: Path, jobs: int) -> None:
    """Analyse each source file of the corpus in its own process; append the results to `out`.

    `folder` has the projects; `jobs` processes run at a time. Files with results in `out` are not
    analysed again.
    """
    done = set()
    if out.exists():
        done = {(one["project"], one["path"]) for one in map(json.loads, out.open())}
    files = dict[tuple[str, str], list[str]]()
    positive = set()
    for one in known:
        files.setdefault((one.project, one.path), []).append(one.function)
        if one.label not in ("none", "other"):
            positive.add((one.project, one.path))
    # Start with files that contain positives, then files with many functions.
    order = sorted(files, key=lambda file: (file not in positive, -len(files[file])))
    left = [(*file, files[file]) for file in order if file not in done]
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda one: _examine(folder, *one), left):
            with out.open("a") as stream:
                stream.write(json.dumps(result) + "\n")


def _examine(folder: Path, project: str, path: str, names: list[str]) -> dict[str, Any]:
    base = folder / project
    include = [base, base / "include", base / "src", base / "lib", (base / path).parent]
    flags = [
        f"-I{base}/{one[2:]}" if one.startswith("-I") else one for one in _flags(project, path)
    ]
    words = [sys.executable, str(HERE / "examined.py"), str(base / path)]
    words += [f"--only={','.join(names)}", *flags]
    words += [*(f"-I{one}" for one in include), "-D_GNU_SOURCE"]
    try:
        run = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
        found = json.loads(run.stdout) if run.stdout else {"error": run.stderr[-300:]}
    except subprocess.TimeoutExpired:
        found = {"error": f"not done after {_SECONDS} s"}
    return {"project": project, "path": path, **found}


def rows(known: Iterable[Labelled], results: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """Yield the labelled functions of the corpus as training data."""
    labels = {(one.project, one.path, one.function): one.label for one in known}
    for result in results:
        for one in result.get("functions", {}).values():
            label = labels.get((result["project"], result["path"], one["shown"]))
            if label is not None:
                texts = tuple(map(tuple, one["sequences"]))
                yield Row(result["project"], one["shown"], label, texts, tuple(one["plain"]))


def own_rows() -> Iterator[Row]:
    """Yield the labelled functions of slowpath's own tests, as one more project of the corpus."""
    with (OWN / "expected.tsv").open() as stream:
        kinds = {
            (r["file"], r["function"]): r["kind"] for r in csv.DictReader(stream, delimiter="\t")
        }
    for file in sorted(OWN.glob("*.c")):
        for one in examined(str(file), (), only=None, seconds=0)["functions"].values():
            kind = kinds.get((file.name, one["shown"]), "none")
            texts = tuple(map(tuple, one["sequences"]))
            yield Row("own", one["shown"], kind, texts, tuple(one["plain"]))
