"""Describes pipelines of DPDK's software switch: tables, actions and numbers of instructions."""

from collections.abc import Iterator, Sequence

from slowpath.core import engine
from slowpath.core.engine.p4 import PipelineTable, describe_pipeline
from slowpath.core.errors import ExitCode, InputError, worst
from slowpath.core.formats import Lines, Reporter, json_report
from slowpath.core.inputs import read_text
from slowpath.core.printable import one_line
from slowpath.core.terminal import Line, error, grid
from slowpath.show.documents import PipelineDocument, ShownPipeline

_TABLES = ("table", "kind", "key", "actions", "default action", "size")
_ACTIONS = ("action", "data", "instructions")


def show_pipelines(files: Sequence[str], reporter: Reporter) -> ExitCode:
    """Print the content of pipelines; a failure of one does not stop the others."""
    found, exits = list[ShownPipeline](), list[ExitCode]()
    for file in files:
        try:
            found.append(read_pipeline(file))
            exits.append(ExitCode.FINE)
        except InputError as problem:
            error(problem.coded.code, file, problem.reason)
            found.append(_failed(file, problem))
            exits.append(ExitCode.INPUT)
    reporter.write(found)
    return worst(exits)


def read_pipeline(file: str) -> ShownPipeline:
    """Read a pipeline.

    Raises:
        InputError: if the file cannot be read, or is not a valid pipeline.
    """
    return {"file": file, **describe_pipeline(file, read_text(file)), "error": None, "code": None}


def _failed(file: str, problem: InputError) -> ShownPipeline:
    return {
        "file": file,
        "instructions": 0,
        "headers": [],
        "tables": [],
        "actions": [],
        "error": str(problem.coded),
        "code": problem.coded.code,
    }


def pipelines_json(found: list[ShownPipeline]) -> Lines:
    """Return the JSON document of all pipelines."""
    document: PipelineDocument = {**engine.head("show", "pipeline"), "results": found}
    return json_report(document)


def pipelines_text(found: Sequence[ShownPipeline]) -> Iterator[Line | str]:
    """Yield the text report of each pipeline."""
    readable = [one for one in found if one["error"] is None]
    for number, one in enumerate(readable):
        if number:
            yield ""
        yield from _lines(one)


def _lines(shown: ShownPipeline) -> Iterator[Line]:
    count = shown["instructions"]
    yield Line(f"{one_line(shown['file'])}  (instructions: {count}, without actions)", "bold")
    if shown["headers"]:
        yield Line(f"  headers: {one_line(', '.join(shown['headers']))}")
    if shown["tables"]:
        yield from grid(_TABLES, [_row(table) for table in shown["tables"]])
    if shown["actions"]:
        yield Line("")
        rows = [
            (one["name"], one["data"] or "-", str(one["instructions"])) for one in shown["actions"]
        ]
        yield from grid(_ACTIONS, rows)


def _row(table: PipelineTable) -> tuple[str, ...]:
    key = ", ".join(f"{one['field']} {one['match']}" for one in table["key"])
    actions = ", ".join(table["actions"])
    others = (table["default"] or "-", str(table["size"]))
    return (table["name"], table["kind"], key or "-", actions or "-", *others)
