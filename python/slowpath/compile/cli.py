"""Declares the arguments and options of `slowpath compile`."""

from argparse import Namespace

from slowpath.bounds.flags import (
    BTF,
    CACHE,
    CFLAGS,
    MAP_ABI,
    MTU,
    PROG_NAME,
    SECTION,
    written_options,
)
from slowpath.core.command import Command, Example, Heading, argument, output_file
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats
from slowpath.core.quantities import duration

_CODE = Heading("How to compile")
_PROOF = Heading("Verification")
_FORMATS = Formats("slowpath.compile.report", listing="listing", json=JSON)


_SUFFIXES = {"nfp": ".asm", "xdp-c": ".bpf.c", "swx": ".spec"}
"""Suffixes of output files, by the argument of `--to`."""


def _file_name(args: Namespace) -> str:
    """Return the name of the output file in a folder: the source's name with another suffix."""
    from pathlib import Path

    stem = Path(args.file).stem.removesuffix(".bpf")
    return stem + (".json" if args.format == "json" else _SUFFIXES[args.to])


def _compile(args: Namespace) -> int:
    if args.to != "nfp":
        from slowpath.compile.run import write_translation

        return write_translation(args)
    if args.maps is not None:
        from slowpath.core import codes
        from slowpath.core.errors import OptionError

        raise OptionError(codes.OPTION_NEEDS_OPTION, "--maps", "needs --to swx")
    from slowpath.bounds.caching import cache_of
    from slowpath.compile.run import Output, compile_object, make_job

    written = written_options(args, [args.file])
    output = Output(args.output, _FORMATS.reporter(args.format), args.source, args.verify)
    return compile_object(make_job(args.file, written, output, cache_of(args)))


COMPILE = Command(
    (
        "Compile a program for a SmartNIC, or translate P4",
        "The listing is the code that the driver of the card would generate. slowpath bound "
        "reads it, with or without --source. The result of --verify goes to standard error. "
        "With --to, a P4 program is translated to C for XDP, or to a pipeline of DPDK's "
        "software switch (SWX).",
        "Exit codes: 0 success, 1 --verify found a packet that card and kernel treat differently, "
        "2 wrong usage, 3 the file cannot be read or the card cannot run the program, 4 --verify "
        "is undecided, or --deadline or --memory ended the compilation.",
    ),
    (
        argument("FILE", "Object (*.bpf.o), C (*.bpf.c) or P4 (*.p4); clang compiles sources"),
        SECTION,
        PROG_NAME,
        CFLAGS,
        _CODE.option(
            "--target NAME|FILE.toml",
            "Compile for a built-in or described card [default: agilio-cx-2x40]",
        ),
        _CODE.option(
            "--to nfp|xdp-c|swx",
            "Write a listing for the card, C for XDP, or SWX [default: nfp]",
            "xdp-c translates a P4 program (*.p4) to C for XDP, which clang compiles without "
            "further headers. swx writes a pipeline of DPDK 22.11 (*.spec). Both translate the "
            "whole P4 program; options for listings do not apply.",
            choices=("nfp", "xdp-c", "swx"),
            default="nfp",
        ),
        _CODE.option(
            "--maps FILE",
            "Read entries of P4 tables from FILE, and write them for DPDK",
            "With --to swx. FILE has the same format as for slowpath bound. For each table with "
            "entries, slowpath writes a file beside that of --output, in the format of DPDK's "
            "command 'pipeline PIPELINE table TABLE add'. These files include the entries that "
            "the program declares.",
            common=False,
        ),
        MAP_ABI._replace(group=_CODE),
        BTF._replace(group=_CODE),
        _PROOF.flag(
            "--verify",
            "Prove that the program does the same on the card as in the kernel",
            "The proof compares card and kernel path by path. Ctrl-C, --deadline and --memory "
            "stop the proof.",
        ),
        MTU._replace(group=_PROOF),
        _PROOF.option(
            "--deadline TIME",
            "Stop compilation and --verify after TIME [default: 60s]",
            "0 means no limit.",
            type=duration,
        ),
        _PROOF.option(
            "--memory SIZE",
            "Stop if memory exceeds SIZE [default: half of the free memory]",
            "SIZE is for example 512MiB or 2G.",
            common=False,
        ),
        OUTPUT.option(
            "-o, --output FILE",
            "Write the result to FILE [default: standard output]",
            "If FILE is a folder or ends in /, the file in it is named after the program.",
            type=output_file,
        )._replace(file_name=_file_name),
        OUTPUT.flag(
            "--source",
            "Add source lines and BPF instructions as comments",
            "Each comment stands before the card instructions that result from it.",
        ),
        *CACHE,
        _FORMATS.option(STABLE),
    ),
    _compile,
    (
        Example("slowpath compile filter.bpf.o", "Print the listing of the only XDP program"),
        Example(
            "slowpath compile filter.bpf.o -o filter.asm --source", "Write an annotated listing"
        ),
        Example(
            "slowpath compile filter.bpf.o --verify",
            ("Also prove that the program does the same on the card"),
        ),
        Example(
            "slowpath compile router.p4 --to swx -o router.spec",
            "Write a DPDK pipeline for a P4 program",
        ),
    ),
)
