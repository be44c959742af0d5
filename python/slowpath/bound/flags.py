"""Options that several commands share, with their help texts."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slowpath.core.command import Option, argument, option, within

if TYPE_CHECKING:
    from slowpath.bound.options import WrittenOptions
    from slowpath.core.programs.selection import Selection


PROGRAMS = "Which programs"
GUARANTEE = "What to guarantee"
SEARCH = "How far to search"
ASSUMED = "What to assume"
OUTPUT = "Output"
WHERE = "Where to compute"

FILES = argument(
    "FILE",
    "BPF objects (*.bpf.o), C sources (*.bpf.c), which clang compiles, and NFP listings (*.asm).",
    many=True,
)

SECTION = option(
    PROGRAMS,
    "-s",
    "--section",
    metavar="GLOB",
    action="append",
    default=[],
    help="Only programs of objects in such sections.",
)
PROG_NAME = option(
    PROGRAMS,
    "-n",
    "--prog-name",
    metavar="GLOB",
    action="append",
    default=[],
    help="Only programs of such names.",
)
CFLAGS = option(
    PROGRAMS,
    "--cflags",
    metavar="FLAGS",
    help="Flags for clang ($CLANG, else the one in PATH), which compiles files *.c with -O2 -g "
    "-target bpf -mcpu=v3: '-DHASHES=3 -Iinclude'.",
)
_DEVICE = (
    "Device, a built-in one or a description. linux-xdp, the default, counts instructions and "
    "estimates how long they take on a server; ebpf counts only; agilio-cx-2x40, the default where "
    "there is a listing, guarantees rates of a SmartNIC, which objects are compiled for."
)
TARGET = option(GUARANTEE, "--target", metavar="NAME|FILE.toml", help=_DEVICE)
_METRIC = (
    "What to guarantee: instructions (the default) or memory-accesses; on a SmartNIC "
    "bitrate (the default) or packetrate."
)
METRIC = option(GUARANTEE, "--metric", metavar="NAME", help=_METRIC)
TARGETS = option(
    GUARANTEE,
    "--target",
    metavar="NAME|FILE.toml,...",
    help=f"{_DEVICE} Several with commas between them: programs are analysed on each.",
)
METRICS = option(
    GUARANTEE,
    "--metric",
    metavar="NAME",
    help=f"{_METRIC} Of several targets, those that have it.",
)
CORES = option(
    GUARANTEE,
    "--cores",
    metavar="N",
    type=within(int, 1, 2**32 - 1),
    help="Cores to use; by default all of the target.",
)
UNROLL = option(
    SEARCH,
    "--unroll",
    metavar="N|N@LOCATION,...",
    help="Most iterations of loops whose limit cannot be derived (0: no limit), or of the loop at "
    "a location: FILE:LINE or .INSTRUCTION; errors name the locations. A limit with a location "
    "also cuts a loop that is known to run more often, and the result says so.",
)
MTU = option(
    GUARANTEE,
    "--mtu",
    metavar="BYTES",
    type=within(int, 60, 65535),
    help="Longest packet in bytes, Ethernet header included, frame check sequence not: up to "
    "65535, by default whatever --receive delivers; on a SmartNIC up to 16383, by default 1500.",
)
ENTRIES = option(
    GUARANTEE,
    "--entries",
    metavar="N",
    type=within(int, 1, 2**32 - 1),
    help="Entries in each map that has room for so many, packets spread over all of them, for "
    "estimates of times (default: 1).",
)
DEADLINE = option(
    SEARCH,
    "--deadline",
    metavar="SECONDS",
    type=float,
    help="Stop the analysis of each program after this time with the bound reached so far "
    "(default: 60; 0: none).",
)
TOTAL_DEADLINE = option(
    SEARCH,
    "--total-deadline",
    metavar="SECONDS",
    type=float,
    help="The same for all programs together: those that it leaves no time for are not analysed.",
)
MEMORY = option(
    SEARCH,
    "--memory",
    metavar="SIZE",
    help="Stop the analysis of a program that takes more memory than this (500M, 2G), with the "
    "bound reached so far (default: half of what is free when the command starts).",
)
ASSUME = option(
    ASSUMED,
    "--assume",
    metavar="FILE",
    help="Assumptions (TOML): prices that the target leaves open, helpers that are not supported.",
)
MAPS = option(
    ASSUMED,
    "--maps",
    metavar="FILE",
    help="Content of maps (TOML or JSON); maps that it does not name may hold anything.",
)
SET = option(
    ASSUMED,
    "--set",
    metavar="NAME=VALUE",
    action="append",
    default=[],
    help="Value of a variable that a loader sets: an integer, true or false, a constant of an "
    "enumeration, text in double quotes, hexadecimal digits of all bytes, or `any` for all values. "
    "NAME may have members and indices: cfg.ports[2]. Repeatable.",
)
MAP_ABI = option(
    ASSUMED,
    "--map-abi",
    choices=("array-pointer", "call"),
    help="How programs that are compiled for a device reach maps: array-pointer (the default), as "
    "the firmware of the published measurements has it, or call, as the stock firmware has it.",
)
RECEIVE = option(
    ASSUMED,
    "--receive",
    metavar="ENVIRONMENT",
    help="How packets arrive at programs in a kernel: any (the default), native-page, veth, "
    "generic, test-run, or numbers: head=0..216,tail=0..3520,meta=0..32,length=60..1514,pieces=1. "
    "What is not so on any device is a condition of the result.",
)
BTF = option(
    ASSUMED,
    "--btf",
    metavar="FILE",
    help="Types (BTF) of the kernel that objects are for; by default the running one.",
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
"""The options of all commands that analyse programs."""


def cpu_option(group: str) -> Option:
    """The option that says where to measure, under a heading."""
    return option(
        group,
        "--cpu",
        metavar="NUMBER",
        type=within(int, 0, 1 << 20),
        help="The CPU to measure on; by default the last one that this process may use.",
    )


def form_option(forms: Iterable[str], promise: str) -> Option:
    """The option that says how the output is written; the first form is the default."""
    names = tuple(forms)
    return option(
        OUTPUT,
        "--format",
        choices=names,
        default=names[0],
        help=f"Format of the output; {promise} (default: %(default)s).",
    )


def selection(given: Namespace) -> "Selection":
    """The programs that are meant; all, where the command has no options for that."""
    from slowpath.core.programs.selection import Selection

    sections, names = getattr(given, "section", ()), getattr(given, "prog_name", ())
    return Selection(tuple(sections), tuple(names))


def cflags(given: Namespace, files: Sequence[str]) -> tuple[str, ...]:
    """The flags for clang, which compiles some of the files.

    Raises:
        OptionError: when they make no sense.
    """
    if given.cflags is None:
        return ()
    from slowpath.bound.options import parse_cflags, read_option

    return read_option("--cflags", lambda text: parse_cflags(text, files), given.cflags)


def written_options(given: Namespace, files: Sequence[str]) -> "WrittenOptions":
    """The options of a command that are about analyses; `files` are those to be analysed.

    Each goes by its name, whichever the command has.

    Raises:
        OptionError: when flags for clang make no sense.
    """
    from slowpath.bound.options import WrittenOptions

    typed = {name: value for name, value in vars(given).items() if name in WrittenOptions._fields}
    typed |= {"selection": selection(given), "cflags": cflags(given, files)}
    typed["set"] = tuple(typed.get("set", ()))
    return WrittenOptions(**typed)
