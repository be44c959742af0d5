"""Runs the command `slowpath demo`."""

import os
import shlex
from pathlib import Path

from slowpath.bounds.cli import BOUND
from slowpath.core.parser import Parser, read
from slowpath.core.terminal import out_lines

OBJECT, SOURCE = "firewall.bpf.o", "firewall.bpf.c"
"""Names of the example's files, which are links to `examples/` and part of the package."""


def demo() -> int:
    """Analyse the example as slowpath bound does, and print further steps."""
    folder, was = Path(__file__).absolute().parent, Path.cwd()
    os.chdir(folder)  # so that the report has the short name
    try:
        code = BOUND.run(read(Parser("slowpath bound", BOUND), [OBJECT]))
    finally:
        os.chdir(was)
    commands = [
        (
            shlex.join(["slowpath", "annotate", str(folder / OBJECT)]),
            "show the cost of each source line",
        ),
        ("slowpath bound YOUR.bpf.o", "analyse a program of your own"),
        ("slowpath bound --help", "list the options of the analysis"),
    ]
    out_lines(["", f"The source is {folder / SOURCE}. Try next:"])
    out_lines(f"  {command}  # {purpose}" for command, purpose in commands)
    return code
