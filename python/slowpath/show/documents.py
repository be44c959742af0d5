"""Types of the JSON documents that `slowpath show` writes about targets and pipelines."""

from typing import TypedDict

from slowpath.core.engine.p4 import PipelineAction, PipelineTable
from slowpath.core.schema import Document


class Calibration(TypedDict):
    """The calibration of a target that estimates times."""

    file: str
    """File, as named by the user."""
    target: str
    """Name of the target."""
    machine: str
    """The calibrated machine."""
    date: str
    """Date of the first experiment."""
    clock_hz: int
    """Clock rate in cycles per second."""
    compiler: str | None
    """Version of clang that compiled the experiments; null if not recorded."""
    experiments: int | None
    """Number of experiments. Null in files of older versions, as in the four keys below."""
    precise: int | None
    """Number of experiments that met the requested precision."""
    checks: int | None
    """Number of check programs, which were not part of the fit."""
    check_error: float | None
    """Median error of the estimates for check programs, as a share of their measured time."""
    doubt: str | None
    """Reason against using the calibration as the default of a machine; every estimate states it.
    Null if the calibration is good enough, or the reason is not recorded."""
    low: float
    """Lower end of intervals, as a factor of the estimate."""
    high: float
    """Upper end of intervals, as a factor of the estimate."""
    calls: int
    """Number of kinds of kernel calls that have a price."""
    models: int
    """Number of models of components whose cost grows with a parameter."""
    default: bool
    """True if estimates without `--target` use the calibration on this machine."""


class CalibrationDocument(Document):
    """Output of `slowpath show TARGET.toml --format json`."""

    results: list[Calibration]
    """In the order of the command line."""


class ShownPipeline(TypedDict):
    """A pipeline of DPDK's software switch."""

    file: str
    """File, as named by the user."""
    instructions: int
    """Number of instructions of the pipeline, without those of actions. Zero if the file was not
    read; the lists below are then empty."""
    headers: list[str]
    """Names of the headers."""
    tables: list[PipelineTable]
    """Tables, then learners, then selectors; each in the order of the file."""
    actions: list[PipelineAction]
    """Actions in the order of the file."""
    error: str | None
    """Reason why the file was not read, in one line; null if it was."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class PipelineDocument(Document):
    """Output of `slowpath show PIPELINE.spec --format json`."""

    results: list[ShownPipeline]
    """In the order of the command line."""
