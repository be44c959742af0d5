"""Declares the arguments and options of `slowpath chain`."""

from argparse import Namespace

from slowpath.bounds.cli import FORMATS, REPORTING
from slowpath.bounds.flags import (
    ANALYSIS,
    BTF,
    CFLAGS,
    GUARANTEE,
    MAP_ABI,
    PROG_NAME,
    RECEIVE,
    SECTION,
    SET,
    written_options,
)
from slowpath.core.command import (
    Command,
    Group,
    Heading,
    Option,
    argument,
    within,
)
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats

_KNOWLEDGE = Heading("What is known")
_REWRITING = Heading("How to rewrite")
_COMPARED = Heading("What is compared")
_FACTS = Formats("slowpath.chain.report", table="facts_report", json=JSON)
_OPTIMIZE = Formats("slowpath.chain.report", table="optimized_report", json=JSON)
_PLAN = Formats("slowpath.chain.plan", table="plan_report", json=JSON)
_VERIFY = Formats("slowpath.chain.verify", table="verify_report", json=JSON)


def _bound(options: Namespace) -> int:
    from slowpath.bounds.run import Output
    from slowpath.chain.run import bound

    output = Output(FORMATS.reporter(options.format), options.pcap, options.verbose, "chain bound")
    return bound(options.chain, written_options(options, [options.chain]), output)


BOUND = Command(
    (
        "Guarantee how fast a chain of programs is: find the slowest path that any packet can take "
        "through all of them.",
        "The description (YAML) names programs and the action of each that hands packets to the "
        "next. A packet that passes one program reaches the next one as the first has left it. "
        "Programs that no packet reaches are reported.",
    ),
    (
        argument("CHAIN", "Chain description (*.yaml)."),
        *(option for option in ANALYSIS if option not in (SECTION, PROG_NAME, MAP_ABI)),
        *REPORTING,
    ),
    _bound,
)
_CHAIN_OR_PROGRAM = argument(
    "CHAIN",
    "Chain description (*.yaml), or a BPF object or C source, which is a chain of one program.",
)
_LIMITS = Heading("How long to work")
_MEMORY = _LIMITS.option(
    "--memory SIZE",
    "Stop if the command takes more memory than this (500M, 2G; default: half of the "
    "memory that is free when the command starts).",
)
_WORK: tuple[Option, ...] = (
    CFLAGS,
    BTF,
    _LIMITS.option(
        "--deadline SECONDS",
        "Stop after this time with the results so far (default: 60; 0: no limit).",
        type=float,
    ),
    _MEMORY,
)
_HTML = OUTPUT.option(
    "--html FILE",
    "Write an HTML page with the control-flow graphs of programs, block by block, the facts "
    "and the branches that they decide. The page is one file and needs no network.",
)


_KNOWN: tuple[Option, ...] = (
    _KNOWLEDGE.option(
        "--assume FACT",
        "Assume a fact about every packet that arrives at the first program, in the notation "
        "of slowpath chain facts: 'length >= 64', 'bytes 12-13 = 0800', 'byte 14 & f0 = 40'. "
        "Repeatable.",
        action="append",
        default=[],
    ),
    _KNOWLEDGE.option(
        "--maps FILE",
        "Read content of maps (TOML or JSON) that no program writes. The control plane must "
        "raise a generation before it changes this content.",
    ),
    RECEIVE._replace(group=_KNOWLEDGE),
    SET,
)


FACTS = Command(
    (
        "Find facts that hold for every packet that reaches each program of a chain.",
        "Facts are constant bytes, lengths, fields with few values, and equal fields. Each is "
        "proved for all packets, and printed with the lines of earlier programs that establish it "
        "and the branches that it decides.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, 4 ended before all facts "
        "were known.",
    ),
    (
        _CHAIN_OR_PROGRAM,
        *_WORK,
        *_KNOWN,
        _HTML,
        _FACTS.option(STABLE),
    ),
    _FACTS.call("slowpath.chain.run:find_facts"),
)
OPTIMIZE = Command(
    (
        "Rewrite the programs of a chain for the packets that reach them: remove checks that "
        "earlier programs have already made.",
        "Each rewritten program is proved to do the same for all packets and all content of maps. "
        "A program without a proof stays unchanged, and the report gives the reason. By default a "
        "rewritten program checks the facts that it relies on at its entry. If they do not hold, "
        "it runs the original code, so that it can be loaded anywhere.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, 4 ended before "
        "all programs were done.",
    ),
    (
        _CHAIN_OR_PROGRAM,
        *_WORK,
        _REWRITING.flag(
            "--trust",
            "Omit the checks at the entry; the program is then correct behind this chain only.",
        ),
        _REWRITING.flag(
            "--fuse", "Fuse all programs into one, to be loaded instead of them; implies --trust."
        ),
        GUARANTEE.option(
            "--target NAMES",
            "Guarantee the cost of each rewritten program before and after, for packets that "
            "reach it in this chain, on these targets, separated by commas (default: none). A "
            "program on a device with a target in the description is analysed for that target "
            "instead.",
        ),
        *_KNOWN,
        OUTPUT.option(
            "-o, --output DIR",
            "Write the objects of rewritten programs to this folder, each named after its "
            "program (default: not written).",
        ),
        _REWRITING.option(
            "--packets N",
            "Run N packets that earlier programs let through in the original and the "
            "rewritten program, compare the results, and time both; needs the running kernel "
            "(default: %(default)s; 0: none).",
            type=int,
            default=100_000,
        ),
        _HTML,
        _OPTIMIZE.option(STABLE),
    ),
    _OPTIMIZE.call("slowpath.chain.run:optimize"),
)
_PLANNING = Heading("How to plan")
PLAN = Command(
    (
        "Find the program variants that are worthwhile on the paths of a network.",
        "The description (YAML) names programs, the nodes that they run on, and the paths of "
        "packets over these nodes, with their shares of the traffic. For each node, programs are "
        "rewritten for the packets that arrive at the node: one variant for all packets, or "
        "several by ingress. Variants are listed by decreasing gain. Results are cached: after a "
        "change, only results that depend on it are computed again.",
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read or written, 4 ended before "
        "all nodes were planned.",
    ),
    (
        argument("TOPOLOGY", "Topology description (*.yaml)."),
        CFLAGS,
        BTF,
        _LIMITS.option(
            "--budget SECONDS",
            "Stop after this time with the best plan so far; nodes with most traffic come "
            "first (default: %(default)s).",
            type=within(float, 0, 1e9),
            default=60.0,
        ),
        _MEMORY,
        _PLANNING.flag(
            "--trust",
            "Omit the checks at the entry of variants; they are then correct on these paths only.",
        ),
        _PLANNING.option(
            "--variants K",
            "Generate at most K rewritten variants of a node's program (default: %(default)s).",
            type=within(int, 1, 64),
            default=2,
        ),
        _PLANNING.flag(
            "--neighbours",
            "Use only facts that the directly preceding program establishes for any input, "
            "instead of facts of the whole path.",
        ),
        _PLANNING.option(
            "--cache DIR",
            "Cache results in this folder (default: slowpath/plan in $XDG_CACHE_HOME or ~/.cache).",
        ),
        _PLANNING.flag("--no-cache", "Neither read nor write cached results."),
        OUTPUT.option(
            "-o, --output DIR",
            "Write the objects of variants to this folder, as NODE.VARIANT.bpf.o (default: "
            "not written).",
        ),
        _PLAN.option(STABLE),
    ),
    _PLAN.call("slowpath.chain.plan:plan"),
)
VERIFY = Command(
    (
        "Prove that the programs of two objects do the same, or show a packet for which they "
        "differ.",
        "The proof covers all packets and all content of maps, and compares result, packet, "
        "metadata, maps and helper calls. Maps with the same name and definition in both objects "
        "count as one map. If the programs differ, both are run on the packet that shows it.",
        "Exit codes: 0 equal, under the printed conditions; 1 different; 2 wrong usage; 3 a file "
        "cannot be read or analysed; 4 not decided.",
    ),
    (
        argument("FIRST", "BPF object or C source."),
        argument("SECOND", "BPF object or C source to compare with FIRST."),
        _COMPARED.option(
            "--program NAME",
            "Compare the programs with this name (default: the only XDP program). With "
            "--chain, the program of the chain that both replace (default: its last one).",
        ),
        _COMPARED.option(
            "--chain FILE",
            "Compare both as replacements for a program of this chain (*.yaml), for packets "
            "that pass the programs in front.",
        ),
        *_WORK,
        _KNOWLEDGE.option(
            "--assume FACT",
            "Assume a fact about packets, in the notation of slowpath chain facts: 'length "
            ">= 64', 'bytes 12-13 = 0800', 'byte 14 & f0 = 40'. With --chain, about packets that "
            "arrive at its first program. Repeatable.",
            action="append",
            default=[],
        ),
        RECEIVE._replace(group=_KNOWLEDGE),
        _VERIFY.option(STABLE),
    ),
    _VERIFY.call("slowpath.chain.verify:verify"),
)
CHAIN = Group(
    ("Analyse and optimize programs that run one after another on the same packet.",),
    (),
    {
        "bound": f"{__name__}:BOUND",
        "facts": f"{__name__}:FACTS",
        "optimize": f"{__name__}:OPTIMIZE",
        "plan": f"{__name__}:PLAN",
        "verify": f"{__name__}:VERIFY",
    },
)
