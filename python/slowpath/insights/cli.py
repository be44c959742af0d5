"""The command line of `slowpath insights`."""

from argparse import ArgumentTypeError, Namespace

from slowpath.core.command import Command, Group, argument, option, within
from slowpath.insights.options import (
    BLOCK_LIMIT,
    CFLAGS,
    CONFIG,
    DEADLINE,
    ENTRY,
    MAPS,
    MEMORY,
    PACKETS,
    SETUP,
    SOURCE,
    STRIP,
    TRACE_ENTRY,
    TRAFFIC,
)

OUTPUT = "Output"
FORMATS = ("table", "json", "csv")
CODES = "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = "Needs the extra `insights`: pip install slowpath[insights]."
FORMAT = option(
    OUTPUT,
    "--format",
    choices=FORMATS,
    default="table",
    help="How to write to standard output; json and csv are stable (default: %(default)s).",
)
PREDICTIONS = option(
    OUTPUT,
    "-o",
    "--output",
    metavar="FILE",
    help="Write the predictions to a file that ends in .csv or .json, rather than to standard "
    "output.",
)

INSIGHTS = Group(
    (
        "Tell what a network function will need on a SmartNIC before it is ported, and how to port "
        "it.",
        "slowpath insights FILE [OPTIONS] advises how to port the function in a source (.c, .cc, "
        ".ll, ...): slowpath insights FILE --help has its options. A file that is called as a "
        "command is: ./counts.",
    ),
    (),
    {
        "cores": "slowpath.insights.cli:CORES",
        "colocation": "slowpath.insights.cli:COLOCATION",
        "placement": "slowpath.insights.cli:PLACEMENT",
        "coalescing": "slowpath.insights.cli:COALESCING",
        "counts": "slowpath.insights.cli:COUNTS",
        "blocks": "slowpath.insights.cli:BLOCKS",
        "accelerators": "slowpath.insights.cli:ACCELERATORS",
    },
    "slowpath.insights.cli:ADVICE",
)


def _accelerators(given: Namespace) -> int:
    from slowpath.insights.accelerators.run import run

    return run(given)


ACCELERATORS = Command(
    (
        "Find functions that an accelerator could do: CRC, checksums, hashes, ciphers, longest "
        "prefix match.",
        "What is proved was run on random inputs beside a reference, with its parameters recovered "
        "from what it answered; what only looks like it is listed apart. Code runs in processes "
        "of their own, without files and network; see docs/insights.md for what that is worth.",
        NEEDS,
        CODES,
    ),
    (SOURCE, ENTRY, CFLAGS, DEADLINE, MEMORY, FORMAT),
    _accelerators,
)


_ANALYSIS = "Analysis"


def _blocks(given: Namespace) -> int:
    from slowpath.insights.blocks.run import run

    return run(given)


BLOCKS = Command(
    (
        "Predict instructions and memory accesses on the card, block by block.",
        "XDP programs, functions that take packets and elements in the manner of Click are "
        "counted: in what clang's back end for BPF and the code generator for the card make of "
        "each block. What the card has not, calls of the framework among it, is counted apart.",
        NEEDS,
        CODES,
    ),
    (
        argument(
            "FILE", "A source in C or C++ (.c, .cc, .cpp), which clang compiles for BPF with -O2."
        ),
        ENTRY.saying(
            "Predict this program or function and what it calls only (default: all XDP programs; "
            "of a source without any, the element, or all functions that no other calls)."
        ),
        CFLAGS,
        option(
            _ANALYSIS,
            "--model",
            choices=("auto", "exact", "learnt"),
            default="auto",
            help="Count in generated code (exact), predict from LLVM's language by a model that "
            "was learnt from programs that are made up (learnt), or count what can be counted and "
            "predict the rest (auto, the default).",
        ),
        option(
            _ANALYSIS,
            "--map-abi",
            choices=("array-pointer", "call"),
            default="call",
            help="How programs reach maps on the card: call (the default), by calls of the stock "
            "firmware, or array-pointer, as the firmware of the published measurements has it, "
            "with one array.",
        ),
        DEADLINE.saying("Stop after so many seconds with what is known by then (default: none)."),
        MEMORY,
        FORMAT,
    ),
    _blocks,
)


LAYOUT = "Layout"
_LARGEST = 4096


def _coalesce(given: Namespace) -> int:
    from slowpath.insights.layout.run import run

    return run(given)


def _width(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _LARGEST or value & (value - 1):
        raise ArgumentTypeError(f"{text} is no power of two up to {_LARGEST}")
    return value


_width.__name__ = "int"  # argparse says `invalid int value`

COALESCING = Command(
    (
        "Find the order of a function's variables in which one access to memory fetches most.",
        "FILE has elements: variables with sizes, and blocks of code with the variables that they "
        "touch and how often they run; docs/insights.md has its keys. Up to about 14 variables "
        "the order is proved to be the best, beyond that a bound says what may be possible.",
        CODES,
    ),
    (
        argument("FILE", "Variables and blocks, as JSON."),
        option(
            LAYOUT,
            "--width",
            metavar="BYTES",
            type=_width,
            help="Bytes that one access fetches, from a multiple of them on; a power of two "
            "(default: access_bytes of FILE, else 16).",
        ),
        option(
            OUTPUT,
            "--format",
            choices=(*FORMATS, "c"),
            default="table",
            help="How to write to standard output; json and csv are stable, c is the structs alone "
            "(default: %(default)s).",
        ),
    ),
    _coalesce,
)


GROUPS = "Groups"


def _colocation(given: Namespace) -> int:
    from slowpath.insights.cores.run import run_colocation

    return run_colocation(given)


COLOCATION = Command(
    (
        "Predict which functions of a group may share the card, by what sharing costs each pair.",
        "Groups are four functions of which two get half of the cores each, with or without what "
        "each does alone (`solo`); docs/insights.md has the keys and the scores. Without --train, "
        "a model is used that was fitted to published measurements of a Netronome Agilio CX.",
        NEEDS,
        CODES,
    ),
    (
        option(
            GROUPS,
            "--query",
            metavar="FILE",
            required=True,
            help="Groups to predict for, a JSON object on each line; may be compressed with gzip.",
        ),
        option(
            GROUPS,
            "--train",
            metavar="FILE",
            help="Groups that were measured alone and in pairs, to learn from.",
        ),
        PREDICTIONS,
        FORMAT,
    ),
    _colocation,
)


FUNCTIONS = "Functions"
_TRAFFIC = ("hit", "miss")


def _cores(given: Namespace) -> int:
    from slowpath.insights.cores.run import run_cores

    return run_cores(given)


CORES = Command(
    (
        "Predict throughput and latency of a function by cores of the card, and advise a number.",
        "More cores are worth it until something that all of them share is full. The advised "
        "number is where a curve bends, with an interval; docs/insights.md has the rule and the "
        "columns of tables. Without --train, a model is used that was fitted to published "
        "measurements of a Netronome Agilio CX.",
        NEEDS,
        CODES,
    ),
    (
        option(
            FUNCTIONS,
            "--query",
            metavar="FILE",
            required=True,
            help="Table of functions and numbers of cores to predict for; CSV, may be compressed "
            "with gzip.",
        ),
        option(
            FUNCTIONS,
            "--train",
            metavar="FILE",
            help="Table of measured functions to learn from, at each of 24, 30, ... 60 cores.",
        ),
        option(
            FUNCTIONS,
            "--traffic",
            choices=_TRAFFIC,
            help="Without --train: whether accesses to external memory mostly hit its cache (few "
            f"large flows) or miss it (many small ones) (default: {_TRAFFIC[0]}).",
        ),
        option(
            FUNCTIONS,
            "--confidence",
            metavar="PERCENT",
            type=within(float, 50, 99),
            default=90.0,
            help="How often the interval has the number of cores that measurements lead to "
            "(default: %(default)s).",
        ),
        PREDICTIONS,
        FORMAT,
    ),
    _cores,
)


def _counts(given: Namespace) -> int:
    from slowpath.insights.trace.run import run

    return run(given)


COUNTS = Command(
    (
        "Count what a function does with the packets of a trace, as it would on a card.",
        "The function runs here, on tables as cards have them (fixed buckets and slots, nothing "
        "allocated): how often each block of it runs, and how often each data structure and member "
        "is read and written. Elements in the manner of Click compile with headers that come "
        "along, XDP programs in C run as they are, with maps as such tables; docs/insights.md says "
        "more. The function runs in a process without files and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        option(
            TRAFFIC,
            "--traffic",
            metavar="FILE",
            required=True,
            help="The trace: Ethernet frames as pcap or pcapng.",
        ),
        PACKETS,
        STRIP,
        TRACE_ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        BLOCK_LIMIT,
        CFLAGS,
        DEADLINE.saying(
            "Stop after so many seconds with the packets that have run by then "
            "(default: none; each packet has a limit of its own)."
        ),
        MEMORY,
        option(
            OUTPUT,
            "--placement-out",
            metavar="FILE",
            help="Write the structures with their accesses, for slowpath insights placement.",
        ),
        option(
            OUTPUT,
            "--coalescing-out",
            metavar="FILE",
            help="Write variables and the blocks that touch them, for slowpath insights "
            "coalescing.",
        ),
        FORMAT,
    ),
    _counts,
)


PLACING = "How to place"


def _place(given: Namespace) -> int:
    from slowpath.insights.placement.run import run

    return run(given)


PLACEMENT = Command(
    (
        "Find the memory of a card on which each data structure of a function costs least, or lets "
        "most packets through.",
        "FILE has levels with capacities and prices, and cases: structures with sizes and "
        "accesses; docs/insights.md has its keys. The placement is proved to be the best, or a "
        "bound says what may be possible. A case with cores is placed for throughput: structures "
        "are spread over memories where the bandwidth of one would limit it.",
        NEEDS,
        CODES,
    ),
    (
        argument("FILE", "Memories, structures and accesses, as JSON."),
        option(
            PLACING,
            "--unpriced",
            choices=("forbidden", "free"),
            default="forbidden",
            help="What becomes of accesses that have no price on a level: such levels are "
            "forbidden, or these accesses cost nothing there (default: %(default)s).",
        ),
        option(
            PLACING,
            "--objective",
            choices=("cost", "throughput"),
            help="What is as good as can be: the cost of all accesses, or packets in a second and "
            "then cost (default: throughput of cases with cores, cost of others).",
        ),
        option(
            PLACING,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            default=10.0,
            help="Stop the search for a placement after this time, with the best so far and a "
            "bound (default: 10; 0: none).",
        ),
        FORMAT,
    ),
    _place,
)


def _advise(given: Namespace) -> int:
    from slowpath.insights.advice.run import run

    return run(given)


ADVICE = Command(
    (
        "Advise how to port a network function: what to change, in which line, why, and by how "
        "much.",
        "Functions for accelerators are proved by running them; with a trace, blocks and accesses "
        "are counted, structures get a memory and an order of their variables, and a number of "
        "cores and neighbours on the card are advised. What is not known is said. Code runs in "
        "processes of their own, without files and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        option(
            TRAFFIC,
            "--traffic",
            metavar="TRACE",
            help="Ethernet frames as pcap or pcapng, which the function gets (default: none; then "
            "nothing is counted).",
        ),
        TRACE_ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        PACKETS,
        STRIP,
        BLOCK_LIMIT,
        option(
            "Analysis",
            "--target",
            metavar="NAME",
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
            help="The card: agilio-cx-2x40, the only one whose memories are known.",
        ),
        option(
            "Analysis",
            "--beside",
            metavar="FILE",
            action="append",
            help="Functions that it may share the card with: a report on another source "
            "(--traffic TRACE --format json), a table of functions (.csv) as insights cores reads, "
            "or groups of them as insights colocation reads. Can be repeated (default: itself and "
            "typical ones).",
        ),
        option(
            "Analysis",
            "--placement",
            metavar="FILE",
            help='Where structures stand now, as JSON: {"NAT::_flows": "imem"}; those that it '
            "lacks are in the farthest memory (default: all are).",
        ),
        CFLAGS,
        DEADLINE.saying("Stop after so many seconds with what is known by then (default: none)."),
        MEMORY,
        option(
            OUTPUT,
            "--html",
            metavar="FILE",
            help="Also write a page with the advice and the annotated source.",
        ),
        option(
            OUTPUT,
            "--format",
            choices=("text", "json", "csv"),
            default="text",
            help="How to write to standard output; json and csv are stable (default: %(default)s).",
        ),
    ),
    _advise,
)
