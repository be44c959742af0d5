"""The command line of `slowpath chain`."""

from argparse import Namespace

from slowpath.analysis.flags import (
    ANALYSIS,
    BTF,
    CFLAGS,
    MAP_ABI,
    OUTPUT,
    PROG_NAME,
    SECTION,
    form_option,
    written_options,
)
from slowpath.cli.command import Command, Group, Option, argument, load, option
from slowpath.commands.bound.command import FORMATS, REPORTING


def _bound(given: Namespace) -> int:
    from slowpath.analysis.options import read_request
    from slowpath.commands.bound.run import Output
    from slowpath.commands.chain.run import bound

    request = read_request([given.chain], written_options(given, [given.chain]))
    output = Output(load(FORMATS[given.format]), given.pcap, given.verbose, "chain bound")
    return bound(request, output)


BOUND = Command(
    (
        "Guarantee how fast a chain of programs is: find the slowest path that any packet can take "
        "through all of them.",
        "The description (YAML) names programs and which of them runs behind which, by the action "
        "that is returned. A packet that passes one program gets to the next one as the first one "
        "has left it; programs that no packet reaches are named.",
    ),
    (
        argument("CHAIN", "The description of a chain (*.yaml)."),
        *(one for one in ANALYSIS if one not in (SECTION, PROG_NAME, MAP_ABI)),
        *REPORTING,
    ),
    _bound,
)
_CHAIN_OR_PROGRAM = argument(
    "CHAIN",
    "The description of a chain (*.yaml), or a BPF object or C source, which is a chain of one.",
)
_LIMITS = "How long to work"
_WORK: tuple[Option, ...] = (
    CFLAGS,
    BTF,
    option(
        _LIMITS,
        "--deadline",
        metavar="SECONDS",
        type=float,
        help="Stop after this time with what is known by then (default: 60; 0: none).",
    ),
    option(
        _LIMITS,
        "--memory",
        metavar="SIZE",
        help="Stop when more memory than this is taken (500M, 2G; default: half of what is free "
        "when the command starts).",
    ),
)


def _facts(given: Namespace) -> int:
    from slowpath.commands.chain.options import make_job
    from slowpath.commands.chain.rewriting import find_facts

    return find_facts(make_job(given, None, None))


FACTS = Command(
    (
        "Find out what holds for every packet that reaches each program of a chain.",
        "Bytes that are always the same, lengths, fields with few values, equal fields: each is "
        "proved for all packets, with the lines of earlier programs that establish it, and the "
        "branches that it decides.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, 4 ended before all was known.",
    ),
    (_CHAIN_OR_PROGRAM, *_WORK, form_option(("table", "json"), "json is stable")),
    _facts,
)


def _optimize(given: Namespace) -> int:
    from slowpath.commands.chain.options import make_job
    from slowpath.commands.chain.rewriting import optimize

    trusts = given.trust or given.fuse
    job = make_job(given, "trust" if trusts else "guard", given.output)
    return optimize(job._replace(fuse=given.fuse, packets=max(given.packets, 0)))


OPTIMIZE = Command(
    (
        "Rewrite the programs of a chain for the packets that reach them: what earlier programs "
        "have checked is not checked again.",
        "Each rewritten program is proved to do the same, for all packets and all content of "
        "maps; one that cannot be proved stays as it was, and the report says why. By default it "
        "checks at its entry what it relies on, and else runs as it was written, so that it may "
        "be loaded anywhere.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, 4 ended before all "
        "was done.",
    ),
    (
        _CHAIN_OR_PROGRAM,
        *_WORK,
        option(
            "How to rewrite",
            "--trust",
            action="store_true",
            help="Check nothing: the program is right behind this chain only.",
        ),
        option(
            "How to rewrite",
            "--fuse",
            action="store_true",
            help="Make one program of all, to be loaded instead of them, with --trust.",
        ),
        option(
            "What is known",
            "--assume",
            metavar="FACT",
            action="append",
            default=[],
            help="What holds of every packet that arrives at the first program, in the words of "
            "slowpath chain facts: 'length >= 64', 'bytes 12-13 = 0800', 'byte 14 & f0 = 40'. "
            "Repeatable.",
        ),
        option(
            "What is known",
            "--maps",
            metavar="FILE",
            help="Content of maps (TOML or JSON) that no program writes: it stays so until a "
            "control plane changes it, which raises a generation before.",
        ),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="DIR",
            help="Write the objects of rewritten programs there, each named as its program "
            "(default: they are not written).",
        ),
        option(
            "How to rewrite",
            "--packets",
            metavar="N",
            type=int,
            default=100_000,
            help="Where the running kernel can be used, run so many packets that earlier programs "
            "let through in original and rewritten program, compare, and time both (default: "
            "%(default)s; 0: do not).",
        ),
        form_option(("table", "json"), "json is stable"),
    ),
    _optimize,
)
CHAIN = Group(
    ("Several programs as one: which runs behind which, what that costs, and what it saves.",),
    (),
    {
        "bound": f"{__name__}:BOUND",
        "facts": f"{__name__}:FACTS",
        "optimize": f"{__name__}:OPTIMIZE",
    },
)
