"""Declares the arguments and options of `slowpath compile`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    BTF,
    CFLAGS,
    MAP_ABI,
    MTU,
    PROG_NAME,
    SECTION,
    written_options,
)
from slowpath.core.command import Command, Heading, argument
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats

_CODE = Heading("How to compile")
_PROOF = Heading("Verification")
_FORMATS = Formats("slowpath.compile.report", listing="listing", json=JSON)


def _compile(args: Namespace) -> int:
    from slowpath.compile.run import Output, compile_object, make_job

    written = written_options(args, [args.file])
    output = Output(args.output, _FORMATS.reporter(args.format), args.source, args.verify)
    return compile_object(make_job(args.file, written, output))


COMPILE = Command(
    (
        "Compile a program of an object as the driver of the card would, and print the listing.",
        "slowpath bound can read the listing, with or without --source. The result of --verify "
        "goes to standard error.",
        "Exit codes: 0 fine, 1 --verify found a packet that card and kernel treat differently, "
        "2 wrong usage, 3 the file cannot be read or the card cannot run the program, 4 --verify "
        "is undecided, or --deadline or --memory ended the compilation.",
    ),
    (
        argument("FILE", "A BPF object (*.bpf.o), or C source (*.bpf.c), which clang compiles."),
        SECTION,
        PROG_NAME,
        CFLAGS,
        _CODE.option(
            "--target NAME|FILE.toml",
            "Compile for this target, a built-in one or a description (default: agilio-cx-2x40).",
        ),
        MAP_ABI._replace(group=_CODE),
        BTF._replace(group=_CODE),
        _PROOF.flag(
            "--verify",
            "Prove, path by path, that the program does the same on the card as in the "
            "kernel. Ctrl-C, --deadline and --memory stop the proof.",
        ),
        MTU._replace(group=_PROOF),
        _PROOF.option(
            "--deadline SECONDS",
            "Stop after this time, compilation and --verify together (default: 60; 0: none).",
            type=float,
        ),
        _PROOF.option(
            "--memory SIZE",
            "Stop if the work takes more memory than this (500M, 2G; default: half of the "
            "memory that is free at the start).",
        ),
        OUTPUT.option("-o, --output FILE", "Write the output to FILE."),
        OUTPUT.flag(
            "--source",
            "Add source lines and BPF instructions as comments before the card instructions "
            "that were compiled from them.",
        ),
        _FORMATS.option(STABLE),
    ),
    _compile,
)
