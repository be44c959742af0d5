"""Declares the commands of `slowpath insights` that read tables and cases instead of sources."""

from argparse import ArgumentTypeError

from slowpath.core.command import Command, Example, Heading, argument, output_file, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration, percentage
from slowpath.insights.cli import CODES, NEEDS

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
