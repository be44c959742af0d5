"""Predicts the blocks of a file in a process that may die, and puts together what is said."""

from collections.abc import Iterator

from slowpath.engine import identity
from slowpath.insights.blocks.predictions.documents import BlocksReport
from slowpath.insights.blocks.predictions.question import TARGET, Question
from slowpath.insights.errands import attempt
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping


def examine(
    question: Question, seconds: float | None, memory: int | None, stopping: Stopping
) -> BlocksReport:
    """The blocks of a file.

    Raises:
        InputError: when it cannot be read or compiled, has no such entry, or the card cannot run
            any of its programs.
    """
    report: BlocksReport = {
        "slowpath": identity.version(),
        "file": question.file,
        "target": TARGET,
        "map_abi": question.map_abi,
        "programs": [],
        "stopped": None,
    }

    def take(message: Message) -> None:
        match message:
            case ("program", program):
                report["programs"].append(program)

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        from slowpath.insights.blocks.counted import counted_programs
        from slowpath.insights.blocks.predicted import predicted_programs

        learnt = predicted_programs(question)
        for program in learnt if question.learnt else counted_programs(question, stopping):
            yield "program", program

    stopped = attempt(question.file, work, (seconds, memory), stopping, take)
    report["stopped"] = stopped
    return report
