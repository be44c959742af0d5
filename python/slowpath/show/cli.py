"""Declares the arguments and options of `slowpath show`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    BTF,
    CFLAGS,
    PROG_NAME,
    PROGRAMS,
    SECTION,
    cflags,
    selection,
)
from slowpath.core.command import Command, argument, within
from slowpath.core.errors import OptionError
from slowpath.core.formats import OUTPUT, STABLE, Formats

_FORMATS = Formats("slowpath.show.run", table="objects_text", json="objects_json")
_TARGET_FORMATS = Formats(
    "slowpath.show.calibrations", table="calibrations_text", json="calibrations_json"
)
_TARGET = ".toml"


def _show(args: Namespace) -> int:
    targets = [file for file in args.file if file.endswith(_TARGET)]
    if targets:
        from slowpath.show.calibrations import show_calibrations

        if len(targets) < len(args.file):
            raise OptionError("FILE", f"{targets[0]} is a target; name objects by themselves")
        return show_calibrations(targets, _TARGET_FORMATS.reporter(args.format))
    from slowpath.bounds.options import memory_or_share
    from slowpath.show.run import ShowOptions, show_objects

    flags, memory = cflags(args, args.file), memory_or_share(args.memory)
    reporter = _FORMATS.reporter(args.format)
    options = ShowOptions(selection(args), reporter, args.listing, args.deadline, memory, flags)
    return show_objects(args.file, options, args.btf)


SHOW = Command(
    (
        "Show the content of BPF objects: programs, maps, helpers, loops, and unsupported parts.",
        "The last columns tell if slowpath bound can analyse a program with --target ebpf "
        "(--unroll: only with limits of its loops), and if the card agilio-cx-2x40 can run it; "
        "reasons are listed below.",
        "For a target file of slowpath calibrate, show the machine, date and precision of the "
        "measurement, the error for check programs, and the intervals and defaults of estimates.",
        "Exit code 3 if a file cannot be read, or one of its programs cannot be linked; the others "
        "are shown.",
    ),
    (
        argument(
            "FILE",
            "BPF objects (*.bpf.o), and C sources (*.bpf.c), which clang compiles; or target files "
            "(*.toml) of slowpath calibrate.",
            "+",
        ),
        SECTION,
        PROG_NAME,
        CFLAGS,
        BTF._replace(group=PROGRAMS),
        OUTPUT.option(
            "--deadline SECONDS",
            "Stop the search for the loop bounds of a program after this time (default: "
            "%(default)s).",
            type=within(float, 0),
            default=5,
        ),
        OUTPUT.option(
            "--memory SIZE",
            "Give up on an object that takes more memory than this (500M, 2G; default: half "
            "of the memory that is free at the start).",
        ),
        OUTPUT.flag("--listing", "Add the instructions, with their source lines."),
        _FORMATS.option(STABLE),
    ),
    _show,
)
