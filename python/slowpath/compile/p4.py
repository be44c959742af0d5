"""Writes what a P4 program is translated to: C for XDP, or an SWX pipeline."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from slowpath.bounds.flags import cflags
from slowpath.core import codes
from slowpath.core.engine import MapsFile
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import write_lines
from slowpath.core.inputs import read_text
from slowpath.core.programs.p4 import swx_entries, to_c, to_swx
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
    if args.maps is not None and args.to != "swx":
        reason = f"has no effect with --to {args.to}; pass the entries to slowpath bound --maps"
        raise OptionError(codes.OPTION_WITHOUT_EFFECT, "--maps", reason)
    if args.to == "swx":
        return _write_pipeline(args, flags)
    write_lines(_lines(to_c(args.file, flags)), args.output)
    return ExitCode.FINE


def _lines(text: str) -> list[Line]:
    """Return the lines of a text, which end only at newlines, as C and SWX have it."""
    return [Line(one) for one in text.removesuffix("\n").split("\n")]


def _write_pipeline(args: Namespace, flags: Sequence[str]) -> ExitCode:
    """Write a pipeline, and beside it a file with the entries of each table.

    Raises:
        OptionError: if entries of `--maps` have no place beside the pipeline.
        InputError: if the program or an entry has a fault, or a file cannot be read or written.
    """
    if args.maps is not None and args.output is None:
        reason = "the option writes entries to files beside the pipeline; add --output FILE.spec"
        raise OptionError(codes.OPTION_NEEDS_OPTION, "--maps", reason)
    pipeline = to_swx(args.file, flags)
    maps = None if args.maps is None else MapsFile(args.maps, read_text(args.maps))
    entries, spec = swx_entries(args.file, flags, maps)
    for condition in pipeline.conditions:
        complain(f"note: {args.file}: the pipeline does the same as the program if {condition}")
    write_lines(_lines(spec), args.output)
    for table, is_default in dict.fromkeys((one.table, one.is_default) for one in entries):
        word = "default" if is_default else "add"
        command = f"pipeline PIPELINE table {table} {word}"
        if args.output is None:
            complain(f"note: {args.file}: entries of {table} are not written without --output")
            continue
        file = str(Path(args.output).with_suffix(f".{table}.{word}.txt"))
        lines = [one for one in entries if (one.table, one.is_default) == (table, is_default)]
        write_lines([Line(one.text) for one in lines], file)
        count = f"{len(lines)} entr{'y' if len(lines) == 1 else 'ies'}"
        complain(f"note: {file}: {count}; DPDK loads them with '{command} {file}'")
    return ExitCode.FINE
