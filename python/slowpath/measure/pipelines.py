"""Times the paths of SWX pipelines in DPDK's interpreter.

Witnesses from the analysis give the packet and the table entries for each path.
"""

import os
import selectors
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Analysed, Complaints, Unmatched, note_on, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core import codes, engine
from slowpath.core.engine.p4 import printed_pipeline
from slowpath.core.errors import Coded, ExitCode, worst
from slowpath.core.inputs import read_program
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.programs.p4 import to_swx
from slowpath.core.programs.sources import is_p4
from slowpath.core.schema.results import (
    PathResult,
    PipelineLookup,
    PipelineWitness,
    Result,
    Witness,
)
from slowpath.core.terminal import LiveLine, error
from slowpath.measure import disturbances, environment
from slowpath.measure.dpdk import Process, Toolchain, start, toolchain
from slowpath.measure.machine import chosen_cpu
from slowpath.measure.pipeline_documents import MeasuredPipeline, PipelinesDocument, TimedPath
from slowpath.measure.programs import slowest, slowest_to_fastest
from slowpath.measure.settings import Settings
from slowpath.measure.statistics import Estimate, estimate

_SOURCES = Path(__file__).parent
_FEWEST = 3  # minimum number of builds of each pipeline
_CHECK = 4  # number of builds before the first check of the precision; grows by half
_POLL = 0.2  # seconds between two checks for stop requests
_OTHER_BITS = 8  # width of the narrowest field of a key
_MOST = 4000  # maximum number of paths of a pipeline
_IN_PORTS, _OUT_PORTS = 16, 512  # numbers of ports that the program has
_EMPTY = """struct metadata_t {
	bit<32> port
}

metadata instanceof metadata_t

apply {
	rx m.port
	tx 0
}
"""


@contextmanager
def as_pipelines(files: Sequence[str], flags: Sequence[str]) -> Iterator[dict[str, str]]:
    """Return a context manager that translates P4 programs to pipelines; other files are pipelines.

    Its value has, for the name of each pipeline file, the name of the given file. The translations
    exist until the context ends. Conditions under which a translation is correct are printed as
    notes to standard error.

    Raises:
        InputError: if a P4 program cannot be read, or has an error.
    """
    with tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        names = dict[str, str]()
        for number, file in enumerate(files):
            if not is_p4(file):
                names[file] = file
                continue
            made = to_swx(file, flags)
            for condition in made.conditions:
                note_on(file, f"the pipeline does the same as the program if {condition}")
            written = Path(folder, str(number), f"{PurePath(file).stem}.spec")
            written.parent.mkdir()
            written.write_text(made.spec)
            names[str(written)] = file
        yield names


def measure_pipelines(request: Request, settings: Settings, names: Mapping[str, str]) -> ExitCode:
    """Measure the paths of all pipelines of a request, and print the report.

    `names` has, for each pipeline file, the name of the file that the user gave.

    Raises:
        UnavailableError: if DPDK or a compiler is missing.
    """
    tools = toolchain("measuring pipelines")
    session = Session(request)
    note_remarks(session.plan)
    unmatched = Unmatched()
    complaints = Complaints(request, unmatched)
    found: list[ExitCode] = []
    records: list[MeasuredPipeline] = []
    with heeding_signals() as stopping, tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        bed = _Bed(Path(folder), tools, settings, stopping, names)
        for analysed in session.analyse(RunContext(stopping)):
            found.append(complaints.add(analysed))
            with LiveLine() as line:
                record = bed.measure(analysed, line.draw)
            found.append(_complain(record, analysed, stopped=stopping.asked))
            records.append(record)
    known = [record["environment"] for record in records]
    shown = [one for each in known if each is not None for one in disturbances.of(each)]
    once = list({one["code"]: one for one in shown}.values())
    document: PipelinesDocument = {
        **engine.head("measure", "pipelines"),
        "dpdk": tools.version,
        "disturbances": once,
        "results": records,
    }
    for one in settings.files:
        one.write(document)
    json = settings.report.format == "json"
    settings.report.write(
        document, warnings=() if json else disturbances.warnings(document["disturbances"])
    )
    found.append(unmatched.complain())
    return worst(found)


def _complain(record: MeasuredPipeline, analysed: Analysed, *, stopped: bool) -> ExitCode:
    """Print to standard error why a pipeline was not measured, and return its exit code.

    `stopped` is true if the user interrupted the measurement.
    """
    if analysed.result["error"] is not None:
        return ExitCode.FINE  # already reported
    if record["error"] is not None:
        error(record["code"], record["file"], record["error"])
        return ExitCode.UNDECIDED if stopped else ExitCode.INPUT
    return ExitCode.FINE


class _Path(NamedTuple):
    """A path that can be timed: its record, and its description for the C program that times it."""

    record: TimedPath
    text: str


class _Bed:
    """The C program that times paths in DPDK, with its settings.

    It is compiled once for all pipelines.
    """

    def __init__(
        self,
        folder: Path,
        tools: Toolchain,
        settings: Settings,
        stopping: Stopping,
        names: Mapping[str, str],
    ) -> None:
        self._names = names
        self.cpu = chosen_cpu(settings.cpu)
        self._folder, self._settings, self._stopping = folder, settings, stopping
        self._binary = folder / "paths"
        self._is_compiled = False
        self._tools = tools

    def measure(self, analysed: Analysed, say: Callable[[str], None]) -> MeasuredPipeline:
        """Time the paths of a pipeline and return its record.

        If no path was timed, the record has the reason. `say` shows progress.
        """
        result = analysed.result
        record: MeasuredPipeline = {
            "file": self._names.get(analysed.task.file, analysed.task.file),
            "program": result["program"] or None,
            "found": len(result["paths"]),
            "complete": result["guarantee"] is not None and result["guarantee"]["stopped"] is None,
            "precise": False,
            "seconds": 0.0,
            "environment": None,
            "paths": [],
            "error": result["error"],
            "code": result["code"],
        }
        if result["error"] is not None:
            return record
        between = self._settings.between
        paths = result["paths"]
        chosen = slowest_to_fastest(paths) if between else slowest(paths, len(paths))
        made = list(self._files(analysed.task.file, chosen))
        record["paths"] = [one.record for one in made]
        timed = [one for one in made if one.record["error"] is None]
        if timed:
            self._time(analysed.task.label, timed, record, say)
        if not any(one["measured_ns"] for one in record["paths"]):
            stopped = self._stopping.asked
            reasons = Counter((p["error"], p["code"]) for p in record["paths"] if p["error"])
            default = (_no_path(result), codes.TESTBED_FAILED)
            why, code = reasons.most_common(1)[0][0] if reasons else default
            record["error"] = "interrupted before anything was timed" if stopped else why
            record["code"] = codes.INTERRUPTED if stopped else code
        return record

    def _files(self, file: str, chosen: Sequence[tuple[int, PathResult]]) -> Iterator[_Path]:
        spec = self._folder / "pipeline.spec"
        spec.write_text(printed_pipeline(read_program(file).decode(errors="replace")))
        for rank, path in chosen:
            witness = path["witness"].get("pipeline")
            record: TimedPath = {
                "rank": rank,
                "instructions": int(path["cost"]["instructions"]),
                "lookups": int(path["cost"]["lookups"]),
                "measured_ns": None,
                "spread_ns": None,
                "low_ns": None,
                "high_ns": None,
                "baseline_ns": None,
                "program_ns": None,
                "estimate": path["estimate"],
                "packetrate_pps": None,
                "builds": 0,
                "port": 0 if witness is None else witness["port"],
                "packet": "" if witness is None else witness["packet"],
                "output": None if witness is None else witness["output"],
                "source": path["source"],
                "entries": [],
                "error": None,
                "code": None,
            }
            if witness is None:
                _fail(record, "slowpath's interpreter does not run this pipeline")
                yield _Path(record, "")
                continue
            reason = _obstacle(path["witness"], witness)
            if rank > _MOST:
                _fail(record, f"only the {_MOST:,} slowest paths are timed")
            elif reason is not None:
                _fail(record, reason, codes.PATH_NOT_REPEATABLE)
            lines = list(_entries(witness["entries"]))
            record["entries"] = [one.split(" ", 1)[1] for one in lines if one[:5] != "other"]
            lines += _lookups(witness["entries"])
            lines += [f"packet {witness['packet']}", f"output {witness['output'] or '-'}"]
            start = [f"port {witness['port']}", f"pipeline {spec}"]
            yield _Path(record, "\n".join([*start, *lines, ""]))

    def _time(
        self,
        label: str,
        paths: Sequence[_Path],
        record: MeasuredPipeline,
        say: Callable[[str], None],
    ) -> None:
        """Time paths until they are precise or the time limit is reached; fill in their records.

        `label` is the name of the pipeline for the progress that `say` shows.
        """
        if not self._is_compiled:
            say(f"{label}: compiling")
            self._tools.compile(_SOURCES / "pipeline_paths.c", self._binary)
            self._is_compiled = True
        texts = [one.text for one in paths]
        baselines = dict[int, int]()  # by number of input ports, the number of the baseline's path
        for one in paths:
            ports = _ports(one.record)
            if ports not in baselines:
                baselines[ports] = len(texts)
                texts.append(self._baseline(one.record))
        run = _Run(len(texts), self._settings.precision)
        begun = time.monotonic()
        left = list(range(len(texts)))
        while left and not self._stopping.asked:
            files = list[str]()
            for number in left:
                file = self._folder / f"path-{number}"
                file.write_text(texts[number])
                files.append(str(file))
            remaining = self._settings.seconds - (time.monotonic() - begun)
            arguments = [f"{max(remaining, 0):g}", str(_FEWEST), *files]
            failure = self._run(run, left, arguments, record, lambda text: say(f"{label}: {text}"))
            if failure is None:
                break
            # The pipeline of the current path crashed the program, so go on with the other paths.
            failed = left if run.current is None else [run.current]
            run.errors.update(dict.fromkeys(failed, failure))
            left = [number for number in left if number not in run.errors]
        record["seconds"] = round(time.monotonic() - begun, 3)
        record["precise"] = run.is_precise()
        for number, one in enumerate(paths):
            base = run.estimate(baselines[_ports(one.record)])
            _fill(one.record, run.estimate(number), base, run.errors.get(number))

    def _baseline(self, record: TimedPath) -> str:
        """Return the description of a pipeline that only receives and sends the packet of a path.

        Its time is subtracted from that of the path.
        """
        empty = self._folder / "empty.spec"
        empty.write_text(_EMPTY)
        packet = record["packet"]
        return f"port {record['port']}\npipeline {empty}\npacket {packet}\noutput {packet}\n"

    def _run(
        self,
        run: "_Run",
        numbers: Sequence[int],
        arguments: Sequence[str],
        record: MeasuredPipeline,
        say: Callable[[str], None],
    ) -> str | None:
        """Run the C program on the paths with indices `numbers`; collect its output in `run`.

        Return the reason if the program ended abnormally, else None.
        """
        with (
            (self._folder / "errors").open("w+b") as errors,
            start(self._binary, self.cpu, arguments, errors) as process,
        ):
            watch = environment.begin(self.cpu, thread=process.pid)
            try:
                finished = self._follow(process, run, numbers, say)
            finally:
                record["environment"] = watch.end()
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                process.wait()
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        if finished:
            return None
        if run.current is None:
            return f"DPDK does not start: {last[0] if last else 'without a message'}"
        return "DPDK ended abnormally on this path"

    def _follow(
        self,
        process: Process,
        run: "_Run",
        numbers: Sequence[int],
        say: Callable[[str], None],
    ) -> bool:
        """Read the program's output into `run` until the times are precise or the user stops.

        Return true in these cases, and false if the output ended before.
        """
        if process.stdout is None:
            return True
        left = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not self._stopping.asked:
                if not selector.select(_POLL):
                    continue
                read = os.read(process.stdout.fileno(), 1 << 16)
                *lines, left = (left + read).split(b"\n")
                for line in lines:
                    if run.record_line(line.decode(), numbers):
                        say(f"timed {run.builds} times")
                        if run.is_enough():
                            return True
                if not read:
                    return process.wait() == 0
        return True


class _Run:
    """Times and errors that the C program has printed so far, by index of the path."""

    def __init__(self, count: int, precision: float) -> None:
        self.times: list[list[float]] = [[] for _ in range(count)]
        self.errors: dict[int, str] = {}
        self.builds = 0
        self.current: int | None = None  # path that the program works on; None: it has not begun
        self._precision = precision
        self._check = _CHECK

    def record_line(self, line: str, numbers: Sequence[int]) -> bool:
        """Record a line of the program's output. Return true if it ends a round over all paths.

        `numbers` has the index of each path that the program numbers from 0.
        """
        match line.split(" ", 2):
            case ["path", number]:
                self.current = numbers[int(number)]
            case ["sample", number, nanoseconds]:
                self.times[numbers[int(number)]].append(float(nanoseconds))
            case ["error", number, reason]:
                self.errors[numbers[int(number)]] = reason
            case ["visit", _]:
                self.builds += 1
                return True
        return False

    def is_enough(self) -> bool:
        """Return true if the times are precise, so that the measurement can end.

        Most calls return false without a check. With frequent checks, an interval that is narrow by
        chance would end the measurement.
        """
        if self.builds < self._check:
            return False
        self._check += max(1, self._check // 2)
        return self.is_precise()

    def is_precise(self) -> bool:
        """Return true if the interval of each path is narrow enough.

        Paths with an error are ignored.
        """
        known = [self.estimate(number) for number in range(len(self.times))]
        return all(
            one is not None and one.interval.half_width <= self._precision * one.value
            for number, one in enumerate(known)
            if number not in self.errors
        )

    def estimate(self, number: int) -> Estimate | None:
        """Return the estimated time of a path; None if the path was not timed or had an error."""
        times = self.times[number]
        return estimate(times) if times and number not in self.errors else None


def _no_path(result: Result) -> str:
    stopped = result["guarantee"] and result["guarantee"]["stopped"]
    return f"the analysis found no path{f', as the search stopped: {stopped}' if stopped else ''}"


def _obstacle(witness: Witness, pipeline: PipelineWitness) -> str | None:
    """Return the reason why DPDK cannot run the path of a witness repeatedly; None if it can."""
    if pipeline["initial_state"]:
        names = ", ".join(one["field"] for one in pipeline["initial_state"][:3])
        return (
            f"the path needs content that earlier packets left in {names}; each measurement starts "
            "with a new pipeline"
        )
    if pipeline["port"] >= _IN_PORTS:
        return f"the packet must arrive at port {pipeline['port']}; ports to {_IN_PORTS - 1} exist"
    if (pipeline["output_port"] or 0) >= _OUT_PORTS:
        sent = f"the pipeline sends the packet to port {pipeline['output_port']}"
        return f"{sent}; ports to {_OUT_PORTS - 1} exist, and DPDK does not check the number"
    calls = [one["call"] or "" for one in witness["unknowns"]]
    computed = [call for call in calls if not call.startswith("table ")]
    if not computed:
        return None
    return (
        f"the path needs a certain result of {computed[0]}, which DPDK computes while it runs, and "
        "no packet or entry sets"
    )


def _ports(record: TimedPath) -> int:
    """Return the test bed's number of input ports: the next power of two above the path's port."""
    return 1 << record["port"].bit_length()


def _entry(lookup: PipelineLookup) -> str:
    key = " ".join(one["value"] for one in lookup["key"])
    data = " ".join(f"{one['field'].partition('.')[2]} {one['value']}" for one in lookup["data"])
    matched = f"match {key} " if key else ""
    return f"{lookup['table']} {matched}action {lookup['action']} {data}".rstrip()


def _entries(lookups: Sequence[PipelineLookup]) -> Iterator[str]:
    """Yield the lines about table entries in the description of a path.

    Each key that a lookup finds has an entry; misses set default entries. A table without a hit
    gets one entry that no lookup of the path matches, because DPDK does not search empty tables.
    """
    seen = set[str]()
    for lookup in lookups:
        if lookup["hit"]:
            line = f"entry {_entry(lookup)}"
        else:
            line = f"default {_entry({**lookup, 'key': []})}"
        if line not in seen:
            seen.add(line)
            yield line
    keys = dict[str, list[list[str]]]()
    for lookup in lookups:
        keys.setdefault(lookup["table"], []).append([one["value"] for one in lookup["key"]])
    with_hits = {lookup["table"] for lookup in lookups if lookup["hit"]}
    for table in (table for table in keys if table not in with_hits):
        other = _other_key(keys[table])
        if other:
            yield f"other {table} match {' '.join(other)}"


def _other_key(keys: Sequence[Sequence[str]]) -> list[str]:
    """Return a key that differs from all given keys of a table; empty if no such key was found."""
    if not keys[0]:
        return []
    known = {tuple(int(value, 0) for value in key) for key in keys}
    first, *rest = keys[0]
    for bit in range(_OTHER_BITS):
        # DPDK reads fields of more than 64 bits only with all their digits.
        other = f"{int(first, 0) ^ 1 << bit:#0{len(first)}x}"
        if tuple(int(value, 0) for value in (other, *rest)) not in known:
            return [other, *rest]
    return []


def _lookups(lookups: Sequence[PipelineLookup]) -> Iterator[str]:
    """Yield a line for each table with the expected numbers of hits and misses."""
    hits, misses = Counter[str](), Counter[str]()
    for lookup in lookups:
        (hits if lookup["hit"] else misses)[lookup["table"]] += 1
    for table in dict.fromkeys(lookup["table"] for lookup in lookups):
        yield f"lookups {table} {hits[table]} {misses[table]}"


def _fail(record: TimedPath, reason: str, code: codes.Code = codes.TESTBED_FAILED) -> None:
    told = Coded(code, reason)
    record["error"], record["code"] = str(told), told.code


def _fill(
    record: TimedPath, found: Estimate | None, base: Estimate | None, reason: str | None
) -> None:
    """Store the time of a path in its record, or the reason why it is missing.

    `found` is the time of the path, `base` that of its baseline, `reason` an error of the C
    program.
    """
    if reason is not None:
        _fail(record, reason)
    elif found is None:
        record["error"], record["code"] = "interrupted before it was timed", codes.INTERRUPTED
    else:
        low, high = found.interval.known
        record["measured_ns"] = round(found.value, 3)
        record["spread_ns"] = round(found.spread, 3)
        record["low_ns"] = None if low is None else round(low, 3)
        record["high_ns"] = None if high is None else round(high, 3)
        if base is not None:
            record["baseline_ns"] = round(base.value, 3)
            record["program_ns"] = round(found.value - base.value, 3)
        record["packetrate_pps"] = round(1e9 / found.value)
        record["builds"] = found.size
