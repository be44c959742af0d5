"""The command `slowpath chain verify`."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.bounds.progress import WorkWatch, ending
from slowpath.chain.documents import VerifyReport
from slowpath.chain.loading import LoadedChain, load_chain
from slowpath.chain.report_types import FinalState
from slowpath.core import engine
from slowpath.core.engine import chains, objects
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.loading import KernelBtf, load_program
from slowpath.core.programs.selection import meant_by
from slowpath.core.programs.sources import Clang
from slowpath.core.terminal import first_few

_SHOWN = 10  # maximum number of maps listed
_CODES = {
    "equal": ExitCode.FINE,
    "differ": ExitCode.FAILED,
    "undecided": ExitCode.UNDECIDED,
}


class VerifyOptions(NamedTuple):
    """Options of a comparison."""

    first: str  # a file
    second: str
    program: str | None = None  # its name in both; None: the only XDP program
    assumed: tuple[str, ...] = ()  # facts about packets, in words
    btf: str | None = None
    cflags: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    memory_bytes: int | None = None
    receive: str | None = None  # delivery of packets; None: as on any device
    chain: str | None = None  # chain description; `program` then names one of its members


def verify(comparing: VerifyOptions, reporter: Reporter) -> ExitCode:
    """Compare two programs and print the report.

    Raises:
        InputError: if a file cannot be read or lacks the program.
    """
    report = compare(comparing)
    reporter.write(report)
    return _CODES[report["outcome"]]


def compare(comparing: VerifyOptions) -> VerifyReport:
    """Compare two programs and return the report.

    Raises:
        InputError: if a file cannot be read or lacks the program.
    """
    clang = Clang(comparing.cflags, comparing.deadline_seconds, memory_bytes=comparing.memory_bytes)
    files = comparing.first, comparing.second
    place = None if comparing.chain is None else _place(comparing, comparing.chain, clang)
    wanted = comparing.program if place is None else place.program
    both = [_program(file, wanted, clang) for file in files]
    needed = any(needs_kernel for _, _, needs_kernel in both)
    needed = needed or (place is not None and place.loaded.needs_kernel)
    btf = KernelBtf(comparing.btf).for_program(needed=needed)
    first, second = ((found, number) for found, number, _ in both)
    limits = comparing.deadline_seconds, comparing.memory_bytes
    asked = chains.Verifying(
        (first, second),
        comparing.assumed,
        btf,
        *limits,
        receive=comparing.receive,
        behind=None if place is None else (place.subject(btf), place.member),
    )
    said = list[Message]()

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        yield ("verified", chains.verify(asked, comparing.second, stopping))

    watch = WorkWatch(comparing.second, ending(comparing.deadline_seconds, "--deadline"))
    try:
        with heeding_signals() as stopping, IsolatedJob(comparing.memory_bytes, work) as errand:
            stopped = errand.run(comparing.deadline_seconds, stopping, said.append, watch.look)
    finally:
        watch.close()
    known = json.loads(said[0][1]) if said else _nothing(stopped)
    report: VerifyReport = {
        "slowpath": engine.version(),
        "first": comparing.first,
        "second": comparing.second,
        "facts": list(comparing.assumed),
        "place": None if place is None else f"{place.name} in {comparing.chain}",
        "stopped": stopped,
        **known,  # type: ignore[typeddict-item] # of the engine, which a test holds to the schema
    }
    return report


class _Place(NamedTuple):
    """The program of a chain that both compared programs replace."""

    loaded: LoadedChain
    member: int  # its number in the chain
    name: str  # its name there
    program: str | None  # its name in the objects, if the description says one

    def subject(self, btf: objects.Btf | None) -> chains.ChainSubject:
        """Return the chain with the kernel's types."""
        return chains.ChainSubject(self.loaded.file, self.loaded.chain, self.loaded.members, btf)


def _place(comparing: VerifyOptions, file: str, clang: Clang) -> _Place:
    """Return the place in the chain: the named program, or the last one.

    Raises:
        InputError: if the chain cannot be read or lacks the program.
    """
    loaded = load_chain(file, clang)
    names = [name for name, _, _ in loaded.chain.members]
    name = comparing.program or names[-1]
    if name not in names:
        raise InputError(file, f"there is no program {name}; it has {', '.join(names)}")
    member = names.index(name)
    return _Place(loaded, member, name, loaded.chain.members[member][2])


def _program(file: str, wanted: str | None, clang: Clang) -> tuple[objects.Object, int, bool]:
    """Return the object, the program's number, and whether it needs the kernel's types.

    Raises:
        InputError: if the file cannot be read or lacks the program.
    """
    read = objects.read_object(file, load_program(file, clang))
    meant = meant_by(file, objects.programs(read), wanted)
    if isinstance(meant, str):
        raise InputError(file, meant.removeprefix(f"{file} "))
    return read, meant.number, meant.needs_kernel


def _nothing(stopped: str | None) -> dict[str, object]:
    """Return the result of a comparison that was ended early."""
    return {
        "outcome": "undecided",
        "assumptions": [],
        "undecided": [stopped or "nothing is known"],
        "shared": [],
        "counterexample": None,
        "proof": {"paths": 0, "pairs": 0, "queries": 0, "seconds": 0.0, "assumptions": []},
    }


def verify_report(report: VerifyReport) -> Iterator[str]:
    """Yield the lines of the text report."""
    first, second = one_line(report["first"]), one_line(report["second"])
    proof = report["proof"]
    match report["outcome"]:
        case "equal":
            yield f"equal: {first} and {second} do the same with every packet"
        case "differ":
            yield f"differ: {first} and {second} do not do the same"
        case "undecided":
            yield f"not decided: whether {first} and {second} do the same"
    if report["place"]:
        yield one_line(f"  as {report['place']}, for packets that get there")
    yield from (f"  if {one_line(fact)}" for fact in report["facts"])
    yield from (f"  if {one_line(condition)}" for condition in report["assumptions"])
    yield from (f"  {one_line(why)}" for why in report["undecided"])
    if report["counterexample"]:
        example = report["counterexample"]
        yield one_line(f"  {example['what']} differs for packet {example['packet']}")
        for memory, content in example["maps"].items():
            digits = ", ".join(f"{at}: {byte:02x}" for at, byte in content.items())
            yield one_line(f"  with {memory} = {digits or 'all zero'}")
        yield from _left(first, example["original"])
        yield from _left(second, example["specialised"])
    if report["shared"]:
        yield one_line(f"  maps of both: {first_few(report['shared'], _SHOWN)}")
    yield f"{proof['pairs']} pairs of paths, {proof['queries']} questions to the solver"


def _left(name: str, left: FinalState) -> Iterator[str]:
    """Yield the lines about a program's final state."""
    yield f"  {name}: returns {left['result']}, packet {left['packet']}"
    yield from (one_line(f"    {element}") for element in left["maps"])
