"""Writes the C source that a P4 program is translated to."""

from argparse import Namespace

from slowpath.bounds.flags import cflags
from slowpath.core import codes
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import write_lines
from slowpath.core.programs.p4 import to_c
from slowpath.core.programs.sources import is_p4
from slowpath.core.terminal import Line


def write_c(args: Namespace) -> ExitCode:
    """Write C for XDP to standard output or to the file of `--output`.

    Raises:
        OptionError: if the file is not P4, or an option has no effect.
        InputError: if the program has faults, or a file cannot be read or written.
    """
    if not is_p4(args.file):
        reason = f"{args.file} is not a P4 program (*.p4), the only source of C for XDP"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--to", reason)
    if args.verify:
        reason = "compares listings, not C; omit it"
        raise OptionError(codes.CONFLICTING_OPTIONS, "--verify", reason)
    c = to_c(args.file, cflags(args, [args.file]))
    write_lines([Line(text) for text in c.splitlines()], args.output)
    return ExitCode.FINE
