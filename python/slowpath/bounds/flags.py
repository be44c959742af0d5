"""Command-line options that several commands share, with their help texts."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowpath.core.command import Heading, Option, argument, within

if TYPE_CHECKING:
    from slowpath.bounds.options import WrittenOptions
    from slowpath.core.programs.selection import Selection


PROGRAMS = Heading("Which programs")
GUARANTEE = Heading("What to guarantee")
SEARCH = Heading("How far to search")
ASSUMED = Heading("What to assume")
WHERE = Heading("Where to compute")

FILES = argument(
    "FILE",
    "BPF objects (*.bpf.o), C sources (*.bpf.c), which clang compiles, and NFP listings (*.asm).",
    "+",
)

SECTION = PROGRAMS.option(
    "-s, --section GLOB",
    "Select programs of objects whose section matches GLOB.",
    action="append",
    default=[],
)
PROG_NAME = PROGRAMS.option(
    "-n, --prog-name GLOB", "Select programs whose name matches GLOB.", action="append", default=[]
)
CFLAGS = PROGRAMS.option(
    "--cflags FLAGS",
    "Pass FLAGS to clang ($CLANG, else the newest in PATH), which compiles files *.c with "
    "-O2 -g -target bpf -mcpu=v3: '-DHASHES=3 -Iinclude'.",
)
_DEVICE = (
    "Analyse for this target, a built-in one or a description. linux-xdp (the default) counts "
    "instructions and estimates their time on a server; ebpf only counts; agilio-cx-2x40 (the "
    "default if a file is a listing) guarantees rates on a SmartNIC, for which objects are "
    "compiled."
)
TARGET = GUARANTEE.option("--target NAME|FILE.toml", _DEVICE)
_METRIC = (
    "Guarantee this metric: instructions (the default) or memory-accesses; on a SmartNIC "
    "bitrate (the default) or packetrate."
)
METRIC = GUARANTEE.option("--metric NAME", _METRIC)
TARGETS = GUARANTEE.option(
    "--target NAME|FILE.toml,...",
    f"{_DEVICE} Separate several by commas to analyse programs on each.",
)
METRICS = GUARANTEE.option(
    "--metric NAME", f"{_METRIC} With several targets, it applies to those that have it."
)
CORES = GUARANTEE.option(
    "--cores N", "Use N cores (default: all cores of the target).", type=within(int, 1, 2**32 - 1)
)
UNROLL = SEARCH.option(
    "--unroll N|N@LOCATION,...",
    "Limit the iterations of loops whose limit cannot be derived (0: no limit), or of the "
    "loop at LOCATION: FILE:LINE or .INSTRUCTION; errors name the locations. A limit with a "
    "location also cuts a loop that is known to run longer; the result then says so.",
)
MTU = GUARANTEE.option(
    "--mtu BYTES",
    "Set the longest packet in bytes, with Ethernet header, without frame check sequence: up "
    "to 65535 (default: the maximum of --receive); on a SmartNIC up to 16383 (default: 1500).",
    type=within(int, 60, 65535),
)
ENTRIES = GUARANTEE.option(
    "--entries N",
    "Estimate times with N entries in each map that has room for them, and packets spread "
    "over all entries (default: 1).",
    type=within(int, 1, 2**32 - 1),
)
DEADLINE = SEARCH.option(
    "--deadline SECONDS",
    "Stop the analysis of each program after this time with the bound reached so far "
    "(default: 60; 0: none).",
    type=float,
)
TOTAL_DEADLINE = SEARCH.option(
    "--total-deadline SECONDS",
    "Stop all analyses together after this time; programs that have not started by then are "
    "not analysed.",
    type=float,
)
MEMORY = SEARCH.option(
    "--memory SIZE",
    "Stop the analysis of a program that takes more memory than this (500M, 2G), with the "
    "bound reached so far (default: half of the memory that is free at the start).",
)
ASSUME = ASSUMED.option(
    "--assume FILE",
    "Read assumptions from FILE (TOML): prices that the target leaves open, and unsupported "
    "helpers.",
)
MAPS = ASSUMED.option(
    "--maps FILE",
    "Read content of maps from FILE (TOML or JSON); maps that it does not name may have any "
    "content.",
)
SET = ASSUMED.option(
    "--set NAME=VALUE",
    "Set a variable as a loader would: to an integer, true or false, a constant of an "
    "enumeration, text in double quotes, hexadecimal digits of all bytes, or `any` for all values. "
    "NAME may have members and indices: cfg.ports[2]. Repeatable.",
    action="append",
    default=[],
)
MAP_ABI = ASSUMED.option(
    "--map-abi",
    "Select the interface of compiled programs to maps: array-pointer (the default), that of "
    "the firmware of the published measurements, or call, that of the stock firmware.",
    choices=("array-pointer", "call"),
)
RECEIVE = ASSUMED.option(
    "--receive ENVIRONMENT",
    "Set the environment in which packets arrive at programs in a kernel: any (the default), "
    "native-page, veth, generic, test-run, or numbers: "
    "head=0..216,tail=0..3520,meta=0..32,length=60..1514,pieces=1. Properties that not every "
    "device has become conditions of the result.",
)
BTF = ASSUMED.option(
    "--btf FILE",
    "Read the types (BTF) of the kernel that objects are for (default: those of the running "
    "kernel).",
)

ANALYSIS = (
    SECTION,
    PROG_NAME,
    CFLAGS,
    TARGET,
    METRIC,
    CORES,
    MTU,
    ENTRIES,
    UNROLL,
    DEADLINE,
    TOTAL_DEADLINE,
    MEMORY,
    ASSUME,
    MAPS,
    SET,
    MAP_ABI,
    RECEIVE,
    BTF,
)
"""Options that all commands with analyses share."""


def cpu_option(group: Heading) -> Option:
    """Return the option `--cpu` for measurements; `group` is its heading in the help."""
    return group.option(
        "--cpu NUMBER",
        "Measure on this CPU (default: the last one that this process may use).",
        type=within(int, 0, 1 << 20),
    )


def selection(args: Namespace) -> "Selection":
    """Return the programs that `--section` and `--prog-name` select; without them, all programs."""
    from slowpath.core.programs.selection import Selection

    sections, names = getattr(args, "section", ()), getattr(args, "prog_name", ())
    return Selection(tuple(sections), tuple(names))


def cflags(args: Namespace, files: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for clang, which compiles the C sources among the files.

    Raises:
        OptionError: if the flags are invalid, or no file is C source.
    """
    if args.cflags is None:
        return ()
    from slowpath.bounds.options import parse_cflags, read_option

    return read_option("--cflags", lambda text: parse_cflags(text, files), args.cflags)


def written_options(args: Namespace, files: Sequence[str]) -> "WrittenOptions":
    """Return the analysis options of a command; `files` are the files to analyse.

    Each field gets the option of its name, or its default if the command lacks this option.

    Raises:
        OptionError: if flags for clang are invalid, or no file is C source.
    """
    from slowpath.bounds.options import WrittenOptions

    values = {name: value for name, value in vars(args).items() if name in WrittenOptions._fields}
    values |= {"selection": selection(args), "cflags": cflags(args, files)}
    values["set"] = tuple(values.get("set", ()))
    return WrittenOptions(**values)
