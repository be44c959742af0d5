"""The command `slowpath annotate`: the code of programs with what each line costs at worst."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from slowpath.analysis.analyst import Audience
from slowpath.analysis.outcomes import (
    Analysed,
    Complaints,
    Unmatched,
    note_remarks,
)
from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.annotation.rows import Annotation, annotation
from slowpath.annotation.source_text import find_sources
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import note, out, out_lines
from slowpath.commands.annotate.report import annotation_report, headline
from slowpath.engine import identity
from slowpath.programs.sources import is_c, provenance
from slowpath.schema.provenance import provenance_lines
from slowpath.work.stopping import heeding_signals


class Output(NamedTuple):
    """How programs are to be shown."""

    form: Literal["table", "json"]
    instructions: bool  # below each source line


def annotate(request: Request, output: Output) -> ExitCode:
    """Annotates every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        InputError: when a kernel's types cannot be read.
    """
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        analyses = session.analyse(Audience(stopping), request.options._replace(code=True))
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
