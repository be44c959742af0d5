"""What calls from Python return: one object a program, with the result that JSON has as well."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import overload

from slowpath.analysis.outcomes import Analysed
from slowpath.analysis.plan import Request
from slowpath.analysis.requirement import Decision, Judgement, hold_against
from slowpath.api.html import page_part
from slowpath.engine.identity import version
from slowpath.packet.pcap import write_pcap
from slowpath.packet.witness import wire_bytes
from slowpath.report.reporters import text_reporter
from slowpath.schema.results import Bound, Estimate, PathResult, Result, Verdict


class Program:
    """A program and what is known of it. `str()` is the report of the command."""

    def __init__(self, analysed: Analysed, request: Request) -> None:
        """As `bound` makes it."""
        self._detail = analysed.detail
        self._request = request
        self.result: Result = analysed.result
        """Everything, as `docs/json.md` describes it."""
        self.label = analysed.task.label
        """The file, and the name of the program where a file can have several."""

    @property
    def file(self) -> str:
        """The file, as it was named."""
        return self.result["file"]

    @property
    def name(self) -> str:
        """The name of the program in the file."""
        return self.result["program"]

    @property
    def target(self) -> str:
        """The device."""
        return self.result["target"]

    @property
    def error(self) -> str | None:
        """Why there is no guarantee; None when there is one."""
        return self.result["error"]

    @property
    def guarantee(self) -> Bound | None:
        """The guarantee; None when there is an error."""
        return self.result["guarantee"]

    @property
    def verdict(self) -> Verdict | None:
        """Whether the guarantee is `exact`, `conditional` (see `assumptions`) or a `bound`."""
        return None if self.guarantee is None else self.guarantee["verdict"]

    @property
    def bitrate(self) -> float | None:
        """Guaranteed bit/s; None on targets that count, and where there is an error."""
        return None if self.guarantee is None else self.guarantee["bitrate_bps"]

    @property
    def packetrate(self) -> float | None:
        """Guaranteed packets/s; None on targets that count, and where there is an error."""
        return None if self.guarantee is None else self.guarantee["packetrate_pps"]

    @property
    def counts(self) -> dict[str, int]:
        """By component, what no packet exceeds; empty on targets with rates."""
        return {} if self.guarantee is None else self.guarantee["counts"] or {}

    @property
    def estimate(self) -> Estimate | None:
        """What the slowest path is estimated to take, in nanoseconds; None where nothing is."""
        return self.result["estimate"]

    @property
    def assumptions(self) -> list[str]:
        """What the guarantee depends on, one sentence each."""
        return self.result["assumptions"]

    @property
    def paths(self) -> list[PathResult]:
        """Satisfiable paths, the slowest first."""
        return self.result["paths"]

    @property
    def packets(self) -> list[bytes]:
        """The witness packets of the paths; bytes of which any value does are zero."""
        return [wire_bytes(path["witness"]) for path in self.paths]

    @property
    def met(self) -> bool | None:
        """Whether what was required holds; None when that is not decided, or nothing was."""
        judgement = self._judgement()
        if judgement is None or judgement.decision is Decision.UNDECIDED:
            return None
        return judgement.decision is Decision.MET

    @property
    def reason(self) -> str | None:
        """Why `met` is what it is, in words."""
        judgement = self._judgement()
        return None if judgement is None else judgement.reason

    def _judgement(self) -> Judgement | None:
        required, accept = self._request.requirement, self._request.accept_assumptions
        return None if required is None else hold_against(self.result, required, accept=accept)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.label}: {self.error}"
        reporter = text_reporter([self.label], verbose=False)
        lines = reporter.add(self.result, self._detail, "")
        return "\n".join(line.text for line in lines)

    def __repr__(self) -> str:
        return f"<slowpath.Program {self.label}: {self.verdict or 'not analysed'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return page_part([self.result])


class Results(Sequence[Program]):
    """The programs in the order of the files. `str()` is the table of the command."""

    def __init__(self, programs: Sequence[Program]) -> None:
        """As `bound` makes it."""
        self._programs = list(programs)

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Program | Results":
        if isinstance(index, slice):
            return Results(self._programs[index])
        return self._programs[index]

    def __len__(self) -> int:
        return len(self._programs)

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs)

    def to_json(self) -> str:
        """The document that `slowpath bound --format json` writes, for `slowpath diff` too."""
        results = [program.result for program in self]
        return json.dumps({"slowpath": version(), "results": results})

    def write_pcap(self, file: str | os.PathLike[str]) -> None:
        """Writes the witness packets of all programs.

        Raises:
            OSError: when the file cannot be written.
        """
        write_pcap(os.fspath(file), [packet for program in self for packet in program.packets])

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
        """What a notebook shows."""
        return page_part([program.result for program in self])
