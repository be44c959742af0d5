"""The commands `slowpath contention` as Python functions."""

from typing import Unpack

from slowpath.api.options import (
    ContentionDiagnoseOptions,
    ContentionEvaluateOptions,
    ContentionPlaceOptions,
    ContentionPredictOptions,
    ContentionProfileOptions,
    ContentionSuggestOptions,
    ContentionTrainOptions,
    File,
)
from slowpath.contention.cli import DIAGNOSE, EVALUATE, PREDICT, TRAIN
from slowpath.contention.documents import (
    Diagnosed,
    DiagnosisReport,
    EvaluatedModel,
    EvaluationDocument,
    PredictedRow,
    PredictionDocument,
    SavedModel,
)
from slowpath.contention.fleet_cli import PLACE, PROFILE, SUGGEST
from slowpath.contention.placement.documents import (
    PlacementReport,
    PolicySummary,
    SuggestedMix,
    SuggestionReport,
)
from slowpath.contention.profiling.setup import ProfileRecord
from slowpath.core.calls import interface, run
from slowpath.core.results import Result, Row, flat


class ProfileResult(Result[ProfileRecord]):
    """The record of a measured profile, which `train` can read; `rows` has a single row."""

    _shows_text = True

    def _document_rows(self) -> list[Row]:
        return [flat(self.document)]


@interface(PROFILE, "contention profile")
def profile(file: File, **options: Unpack[ContentionProfileOptions]) -> ProfileResult:
    """Measure the throughput of a function beside competitors, and write its profile.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the description cannot be used, or this machine lacks a requirement.
    """
    return ProfileResult(run(PROFILE, "contention profile", {"file": file, **options}))


class TrainedModel(Result[SavedModel]):
    """A model of the throughput of a function beside others; `output=` writes it to a file."""

    @property
    def recipe(self) -> str:
        """The name of the chosen memory model."""
        return self.document["recipe"]

    @property
    def pattern(self) -> str:
        """The execution pattern: `pipeline` or `run-to-completion`."""
        return self.document["pattern"]


@interface(TRAIN, "contention train")
def train(*tables: File, **options: Unpack[ContentionTrainOptions]) -> TrainedModel:
    """Train a model of the throughput of a function beside others.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a table cannot be used, or the model cannot be written.
    """
    return TrainedModel(run(TRAIN, "contention train", {"table": tables, **options}))


class PredictionResult(Result[PredictionDocument]):
    """Predictions of the throughput of a function beside others."""

    @property
    def predictions(self) -> list[PredictedRow]:
        """The predictions, one for each row of the query."""
        return self.document["results"]


@interface(PREDICT, "contention predict")
def predict(
    model: File | None = None, **options: Unpack[ContentionPredictOptions]
) -> PredictionResult:
    """Predict the throughput of a function beside others.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read or used.
    """
    return PredictionResult(run(PREDICT, "contention predict", {"model": model, **options}))


class EvaluationResult(Result[EvaluationDocument]):
    """The errors of all memory models at measurements held out from training."""

    @property
    def models(self) -> list[EvaluatedModel]:
        """The memory models, and the choice between them, with their errors."""
        return self.document["results"]


@interface(EVALUATE, "contention evaluate")
def evaluate(*tables: File, **options: Unpack[ContentionEvaluateOptions]) -> EvaluationResult:
    """Compare the errors of memory models by nested cross-validation.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a table cannot be used, or a file cannot be written.
    """
    return EvaluationResult(run(EVALUATE, "contention evaluate", {"table": tables, **options}))


class Diagnosis(Result[DiagnosisReport]):
    """The bottleneck of a function beside others."""

    @property
    def now(self) -> Diagnosed:
        """Throughput and bottleneck in the given setting."""
        return self.document["now"]

    @property
    def bottleneck(self) -> str:
        """The resource that limits the throughput."""
        return self.now["bottleneck"]

    def _view(self) -> str:
        from slowpath.contention.report_diagnosis import diagnosis_view

        return diagnosis_view(self.document)


@interface(DIAGNOSE, "contention diagnose")
def diagnose(model: File, **options: Unpack[ContentionDiagnoseOptions]) -> Diagnosis:
    """Find the bottleneck of a function beside others.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read, used or written.
    """
    return Diagnosis(run(DIAGNOSE, "contention diagnose", {"model": model, **options}))


class Placement(Result[PlacementReport]):
    """Placements of arriving functions on NICs, by policy."""

    @property
    def summary(self) -> list[PolicySummary]:
        """For each policy, the means over all sequences of arrivals."""
        return self.document["summary"]


@interface(PLACE, "contention place")
def place(fleet: File, **options: Unpack[ContentionPlaceOptions]) -> Placement:
    """Place arriving functions on the NICs of a fleet.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read or used.
    """
    return Placement(run(PLACE, "contention place", {"fleet": fleet, **options}))


class Suggestion(Result[SuggestionReport]):
    """Mixes of functions whose measurement saves most NICs."""

    @property
    def mixes(self) -> list[SuggestedMix]:
        """The mixes to measure, in this order."""
        return self.document["mixes"]


@interface(SUGGEST, "contention suggest")
def suggest(fleet: File, **options: Unpack[ContentionSuggestOptions]) -> Suggestion:
    """Suggest mixes of functions to measure.

    Raises:
        OptionError: if options are invalid or do not fit together.
        InputError: if a file cannot be read or used.
    """
    return Suggestion(run(SUGGEST, "contention suggest", {"fleet": fleet, **options}))
