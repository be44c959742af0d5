"""The Python function `slowpath.bound(...)`, and the types and display of its results."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Literal, overload

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.caching import open_cache
from slowpath.bounds.flags import MOST_JOBS
from slowpath.bounds.options import DEFAULT_DEADLINE, WrittenOptions, read_request
from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Request
from slowpath.bounds.progress import Watcher
from slowpath.bounds.report import csv_header, csv_row, text_reporter
from slowpath.bounds.requirement import Decision, Judgement, judge
from slowpath.core import codes
from slowpath.core.engine import head
from slowpath.core.engine.analyses import Progress, Run
from slowpath.core.errors import OptionError
from slowpath.core.html import preformatted
from slowpath.core.inputs import expanded
from slowpath.core.jobs import heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.packet import frame, hex_dump, wire_bytes, witness_bytes, write_pcap
from slowpath.core.programs.selection import Selection
from slowpath.core.results import Row, Table, csv_rows
from slowpath.core.schema.derived import (
    DESCRIBED_PATHS,
    condition,
    is_count,
    metric_rate,
    rate_metric,
)
from slowpath.core.schema.rates import format_rate
from slowpath.core.schema.results import (
    Bound,
    Estimate,
    PathResult,
    Result,
    Verdict,
)
from slowpath.core.terminal import listening


def page_part(results: Sequence[Result]) -> str:
    """Return the table of results that a notebook shows, as HTML.

    For a single program, the packet of a slowest path follows as a hex dump.
    """
    rows = "".join(f"<tr>{''.join(_cells(result))}</tr>" for result in results)
    heads = ("program", "target", "guaranteed", "verdict", "if")
    head = "".join(f"<th>{name}</th>" for name in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return table + (_packet(results[0]) if len(results) == 1 else "")


def _cells(result: Result) -> Iterator[str]:
    name = result["file"] if result["section"] is None else f"{result['file']}:{result['program']}"
    guarantee = result["guarantee"]
    yield _cell(name)
    yield _cell(result["target"])
    if guarantee is None:
        yield _cell(result["error"] or "")
        yield from (_cell("not analysed"), _cell(""))
        return
    if is_count(result):
        counts = (guarantee["counts"] or {}).items()
        yield _cell(", ".join(f"{count} {what}" for what, count in counts))
    else:
        metric = rate_metric(result)
        yield _cell(format_rate(metric_rate(guarantee, metric), metric))
    yield _cell(guarantee["verdict"] or "")
    yield _cell("; ".join(map(condition, result["assumptions"])))


def _cell(text: str) -> str:
    return f"<td>{escape(one_line(text))}</td>"


def _packet(result: Result) -> str:
    if not result["paths"]:
        return ""
    packet = witness_bytes(result["paths"][0]["witness"])
    lines = "\n".join(hex_dump(packet, result["kind"]))
    return preformatted(lines)


class Program:
    """A program with its result; `str()` returns the report of `slowpath bound`."""

    def __init__(self, analysed: Analysed, request: Request) -> None:
        """Store a program; `bound` creates instances."""
        self._detail = analysed.detail
        self._request = request
        self.result: Result = analysed.result
        """The complete result, as described in `docs/reference/json.md`."""
        self.label = analysed.task.label
        """File and name of the program; only the file if it cannot contain several programs."""

    @property
    def file(self) -> str:
        """Path of the program's file, as the caller gave it."""
        return self.result["file"]

    @property
    def name(self) -> str:
        """Name of the program in the file."""
        return self.result["program"]

    @property
    def target(self) -> str:
        """Name of the target device."""
        return self.result["target"]

    @property
    def error(self) -> str | None:
        """The reason why the program has no guarantee; None if it has one."""
        return self.result["error"]

    @property
    def code(self) -> str | None:
        """Code of the cause of `error`, for `slowpath explain`; None without an error."""
        return self.result["code"]

    @property
    def guarantee(self) -> Bound | None:
        """The guaranteed rates or counts; None if the analysis failed."""
        return self.result["guarantee"]

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the guarantee: `exact`, `conditional` (see `assumptions`) or `bound`."""
        return None if self.guarantee is None else self.guarantee["verdict"]

    @property
    def bitrate(self) -> float | None:
        """Guaranteed bit/s; None on counting targets and after an error."""
        return None if self.guarantee is None else self.guarantee["bitrate_bps"]

    @property
    def packetrate(self) -> float | None:
        """Guaranteed packets/s; None on counting targets and after an error."""
        return None if self.guarantee is None else self.guarantee["packetrate_pps"]

    @property
    def counts(self) -> dict[str, int]:
        """Guaranteed maximum of each count, by component; empty on targets with rates."""
        return {} if self.guarantee is None else self.guarantee["counts"] or {}

    @property
    def estimate(self) -> Estimate | None:
        """Estimated time of the slowest path, in nanoseconds; None without an estimate."""
        return self.result["estimate"]

    @property
    def assumptions(self) -> list[str]:
        """Conditions of the guarantee, one sentence each."""
        return self.result["assumptions"]

    @property
    def paths(self) -> list[PathResult]:
        """Paths that packets can really take, the slowest path first."""
        return self.result["paths"]

    @property
    def packets(self) -> list[bytes]:
        """A witness packet for each path, which makes the program take this path.

        Bytes on which the path does not depend are zero.
        """
        return [wire_bytes(path["witness"]) for path in self.paths]

    @property
    def met(self) -> bool | None:
        """True if the requirement is met; None if it is undecided, or nothing was required."""
        judgement = self._judgement()
        if judgement is None or judgement.decision is Decision.UNDECIDED:
            return None
        return judgement.decision is Decision.MET

    @property
    def reason(self) -> str | None:
        """The reason for the value of `met`, as a sentence."""
        judgement = self._judgement()
        return None if judgement is None else judgement.reason

    def _judgement(self) -> Judgement | None:
        required, accept = self._request.requirement, self._request.accept_assumptions
        return None if required is None else judge(self.result, required, accept=accept)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.label}: {self.error}"
        reporter = text_reporter([self.label], verbose=False)
        lines = reporter.add(self.result, self._detail, "")
        return "\n".join(line.text for line in lines)

    def __repr__(self) -> str:
        return f"<slowpath.Program {self.label}: {self.verdict or 'not analysed'}>"

    def _repr_html_(self) -> str:
        return page_part([self.result])


class Results(Table, Sequence[Program]):
    """Programs in the order of the files; `str()` returns the table of `slowpath bound`."""

    def __init__(self, programs: Sequence[Program], command: str = "bound") -> None:
        """Store programs; `bound` and `chain.bound` create instances."""
        self._programs = list(programs)
        self._command = command

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Program | Results":
        if isinstance(index, slice):
            return Results(self._programs[index], self._command)
        return self._programs[index]

    def __len__(self) -> int:
        return len(self._programs)

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs)

    def to_json(self) -> str:
        """Return the document of `slowpath bound --format json`, which `slowpath diff` can read."""
        results = [program.result for program in self]
        return json.dumps({**head(self._command, "bound"), "results": results, "notes": []})

    @property
    def rows(self) -> list[Row]:
        """The rows of `--format csv`, one for each program."""
        return csv_rows([csv_header(), *(csv_row(program.result) for program in self)])

    def write_pcap(self, file: str | os.PathLike[str]) -> None:
        """Write the witness packets of all programs to a pcap file.

        Raises:
            OSError: if the file cannot be written.
        """
        frames = (
            frame(packet, program.result["kind"]) for program in self for packet in program.packets
        )
        write_pcap(os.fspath(file), list(frames))

    def __str__(self) -> str:
        if len(self) == 1:
            return str(self[0])
        reporter = text_reporter([program.label for program in self], verbose=False)
        lines = list(reporter.start())
        for program in self:
            lines += reporter.add(program.result, program._detail, "")
        return "\n".join(line.text for line in [*lines, *reporter.finish()])

    def __repr__(self) -> str:
        return f"<slowpath.Results of {len(self)} program{'s'[: len(self) != 1]}>"

    def _repr_html_(self) -> str:
        return page_part([program.result for program in self])


File = str | os.PathLike[str]
Parts = Sequence[tuple[Request, Session]]
"""Pairs of a request and the session that analyses the programs of the request."""
OnProgress = Callable[[str, Progress], None]
"""A callback for progress: it gets a program's label and the state of its analysis.

It is called ten times a second.
"""


def bound(  # noqa: PLR0913 - one parameter for each option of the command
    *files: File,
    section: str | Sequence[str] = (),
    prog_name: str | Sequence[str] = (),
    cflags: Sequence[str] = (),
    target: str | None = None,
    metric: str | None = None,
    cores: int | None = None,
    require: str | None = None,
    accept_assumptions: bool = False,
    unroll: int | str | None = None,
    paths: int | Literal["all"] = 1,
    mtu: int | None = None,
    entries: int | str | None = None,
    deadline: float | None = DEFAULT_DEADLINE,
    total_deadline: float | None = None,
    memory: int | str | None = None,
    assume: File | None = None,
    maps: File | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the name of the option
    map_abi: str | None = None,
    receive: str | None = None,
    btf: File | None = None,
    jobs: int = 1,
    cache_dir: File | None = None,
    no_cache_dir: bool = False,
    progress: OnProgress | None = None,
) -> Results:
    """Guarantee the speed of programs: find the slowest path that any packet can take.

    Args:
        files: BPF objects (`*.bpf.o`), C sources, which clang compiles, and assembly listings for
            NFP network cards. A folder stands for all such files below it.
        section: Globs for sections of objects, such as `xdp*`; by default all programs that
            slowpath analyses.
        prog_name: Globs for names of programs.
        cflags: Flags for clang.
        target: Name of a built-in target, or file of a description (`*.toml`); by default
            `linux-xdp`, a server, or for all files `agilio-cx-2x40`, a network card, if one is a
            listing.
        metric: Metric to guarantee: `bitrate`, `packetrate`, or a count of the target.
        cores: Number of cores; by default all cores of the target.
        require: A rate or count that the guarantees have to meet; see `Program.met`.
        accept_assumptions: True to let `require` be met with loop limits that `unroll` assumes.
        unroll: Maximum iterations of loops without a known maximum, or `N@FILE:LINE,...`.
        paths: Number of slowest satisfiable paths to report.
        mtu: Bytes of the longest packet, with Ethernet header, without frame check sequence; by
            default the maximum of `receive`, on a SmartNIC that of the target.
        entries: Entries in each map that has room for them, for time estimates, or `NAME=N,...`; by
            default full maps.
        deadline: Seconds for each program; None: no limit.
        total_deadline: Seconds for all programs together.
        memory: Bytes for each analysis, or `500M`, `2G`; by default half of the free memory.
        assume: A file (TOML) with costs that the target leaves open, and unsupported helpers.
        maps: A file with content of maps (TOML or JSON).
        set: Values of variables that a loader would set: `NAME=VALUE`, or `NAME=any`.
        map_abi: Interface of programs on a network card to maps: `array-pointer` or `call`.
        receive: Environment in which packets arrive at programs in a kernel: `any`, `native-page`,
            `veth`, `generic`, `test-run`, or numbers (`head=0..216,length=60..1514`); by default
            `any`.
        btf: A file with kernel types (BTF); by default those of the running kernel.
        jobs: Number of programs to analyse in parallel; they share the free memory.
        cache_dir: Folder of kept results; by default `$SLOWPATH_CACHE_DIR`, else
            `~/.cache/slowpath`.
        no_cache_dir: True to neither read nor write kept results.
        progress: Callback during the analyses, with a single job.

    Returns:
        One result per program, including programs that could not be analysed (`Program.error`).

    Raises:
        OptionError: if an option is invalid; the error names the option of the command.
        InputError: if a file that an option names cannot be read.
        KeyboardInterrupt: on a second Ctrl-C; after the first one, the call returns the results so
            far.
    """
    written = WrittenOptions(
        selection=Selection(_words(section), _words(prog_name)),
        cflags=_words(cflags),
        target=target,
        metric=metric,
        cores=cores,
        require=require,
        accept_assumptions=accept_assumptions,
        unroll=unroll,
        paths=paths,
        mtu=mtu,
        entries=entries,
        deadline=0 if deadline is None else deadline,
        total_deadline=total_deadline,
        memory=memory,
        assume=_path(assume),
        maps=_path(maps),
        set=_words(set),
        map_abi=map_abi,
        receive=receive,
        btf=_path(btf),
    )
    if not 1 <= jobs <= MOST_JOBS:
        raise OptionError(codes.INVALID_VALUE, "--jobs", f"{jobs} is not from 1 to {MOST_JOBS}")
    request = read_request(expanded([os.fspath(file) for file in files]), written)
    request = request._replace(cache=open_cache(_path(cache_dir), off=no_cache_dir))
    return results_of([(request, Session(request))], progress=progress, jobs=jobs)


def results_of(
    parts: Parts, command: str = "bound", progress: OnProgress | None = None, jobs: int = 1
) -> Results:
    """Analyse the programs of all sessions, for the command `command`; return their results.

    `progress` is called during the analyses, but only if `jobs` is 1.
    """
    found = list[Program]()
    with heeding_signals() as stopping:
        if jobs > 1:
            from slowpath.bounds.bulk import analyse_all
            from slowpath.core.jobs.local_pool import LocalPool

            with listening(lambda _: None):  # no progress on standard error
                all_analysed = analyse_all(parts, LocalPool(jobs), stopping, DESCRIBED_PATHS)
                return Results([Program(each, parts[at][0]) for at, each in all_analysed], command)
        context = RunContext(stopping, lambda label, *_: _CallbackWatcher(label, progress))
        for request, session in parts:
            options = request.options._replace(path_details=DESCRIBED_PATHS)
            found += [Program(each, request) for each in session.analyse(context, options)]
    return Results(found, command)


class _CallbackWatcher(Watcher):
    """Passes the progress of an analysis on to the callback of the caller."""

    def __init__(self, label: str, progress: OnProgress | None) -> None:
        self._label = label
        self._progress = progress

    def look(self, run: Run) -> None:
        if self._progress is not None:
            self._progress(self._label, run.progress)


def _words(words: str | Sequence[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _path(file: File | None) -> str | None:
    return None if file is None else os.fspath(file)
