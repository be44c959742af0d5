"""Declares and runs `slowpath demo`, which analyses an example as `slowpath bound` does."""

from argparse import Namespace

from slowpath.bounds.cli import BOUND
from slowpath.core.command import Command, Example

OBJECT, SOURCE = "firewall.bpf.o", "firewall.bpf.c"
"""Names of the example's files in the folder `demo`, which are links to `examples/`."""


def demo(_args: Namespace) -> int:
    """Analyse the example program as `slowpath bound` does, and suggest commands to try next."""
    import os
    import shlex
    from pathlib import Path

    from slowpath.core.parser import Parser, read
    from slowpath.core.terminal import out_lines

    folder, was = Path(__file__).absolute().parent.with_name("demo"), Path.cwd()
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


DEMO = Command(
    (
        "Analyse an example that comes with slowpath",
        "The example is an XDP firewall for TCP and UDP over IPv4 and IPv6. Prints the report "
        "of slowpath bound, then hints for further steps.",
    ),
    (),
    demo,
    (
        Example(
            "slowpath demo", "Print the guarantee of a firewall, and the packet that proves it"
        ),
        Example("slowpath demo -o report.txt", "Write the report to a file"),
    ),
)
