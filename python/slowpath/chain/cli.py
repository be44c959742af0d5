"""Declares the arguments and options of `slowpath chain`."""

from argparse import Namespace

from slowpath.bounds.cli import FORMATS, REPORTING
from slowpath.bounds.flags import (
    ANALYSIS,
    BTF,
    CACHE,
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
    Example,
    Group,
    Heading,
    Option,
    argument,
    output_folder,
    within,
)
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats
from slowpath.core.quantities import duration

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

    output = Output(
        FORMATS.reporter(options.format),
        options.pcap_out,
        options.verbose,
        command="chain bound",
        files=FORMATS.report_files(options.report),
    )
    return bound(options.chain, written_options(options, [options.chain]), output)


BOUND = Command(
    (
        "Guarantee the speed of a chain of programs",
        "The description (YAML) names the programs, and the actions that pass packets to the "
        "next program. The result is for the slowest path through all programs.",
        "Each program receives packets as the previous program leaves them. The report names "
        "programs that no packet reaches.",
    ),
    (
        argument("CHAIN", "Chain description (*.yaml)"),
        *(option for option in ANALYSIS if option not in (SECTION, PROG_NAME, MAP_ABI)),
        *REPORTING,
    ),
    _bound,
    (
        Example("slowpath chain bound chain.yaml", "Guarantee the speed of a whole chain"),
        Example(
            "slowpath chain bound chain.yaml --require 5Mpps",
            ("Exit with 1 if the chain is slower"),
        ),
    ),
)
_CHAIN_OR_PROGRAM = argument(
    "CHAIN",
    "Chain description (*.yaml), object or C source",
    None,
    "An object or a C source is a chain of one program.",
)
_LIMITS = Heading("How long to work")
_MEMORY = _LIMITS.option(
    "--memory SIZE",
    "Stop if memory use exceeds SIZE [default: half of the free memory]",
    "SIZE is for example 512MiB or 2G.",
    common=False,
)
_WORK: tuple[Option, ...] = (
    CFLAGS,
    BTF,
    _LIMITS.option(
        "--deadline TIME",
        "Stop after TIME with the results so far [default: 60s]",
        "0 means no limit.",
        type=duration,
    ),
    _MEMORY,
)
_HTML = OUTPUT.option(
    "--html FILE",
    "Write an HTML page with control-flow graphs and facts",
    "The page shows programs block by block, and the branches that facts decide. It is a single "
    "file that works offline.",
)


_KNOWN: tuple[Option, ...] = (
    _KNOWLEDGE.option(
        "--fact FACT",
        "Assume a fact about every arriving packet: 'length >= 64'",
        "Write facts as slowpath chain facts prints them: 'bytes 12-13 = 0800', 'byte 14 & f0 = "
        "40'. Repeatable.",
        action="append",
        default=[],
    ),
    _KNOWLEDGE.option(
        "--maps FILE",
        "Read content of maps that no program writes (TOML or JSON)",
        "The control plane must raise a generation before it changes this content.",
    ),
    RECEIVE._replace(group=_KNOWLEDGE),
    SET,
)


FACTS = Command(
    (
        "Find facts about every packet that reaches each program",
        "Facts are constant bytes, lengths, fields with few values, and equal fields. slowpath "
        "proves each fact for all packets.",
        "The report shows the branches that facts decide, and the lines of earlier programs that "
        "establish them.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read, 4 ended before all facts "
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
    (
        Example("slowpath chain facts chain.yaml", "List the facts at the entry of each program"),
        Example(
            "slowpath chain facts chain.yaml --fact 'length >= 64' --html facts.html",
            "Write a page with the facts about packets of 64 bytes and more",
        ),
    ),
)
OPTIMIZE = Command(
    (
        "Rewrite the programs of a chain to run faster in it",
        "Removes checks that earlier programs have already made. slowpath proves that each "
        "rewritten program does the same for all packets and any map content.",
        "A program without a proof stays unchanged, and the report gives the reason. By default "
        "a rewritten program checks the facts that it relies on at its entry. If a fact does "
        "not hold, the program runs the original code. It is therefore correct anywhere.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read or written, 4 ended before "
        "all programs were done.",
    ),
    (
        _CHAIN_OR_PROGRAM,
        *_WORK,
        _REWRITING.flag(
            "--trust",
            "Omit the checks at the entry",
            "The program is then correct only in this chain.",
        ),
        _REWRITING.flag(
            "--fuse",
            "Fuse all programs into one; implies --trust",
            "Load the fused program instead of the others.",
        ),
        GUARANTEE.option(
            "--target NAME|FILE.toml,...",
            "Guarantee the costs before and after rewriting on these targets [default: none]",
            "Commas separate targets. Costs are those of packets that reach the program in this "
            "chain. If the description gives a device a target, slowpath analyses its programs "
            "for that target instead.",
        ),
        *_KNOWN,
        OUTPUT.option(
            "-o, --output DIR",
            "Write the objects of rewritten programs to DIR [default: none]",
            "Each object is named after its program.",
            type=output_folder,
        ),
        _REWRITING.option(
            "--packets N",
            "Run N packets in the original and the rewritten program",
            "The packets are those that earlier programs pass on. Compares the results of both "
            "programs, and measures their times. Needs the running kernel. 0 means no packets.",
            common=False,
            type=within(int, 0, 1_000_000_000),
            default=100_000,
        ),
        _HTML,
        _OPTIMIZE.option(STABLE),
    ),
    _OPTIMIZE.call("slowpath.chain.run:optimize"),
    (
        Example("slowpath chain optimize chain.yaml -o faster", "Write the rewritten programs"),
        Example(
            "slowpath chain optimize filter.bpf.o --fact 'length >= 64' --trust",
            "Rewrite one program for packets of 64 bytes and more",
        ),
    ),
)
_PLANNING = Heading("How to plan")
PLAN = Command(
    (
        "Find program variants that save work on the paths of a network",
        "The description (YAML) names programs, the nodes that they run on, and the paths of "
        "packets over these nodes, with their shares of the traffic.",
        "slowpath rewrites the program of each node for the packets that arrive there: one "
        "variant for all packets, or several by ingress. The report lists variants by "
        "decreasing gain. slowpath keeps results. After a change, it computes only the results "
        "that depend on the change.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read or written, 4 ended before "
        "all nodes were planned.",
    ),
    (
        argument("TOPOLOGY", "Topology description (*.yaml)"),
        CFLAGS,
        BTF,
        _LIMITS.option(
            "--deadline TIME",
            "Stop after TIME with the best plan so far [default: 60s]",
            "Nodes with the most traffic come first. 0 means no limit.",
            type=within(duration, 0, 1e9),
        ),
        _MEMORY,
        _PLANNING.flag(
            "--trust",
            "Omit the checks at the entry of variants",
            "Variants are then correct only on these paths.",
        ),
        _PLANNING.option(
            "--variants K",
            "Generate at most K rewritten variants of a node's program",
            type=within(int, 1, 64),
            default=2,
        ),
        _PLANNING.flag(
            "--neighbours",
            "Use only facts that the directly preceding program establishes",
            "Such facts hold for any input of that program. Otherwise, slowpath uses facts of "
            "the whole path.",
            common=False,
        ),
        *(one._replace(group=_PLANNING) for one in CACHE),
        OUTPUT.option(
            "-o, --output DIR",
            "Write the objects of variants to DIR [default: none]",
            "Objects are named NODE.VARIANT.bpf.o.",
            type=output_folder,
        ),
        _PLAN.option(STABLE),
    ),
    _PLAN.call("slowpath.chain.plan:plan"),
    (
        Example("slowpath chain plan network.yaml", "List variants by their gain"),
        Example(
            "slowpath chain plan network.yaml --deadline 10m -o variants",
            "Plan for ten minutes, and write the objects",
        ),
    ),
)
VERIFY = Command(
    (
        "Prove that two programs do the same, or show a difference",
        "The proof covers all packets and any map content. It compares result, packet, "
        "metadata, maps and helper calls.",
        "Maps with the same name and definition in both objects count as one map. If the "
        "programs differ, slowpath runs both on the packet that shows the difference.",
        "Exit codes: 0 equal, under the printed conditions; 1 different; 2 wrong usage; 3 a file "
        "cannot be read or analysed; 4 not decided.",
    ),
    (
        argument("FIRST", "Object or C source"),
        argument("SECOND", "Object or C source to compare with FIRST"),
        _COMPARED.option(
            "--program NAME",
            "Compare the programs with this name [default: the only one]",
            "With --chain, NAME is the program of the chain that both replace [default: its last "
            "one].",
        ),
        _COMPARED.option(
            "--chain FILE",
            "Compare both as replacements for a program of a chain",
            "FILE is a chain description (*.yaml). The comparison covers only packets that "
            "earlier programs pass on.",
        ),
        *_WORK,
        _KNOWLEDGE.option(
            "--fact FACT",
            "Assume a fact about packets: 'length >= 64'",
            "Write facts as slowpath chain facts prints them: 'bytes 12-13 = 0800', 'byte 14 & "
            "f0 = 40'. With --chain, the fact is about packets that arrive at its first "
            "program. Repeatable.",
            action="append",
            default=[],
        ),
        RECEIVE._replace(group=_KNOWLEDGE),
        _VERIFY.option(STABLE),
    ),
    _VERIFY.call("slowpath.chain.verify:verify"),
    (
        Example("slowpath chain verify old.bpf.o new.bpf.o", "Prove that a change keeps behaviour"),
        Example(
            "slowpath chain verify filter.bpf.o faster/filter.bpf.o --chain chain.yaml",
            "Prove equal behaviour for packets that reach the program in a chain",
        ),
    ),
)
CHAIN = Group(
    ("Analyse and optimize programs that run one after another",),
    (),
    {
        "bound": f"{__name__}:BOUND",
        "facts": f"{__name__}:FACTS",
        "optimize": f"{__name__}:OPTIMIZE",
        "plan": f"{__name__}:PLAN",
        "verify": f"{__name__}:VERIFY",
    },
    examples=(
        Example("slowpath chain bound chain.yaml", "Guarantee the speed of a whole chain"),
        Example("slowpath chain optimize chain.yaml -o faster", "Write faster programs"),
    ),
)
