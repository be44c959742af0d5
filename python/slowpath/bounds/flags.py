"""Command-line options that several commands share, with their help texts."""

import re
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowpath.core.command import Heading, Option, argument, within
from slowpath.core.quantities import duration

if TYPE_CHECKING:
    from slowpath.bounds.options import WrittenOptions
    from slowpath.core.programs.selection import Selection


PROGRAMS = Heading("Which programs")
GUARANTEE = Heading("What to guarantee")
SEARCH = Heading("How far to search")
ASSUMED = Heading("What to assume")
WHERE = Heading("Where to compute")
CACHING = Heading("Cache")

FILES = argument(
    "FILE",
    "BPF (*.bpf.o), C (*.bpf.c), P4 (*.p4), SWX (*.spec), NFP (*.asm)",
    "+",
    "BPF stands for objects, SWX for pipelines of DPDK's software switch, and NFP for assembly "
    "listings. clang compiles C and P4 sources. A folder means all such files below it, and other "
    "objects for BPF (*.o), except files that Git ignores. `-` is standard input.",
    folders=True,
)

SECTION = PROGRAMS.option(
    "-s, --section GLOB",
    "Select programs whose section matches GLOB",
    action="append",
    default=[],
)
PROG_NAME = PROGRAMS.option(
    "-n, --prog-name GLOB",
    "Select programs whose name matches GLOB",
    action="append",
    default=[],
)
CFLAGS = PROGRAMS.option(
    "--cflags FLAGS",
    "Pass FLAGS to clang: '-DHASHES=3 -Iinclude'",
    "The compiler is $CLANG, or else the newest clang in PATH. It compiles files *.c with -O2 -g "
    "-target bpf -mcpu=v3.",
    common=False,
)
_DEVICE = "Analyse for a built-in device, or one that a file describes [default: linux-xdp]"
_DEVICES = (
    "linux-xdp counts instructions, and estimates their time on a server. ebpf only counts "
    "instructions. dpdk-swx counts the instructions of .spec files. agilio-cx-2x40 guarantees "
    "rates on a SmartNIC; slowpath compiles objects for it. It is the default for all files if "
    "one of them is a listing; a note then says so. dpdk-swx is the default if all files are "
    ".spec files."
)
TARGET = GUARANTEE.option(
    "--target NAME|FILE.toml,...", _DEVICE, f"{_DEVICES} Commas separate several targets."
)
_METRIC = "Guarantee this metric [default: instructions]"
_METRICS = (
    "NAME is instructions or memory-accesses. On a SmartNIC, it is bitrate (the default there) or "
    "packetrate."
)
METRIC = GUARANTEE.option(
    "--metric NAME",
    _METRIC,
    f"{_METRICS} With several targets, the option applies to those that have the metric.",
)
CORES = GUARANTEE.option(
    "--cores N",
    "Use N cores [default: all cores of the target]",
    common=False,
    type=within(int, 1, 2**32 - 1),
)
UNROLL = SEARCH.option(
    "--unroll N|N@LOCATION,...",
    "Limit the iterations of unbounded loops to N [default: no limit]",
    "N without a location applies to loops whose number of iterations the analysis cannot "
    "derive (0: no limit). LOCATION is FILE:LINE or .INSTRUCTION, as errors print it. "
    "N@LOCATION cuts even a loop that is known to run longer. The result then states this "
    "assumption.",
)
MTU = GUARANTEE.option(
    "--mtu BYTES",
    "Limit packets to BYTES [default: the longest that --receive allows]",
    "The length includes the Ethernet header, but not the frame check sequence. BYTES is at most "
    "65535. On a SmartNIC, it is at most 16383, and 1500 by default.",
    common=False,
    type=within(int, 60, 65535),
)


def _number_or_names(text: str) -> int | str:
    """Convert digits to a number of map entries; return other texts, such as `NAME=N`, unchanged.

    These texts are parsed later, with the other options.
    """
    return int(text) if re.fullmatch("[0-9]{1,10}", text) else text


ENTRIES = GUARANTEE.option(
    "--entries N|NAME=N,...",
    "Assume N entries in each map for times with cold caches [default: full maps]",
    "A map whose max_entries is lower counts as full. NAME=N sets the entries of the map or "
    "table NAME, even above its max_entries. The name of a P4 table may omit its control. "
    "slowpath assumes that packets use all entries equally often.",
    common=False,
    type=_number_or_names,
)
DEADLINE = SEARCH.option(
    "--deadline TIME",
    "Analyse each program for at most TIME [default: 60s]",
    "After TIME, the result is the bound reached so far. 0 means no limit.",
    type=duration,
)
TOTAL_DEADLINE = SEARCH.option(
    "--total-deadline TIME",
    "Limit the time of all analyses together [default: no limit]",
    "slowpath skips programs whose analysis has not started after TIME.",
    common=False,
    type=duration,
)
MEMORY = SEARCH.option(
    "--memory SIZE",
    "Stop an analysis if it exceeds SIZE [default: half of the free memory]",
    "SIZE is for example 512MiB or 2G. The limit applies to each program. If a program exceeds "
    "it, the result is the bound reached so far.",
    common=False,
)
ASSUME = ASSUMED.option(
    "--assume FILE",
    "Read assumptions from FILE (TOML)",
    "FILE states prices of operations without a price in the target, and results of helpers "
    "that slowpath does not support.",
    common=False,
)
MAPS = ASSUMED.option(
    "--maps FILE",
    "Read content of maps from FILE (TOML, JSON), or entries of P4 tables",
    "Maps that FILE does not name may have any content. Entries of P4 tables are lines such as "
    "`routes 10.0.0.0/8 -> forward(port=2)`, the runtime JSON of p4lang's tutorials, or messages "
    "of P4Runtime in text format.",
    common=False,
)
SET = ASSUMED.option(
    "--set NAME=VALUE",
    "Set a global variable of the program, as its loader would",
    "VALUE is an integer, true or false, a constant of an enumeration, text in double quotes, "
    "hexadecimal digits of all bytes, or `any` for all values. NAME may have members and indices: "
    "cfg.ports[2]. Repeatable.",
    common=False,
    action="append",
    default=[],
)
MAP_ABI = ASSUMED.option(
    "--map-abi",
    "Select the interface of compiled programs to maps [default: array-pointer]",
    "array-pointer is the interface of the firmware with published measurements. call is that of "
    "the stock firmware.",
    common=False,
    choices=("array-pointer", "call"),
)
RECEIVE = ASSUMED.option(
    "--receive ENVIRONMENT",
    "Set the environment in which packets arrive [default: any]",
    "ENVIRONMENT is any, native-page, veth, generic, test-run, or limits in bytes: "
    "head=0..216,tail=0..3520,length=60..1514. Other limits are meta and pieces. The option "
    "applies to programs in a kernel, not on a SmartNIC. If only some devices have a property, "
    "the result names it as a condition.",
    common=False,
)
BTF = ASSUMED.option(
    "--btf FILE",
    "Read kernel types (BTF) from FILE [default: the running kernel]",
    common=False,
)
MOST_JOBS = 1024
JOBS = WHERE.option(
    "--jobs N",
    "Run N analyses in parallel; they share the free memory [default: 1]",
    common=False,
    type=within(int, 1, MOST_JOBS),
)
REQUIRE = GUARANTEE.option(
    "--require RATE|'<=COUNT'",
    "Exit with 1 unless this is guaranteed",
    "COUNT is a maximum, such as '<=4000 instructions' or '<=300 memory-accesses'. RATE is a "
    "minimum, such as 5Mpps or 40Gbit/s. On a SmartNIC, it must be guaranteed. On a server, the "
    "pessimistic end of the estimate must reach it. Prints the assumptions that the guarantee "
    "relies on. A run takes one requirement.",
)
ACCEPT_ASSUMPTIONS = GUARANTEE.flag(
    "--accept-assumptions",
    "Let --require pass although --unroll N@LOCATION cuts a loop",
    "Otherwise, a loop that is known to run longer than its limit fails the requirement.",
    common=False,
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

CACHE_DIR = CACHING.option(
    "--cache-dir DIR",
    "Keep results in DIR for later runs [default: ~/.cache/slowpath]",
    "The default is $SLOWPATH_CACHE_DIR if set, else slowpath in $XDG_CACHE_HOME if set.",
    common=False,
)
NO_CACHE = CACHING.flag(
    "--no-cache-dir",
    "Neither read nor write kept results",
    "The variable $SLOWPATH_NO_CACHE has the same effect, with any value.",
    common=False,
)
CACHE = (CACHE_DIR, NO_CACHE)
"""Options of all commands that keep results."""


def cpu_option(group: Heading) -> Option:
    """Return the option `--cpu` for measurements; `group` is its heading in the help."""
    return group.option(
        "--cpu NUMBER",
        "Measure on CPU NUMBER [default: the last one that this process may use]",
        common=False,
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
