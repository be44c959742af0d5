"""The command line of `slowpath compile` and `slowpath show`, which are about objects only."""

from argparse import Namespace

from slowpath.cli_command import Command, argument, option, within
from slowpath.cli_options import (
    BTF,
    CFLAGS,
    MAP_ABI,
    MTU,
    OUTPUT,
    PROG_NAME,
    PROGRAMS,
    SECTION,
    cflags,
    form_option,
    selection,
)

_CODE = "How to compile"
_PROOF = "Verification"


def _compile(given: Namespace) -> int:
    from slowpath.compile import compile_object
    from slowpath.compile_options import Typed, make_job

    typed = Typed(
        selection=selection(given),
        target=given.target,
        map_abi=given.map_abi,
        btf=given.btf,
        output=given.output,
        form=given.format,
        source=given.source,
        verify=given.verify,
        mtu=given.mtu,
        deadline=given.deadline,
        memory=given.memory,
        cflags=cflags(given, [given.file]),
    )
    return compile_object(make_job(given.file, typed))


def _show(given: Namespace) -> int:
    from slowpath.options import memory_or_share
    from slowpath.show import Wanted, show_objects

    flags, memory = cflags(given, given.file), memory_or_share(given.memory)
    wanted = Wanted(selection(given), given.format, given.listing, given.deadline, memory, flags)
    return show_objects(given.file, wanted, given.btf)


COMPILE = Command(
    (
        "Compile a program of an object as the driver of the card would, and print the listing.",
        "The listing is what slowpath bound reads, with --source too. What --verify says goes to "
        "standard error.",
        "Exit codes: 0 fine, 1 --verify found a packet with which the card does something else "
        "than the kernel, 2 wrong usage, 3 the file cannot be read or the card cannot run the "
        "program, 4 --verify did not decide, or --deadline or --memory ended it before.",
    ),
    (
        argument("FILE", "A BPF object (*.bpf.o), or C source (*.bpf.c), which clang compiles."),
        SECTION,
        PROG_NAME,
        CFLAGS,
        option(
            _CODE,
            "--target",
            metavar="NAME|FILE.toml",
            help="Device to compile for, a built-in one or a description; by default "
            "agilio-cx-2x40.",
        ),
        MAP_ABI._replace(group=_CODE),
        BTF._replace(group=_CODE),
        option(
            _PROOF,
            "--verify",
            action="store_true",
            help="Prove, path by path, that the program does the same on the card as in the "
            "kernel. Ctrl-C, --deadline and --memory end it.",
        ),
        MTU._replace(group=_PROOF),
        option(
            _PROOF,
            "--deadline",
            metavar="SECONDS",
            type=float,
            help="Stop after this time, compilation and --verify together (default: 60; 0: none).",
        ),
        option(
            _PROOF,
            "--memory",
            metavar="SIZE",
            help="Stop when more memory than this is taken (500M, 2G; default: half of what is "
            "free when the command starts).",
        ),
        option(OUTPUT, "-o", "--output", metavar="FILE", help="Write it to a file."),
        option(
            OUTPUT,
            "--source",
            action="store_true",
            help="Put source lines and BPF instructions, as comments, before the instructions "
            "that are for them.",
        ),
        form_option(("listing", "json"), "json is stable"),
    ),
    _compile,
)
SHOW = Command(
    (
        "Show what BPF objects contain: programs, maps, helpers, loops, and what is not supported.",
        "The last columns say whether bound can analyse a program with --target ebpf (--unroll: "
        "given limits of its loops), and whether the default target, agilio-cx-2x40, runs it; why "
        "not is listed below.",
        "Exit code 3 when a file cannot be read, or a program of it cannot be linked; the others "
        "are shown.",
    ),
    (
        argument(
            "FILE",
            "BPF objects (*.bpf.o), and C sources (*.bpf.c), which clang compiles.",
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
