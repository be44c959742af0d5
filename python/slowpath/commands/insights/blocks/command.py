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
