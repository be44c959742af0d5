"""Declares the arguments and options of `slowpath insights`."""

from argparse import ArgumentTypeError

from slowpath.core.command import Command, Example, Group, Heading, argument, output_file, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration
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
    "Write the predictions to FILE (.csv, .json)",
    type=output_file,
)

INSIGHTS = Group(
    (
        "Advise how to port a network function to a SmartNIC",
        "slowpath insights FILE [OPTIONS] advises how to port the function in a source (.c, .cc, "
        ".ll, ...); slowpath insights FILE --help lists its options. The commands predict single "
        "needs of a function before it is ported.",
        "For a file named like a command, write its path: ./counts.",
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
    (
        Example("slowpath insights nat.cc", "Advise how to port the function in a source"),
        Example("slowpath insights counts nat.cc --traffic nat.pcap", "Count memory accesses"),
    ),
)


ACCELERATORS = Command(
    (
        "Find functions that an accelerator could replace",
        "Finds CRC, checksums, hashes, ciphers and longest prefix match. A match is proved by "
        f"running the function and a reference on random inputs. {NEEDS}",
        "Parameters of a match are recovered from the outputs. Functions that only look similar "
        "are listed separately. Code runs in separate processes without access to files and "
        "network; docs/explanation/insights-accelerators.md describes this confinement and its "
        "limits.",
        CODES,
    ),
    (SOURCE, ENTRY, CFLAGS, DEADLINE, MEMORY, _ACCELERATORS.option()),
    _ACCELERATORS.call("slowpath.insights.accelerators.run:run"),
    (
        Example("slowpath insights accelerators nat.cc", "Examine all functions of a source"),
        Example(
            "slowpath insights accelerators nat.cc --entry crc32 --deadline 2m",
            "Examine one function for at most two minutes",
        ),
    ),
)


_ANALYSIS = Heading("Analysis")


BLOCKS = Command(
    (
        "Predict instructions and memory accesses on the card by block",
        "Supports XDP programs, functions that take packets, and elements in the style of Click. "
        f"{NEEDS}",
        "Counts come from the code that clang's BPF back end and the code generator for the card "
        "emit for each block. Operations that the card lacks, such as calls of the framework, are "
        "counted separately.",
        CODES,
    ),
    (
        argument(
            "FILE",
            "Source in C or C++ (.c, .cc, .cpp)",
            None,
            "clang compiles it for BPF with -O2.",
        ),
        ENTRY.with_help(
            "Predict only FUNCTION and its callees [default: all programs]",
            "FUNCTION is a program or function. The default is all XDP programs; without any, the "
            "element, or all functions that no other function calls.",
        ),
        CFLAGS,
        _ANALYSIS.option(
            "--model",
            "Count or predict instructions",
            "exact counts in generated code. learnt predicts from LLVM IR with a model trained on "
            "synthetic programs. auto counts where possible and predicts the rest.",
            choices=("auto", "exact", "learnt"),
            default="auto",
        ),
        _ANALYSIS.option(
            "--map-abi",
            "Select how programs access maps on the card",
            "call: by calls of the stock firmware. array-pointer: with one array, as the firmware "
            "of the published measurements does.",
            common=False,
            choices=("array-pointer", "call"),
            default="call",
        ),
        DEADLINE.with_help("Stop after TIME with the results so far [default: no limit]"),
        MEMORY,
        _BLOCKS.option(),
    ),
    _BLOCKS.call("slowpath.insights.blocks.run:run"),
    (
        Example("slowpath insights blocks nat.cc", "Predict the cost of each block"),
        Example("slowpath insights blocks nat.cc --model learnt", "Predict from LLVM IR only"),
    ),
)


LAYOUT = Heading("Layout")
_LARGEST = 4096


def _width(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _LARGEST or value & (value - 1):
        raise ArgumentTypeError(f"{text} is not a power of two up to {_LARGEST}")
    return value


_width.__name__ = "int"  # argparse says `invalid int value`

COALESCING = Command(
    (
        "Order a function's variables for few memory accesses",
        "One access then fetches as many variables as possible. Up to about 14 variables, the "
        "order is proved optimal; beyond that, a bound limits the possible gain.",
        "FILE lists elements: variables with sizes, and blocks of code with their frequency and "
        "the variables that they access; docs/reference/insights-files.md documents the keys.",
        CODES,
    ),
    (
        argument("FILE", "Variables and blocks (JSON)"),
        LAYOUT.option(
            "--width BYTES",
            "Fetch BYTES per access, a power of two [default: 16]",
            "Addresses are multiples of BYTES. The default is access_bytes of FILE, else 16.",
            type=_width,
        ),
        _COALESCING.option("json and csv are stable; c prints only the structs."),
    ),
    _COALESCING.call("slowpath.insights.layout.run:run"),
    (
        Example(
            "slowpath insights counts nat.cc --traffic nat.pcap --coalescing-out nat.json",
            "Write the input of this command",
        ),
        Example("slowpath insights coalescing nat.json --format c", "Print the best structs"),
    ),
)


GROUPS = Heading("Groups")


COLOCATION = Command(
    (
        "Predict which two functions of a group can share the card",
        "A group has four functions; two at a time share the card, each with half of the cores. "
        f"{NEEDS}",
        "The solo performance of each function (`solo`) is optional. "
        "docs/reference/insights-files.md documents the keys and the scores. The default model, "
        "used without --train, was fitted to published measurements of a Netronome Agilio CX.",
        CODES,
    ),
    (
        GROUPS.option(
            "--query FILE",
            "Predict for the groups in FILE",
            "FILE has one JSON object per line; gzip is accepted.",
            required=True,
        ),
        GROUPS.option("--train FILE", "Train on the groups in FILE, measured alone and in pairs"),
        PREDICTIONS,
        _COLOCATION.option(),
    ),
    _COLOCATION.call("slowpath.insights.cores.run:run_colocation"),
    (
        Example("slowpath insights colocation --query groups.jsonl", "Rank the pairs of groups"),
        Example(
            "slowpath insights colocation --query groups.jsonl --train measured.jsonl",
            "Rank them with a model of your own measurements",
        ),
    ),
)


FUNCTIONS = Heading("Functions")
_TRAFFIC = ("hit", "miss")


CORES = Command(
    (
        "Recommend a number of cores for a function",
        "Predicts throughput and latency by number of cores. More cores help until a resource that "
        f"all of them share is saturated. {NEEDS}",
        "The recommended number is the bend of a curve, with an interval; "
        "docs/explanation/insights-cores.md documents the rule, docs/reference/insights-files.md "
        "the columns of tables. The default model, used without --train, was fitted to published "
        "measurements of a Netronome Agilio CX.",
        CODES,
    ),
    (
        FUNCTIONS.option(
            "--query FILE",
            "Predict for the functions and numbers of cores in FILE",
            "FILE is a CSV table; gzip is accepted.",
            required=True,
        ),
        FUNCTIONS.option(
            "--train FILE",
            "Train on the measured functions in FILE",
            "FILE is a table of measurements at 24, 30, ... 60 cores.",
        ),
        FUNCTIONS.option(
            "--traffic",
            f"Assume that memory accesses hit or miss the cache [default: {_TRAFFIC[0]}]",
            "The cache is that of external memory. Few large flows mostly hit it, many small flows "
            "miss it. Only without --train.",
            choices=_TRAFFIC,
        ),
        FUNCTIONS.option(
            "--confidence PERCENT",
            "Set the confidence level of intervals",
            "An interval contains the number of cores that measurements would recommend with this "
            "probability.",
            type=within(float, 50, 99),
            default=90.0,
        ),
        PREDICTIONS,
        _CORES.option(),
    ),
    _CORES.call("slowpath.insights.cores.run:run_cores"),
    (
        Example("slowpath insights cores --query nat.csv", "Recommend a number for each function"),
        Example("slowpath insights cores --query nat.csv --traffic miss", "Assume many flows"),
    ),
)


COUNTS = Command(
    (
        "Count blocks and memory accesses of a function over a trace",
        "The function runs on this machine, with tables as on a card (fixed buckets and slots, no "
        f"allocation). {NEEDS}",
        "Counts the runs of each block, and the reads and writes of each data structure and "
        "member. Elements in the style of Click compile with the headers of slowpath. XDP "
        "programs in C run unchanged, with such tables as maps; see "
        "docs/reference/insights-files.md. The function runs in a process without access to files "
        "and network.",
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--traffic FILE",
            "Run the Ethernet frames of FILE (pcap, pcapng)",
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
            "Stop after TIME with the packets so far [default: no limit]",
            "Each packet has its own limit.",
        ),
        MEMORY,
        OUTPUT.option(
            "--placement-out FILE",
            "Write the input of slowpath insights placement",
            "It has the structures with their accesses.",
        ),
        OUTPUT.option(
            "--coalescing-out FILE",
            "Write the input of slowpath insights coalescing",
            "It has variables and the blocks that access them.",
        ),
        _COUNTS.option(),
    ),
    _COUNTS.call("slowpath.insights.trace.run:run"),
    (
        Example("slowpath insights counts nat.cc --traffic nat.pcap", "Count accesses per packet"),
        Example(
            "slowpath insights counts nat.cc --traffic nat.pcap --placement-out nat.json",
            "Write the accesses for slowpath insights placement",
        ),
    ),
)


PLACING = Heading("How to place")


PLACEMENT = Command(
    (
        "Place data structures in the memories of the card",
        "Minimises cost or maximises throughput. The placement is proved optimal, or a bound "
        f"limits the possible gain. {NEEDS}",
        "FILE lists memory levels with capacities and prices, and cases: structures with sizes "
        "and accesses; docs/reference/insights-files.md documents the keys. A case with cores is "
        "placed for throughput: structures are spread over memories where the bandwidth of one "
        "would limit it.",
        CODES,
    ),
    (
        argument("FILE", "Memories, structures and accesses (JSON)"),
        PLACING.option(
            "--unpriced",
            "Forbid accesses without a price, or let them cost nothing",
            "forbidden: no structure is in a level that has no price for one of its accesses.",
            common=False,
            choices=("forbidden", "free"),
            default="forbidden",
        ),
        PLACING.option(
            "--objective",
            "Minimise the cost, or maximise packets per second",
            "throughput also minimises the cost as far as the rate allows. It is the default for "
            "cases with cores, and cost for others.",
            choices=("cost", "throughput"),
        ),
        PLACING.option(
            "--deadline TIME",
            "Stop after TIME with the best placement so far [default: 10s]",
            "A bound limits the possible gain. 0 means no limit.",
            type=within(duration, 0),
            default=10.0,
        ),
        _PLACEMENT.option(),
    ),
    _PLACEMENT.call("slowpath.insights.placement.run:run"),
    (
        Example(
            "slowpath insights counts nat.cc --traffic nat.pcap --placement-out nat.json",
            "Write the input of this command",
        ),
        Example("slowpath insights placement nat.json", "Choose a memory for each structure"),
    ),
)


ADVICE = Command(
    (
        "Advise how to port a network function to a SmartNIC",
        f"Lists changes with line, reason and gain. {NEEDS}",
        "Runs functions to prove that an accelerator can replace them. With a trace: counts blocks "
        "and memory accesses, chooses a memory for each structure and the order of its variables, "
        "and recommends a number of cores and functions to share the card with. Unknown figures "
        "are reported as unknown. Code runs in separate processes without access to files and "
        "network.",
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--traffic TRACE",
            "Run the Ethernet frames of TRACE (pcap, pcapng)",
            "Without a trace, nothing is counted.",
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
            "Advise for this card, the only one with known memories",
            common=False,
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
        ),
        _ANALYSIS.option(
            "--beside FILE",
            "Consider sharing the card with the functions in FILE",
            "FILE is a report on another source (--traffic TRACE --format json), a table (.csv) as "
            "for insights cores, or groups as for insights colocation. Repeatable [default: itself "
            "and typical functions].",
            action="append",
        ),
        _ANALYSIS.option(
            "--placement FILE",
            "Read the current memory of structures from FILE (JSON)",
            'FILE is such as {"NAT::_flows": "imem"}. Others are in the farthest memory '
            "[default: all are].",
            common=False,
        ),
        CFLAGS,
        DEADLINE.with_help("Stop after TIME with the results so far [default: no limit]"),
        MEMORY,
        OUTPUT.option("--html FILE", "Write an HTML page with the advice and the annotated source"),
        _ADVICE.option(),
    ),
    _ADVICE.call("slowpath.insights.advice.run:run"),
    (
        Example("slowpath insights nat.cc", "Find functions that an accelerator can replace"),
        Example(
            "slowpath insights nat.cc --traffic nat.pcap --html advice.html",
            "Write a page with all advice for the traffic of a trace",
        ),
    ),
)
