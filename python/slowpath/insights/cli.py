"""Declares the arguments and options of `slowpath insights`."""

from argparse import ArgumentTypeError

from slowpath.core.command import Command, Group, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats
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

_STABLE = "Set the output format; json and csv are stable"
CODES = "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = "Needs the extra `insights`: pip install slowpath[insights]."
_ACCELERATORS = Formats(
    "slowpath.insights.accelerators.report",
    table="accelerators_text",
    json=JSON,
    csv="accelerators_csv",
)
_BLOCKS = Formats(
    "slowpath.insights.blocks.report", table="blocks_text", json=JSON, csv="blocks_csv"
)
_COALESCING = Formats(
    "slowpath.insights.layout.report",
    table="layout_text",
    json=JSON,
    csv="layout_csv",
    c="layout_c",
)
_COLOCATION = Formats(
    "slowpath.insights.cores.run", table="colocation_text", json=JSON, csv="colocation_csv"
)
_CORES = Formats("slowpath.insights.cores.run", table="cores_text", json=JSON, csv="cores_csv")
_COUNTS = Formats("slowpath.insights.trace.run", table="counts_text", json=JSON, csv="counts_csv")
_PLACEMENT = Formats(
    "slowpath.insights.placement.report", table="placement_text", json=JSON, csv="placement_csv"
)
_ADVICE = Formats(
    "slowpath.insights.advice.report", text="advice_text", json=JSON, csv="advice_csv"
)
PREDICTIONS = OUTPUT.option(
    "-o, --output FILE",
    "Write the predictions to FILE, whose name ends in .csv or .json, instead of standard output.",
)

INSIGHTS = Group(
    (
        "Predict the needs of a network function on a SmartNIC before porting it, and advise how "
        "to port it.",
        "slowpath insights FILE [OPTIONS] advises how to port the function in a source (.c, .cc, "
        ".ll, ...); slowpath insights FILE --help lists its options. For a file named like a "
        "command, write its path: ./counts.",
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


ACCELERATORS = Command(
    (
        "Find functions that an accelerator could replace: CRC, checksums, hashes, ciphers, "
        "longest prefix match.",
        "A match is proved by running the function and a reference on random inputs; its "
        "parameters are recovered from the outputs. Functions that only look similar are listed "
        "separately. Code runs in separate processes without access to files and network; "
        "docs/explanation/insights-accelerators.md describes this confinement and its limits.",
        NEEDS,
        CODES,
    ),
    (SOURCE, ENTRY, CFLAGS, DEADLINE, MEMORY, _ACCELERATORS.option(_STABLE)),
    _ACCELERATORS.call("slowpath.insights.accelerators.run:run"),
)


_ANALYSIS = Heading("Analysis")


BLOCKS = Command(
    (
        "Predict instructions and memory accesses on the card, block by block.",
        "Supports XDP programs, functions that take packets, and elements in the style of Click. "
        "Counts come from the code that clang's BPF back end and the code generator for the card "
        "emit for each block. Operations that the card lacks, such as calls of the framework, are "
        "counted separately.",
        NEEDS,
        CODES,
    ),
    (
        argument(
            "FILE", "A source in C or C++ (.c, .cc, .cpp), compiled by clang for BPF with -O2."
        ),
        ENTRY.with_help(
            "Predict only FUNCTION, a program or function, and its callees (default: all XDP "
            "programs; without any, the element, or all functions that no other function calls)."
        ),
        CFLAGS,
        _ANALYSIS.option(
            "--model",
            "Count in generated code (exact), predict from LLVM IR with a model trained on "
            "synthetic programs (learnt), or count where possible and predict the rest (auto, the "
            "default).",
            choices=("auto", "exact", "learnt"),
            default="auto",
        ),
        _ANALYSIS.option(
            "--map-abi",
            "Access maps on the card by calls of the stock firmware (call, the default), or "
            "as the firmware of the published measurements does, with one array (array-pointer).",
            choices=("array-pointer", "call"),
            default="call",
        ),
        DEADLINE.with_help("Stop after SECONDS and report the results so far (default: none)."),
        MEMORY,
        _BLOCKS.option(_STABLE),
    ),
    _BLOCKS.call("slowpath.insights.blocks.run:run"),
)


LAYOUT = Heading("Layout")
_LARGEST = 4096


def _width(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _LARGEST or value & (value - 1):
        raise ArgumentTypeError(f"{text} is no power of two up to {_LARGEST}")
    return value


_width.__name__ = "int"  # argparse says `invalid int value`

COALESCING = Command(
    (
        "Order a function's variables so that one memory access fetches as many as possible.",
        "FILE lists elements: variables with sizes, and blocks of code with their frequency and "
        "the variables that they access; docs/reference/insights-files.md documents the keys. Up "
        "to about 14 variables, the order is proved optimal; beyond that, a bound limits the "
        "possible gain.",
        CODES,
    ),
    (
        argument("FILE", "Variables and blocks, as JSON."),
        LAYOUT.option(
            "--width BYTES",
            "Fetch BYTES per access, from an address that is a multiple of BYTES; a power of "
            "two (default: access_bytes of FILE, else 16).",
            type=_width,
        ),
        _COALESCING.option(f"{_STABLE}, c prints only the structs"),
    ),
    _COALESCING.call("slowpath.insights.layout.run:run"),
)


GROUPS = Heading("Groups")


COLOCATION = Command(
    (
        "Predict pairs of functions of a group that can share the card, by the cost of sharing.",
        "A group has four functions; two at a time share the card, each with half of the cores. "
        "The solo performance of each function (`solo`) is optional. "
        "docs/reference/insights-files.md documents the keys and the scores. The default model, "
        "used without --train, was fitted to published measurements of a Netronome Agilio CX.",
        NEEDS,
        CODES,
    ),
    (
        GROUPS.option(
            "--query FILE",
            "Predict for the groups in FILE, one JSON object per line; gzip is accepted.",
            required=True,
        ),
        GROUPS.option("--train FILE", "Train on the groups in FILE, measured alone and in pairs."),
        PREDICTIONS,
        _COLOCATION.option(_STABLE),
    ),
    _COLOCATION.call("slowpath.insights.cores.run:run_colocation"),
)


FUNCTIONS = Heading("Functions")
_TRAFFIC = ("hit", "miss")


CORES = Command(
    (
        "Predict throughput and latency of a function by number of cores, and recommend a number.",
        "More cores help until a resource that all of them share is saturated. The recommended "
        "number is the bend of a curve, with an interval; docs/explanation/insights-cores.md "
        "documents the rule, docs/reference/insights-files.md the columns of tables. The default "
        "model, used without --train, was fitted to published measurements of a Netronome Agilio "
        "CX.",
        NEEDS,
        CODES,
    ),
    (
        FUNCTIONS.option(
            "--query FILE",
            "Predict for the functions and numbers of cores in FILE, a CSV table; gzip is "
            "accepted.",
            required=True,
        ),
        FUNCTIONS.option(
            "--train FILE",
            "Train on the functions in FILE, a table of measurements at 24, 30, ... 60 cores.",
        ),
        FUNCTIONS.option(
            "--traffic",
            "Without --train: assume that accesses to external memory mostly hit its cache "
            f"(few large flows) or miss it (many small flows) (default: {_TRAFFIC[0]}).",
            choices=_TRAFFIC,
        ),
        FUNCTIONS.option(
            "--confidence PERCENT",
            "Set the probability that the interval contains the number of cores that "
            "measurements would recommend (default: %(default)s).",
            type=within(float, 50, 99),
            default=90.0,
        ),
        PREDICTIONS,
        _CORES.option(_STABLE),
    ),
    _CORES.call("slowpath.insights.cores.run:run_cores"),
)


COUNTS = Command(
    (
        "Count blocks and memory accesses of a function over a trace, with tables as on a card.",
        "The function runs on this machine, with tables as on a card (fixed buckets and slots, no "
        "allocation). Counted are the runs of each block, and the reads and writes of each data "
        "structure and member. Elements in the style of Click compile with the headers of "
        "slowpath. XDP programs in C run unchanged, with such tables as maps; see "
        "docs/reference/insights-files.md. The function runs in a process without access to files "
        "and network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--traffic FILE",
            "Read the trace from FILE: Ethernet frames as pcap or pcapng.",
            required=True,
        ),
        PACKETS,
        STRIP,
        TRACE_ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        BLOCK_LIMIT,
        CFLAGS,
        DEADLINE.with_help(
            "Stop after SECONDS and report the packets processed so far "
            "(default: none; each packet has its own limit)."
        ),
        MEMORY,
        OUTPUT.option(
            "--placement-out FILE",
            "Write the structures with their accesses, as input of slowpath insights placement.",
        ),
        OUTPUT.option(
            "--coalescing-out FILE",
            "Write variables and the blocks that access them, as input of slowpath insights "
            "coalescing.",
        ),
        _COUNTS.option(_STABLE),
    ),
    _COUNTS.call("slowpath.insights.trace.run:run"),
)


PLACING = Heading("How to place")


PLACEMENT = Command(
    (
        "Place each data structure of a function in a memory of the card, for the lowest cost or "
        "the highest throughput.",
        "FILE lists memory levels with capacities and prices, and cases: structures with sizes and "
        "accesses; docs/reference/insights-files.md documents the keys. The placement is proved "
        "optimal, or a bound limits the possible gain. A case with cores is placed for throughput: "
        "structures are spread over memories where the bandwidth of one would limit it.",
        NEEDS,
        CODES,
    ),
    (
        argument("FILE", "Memories, structures and accesses, as JSON."),
        PLACING.option(
            "--unpriced",
            "Forbid levels without a price for an access of the structure, or let such an "
            "access cost nothing there (free) (default: %(default)s).",
            choices=("forbidden", "free"),
            default="forbidden",
        ),
        PLACING.option(
            "--objective",
            "Minimise the cost of all accesses, or maximise packets per second and then "
            "minimise cost (default: throughput for cases with cores, cost for others).",
            choices=("cost", "throughput"),
        ),
        PLACING.option(
            "--deadline SECONDS",
            "Stop the search after SECONDS and report the best placement so far with a bound "
            "(default: 10; 0: none).",
            type=within(float, 0),
            default=10.0,
        ),
        _PLACEMENT.option(_STABLE),
    ),
    _PLACEMENT.call("slowpath.insights.placement.run:run"),
)


ADVICE = Command(
    (
        "Advise how to port a network function: each change with its line, reason and gain.",
        "Runs functions to prove that an accelerator can replace them. With a trace: counts blocks "
        "and memory accesses, chooses a memory for each structure and the order of its variables, "
        "and recommends a number of cores and functions to share the card with. Unknown figures "
        "are reported as unknown. Code runs in separate processes without access to files and "
        "network.",
        NEEDS,
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--traffic TRACE",
            "Run the function on the Ethernet frames in TRACE, pcap or pcapng (default: none; "
            "then nothing is counted).",
        ),
        TRACE_ENTRY,
        CONFIG,
        MAPS,
        SETUP,
        PACKETS,
        STRIP,
        BLOCK_LIMIT,
        _ANALYSIS.option(
            "--target NAME",
            "Advise for this card: agilio-cx-2x40, the only one with known memories.",
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
        ),
        _ANALYSIS.option(
            "--beside FILE",
            "Consider sharing the card with the functions in FILE: a report on another source "
            "(--traffic TRACE --format json), a table (.csv) as for insights cores, or groups as "
            "for insights colocation. Can be repeated (default: itself and typical functions).",
            action="append",
        ),
        _ANALYSIS.option(
            "--placement FILE",
            'Read the current memory of structures as JSON: {"NAT::_flows": "imem"}. Others '
            "are in the farthest memory (default: all are).",
        ),
        CFLAGS,
        DEADLINE.with_help("Stop after SECONDS and report the results so far (default: none)."),
        MEMORY,
        OUTPUT.option(
            "--html FILE", "Also write an HTML page with the advice and the annotated source."
        ),
        _ADVICE.option(_STABLE),
    ),
    _ADVICE.call("slowpath.insights.advice.run:run"),
)
