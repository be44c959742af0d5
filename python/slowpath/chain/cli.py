"""The command line of `slowpath chain`."""

from argparse import Namespace

from slowpath.bound.cli import FORMATS, REPORTING
from slowpath.bound.flags import (
    ANALYSIS,
    BTF,
    CFLAGS,
    MAP_ABI,
    OUTPUT,
    PROG_NAME,
    RECEIVE,
    SECTION,
    SET,
    form_option,
    written_options,
)
from slowpath.core.command import Command, Group, Option, argument, load, option, within


def _bound(given: Namespace) -> int:
    from slowpath.bound.run import Output
    from slowpath.chain.run import bound

    output = Output(load(FORMATS[given.format]), given.pcap, given.verbose, "chain bound")
    return bound(given.chain, written_options(given, [given.chain]), output)


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
_HTML = option(
    OUTPUT,
    "--html",
    metavar="FILE",
    help="Write a page: the control-flow graphs of programs, block by block, with the facts and "
    "what they decide; one file that needs no network.",
)


_KNOWN: tuple[Option, ...] = (
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
    RECEIVE._replace(group="What is known"),
    SET,
)


def _facts(given: Namespace) -> int:
    from slowpath.chain.options import make_job
    from slowpath.chain.run import find_facts

    return find_facts(make_job(given, None, None))


FACTS = Command(
    (
        "Find out what holds for every packet that reaches each program of a chain.",
        "Bytes that are always the same, lengths, fields with few values, equal fields: each is "
        "proved for all packets, with the lines of earlier programs that establish it, and the "
        "branches that it decides.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, 4 ended before all was known.",
    ),
    (
        _CHAIN_OR_PROGRAM,
        *_WORK,
        *_KNOWN,
        _HTML,
        form_option(("table", "json"), "json is stable"),
    ),
    _facts,
)


def _optimize(given: Namespace) -> int:
    from slowpath.chain.options import make_job, read_targets
    from slowpath.chain.run import optimize

    trusts = given.trust or given.fuse
    job = make_job(given, "trust" if trusts else "guard", given.output)
    job = job._replace(targets=read_targets(given.target))
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
            "What to guarantee",
            "--target",
            metavar="NAMES",
            help="What each rewritten program is guaranteed to take before and after, for packets "
            "that get to it in this chain: targets, separated by commas (default: none). A "
            "program on a device whose target the description says is analysed for that instead.",
        ),
        *_KNOWN,
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
        _HTML,
        form_option(("table", "json"), "json is stable"),
    ),
    _optimize,
)


def _plan(given: Namespace) -> int:
    from slowpath.chain.plan import make_planned, plan

    return plan(make_planned(given))


_HOW = "How to plan"
PLAN = Command(
    (
        "Find out which variants of which programs pay, on the paths of a network.",
        "The description (YAML) names programs, the nodes that they run on, and the paths that "
        "packets take over these, with their shares of the traffic. For each node, programs are "
        "rewritten for what holds of the packets that arrive there: one variant for all of them, "
        "or several by where they come in. Those that gain most come first. Results are kept: "
        "after a change, only what depends on it is computed anew.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, 4 ended before all "
        "was looked at.",
    ),
    (
        argument("TOPOLOGY", "The description of a topology (*.yaml)."),
        CFLAGS,
        BTF,
        option(
            _LIMITS,
            "--budget",
            metavar="SECONDS",
            type=within(float, 0, 1e9),
            default=60.0,
            help="Stop after this time with the best by then, most traffic first (default: "
            "%(default)s).",
        ),
        next(one for one in _WORK if "--memory" in one.names),
        option(
            _HOW,
            "--trust",
            action="store_true",
            help="Let variants check nothing: they are right on these paths only.",
        ),
        option(
            _HOW,
            "--variants",
            metavar="K",
            type=within(int, 1, 64),
            default=2,
            help="At most so many rewritten variants of the program of a node (default: "
            "%(default)s).",
        ),
        option(
            _HOW,
            "--neighbours",
            action="store_true",
            help="Use only what the one program right before establishes, whatever arrives there; "
            "not all of the path.",
        ),
        option(
            _HOW,
            "--cache",
            metavar="DIR",
            help="Keep results there (default: slowpath/plan in $XDG_CACHE_HOME or ~/.cache).",
        ),
        option(_HOW, "--no-cache", action="store_true", help="Keep no results, and use none."),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="DIR",
            help="Write the objects of variants there, as NODE.VARIANT.bpf.o (default: they are "
            "not written).",
        ),
        form_option(("table", "json"), "json is stable"),
    ),
    _plan,
)


def _verify(given: Namespace) -> int:
    from slowpath.chain.options import make_comparing
    from slowpath.chain.verify import verify

    return verify(make_comparing(given), given.format)


VERIFY = Command(
    (
        "Prove that the programs of two objects do the same, or show a packet with which they do "
        "not.",
        "The proof is about all packets and all content of maps: result, packet, metadata, maps "
        "and calls of helpers. Maps of one name that both objects define alike are one map. Where "
        "the programs differ, both are run on the packet that shows it.",
        "Exit codes: 0 equal, under the conditions that are printed; 1 they differ; 2 wrong usage; "
        "3 a file cannot be read or analysed; 4 not decided.",
    ),
    (
        argument("FIRST", "A BPF object, or C source."),
        argument("SECOND", "Another one."),
        option(
            "What is compared",
            "--program",
            metavar="NAME",
            help="The program of this name in both (default: the only XDP program); with --chain, "
            "the program of the chain in whose place both are (default: its last one).",
        ),
        option(
            "What is compared",
            "--chain",
            metavar="FILE",
            help="Compare both in the place of a program of this chain (*.yaml): for the packets "
            "that get there through the programs in front.",
        ),
        *_WORK,
        option(
            "What is known",
            "--assume",
            metavar="FACT",
            action="append",
            default=[],
            help="What holds of packets, in the words of slowpath chain facts: 'length >= 64', "
            "'bytes 12-13 = 0800', 'byte 14 & f0 = 40'; with --chain, of those that arrive at its "
            "first program. Repeatable.",
        ),
        RECEIVE._replace(group="What is known"),
        form_option(("table", "json"), "json is stable"),
    ),
    _verify,
)
CHAIN = Group(
    ("Several programs as one: which runs behind which, what that costs, and what it saves.",),
    (),
    {
        "bound": f"{__name__}:BOUND",
        "facts": f"{__name__}:FACTS",
        "optimize": f"{__name__}:OPTIMIZE",
        "plan": f"{__name__}:PLAN",
        "verify": f"{__name__}:VERIFY",
    },
)
