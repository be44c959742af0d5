"""Declares the arguments and options of `slowpath insights`.

Some commands take a source; others read tables and cases.
"""

from argparse import ArgumentTypeError

from slowpath.core.command import Command, Example, Group, Heading, argument, output_file, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration, percentage
from slowpath.insights.options import (
    BLOCK_LIMIT,
    CFLAGS,
    CONFIG,
    DEADLINE,
    ENTRY,
    MAP_ABI,
    MAPS,
    MEMORY,
    PACKETS,
    SETUP,
    SOURCE,
    STRIP,
    TRACE_ENTRY,
    TRAFFIC,
)

CODES = "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = needs("insights")
_ACCELERATORS = Formats(
    "slowpath.insights.accelerators.report",
    table="accelerators_text",
    json=JSON,
    csv="accelerators_csv",
)
_BLOCKS = Formats(
    "slowpath.insights.blocks.report", table="blocks_text", json=JSON, csv="blocks_csv"
)
_COUNTS = Formats("slowpath.insights.trace.run", table="counts_text", json=JSON, csv="counts_csv")
_GRAPH = Formats("slowpath.insights.click.report", text="graph_text", json=JSON, csv="graph_csv")
_ADVICE = Formats(
    "slowpath.insights.advice.report", text="advice_text", json=JSON, csv="advice_csv"
)

INSIGHTS = Group(
    (
        "Advise how to port a network function to a SmartNIC",
        (
            "Run slowpath insights FILE [OPTIONS] for advice on the function in a source (.c, "
            ".cc, .ll); slowpath insights FILE --help lists its options. Each command below "
            "answers one question about a function before you port it."
        ),
        "If a file is named like a command, write its path, such as ./counts.",
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
        "graph": "slowpath.insights.cli:GRAPH",
    },
    "slowpath.insights.cli:ADVICE",
    (
        Example("slowpath insights nat.cc", "Advise how to port the function in a source file"),
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap",
            "Count memory accesses of the function over a trace",
        ),
    ),
    suffixes={".click": "graph"},
)


ACCELERATORS = Command(
    (
        "Find functions that an accelerator could replace",
        (
            "Finds CRC, checksums, hashes, ciphers and longest prefix match. To prove a match, "
            f"the command runs the function and a reference on random inputs. {NEEDS}"
        ),
        (
            "slowpath derives the parameters of a match from the outputs. A separate list names "
            "functions that only look similar. Code runs in separate processes without access "
            "to files and network. docs/explanation/insights-accelerators.md describes this "
            "confinement and its limits."
        ),
        CODES,
    ),
    (SOURCE, ENTRY, CFLAGS, DEADLINE, MEMORY, _ACCELERATORS.option()),
    _ACCELERATORS.call("slowpath.insights.accelerators.run:run"),
    (
        Example("slowpath insights accelerators nat.cc", "Examine all functions of a source file"),
        Example(
            "slowpath insights accelerators nat.cc --entry crc32 --deadline 2m",
            "Examine one function for at most two minutes",
        ),
    ),
)


_ANALYSIS = Heading("Analysis")


BLOCKS = Command(
    (
        "Predict instructions and memory accesses on the card by basic block",
        (
            "Supports XDP programs, functions that take packets, and elements (classes) in the "
            f"style of Click. {NEEDS}"
        ),
        (
            "clang's BPF back end and the code generator for the card emit the counted code. "
            "slowpath counts operations that the card does not support, such as calls of the "
            "framework, separately."
        ),
        CODES,
    ),
    (
        argument(
            "FILE",
            "Source in C or C++ (.c, .cc, .cpp)",
            None,
            "clang compiles the source for BPF with -O2.",
        ),
        ENTRY.with_help(
            "Predict only FUNCTION and its callees [default: all programs]",
            "FUNCTION is a program or another function. The default is all XDP programs. "
            "Without XDP programs, it is the Click element, or all functions that no other "
            "function calls.",
        ),
        CFLAGS,
        _ANALYSIS.option(
            "--model",
            "Count instructions in generated code, or predict their number",
            "exact counts instructions in generated code. learnt predicts from LLVM IR, with a "
            "model trained on synthetic programs. auto counts where possible, and predicts the "
            "rest.",
            choices=("auto", "exact", "learnt"),
            default="auto",
        ),
        MAP_ABI._replace(group=_ANALYSIS),
        DEADLINE.with_help("Stop after TIME, with the results so far [default: no limit]"),
        MEMORY,
        _BLOCKS.option(),
    ),
    _BLOCKS.call("slowpath.insights.blocks.run:run"),
    (
        Example("slowpath insights blocks nat.cc", "Predict the cost of each basic block"),
        Example("slowpath insights blocks nat.cc --model learnt", "Predict from LLVM IR only"),
    ),
)


COUNTS = Command(
    (
        "Count basic blocks and memory accesses of a function over a trace",
        (
            "The function runs on this machine, with hash tables as on a card (fixed numbers of "
            f"buckets and slots). {NEEDS}"
        ),
        (
            "Counts the runs of each block, and the reads and writes of each data structure and "
            "member. slowpath compiles elements in the style of Click with its own headers. XDP "
            "programs in C run unchanged, with tables of fixed size as maps; "
            "docs/reference/insights-files.md describes them. The function runs in a process "
            "without access to files and network."
        ),
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--pcap FILE",
            "Run the function on the Ethernet frames of FILE (pcap, pcapng)",
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
            "Stop after TIME, with the packets so far [default: no limit]",
            "Each packet also has its own limit.",
        ),
        MEMORY,
        OUTPUT.option(
            "--placement-out FILE",
            "Write the structures as input of slowpath insights placement",
            "The file lists the data structures with their sizes and accesses.",
        ),
        OUTPUT.option(
            "--coalescing-out FILE",
            "Write the variables as input of slowpath insights coalescing",
            "The file lists the variables, and the blocks of code that access them.",
        ),
        _COUNTS.option(),
    ),
    _COUNTS.call("slowpath.insights.trace.run:run"),
    (
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap", "Count memory accesses per packet"
        ),
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap --placement-out nat.json",
            "Write the accesses for slowpath insights placement",
        ),
    ),
)


ADVICE = Command(
    (
        "Advise how to port a network function to a SmartNIC",
        f"Lists changes to the source, each with line, reason and gain. {NEEDS}",
        (
            "Runs functions to prove that an accelerator can replace them. With a trace, the "
            "command counts blocks and memory accesses. It then chooses a memory and an order "
            "of variables for each structure. It also recommends a number of cores, and "
            "functions to share the card with. - Code runs in separate processes without access "
            "to files and network."
        ),
        CODES,
    ),
    (
        SOURCE,
        TRAFFIC.option(
            "--pcap FILE",
            "Run the function on the Ethernet frames of FILE (pcap, pcapng)",
            "Without a trace, slowpath counts neither instructions nor accesses.",
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
            "Advise for this card, the only card with known memories",
            common=False,
            choices=("agilio-cx-2x40",),
            default="agilio-cx-2x40",
        ),
        _ANALYSIS.option(
            "--beside FILE",
            "Consider functions in FILE as neighbours on the card; repeatable",
            "FILE is a report on another source (--pcap FILE --format json), a table (.csv) "
            "as for insights cores, or groups as for insights colocation [default: the "
            "function itself and typical functions].",
            action="append",
        ),
        _ANALYSIS.option(
            "--placement FILE",
            "Read the present memory of each structure from FILE (JSON)",
            'FILE is such as {"NAT::_flows": "imem"}. Others are in the farthest memory '
            "[default: all are].",
            common=False,
        ),
        CFLAGS,
        DEADLINE.with_help("Stop after TIME, with the results so far [default: no limit]"),
        MEMORY,
        OUTPUT.option("--html FILE", "Write an HTML page with the advice and the annotated source"),
        _ADVICE.option(),
    ),
    _ADVICE.call("slowpath.insights.advice.run:run"),
    (
        Example(
            "slowpath insights nat.cc", "Find functions that an accelerator of the card can replace"
        ),
        Example(
            "slowpath insights nat.cc --pcap nat.pcap --html advice.html",
            "Write a page with all advice for the traffic of a trace",
        ),
    ),
)


GRAPH = Command(
    (
        "Count all elements of a Click configuration, and advise on them",
        (
            "Packets run through all elements, by push and pull, with queues between them. "
            f"slowpath insights FILE.click means this command, too. {NEEDS}"
        ),
        (
            "Elements run as the sources in --click define them, compiled with the headers of "
            "slowpath. Elements that do not run are listed with the reason. "
            "docs/reference/insights-files.md lists the elements that slowpath models. Code runs "
            "in a process without access to files and network."
        ),
        CODES,
    ),
    (
        argument("FILE", "Click configuration (.click)"),
        _ANALYSIS.option(
            "--click DIR",
            "Find the sources of elements in DIR, a Click or FastClick tree",
        ),
        TRAFFIC.option(
            "--pcap FILE",
            "Let all sources deliver the packets of FILE; repeatable",
            "With NAME=FILE, only the element NAME delivers the packets of FILE (pcap, pcapng). "
            "Sources are elements that deliver packets, such as FromDevice. Without the option, "
            "no packet runs.",
            action="append",
        ),
        PACKETS.with_help("Run only the first N packets of each FILE"),
        BLOCK_LIMIT,
        CFLAGS,
        DEADLINE.with_help("Stop after TIME [default: no limit]"),
        MEMORY,
        OUTPUT.option("--html FILE", "Write an HTML page with the elements and the advice"),
        _GRAPH.option(),
    ),
    _GRAPH.call("slowpath.insights.click.run:run"),
    (
        Example(
            "slowpath insights graph nat.click --click click --pcap nat.pcap",
            "Count all elements of a NAT over a trace",
        ),
        Example(
            "slowpath insights graph nat.click --click src --pcap in=1.pcap",
            "Run packets only from the element in",
        ),
    ),
)


# --- commands that read tables and cases ----------------------------------------------------------

LAYOUT = Heading("Layout")
GROUPS = Heading("Groups")
FUNCTIONS = Heading("Functions")
PLACING = Heading("How to place structures")
_LARGEST = 4096
_CACHE = ("hit", "miss")
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
_PLACEMENT = Formats(
    "slowpath.insights.placement.report", table="placement_text", json=JSON, csv="placement_csv"
)
PREDICTIONS = OUTPUT.option(
    "-o, --output FILE",
    "Write the predictions to FILE (.csv, .json)",
    type=output_file,
)


def _width(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _LARGEST or value & (value - 1):
        raise ArgumentTypeError(f"{text} is not a power of two up to {_LARGEST}")
    return value


_width.__name__ = "int"  # argparse says `invalid int value`

CORES = Command(
    (
        "Recommend a number of cores for a function",
        (
            "Predicts throughput and latency for each number of cores. More cores help until a "
            f"shared resource, such as a memory, is saturated. {NEEDS}"
        ),
        (
            "The recommended number is at the bend of the throughput curve, and has an "
            "interval. docs/explanation/insights-cores.md documents the rule. "
            "docs/reference/insights-files.md documents the columns of tables. Without --train, "
            "slowpath uses a default model, which was fitted to published measurements of a "
            "Netronome Agilio CX."
        ),
        CODES,
    ),
    (
        FUNCTIONS.option(
            "--query FILE",
            "Predict for the functions and numbers of cores in FILE",
            "FILE is a CSV table, which can be compressed with gzip.",
            required=True,
        ),
        FUNCTIONS.option(
            "--train FILE",
            "Train on the measured functions in FILE",
            "FILE is a table of measurements at 24, 30, ... 60 cores, with the columns of "
            "--query and the throughput.",
        ),
        FUNCTIONS.option(
            "--emem-cache",
            f"Assume that accesses hit or miss the memory cache [default: {_CACHE[0]}]",
            "The memory cache is the cache of external memory. Few large flows mostly hit the "
            "cache, and many small flows miss it. The option is for the default model, without "
            "--train.",
            choices=_CACHE,
        ),
        FUNCTIONS.option(
            "--confidence PERCENT",
            "Set the confidence level of the interval of the number of cores",
            "With this probability, the interval contains the number of cores that "
            "measurements would recommend.",
            type=percentage(50, 99),
            default="90%",
        ),
        PREDICTIONS,
        _CORES.option(),
    ),
    _CORES.call("slowpath.insights.cores.run:run_cores"),
    (
        Example("slowpath insights cores --query nat.csv", "Recommend a number for each function"),
        Example(
            "slowpath insights cores --query nat.csv --emem-cache miss",
            "Assume many small flows, which miss the cache",
        ),
    ),
)


COLOCATION = Command(
    (
        "Predict which two functions of a group can share the card",
        (
            "A group has four functions. Two functions share the card, each with half of the "
            f"cores. {NEEDS}"
        ),
        (
            "The solo performance of each function (`solo`) is optional. "
            "docs/reference/insights-files.md documents the keys and the scores. Without "
            "--train, slowpath uses a default model, which was fitted to published measurements "
            "of a Netronome Agilio CX."
        ),
        CODES,
    ),
    (
        GROUPS.option(
            "--query FILE",
            "Predict the pairs of the groups in FILE",
            "FILE has one JSON object per line, and can be compressed with gzip.",
            required=True,
        ),
        GROUPS.option("--train FILE", "Train on the groups in FILE, measured alone and in pairs"),
        PREDICTIONS,
        _COLOCATION.option(),
    ),
    _COLOCATION.call("slowpath.insights.cores.run:run_colocation"),
    (
        Example(
            "slowpath insights colocation --query groups.jsonl",
            "Rank the pairs of functions in each group",
        ),
        Example(
            "slowpath insights colocation --query groups.jsonl --train measured.jsonl",
            "Rank the pairs with a model of your own measurements",
        ),
    ),
)


PLACEMENT = Command(
    (
        "Place data structures in the memories of the card",
        (
            "Minimises the cost of accesses, or maximises throughput. The report proves that "
            f"the placement is optimal, or states a bound on the possible gain. {NEEDS}"
        ),
        (
            "FILE lists memory levels with capacities and prices, and cases: structures with "
            "sizes and accesses. docs/reference/insights-files.md documents the keys. If a case "
            "has the key cores, slowpath maximises its throughput, and spreads structures over "
            "several memories if one memory would limit it."
        ),
        CODES,
    ),
    (
        argument("FILE", "Memory levels, structures and accesses (JSON)"),
        PLACING.option(
            "--unpriced",
            "Forbid accesses without a price (forbidden), or make them free",
            "With forbidden, a structure avoids memory levels that lack a price for one of "
            "its accesses.",
            common=False,
            choices=("forbidden", "free"),
            default="forbidden",
        ),
        PLACING.option(
            "--objective",
            "Minimise the cost of accesses, or maximise packets per second",
            "Among placements with equal throughput, throughput chooses the lowest cost. The "
            "default is throughput for cases with the key cores, and cost for others.",
            choices=("cost", "throughput"),
        ),
        PLACING.option(
            "--deadline TIME",
            "Stop after TIME, with the best placement so far [default: 10s]",
            "The report then states a bound on the possible gain. A TIME of 0 means no limit.",
            type=within(duration, 0),
            default=10.0,
        ),
        _PLACEMENT.option(),
    ),
    _PLACEMENT.call("slowpath.insights.placement.run:run"),
    (
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap --placement-out nat.json",
            "Write the input of this command from a trace",
        ),
        Example("slowpath insights placement nat.json", "Choose a memory level for each structure"),
    ),
)


COALESCING = Command(
    (
        "Order a function's variables for few memory accesses",
        (
            "One access then fetches as many variables as possible. For up to about 14 "
            "variables, the report proves that the order is optimal. For more variables, it "
            "states a bound on the possible gain."
        ),
        (
            "FILE lists elements. Each has variables with sizes, and blocks of code with their "
            "frequency and the variables that they access. docs/reference/insights-files.md "
            "documents the keys."
        ),
        CODES,
    ),
    (
        argument("FILE", "Elements with variables and blocks of code (JSON)"),
        LAYOUT.option(
            "--width BYTES",
            "Assume that an access fetches BYTES, a power of two [default: 16]",
            "Addresses of accesses are multiples of BYTES. The default is access_bytes of "
            "FILE, else 16.",
            type=_width,
        ),
        _COALESCING.option("json and csv are stable; c prints only the structs."),
    ),
    _COALESCING.call("slowpath.insights.layout.run:run"),
    (
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap --coalescing-out nat.json",
            "Write the input of this command from a trace",
        ),
        Example("slowpath insights coalescing nat.json --format c", "Print the best structs in C"),
    ),
)
