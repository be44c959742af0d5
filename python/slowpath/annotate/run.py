"""Runs the command `slowpath annotate`."""

from collections.abc import Iterable, Iterator, Mapping

from slowpath.annotate.documents import Annotation
from slowpath.annotate.report import annotation_report, headline
from slowpath.annotate.rows import annotation, find_sources
from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Complaints, Unmatched, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core import engine
from slowpath.core.errors import ExitCode, worst
from slowpath.core.formats import Reporter, json_items, stream_lines
from slowpath.core.jobs.stopping import heeding_signals
from slowpath.core.programs.sources import is_c, provenance, provenance_lines
from slowpath.core.schema.results import Result
from slowpath.core.terminal import Line, note

_Annotated = Iterable[tuple[Result, Annotation]]


def annotate(request: Request, reporter: Reporter, *, instructions: bool) -> ExitCode:
    """Annotate every program; an error in one does not end the work.

    With `instructions`, text reports show the instructions below each source line.

    Raises:
        OptionError: if an option does not fit the files.
        InputError: if the kernel's types cannot be read.
    """
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        analyses = session.analyse(RunContext(stopping), request.options._replace(code=True))
        codes, unmatched = list[ExitCode](), Unmatched()
        complaints = Complaints(request, unmatched)

        def annotated() -> _Annotated:
            for each in analyses:
                yield each.result, annotation(each.result, each.detail)
                codes.append(complaints.add(each))

        compiled = any(is_c(file) for file in request.files)
        head = {**engine.head("annotate", "annotate"), **provenance(compiled=compiled)}
        stream_lines(reporter(head, annotated(), instructions=instructions))
        return worst([*codes, unmatched.complain()])


def annotations_json(
    head: Mapping[str, object], annotated: _Annotated, **_unused: object
) -> Iterator[str]:
    """Return the lines of the JSON document, one for each program."""
    return json_items(head, "results", (one for _, one in annotated))


def annotations_text(
    head: Mapping[str, object], annotated: _Annotated, *, instructions: bool
) -> Iterator[Line]:
    """Yield the text report of each program; print remarks on source files to standard error."""
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
