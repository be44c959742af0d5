"""The command `slowpath annotate`."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from slowpath.annotate.report import annotation_report, headline
from slowpath.annotate.rows import Annotation, annotation, find_sources
from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Analysed, Complaints, Unmatched, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core.engine import identity
from slowpath.core.errors import ExitCode, worst
from slowpath.core.jobs.stopping import heeding_signals
from slowpath.core.printable import json_line
from slowpath.core.programs.sources import is_c, provenance
from slowpath.core.schema.provenance import provenance_lines
from slowpath.core.terminal import note, out, out_lines


class Output(NamedTuple):
    """Options of the output."""

    form: Literal["table", "json"]
    instructions: bool  # below each source line


def annotate(request: Request, output: Output) -> ExitCode:
    """Annotate every program; an error does not stop the others.

    Raises:
        OptionError: if an option makes no sense for these files.
        InputError: if the kernel's types cannot be read.
    """
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        analyses = session.analyse(RunContext(stopping), request.options._replace(code=True))
        return _annotate(output, analyses, request)


def _annotate(output: Output, analyses: Iterator[Analysed], request: Request) -> ExitCode:
    codes, unmatched = list[ExitCode](), Unmatched()
    complaints = Complaints(request, unmatched)
    made = provenance(compiled=any(is_c(file) for file in request.files))
    if output.form == "json":
        head = {"slowpath": identity.version(), **made}
        out(f'{json_line(head)[:-1]}, "annotations": [')
    for number, analysed in enumerate(analyses):
        annotated = annotation(analysed.result, analysed.detail)
        if output.form == "json":
            out(("," if number else "") + json_line(annotated))
        elif annotated["error"] is None:
            if ExitCode.FINE in codes:
                out("")
            _report(analysed, annotated, output)
        codes.append(complaints.add(analysed))
    if output.form == "json":
        out("]}")
    else:
        out_lines(provenance_lines(made))
    return worst([*codes, unmatched.complain()])


def _report(analysed: Analysed, annotated: Annotation, output: Output) -> None:
    out_lines(headline(analysed.result))
    out("")
    sources = find_sources(annotated)
    for source in sources.values():
        if source.remark is not None:
            note(f"note: {annotated['file']}: {source.remark}")
    out_lines(annotation_report(annotated, sources, instructions=output.instructions))
