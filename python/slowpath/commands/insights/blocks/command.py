"""The command line of `slowpath insights blocks`."""

from argparse import Namespace

from slowpath.cli.command import Command, argument, option
from slowpath.commands.insights.command import CODES, FORMAT, NEEDS
from slowpath.commands.insights.compiling import CFLAGS, DEADLINE, ENTRY, MEMORY

_ANALYSIS = "Analysis"


def _blocks(given: Namespace) -> int:
    from slowpath.commands.insights.blocks.run import run

    return run(given)


BLOCKS = Command(
    (
        "Predict instructions and memory accesses on the card, block by block.",
        "Sources that clang compiles for BPF are counted: in what its back end and the code "
        "generator for the card make of each block. What the card has not, calls of the framework "
        "among it, is counted apart.",
        NEEDS,
        CODES,
    ),
    (
        argument("FILE", "A source in C (.c), which clang compiles with -O2 -g -target bpf."),
        ENTRY.saying("Predict this program and what it calls only (default: all XDP programs)."),
        CFLAGS,
        option(
            _ANALYSIS,
            "--model",
            choices=("exact", "learnt"),
            default="exact",
            help="Count in generated code (exact, the default), or predict from LLVM's language by "
            "a model that was learnt from programs that are made up, which needs no code for BPF: "
            "also for functions that are no programs.",
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
