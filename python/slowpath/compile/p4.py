"""Writes what a P4 program is translated to: C for XDP, or an SWX pipeline."""

from argparse import Namespace

from slowpath.bounds.flags import cflags
from slowpath.core import codes
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import write_lines
from slowpath.core.programs.p4 import to_c, to_swx
from slowpath.core.programs.sources import is_p4
from slowpath.core.terminal import Line, complain

_FOR_LISTINGS = ("target", "section", "prog_name", "map_abi", "btf", "mtu", "source")
"""Options of listings, as attributes of the arguments; each is false if the user omits it."""


def write_translation(args: Namespace) -> ExitCode:
    """Write C for XDP or an SWX pipeline to standard output or to the file of `--output`.

    Raises:
        OptionError: if the file is not P4, or an option has no effect.
        InputError: if the program has faults, or a file cannot be read or written.
    """
    if not is_p4(args.file):
        reason = f"{args.file} is not a P4 program (*.p4), the only source of {args.to}"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--to", reason)
    if args.verify:
        reason = "the option compares listings, and --to writes none; omit the option"
        raise OptionError(codes.CONFLICTING_OPTIONS, "--verify", reason)
    for name in _FOR_LISTINGS:
        if getattr(args, name):
            option = f"--{name.replace('_', '-')}"
            reason = f"has no effect with --to {args.to}, which writes no listing; omit it"
            raise OptionError(codes.OPTION_WITHOUT_EFFECT, option, reason)
    if args.format == "json":
        reason = f"--to {args.to} writes only text; omit the option"
        raise OptionError(codes.CONFLICTING_OPTIONS, "--format", reason)
    flags = cflags(args, [args.file])
    if args.to == "swx":
        pipeline = to_swx(args.file, flags)
        text = pipeline.spec
        for condition in pipeline.conditions:
            complain(f"note: {args.file}: the pipeline does the same as the program if {condition}")
    else:
        text = to_c(args.file, flags)
    write_lines([Line(one) for one in text.splitlines()], args.output)
    return ExitCode.FINE
