"""A source file as training data: the words of its functions, and what is proved of them."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from slowpath.cli.errors import InputError
from slowpath.insights.accelerators.candidates import own, works
from slowpath.insights.accelerators.execution.confinement import leave_network
from slowpath.insights.accelerators.identify import Identification
from slowpath.insights.accelerators.recognition.features import features
from slowpath.insights.accelerators.recognition.sequences import sequences
from slowpath.insights.preparation.calls import reached
from slowpath.insights.preparation.sources import load_source
from slowpath.insights.program import Program
from slowpath.programs.sources import Clang


def examined(file: str, flags: tuple[str, ...], *, prove: bool, seconds: float) -> dict[str, Any]:
    """What is known of a file's functions, or why it cannot be used."""
    started = time.monotonic()
    try:
        program = Program(load_source(file, Clang(flags)))
    except InputError as problem:
        return {"error": problem.reason}
    functions = program.functions
    names = own(functions)
    rows = {
        name: {
            "shown": functions[name].shown,
            "file": functions[name].line.file if functions[name].line else "",
            "line": functions[name].line.line if functions[name].line else 0,
            "computes": any(works(functions[one]) for one in reached(functions, name)),
            "sequences": [list(one) for one in sequences(functions[name])],
            "plain": features(functions[name], ()),
            "found": None,
        }
        for name in names
    }
    if prove:
        leave_network()
        identification = Identification(program, time.monotonic() + seconds)
        for found in identification.run():
            if rows[found["function"]]["found"] is None:
                rows[found["function"]]["found"] = found
        for name, row in rows.items():
            row["why"] = None if row["found"] else identification.why(name)
    return {"functions": rows, "seconds": time.monotonic() - started}


def main() -> None:
    """`examined.py FILE [FLAG...]`: a process for each file, which may die."""
    file, *flags = sys.argv[1:]
    prove = "--no-proofs" not in flags
    given = tuple(one for one in flags if one != "--no-proofs")
    sys.stdout.write(json.dumps(examined(file, given, prove=prove, seconds=300.0)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
