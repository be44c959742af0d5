"""Two files: what both have is measured in turns, and `--fail-on` says what it thinks of that."""

from collections.abc import Callable, Sequence

from slowpath.analysis.outcomes import Analysed
from slowpath.cli.errors import InputError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.terminal import error
from slowpath.commands.measure.gate import decide, is_decided
from slowpath.commands.measure.live_line import LiveLine
from slowpath.commands.measure.measuring import Measuring
from slowpath.measurements.comparison import (
    FEWEST_LOADS,
    compare,
    pair_programs,
    same_packet,
    until_decided,
)
from slowpath.measurements.documents import ComparedVersions, MeasuredProgram


class VersionsRun:
    """Programs of an old and a new file."""

    def __init__(self, measuring: Measuring, alone: Callable[[Analysed], MeasuredProgram]) -> None:
        """`alone` measures a program that only one of the files has."""
        self._measuring = measuring
        self._alone = alone
        self.records: list[MeasuredProgram] = []
        self.comparison: list[ComparedVersions] = []

    def all_of(self, analyses: Sequence[Analysed], files: Sequence[str]) -> None:
        """What both files have, in turns where they have the same program."""
        first = [each for each in analyses if each.task.file == files[0]]
        old = first[: len(first) // 2] if files[0] == files[1] else first
        new = analyses[len(old) :]
        for pair in pair_programs(old, new):
            if pair.old is not None and pair.new is not None:
                self._both(old[pair.old], new[pair.new])
            elif pair.old is not None:
                self._only(old[pair.old], files[1])
            elif pair.new is not None:
                self._only(new[pair.new], files[0])
        if self._measuring.settings.gates and not self.records:
            self._miss(files[1], "there is no program to compare")

    def _only(self, analysed: Analysed, other: str) -> None:
        """A program that the other file does not have."""
        record = self._alone(analysed)
        self.records.append(record)
        if self._measuring.settings.gates and analysed.result["error"] is None:
            self._miss(record["file"], f"{record['program']}: {other} has no program of this name")

    def _miss(self, file: str, what: str) -> None:
        gates = self._measuring.settings.gates
        error(file, f"{what}, and --fail-on {gates[0].text!r} needs it")
        self._measuring.codes.append(ExitCode.FAILED)

    def _both(self, old: Analysed, new: Analysed) -> None:
        measuring = self._measuring
        with LiveLine(new.task.label, measuring.settings.seconds) as line:
            programs = measuring.prepared(old, line), measuring.prepared(new, line)
            try:
                same = same_packet(measuring.station, programs[0], new, measuring.maps)
                quota, gates = measuring.quota, measuring.settings.gates
                quota = quota._replace(fewest_loads=FEWEST_LOADS)
                if gates:
                    quota = until_decided(quota, programs, lambda row: is_decided(gates, row))
                going = measuring.go_on(line)
                with measuring.watch.resumed():
                    compared = compare(measuring.station, programs, same, quota, going)
                self.comparison.append(compared)
                self._hold(compared)
            except InputError as problem:
                programs[0].record["error"] = programs[1].record["error"] = problem.reason
        for analysed, program in zip((old, new), programs, strict=True):
            measuring.complain(analysed, program)
            self.records.append(program.record)

    def _hold(self, compared: ComparedVersions) -> None:
        """What is to be said of a comparison: `--fail-on`, and where the kernel disagrees."""
        for row in compared["paths"]:
            if row["report"] is not None:
                what = f"{row['path']}: {row['error']}"
                self._measuring.disagree(compared["new"], what)
        for gate in self._measuring.settings.gates:
            decision = decide(gate, compared["paths"][0])
            stopped = self._measuring.stopping.asked and compared["paths"][0]["ratio"] is None
            self._measuring.codes.append(ExitCode.UNDECIDED if stopped else decision.code)
            if decision.reason is not None:
                error(compared["new"], decision.reason)
