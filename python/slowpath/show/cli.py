"""The command line of `slowpath show`."""

from argparse import Namespace

from slowpath.bound.flags import (
    BTF,
    CFLAGS,
    OUTPUT,
    PROG_NAME,
    PROGRAMS,
    SECTION,
    cflags,
    form_option,
    selection,
)
from slowpath.core.command import Command, argument, option, within
from slowpath.core.errors import OptionError

_TARGET = ".toml"


def _show(given: Namespace) -> int:
    targets = [file for file in given.file if file.endswith(_TARGET)]
    if targets:
        from slowpath.show.calibrations import show_calibrations

        if len(targets) < len(given.file):
            raise OptionError("FILE", f"{targets[0]} is a target; name objects by themselves")
        return show_calibrations(targets, given.format)
    from slowpath.bound.options import memory_or_share
    from slowpath.show.run import ShowOptions, show_objects

    flags, memory = cflags(given, given.file), memory_or_share(given.memory)
    options = ShowOptions(
        selection(given), given.format, given.listing, given.deadline, memory, flags
    )
    return show_objects(given.file, options, given.btf)


SHOW = Command(
    (
        "Show what BPF objects contain: programs, maps, helpers, loops, and what is not supported.",
        "The last columns say whether bound can analyse a program with --target ebpf (--unroll: "
        "given limits of its loops), and whether the card agilio-cx-2x40 runs it; why "
        "not is listed below.",
        "Of a target file of slowpath calibrate: the machine, when and how precisely it was "
        "measured, how far off check programs are, and what estimates do with that.",
        "Exit code 3 when a file cannot be read, or a program of it cannot be linked; the others "
        "are shown.",
    ),
    (
        argument(
            "FILE",
            "BPF objects (*.bpf.o), and C sources (*.bpf.c), which clang compiles; or target files "
            "(*.toml) of slowpath calibrate.",
            many=True,
        ),
        SECTION,
        PROG_NAME,
        CFLAGS,
        BTF._replace(group=PROGRAMS),
        option(
            OUTPUT,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            default=5,
            help="Time for finding the loop bounds of each program (default: %(default)s).",
        ),
        option(
            OUTPUT,
            "--memory",
            metavar="SIZE",
            help="Give up on an object that takes more memory than this (500M, 2G; default: half "
            "of what is free when the command starts).",
        ),
        option(
            OUTPUT,
            "--listing",
            action="store_true",
            help="Add the instructions, with their source lines.",
        ),
        form_option(("table", "json"), "json is stable"),
    ),
    _show,
)
