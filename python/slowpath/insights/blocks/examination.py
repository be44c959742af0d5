"""Predicts the blocks of a file in a process that may die, and puts together what is said."""

from collections.abc import Iterator

from slowpath.cli.errors import StoppedError
from slowpath.engine import identity
from slowpath.insights.blocks.predictions.documents import BlocksReport
from slowpath.insights.blocks.predictions.question import TARGET, Question
from slowpath.insights.errands import attempt
from slowpath.insights.preparation.sources import is_source
from slowpath.programs.sources import provenance
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping


def examine(
    question: Question, seconds: float | None, memory: int | None, stopping: Stopping
) -> BlocksReport:
    """The blocks of a file.

    Raises:
        InputError: when it cannot be read or compiled, has no such entry, or nothing can be said
            of any of its programs.
        StoppedError: when it was stopped before anything was said.
    """
    report: BlocksReport = {
        "slowpath": identity.version(),
        **provenance(compiled=is_source(question.file)),
        "file": question.file,
        "target": TARGET,
        "map_abi": question.map_abi,
        "programs": [],
        "uncounted": [],
        "stopped": None,
    }

    def take(message: Message) -> None:
        match message:
            case ("program", program):
                report["programs"].append(program)
            case ("uncounted", one):
                report["uncounted"].append(one)

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        from slowpath.insights.blocks.choosing import predictions

        for one in predictions(question, stopping):
            yield ("program" if "functions" in one else "uncounted"), one

    stopped = attempt(question.file, work, (seconds, memory), stopping, take)
    if stopped is not None and not report["programs"] and not report["uncounted"]:
        raise StoppedError(question.file, f"{stopped} before any of it was predicted")
    report["stopped"] = stopped
    return report
