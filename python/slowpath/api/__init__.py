"""The commands of slowpath as Python functions.

Each function takes the arguments and options of its command, and returns the same result. The
modules `chain`, `config`, `contention`, `insights` and `targets` have the functions for groups of
commands. `docs/how-to/python.md` describes the functions.

The functions are in this package because `slowpath.measure`, for example, is the package with the
code of the command `measure`; a function of this name would hide the package, or be hidden by it.
"""

from typing import TYPE_CHECKING, Unpack, cast

from slowpath.annotate.cli import ANNOTATE
from slowpath.annotate.documents import AnnotateDocument, Annotation
from slowpath.api import chain as chain
from slowpath.api import config as config
from slowpath.api import contention as contention
from slowpath.api import insights as insights
from slowpath.api import targets as targets
from slowpath.api.options import (
    AnnotateOptions,
    CalibrateOptions,
    CheckOptions,
    CompileOptions,
    DiffOptions,
    ExplainOptions,
    File,
    MeasureOptions,
    ReproduceOptions,
    ShowOptions,
    SweepOptions,
)
from slowpath.bounds.api import Program as Program
from slowpath.bounds.api import Results as Results
from slowpath.bounds.api import bound as bound
from slowpath.bounds.default_target import SWITCH, default_target
from slowpath.calibrate.cli import CALIBRATE
from slowpath.calibrate.documents import CalibrateDocument, Catalogue
from slowpath.calibrate.experiments.documents import CalibratedExperiment
from slowpath.check.cli import CHECK
from slowpath.check.documents import CheckDocument, CheckedCertificate
from slowpath.compile.cli import COMPILE
from slowpath.core import codes
from slowpath.core.calls import interface, run
from slowpath.core.errors import InputError as InputError
from slowpath.core.errors import OptionError as OptionError
from slowpath.core.results import Result, Row, aligned, flat
from slowpath.core.schema import Document
from slowpath.core.schema.compiled import Compiled, Verification
from slowpath.core.schema.shown import BpfObject
from slowpath.diff.cli import DIFF
from slowpath.diff.documents import ComparedProgram, DiffDocument, StoppedProgram
from slowpath.explain.cli import EXPLAIN
from slowpath.explain.documents import ExplainDocument, ExplainedCode
from slowpath.measure.cli import MEASURE
from slowpath.measure.documents import ComparedVersions, MeasureDocument, MeasuredProgram
from slowpath.measure.pipeline_documents import MeasuredPipeline, PipelinesDocument
from slowpath.models.api import Model as Model
from slowpath.models.api import fit as fit
from slowpath.reproduce.cli import REPRODUCE
from slowpath.reproduce.documents import ComparedValue, Deviations, FigureList, Reproduction
from slowpath.show.cli import SHOW
from slowpath.show.documents import (
    Calibration,
    CalibrationDocument,
    PipelineDocument,
    ShownPipeline,
)
from slowpath.sweep.cli import SWEEP
from slowpath.sweep.documents import Sweep, SweptProgram

if TYPE_CHECKING:
    from slowpath.diff.report import Report


class Annotations(Result[AnnotateDocument]):
    """Programs with the cost of every source line; `rows` has a row for each of these lines."""

    @property
    def programs(self) -> list[Annotation]:
        """The annotated programs, in the order of the files."""
        return self.document["results"]

    def _document_rows(self) -> list[Row]:
        rows = list[Row]()
        for one in self.programs:
            head: Row = {name: one[name] for name in ("program", "target", "component")}
            rows += [head | flat(line) for line in one["lines"] or one["instructions"]]
        return aligned(rows)


@interface(ANNOTATE, "annotate")
def annotate(*files: File, **options: Unpack[AnnotateOptions]) -> Annotations:
    """Find the cost of every source line on the slowest path.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file that an option names cannot be read.
    """
    return Annotations(run(ANNOTATE, "annotate", {"file": files, **options}))


class ShowDocument(Document):
    """The document of `slowpath show --format json`."""

    notes: list[str]
    results: list[BpfObject]


class ShownObjects(Result[ShowDocument]):
    """Objects with their programs and maps; `rows` has a row for each program."""

    @property
    def objects(self) -> list[BpfObject]:
        """The objects, in the order of the files."""
        return self.document["results"]

    def _document_rows(self) -> list[Row]:
        return aligned(
            {"file": one["file"], **flat(program)}
            for one in self.objects
            for program in one["programs"]
        )


@interface(SHOW, "show")
def show(*files: File, **options: Unpack[ShowOptions]) -> ShownObjects:
    """Find the content of objects, and the parts that are unsupported.

    Raises:
        OptionError: if an option is invalid; for target files, call `show_calibrations`, and for
            pipelines, `show_pipelines`.
        InputError: if the kernel types of an option cannot be read.
    """
    for file in files:
        if str(file).endswith(".toml"):
            raise OptionError(
                codes.UNKNOWN_FILE_TYPE, "FILE", f"{file} is a target; pass it to show_calibrations"
            )
    if default_target([str(file) for file in files]) == SWITCH:
        raise OptionError(
            codes.UNKNOWN_FILE_TYPE, "FILE", f"{files[0]} is a pipeline; pass it to show_pipelines"
        )
    return ShownObjects(run(SHOW, "show", {"file": files, **options}))


class Calibrations(Result[CalibrationDocument]):
    """The calibrations in target files; `rows` has a row for each calibration."""

    @property
    def calibrations(self) -> list[Calibration]:
        """The calibrations, in the order of the files."""
        return self.document["results"]


def show_calibrations(*files: File) -> Calibrations:
    """Read the calibrations in target files (`*.toml`), as `slowpath show` does.

    Raises:
        InputError: if a file cannot be read, or is not a target with time estimates.
    """
    for file in files:
        if not str(file).endswith(".toml"):
            raise OptionError(
                codes.UNKNOWN_FILE_TYPE, "FILE", f"{file} is not a target file (*.toml)"
            )
    return Calibrations(run(SHOW, "show", {"file": files}))


class ShownPipelines(Result[PipelineDocument]):
    """The content of pipelines; `rows` has a row for each table."""

    @property
    def pipelines(self) -> list[ShownPipeline]:
        """The pipelines, in the order of the files."""
        return self.document["results"]

    def _document_rows(self) -> list[Row]:
        return aligned(
            {"file": one["file"], **flat(table)}
            for one in self.pipelines
            for table in one["tables"]
        )


def show_pipelines(*files: File) -> ShownPipelines:
    """Read the content of pipelines of DPDK's software switch (`*.spec`), as `slowpath show` does.

    Raises:
        OptionError: if a file is not a pipeline.
    """
    for file in files:
        if default_target([str(file)]) != SWITCH:
            raise OptionError(codes.UNKNOWN_FILE_TYPE, "FILE", f"{file} is not a pipeline (*.spec)")
    return ShownPipelines(run(SHOW, "show", {"file": files}))


class CompileDocument(Document, Compiled):
    """The document of `slowpath compile --format json`."""

    notes: list[str]
    target: str
    verification: Verification | None


class Compilation(Result[CompileDocument]):
    """A program that was compiled for a SmartNIC; `rows` has a row for each of its instructions."""

    _rows = "instructions"
    _shows_text = True

    @property
    def listing(self) -> str:
        """The listing of the program, which `slowpath.bound` can read from a file."""
        return self.document["listing"]

    @property
    def verification(self) -> Verification | None:
        """The result of `verify`; None if it was not requested."""
        return self.document["verification"]


@interface(COMPILE, "compile")
def compile(file: File, **options: Unpack[CompileOptions]) -> Compilation:  # noqa: A001 - the name of the command
    """Compile a program for a SmartNIC as the driver of the card would.

    Raises:
        OptionError: if an option is invalid, or does not select exactly one program.
        InputError: if the file cannot be read, or the card cannot run the program.
    """
    return Compilation(run(COMPILE, "compile", {"file": file, **options}))


class Comparison(Result[DiffDocument]):
    """The guarantees of programs before and after a change."""

    @property
    def programs(self) -> list[ComparedProgram]:
        """The compared programs; their `values` have the columns of the command."""
        return self.document["results"]

    @property
    def failures(self) -> list[StoppedProgram]:
        """The programs for which `fail_on` holds, or which miss `require`."""
        return self.document["failures"]

    def _view(self) -> str:
        from slowpath.diff.page import diff_view

        return diff_view(cast("Report", self._outcome.report.parts[0]))


@interface(DIFF, "diff")
def diff(old: File, new: File, **options: Unpack[DiffOptions]) -> Comparison:
    """Compare guarantees before and after a change.

    Raises:
        OptionError: if an option is invalid, or does not fit the files.
        InputError: if a file cannot be read, or the results cannot be compared.
    """
    return Comparison(run(DIFF, "diff", {"old": old, "new": new, **options}))


class Measurements(Result[MeasureDocument | PipelinesDocument]):
    """Times of programs in the running kernel, or of pipelines in DPDK's interpreter."""

    @property
    def programs(self) -> list[MeasuredProgram]:
        """The programs measured in the kernel, with their paths."""
        return [] if "dpdk" in self.document else self.document["results"]

    @property
    def pipelines(self) -> list[MeasuredPipeline]:
        """The pipelines measured in DPDK's interpreter, with their paths."""
        if "dpdk" not in self.document:
            return []
        return cast("PipelinesDocument", self.document)["results"]

    @property
    def comparison(self) -> list[ComparedVersions] | None:
        """The ratios of new to old times; None unless two programs for the kernel were passed."""
        return None if "dpdk" in self.document else self.document["comparison"]


@interface(MEASURE, "measure")
def measure(*files: File, **options: Unpack[MeasureOptions]) -> Measurements:
    """Measure the times of programs in the running kernel, or of pipelines in DPDK.

    Raises:
        OptionError: if an option is invalid for the files.
        InputError: if this process cannot measure in this kernel or DPDK, or a file cannot be read.
    """
    return Measurements(run(MEASURE, "measure", {"file": files, **options}))


class SweepResult(Result[Sweep]):
    """The costs of programs for each value of a macro definition in the source."""

    @property
    def programs(self) -> list[SweptProgram]:
        """The programs, each with values of the macro definitions, and a result for each target."""
        return self.document["results"]


@interface(SWEEP, "sweep")
def sweep(file: File, **options: Unpack[SweepOptions]) -> SweepResult:
    """Find how the cost of programs grows with a definition in a C source.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read, or clang is missing.
    """
    return SweepResult(run(SWEEP, "sweep", {"file": file, **options}))


class CalibrationRun(Result[CalibrateDocument]):
    """The measured costs of program components; `rows` has a row for each experiment."""

    _shows_text = True

    @property
    def experiments(self) -> list[CalibratedExperiment]:
        """The evaluated experiments."""
        return self.document["results"]

    @property
    def target_file(self) -> str | None:
        """The file of the derived target; None unless all experiments were measured."""
        return self.document["target_file"]

    def _document_rows(self) -> list[Row]:
        rows = list[Row]()
        for one in self.experiments:
            measured, model = one["measurement"], one["result"]["model"]
            rows.append(
                {
                    "experiment": one["name"],
                    "testbed": measured["testbed"],
                    "state": measured["state"],
                    "points": len(measured["points"]),
                    "metric": measured["metric"],
                    "parameter": one["result"]["parameter"],
                    "smape": None if model is None else model["errors"]["smape"],
                    "seconds": measured["seconds"],
                }
            )
        return rows


class ExperimentList(Result[Catalogue]):
    """The test beds and experiments of slowpath; `rows` has a row for each experiment."""

    _shows_text = True

    def _document_rows(self) -> list[Row]:
        rows = list[Row]()
        for one in self.document["experiments"]:
            experiment = one["specification"]
            sweep = experiment["component"]["sweep"]
            rows.append(
                {
                    "experiment": experiment["name"],
                    "description": experiment["description"],
                    "parameter": sweep["parameter"],
                    "first": sweep["first"],
                    "last": sweep["last"],
                    "testbeds": ", ".join(one["runs_on"]),
                }
            )
        return rows


@interface(CALIBRATE, "calibrate")
def calibrate(*specs: File, **options: Unpack[CalibrateOptions]) -> CalibrationRun:
    """Measure the cost of program components on this machine.

    Raises:
        OptionError: if an option is invalid; in place of `list`, call `list_experiments`. The test
            bed `load` has no Python function.
        InputError: if this machine lacks a requirement, or a file cannot be read or written.
    """
    if options.get("list"):
        raise OptionError(codes.INVALID_VALUE, "--list", "call list_experiments instead")
    if options.get("testbed") == "load":
        reason = "run the command slowpath calibrate with --format json instead"
        raise OptionError(codes.INVALID_VALUE, "--testbed", reason)
    return CalibrationRun(run(CALIBRATE, "calibrate", {"spec": specs, **options}))


def list_experiments() -> ExperimentList:
    """Return the test beds and experiments, as `slowpath calibrate --list` does.

    Raises:
        InputError: if PyYAML is not installed.
    """
    return ExperimentList(run(CALIBRATE, "calibrate", {"list": True}))


class ReproducedFigure(Result[Reproduction]):
    """A published figure beside values that slowpath computes; `rows` has a row for each value."""

    @property
    def values(self) -> list[ComparedValue]:
        """The published values, each with the value that slowpath computes and the deviation."""
        return self.document["results"]

    @property
    def summary(self) -> list[Deviations]:
        """The median and largest deviation of each quantity."""
        return self.document["summary"]


class FigureCatalogue(Result[FigureList]):
    """The published figures that the documentation compares with; `rows` has a row for each."""

    _shows_text = True


@interface(REPRODUCE, "reproduce")
def reproduce(
    paper: str, figure: str, *path: File, **options: Unpack[ReproduceOptions]
) -> ReproducedFigure:
    """Compare a published figure with values that slowpath computes.

    Raises:
        OptionError: if an option is invalid; in place of `list`, call `list_figures`.
        InputError: if data are missing or damaged, or the figure cannot be reproduced.
    """
    if options.get("list"):
        raise OptionError(codes.INVALID_VALUE, "--list", "call list_figures instead")
    named = {"paper": paper, "figure": figure, "path": path}
    return ReproducedFigure(run(REPRODUCE, "reproduce", named | options))


def list_figures() -> FigureCatalogue:
    """Return the papers and figures that the documentation compares with, and their data.

    Raises:
        InputError: if the list cannot be written.
    """
    return FigureCatalogue(run(REPRODUCE, "reproduce", {"list": True}))


class Explanations(Result[ExplainDocument]):
    """The causes of errors, refusals, warnings and findings, by code."""

    _shows_text = True

    @property
    def codes(self) -> list[ExplainedCode]:
        """The explained codes, each with its cause and remedy."""
        return self.document["results"]


class Checks(Result[CheckDocument]):
    """The result of checking a certificate; `rows` has one row."""

    @property
    def accepted(self) -> bool:
        """True if the certificate proves its claims."""
        return self.document["results"][0]["accepted"]

    @property
    def certificate(self) -> CheckedCertificate:
        """The certificate with its proved guarantee, or with the reason for the refusal."""
        return self.document["results"][0]

    def _document_rows(self) -> list[Row]:
        return [flat(one) for one in self.document["results"]]


@interface(CHECK, "check")
def check(file: File, certificate: File, **options: Unpack[CheckOptions]) -> Checks:
    """Check the certificate of a guarantee.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read, or has other content than that of the certificate.
    """
    return Checks(run(CHECK, "check", {"file": file, "certificate": certificate, **options}))


@interface(EXPLAIN, "explain")
def explain(*codes: str, **options: Unpack[ExplainOptions]) -> Explanations:
    """Explain codes, such as `SP0201`, of errors, refusals, warnings and findings.

    Raises:
        OptionError: if a code is unknown.
    """
    return Explanations(run(EXPLAIN, "explain", {"code": codes, **options}))
