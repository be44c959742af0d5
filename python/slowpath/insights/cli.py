"""Declares the arguments and options of `slowpath insights`."""

from slowpath.core.command import Command, Example, Group, Heading, argument
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
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
        "cores": "slowpath.insights.tables_cli:CORES",
        "colocation": "slowpath.insights.tables_cli:COLOCATION",
        "placement": "slowpath.insights.tables_cli:PLACEMENT",
        "coalescing": "slowpath.insights.tables_cli:COALESCING",
        "counts": "slowpath.insights.cli:COUNTS",
        "blocks": "slowpath.insights.cli:BLOCKS",
        "accelerators": "slowpath.insights.cli:ACCELERATORS",
    },
    "slowpath.insights.cli:ADVICE",
    (
        Example("slowpath insights nat.cc", "Advise how to port the function in a source file"),
        Example(
            "slowpath insights counts nat.cc --pcap nat.pcap",
            "Count memory accesses of the function over a trace",
        ),
    ),
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
