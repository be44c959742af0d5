"""Runs the command `slowpath annotate`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowpath.annotate.documents import Annotation
from slowpath.annotate.report import annotation, annotation_report, find_sources, headline
from slowpath.bounds.analyst import RunContext, sessions_of
from slowpath.bounds.options import check_page_file
from slowpath.bounds.outcomes import Analysed, ComplaintsByTarget, Unmatched, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core import engine
from slowpath.core.errors import ExitCode, worst
from slowpath.core.formats import Reporter, json_items, stream_lines
from slowpath.core.inputs import write_text
from slowpath.core.jobs import heeding_signals
from slowpath.core.programs.sources import provenance, provenance_lines
from slowpath.core.schema.results import Result
from slowpath.core.terminal import Line, note

_Annotated = Iterable[tuple[Result, Annotation]]


def annotate(
    requests: Sequence[Request],
    reporter: Reporter,
    *,
    instructions: bool,
    html: str | None = None,
) -> ExitCode:
    """Print the source lines of every program with their costs on the slowest path.

    The requests name the same files, for example for several targets; each file is read once. An
    error in one program does not stop the others. With `instructions`, text reports show the
    instructions below each source line. `html` is the path of an HTML page to write, or None.

    Raises:
        OptionError: if an option does not fit the files.
        InputError: if the kernel's types cannot be read.
    """
    paths, explored = 0, list[Analysed]()
    if html is not None:
        from slowpath.core.html.explorer import PATHS

        check_page_file(html, requests[0].files)
        paths = PATHS
    sessions = sessions_of(requests)
    notes = note_remarks(*(session.plan for session in sessions))
    with heeding_signals() as stopping:
        codes, unmatched = list[ExitCode](), Unmatched()
        complaints = ComplaintsByTarget(requests, unmatched, several=len(requests) > 1)

        def annotated() -> _Annotated:
            for at, (request, session) in enumerate(zip(requests, sessions, strict=True)):
                options = request.options._replace(code=True, path_details=paths)
                for each in session.analyse(RunContext(stopping), options):
                    yield each.result, annotation(each.result, each.detail)
                    if html is not None:
                        explored.append(each)
                    codes.append(complaints.add(at, each))

        compiled = any(task.compiled for session in sessions for task in session.plan.tasks)
        made = provenance(compiled=compiled)
        head = {**engine.head("annotate", "annotate"), **made, "notes": notes}
        stream_lines(reporter(head, annotated(), instructions=instructions))
        if html is not None:
            from slowpath.bounds.page import Explored, bound_page

            page = bound_page([Explored(one.result, one.detail, []) for one in explored], head)
            write_text(html, page)
        return worst([*codes, unmatched.complain()])


def annotations_json(
    head: Mapping[str, object], annotated: _Annotated, **_unused: object
) -> Iterator[str]:
    """Yield the lines of the JSON document, with one line for each program."""
    return json_items(head, "results", (one for _, one in annotated))


def annotations_text(
    head: Mapping[str, object], annotated: _Annotated, *, instructions: bool
) -> Iterator[Line]:
    """Yield the text report of each program; print missing source files to standard error."""
    separator = list[Line]()
    for result, one in annotated:
        if one["error"] is not None:
            continue
        yield from separator
        separator = [Line("")]
        yield from headline(result)
        yield Line("")
        sources = find_sources(one)
        for source in sources.values():
            if source.remark is not None:
                note(f"note: {one['file']}: {source.remark}")
        yield from annotation_report(one, sources, instructions=instructions)
    yield from provenance_lines(head)
