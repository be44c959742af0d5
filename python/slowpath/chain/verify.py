"""Runs the command `slowpath chain verify`, which proves that two programs are equivalent."""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from slowpath.bounds.flags import written_options
from slowpath.bounds.options import memory_or_share, read_option, read_options
from slowpath.bounds.progress import WorkWatch, ending
from slowpath.chain.documents import VerifyReport
from slowpath.chain.loading import LoadedChain, load_chain, run_watched
from slowpath.chain.report_types import FinalState
from slowpath.core import codes, engine
from slowpath.core.engine import chains, objects
from slowpath.core.errors import Coded, ExitCode, InputError
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.loading import KernelBtf, load_program
from slowpath.core.programs.selection import find_program
from slowpath.core.programs.sources import Clang
from slowpath.core.terminal import first_few

_SHOWN = 10  # maximum number of maps listed
_CODES = {
    "equal": ExitCode.FINE,
    "differ": ExitCode.FAILED,
    "undecided": ExitCode.UNDECIDED,
}


class VerifyOptions(NamedTuple):
    """Options of `slowpath chain verify`, which compares two programs."""

    first: str  # file of the first program
    second: str  # file of the second program
    program: str | None  # name of the program; None: default of `--program`
    assumed: tuple[str, ...]  # facts about packets, in words
    btf: str | None  # file with the kernel's types; None: those of the running kernel
    cflags: tuple[str, ...]
    deadline_seconds: float | None
    memory_bytes: int | None
    receive: str | None  # receiving environment; None: any device
    chain: str | None  # chain description; `program` then names one of its members


def make_verify_options(options: Namespace) -> VerifyOptions:
    """Read the options of `slowpath chain verify` from the command line.

    Raises:
        OptionError: if an option is invalid.
    """
    written = written_options(options, [options.first, options.second])
    deadline = read_options(written).deadline_seconds
    return VerifyOptions(
        options.first,
        options.second,
        options.program,
        read_option("--fact", chains.check_assumed, options.fact),
        written.btf,
        written.cflags,
        deadline,
        memory_or_share(written.memory),
        written.receive,
        options.chain,
    )


def verify(options: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath chain verify`: compare two programs for equivalence, and print the report.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read or lacks the program.
    """
    report = compare(make_verify_options(options))
    reporter.write(report)
    return _CODES[report["outcome"]]


def compare(options: VerifyOptions) -> VerifyReport:
    """Compare two programs for equivalence and return the report.

    Raises:
        InputError: if a file cannot be read or lacks the program.
    """
    limits = options.deadline_seconds, options.memory_bytes
    clang = Clang(options.cflags, options.deadline_seconds, memory_bytes=options.memory_bytes)
    replaced = None if options.chain is None else _replaced(options, options.chain, clang)
    name = options.program if replaced is None else replaced.program
    both = [_program(file, name, clang) for file in (options.first, options.second)]
    needed = any(needs_kernel for _, _, needs_kernel in both)
    needed = needed or (replaced is not None and replaced.loaded.needs_kernel)
    btf = KernelBtf(options.btf).for_program(needed=needed)
    first, second = ((found, number) for found, number, _ in both)
    request = chains.Verifying(
        (first, second),
        options.assumed,
        btf,
        *limits,
        receive=options.receive,
        replaced=None if replaced is None else (replaced.loaded.subject(btf), replaced.member),
    )

    def work(stopping: Stopping) -> Iterator[Message]:
        yield ("verified", chains.verify(request, options.second, stopping))

    with (
        heeding_signals() as stopping,
        closing(WorkWatch(options.second, ending(options.deadline_seconds, "--deadline"))) as watch,
    ):
        verified, stopped = run_watched(work, watch, stopping, *limits)
    result = json.loads(verified[1]) if verified else _undecided(stopped)
    report: VerifyReport = {
        **engine.head("chain verify", "verify"),
        "first": options.first,
        "second": options.second,
        "facts": list(options.assumed),
        "place": None if replaced is None else f"{replaced.name} in {options.chain}",
        "stopped": stopped,
        **result,  # type: ignore[typeddict-item] # a test compares the engine with the schema
    }
    return report


class _ReplacedProgram(NamedTuple):
    """The program of a chain in whose place the two programs are compared."""

    loaded: LoadedChain
    member: int  # index of the program in the chain
    name: str  # name of the program in the chain
    program: str | None  # name of the program in the objects, if the description has one


def _replaced(options: VerifyOptions, file: str, clang: Clang) -> _ReplacedProgram:
    """Return the program of the chain in `file` in whose place two programs are compared.

    It has the requested name; without a name, it is the last program.

    Raises:
        InputError: if the chain cannot be read or lacks the program.
    """
    loaded = load_chain(file, clang)
    names = [name for name, _, _ in loaded.chain.members]
    name = options.program or names[-1]
    if name not in names:
        raise InputError(
            codes.NO_SUCH_PROGRAM,
            file,
            f"does not have a program {name}; it has {', '.join(names)}",
        )
    member = names.index(name)
    return _ReplacedProgram(loaded, member, name, loaded.chain.members[member][2])


def _program(file: str, name: str | None, clang: Clang) -> tuple[objects.Object, int, bool]:
    """Return a program: its object, its index in it, and whether it needs the kernel's types.

    Without a name, it is the only XDP program of the object.

    Raises:
        InputError: if the file cannot be read or lacks the program.
    """
    data = load_program(file, clang)
    read = objects.read_object(file, data)
    chosen = find_program(file, data, objects.programs(read), name)
    if isinstance(chosen, Coded):
        raise InputError(chosen.code, file, chosen.removeprefix(f"{file} "))
    return read, chosen.number, chosen.needs_kernel


def _undecided(stopped: str | None) -> dict[str, object]:
    """Return the result of a comparison that ended without a decision.

    `stopped` is the reason why the proof ended early; None if it did not.
    """
    return {
        "outcome": "undecided",
        "assumptions": [],
        "undecided": [stopped or "no result"],
        "shared": [],
        "counterexample": None,
        "proof": {"paths": 0, "pairs": 0, "queries": 0, "seconds": 0.0, "assumptions": []},
    }


def verify_report(report: VerifyReport) -> Iterator[str]:
    """Yield the lines of the text report on a comparison of two programs."""
    first, second = one_line(report["first"]), one_line(report["second"])
    proof = report["proof"]
    match report["outcome"]:
        case "equal":
            yield f"equal: {first} and {second} do the same with every packet"
        case "differ":
            yield f"differ: {first} and {second} behave differently"
        case "undecided":
            yield f"not decided: whether {first} and {second} do the same"
    if report["place"]:
        yield one_line(f"  as {report['place']}, for packets that reach it")
    yield from (f"  if {one_line(fact)}" for fact in report["facts"])
    yield from (f"  if {one_line(condition)}" for condition in report["assumptions"])
    yield from (f"  {one_line(why)}" for why in report["undecided"])
    if report["counterexample"]:
        example = report["counterexample"]
        yield one_line(f"  {example['what']} differs for packet {example['packet']}")
        for memory, content in example["maps"].items():
            digits = ", ".join(f"{at}: {byte:02x}" for at, byte in content.items())
            yield one_line(f"  with {memory} = {digits or 'all zero'}")
        yield from _state_lines(first, example["original"])
        yield from _state_lines(second, example["specialised"])
    if report["shared"]:
        yield one_line(f"  shared maps: {first_few(report['shared'], _SHOWN)}")
    yield f"{proof['pairs']} pairs of paths, {proof['queries']} solver queries"


def _state_lines(name: str, state: FinalState) -> Iterator[str]:
    """Yield lines with a program's result, packet and maps after the counterexample."""
    yield f"  {name}: returns {state['result']}, packet {state['packet']}"
    yield from (one_line(f"    {element}") for element in state["maps"])
