"""Declares the arguments and options of `slowpath show`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    BTF,
    CACHE,
    CFLAGS,
    PROG_NAME,
    PROGRAMS,
    SECTION,
    cflags,
    selection,
)
from slowpath.core import codes
from slowpath.core.command import Command, Example, argument, within
from slowpath.core.errors import OptionError
from slowpath.core.formats import OUTPUT, STABLE, Formats
from slowpath.core.quantities import duration

_FORMATS = Formats("slowpath.show.run", table="objects_text", json="objects_json")
_TARGET_FORMATS = Formats(
    "slowpath.show.text_files", table="calibrations_text", json="calibrations_json"
)
_PIPELINE_FORMATS = Formats(
    "slowpath.show.text_files", table="pipelines_text", json="pipelines_json"
)
_TARGET = ".toml"


def _show(args: Namespace) -> int:
    targets = [file for file in args.file if file.endswith(_TARGET)]
    if targets:
        from slowpath.show.text_files import show_calibrations

        if len(targets) < len(args.file):
            raise OptionError(
                codes.FILES_DO_NOT_MATCH,
                "FILE",
                f"{targets[0]} is a target; name targets and objects in separate calls",
            )
        if args.html is not None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT, "--html", "describes objects; omit it for target files"
            )
        return show_calibrations(targets, _TARGET_FORMATS.reporter(args.format))
    from slowpath.bounds.default_target import SWITCH, default_target

    if default_target(args.file) == SWITCH:
        from slowpath.show.text_files import show_pipelines

        if args.html is not None:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT, "--html", "describes objects; omit it for pipelines"
            )
        return show_pipelines(args.file, _PIPELINE_FORMATS.reporter(args.format))
    from slowpath.bounds.caching import cache_of
    from slowpath.bounds.options import memory_or_share
    from slowpath.show.run import ShowOptions, show_objects

    flags, memory = cflags(args, args.file), memory_or_share(args.memory)
    reporter = _FORMATS.reporter(args.format)
    options = ShowOptions(
        selection(args),
        reporter,
        args.listing,
        args.deadline,
        memory,
        flags,
        cache_of(args),
        args.html,
    )
    return show_objects(args.file, options, args.btf)


SHOW = Command(
    (
        "Show the content of objects, and their unsupported parts",
        "Lists programs, maps, helpers and loops of objects. The last columns show whether "
        "slowpath bound can analyse a program, and whether the card agilio-cx-2x40 can run it.",
        "The column `target ebpf` shows whether slowpath bound --target ebpf can analyse a "
        "program. In this column, `--unroll` means that some loops need a limit. The reasons "
        "follow the table.",
        "For a target file of slowpath calibrate, show the machine, date and precision of the "
        "measurement, the error for check programs, and the intervals and defaults of estimates.",
        "For pipelines (*.spec) of DPDK's software switch, show the tables, keys, actions and "
        "numbers of instructions. Name pipelines and objects in separate calls.",
        "Exit code 3 if a file cannot be read, or one of its programs cannot be linked. "
        "slowpath still shows the other programs.",
    ),
    (
        argument(
            "FILE",
            "Objects (*.bpf.o), C (*.bpf.c), P4 (*.p4), pipelines (*.spec), targets (*.toml)",
            "+",
            "clang compiles C and P4 sources. slowpath calibrate writes target files. A folder "
            "means all objects and sources below it, except files that Git ignores. `-` is "
            "standard input. For NFP listings, use slowpath annotate.",
            folders=True,
        ),
        SECTION,
        PROG_NAME,
        CFLAGS,
        BTF._replace(group=PROGRAMS),
        OUTPUT.option(
            "--deadline TIME",
            "Stop the search for the loop bounds of a program after TIME",
            common=False,
            type=within(duration, 0),
            default=5,
        ),
        OUTPUT.option(
            "--memory SIZE",
            "Skip an object that takes more memory [default: half of the free memory]",
            "SIZE is for example 512MiB or 2G.",
            common=False,
        ),
        OUTPUT.flag("--listing", "Add the instructions, with their source lines"),
        *CACHE,
        _FORMATS.option(STABLE),
        OUTPUT.option(
            "--html FILE",
            "Write an HTML page with programs, maps, graphs and code",
            "The page links maps and helpers to the instructions that use them.",
        ),
    ),
    _show,
    (
        Example("slowpath show filter.bpf.o", "List programs, maps and unsupported parts"),
        Example(
            "slowpath show filter.bpf.o -n xdp_main --listing", "Print a program's instructions"
        ),
    ),
)
