"""Generates JSON Schemas of the documents that Python writes, from their `TypedDict` classes.

Descriptions of keys are the string literals below the keys, which Python ignores.
"""

import ast
import inspect
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from slowpath.annotate.documents import AnnotateDocument
from slowpath.calibrate.documents import CalibrateDocument, Catalogue, Comparison
from slowpath.calibrate.experiments.specification import Experiment
from slowpath.calibrate.load.documents import LoadDocument
from slowpath.chain.documents import ChainReport, PlanReport, VerifyReport
from slowpath.check.documents import CheckDocument
from slowpath.config.documents import ConfigDocument
from slowpath.contention.documents import (
    DiagnosisReport,
    EvaluationDocument,
    PredictionDocument,
    SavedModel,
)
from slowpath.contention.placement.documents import PlacementReport, SuggestionReport
from slowpath.contention.profiling.setup import ProfileRecord
from slowpath.diff.documents import DiffDocument
from slowpath.explain.documents import ExplainDocument
from slowpath.insights.accelerators.documents import AcceleratorsReport
from slowpath.insights.advice.documents import AdviceReport
from slowpath.insights.blocks.documents import BlocksReport
from slowpath.insights.click.documents import GraphReport
from slowpath.insights.layout.documents import CoalescingReport
from slowpath.insights.placement.documents import StatePlacement
from slowpath.insights.trace.documents import CountsReport
from slowpath.measure.documents import MeasureDocument
from slowpath.measure.pipeline_documents import PipelinesDocument
from slowpath.models.documents import FitDocument
from slowpath.reproduce.documents import FigureList, Reproduction
from slowpath.show.documents import CalibrationDocument, PipelineDocument
from slowpath.sweep.documents import Sweep

Schema = dict[str, Any]

SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


DOCUMENTS: dict[str, Any] = {
    "accelerators": AcceleratorsReport,
    "advice": AdviceReport,
    "blocks": BlocksReport,
    "annotate": AnnotateDocument,
    "calibrate": CalibrateDocument,
    "calibration": CalibrationDocument,
    "catalogue": Catalogue,
    "comparison": Comparison,
    "chain": ChainReport,
    "check": CheckDocument,
    "coalescing": CoalescingReport,
    "config": ConfigDocument,
    "explain": ExplainDocument,
    "contention": SavedModel,
    "counts": CountsReport,
    "diagnosis": DiagnosisReport,
    "diff": DiffDocument,
    "evaluation": EvaluationDocument,
    "experiment": Experiment,
    "figures": FigureList,
    "fit": FitDocument,
    "graph": GraphReport,
    "load": LoadDocument,
    "measure": MeasureDocument,
    "pipeline": PipelineDocument,
    "pipelines": PipelinesDocument,
    "placement": PlacementReport,
    "plan": PlanReport,
    "predictions": PredictionDocument,
    "verify": VerifyReport,
    "profile": ProfileRecord,
    "reproduction": Reproduction,
    "suggestion": SuggestionReport,
    "state_placement": StatePlacement,
    "sweep": Sweep,
}


def document_schema(name: str) -> Schema:
    """Return the JSON Schema of the documents that a command writes."""
    definitions: dict[str, Schema] = {}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"slowpath {name}",
    }
    return head | _record(DOCUMENTS[name], definitions) | {"$defs": definitions}


def _record(kind: Any, definitions: dict[str, Schema]) -> Schema:
    texts, hints = _descriptions(kind), get_type_hints(kind)
    properties = {
        key: {"description": texts[key]} | _part(one, definitions) for key, one in hints.items()
    }
    required = [key for key in hints if key in kind.__required_keys__]
    head = {"description": inspect.getdoc(kind), "type": "object"}
    return head | {"properties": properties, "required": required}


def _part(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Convert a Python type to a JSON Schema.

    `TypedDict` classes become references to entries of `definitions`.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # comes before the definitions that it refers to
            definitions[kind.__name__] |= _record(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin in (Union, UnionType):
        return _union([_part(one, definitions) for one in arguments])
    if origin is Literal:
        return {"oneOf": [{"type": SCALARS[type(word)], "const": word} for word in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _part(arguments[1], definitions)}
    if origin in (list, tuple):
        return {"type": "array"} | _items(origin, [_part(one, definitions) for one in arguments])
    return {"type": SCALARS[kind]}


def _items(origin: type, inside: list[Schema]) -> Schema:
    """Return the JSON Schema keywords for the items of a list or tuple.

    `inside` are the schemas of the type's arguments.
    """
    if origin is list:
        return {"items": inside[0]}
    return {"prefixItems": inside, "maxItems": len(inside), "minItems": len(inside)}


def _union(choices: list[Schema]) -> Schema:
    """Return the JSON Schema of a union type: a list of types if possible, else `anyOf`."""
    if any("type" not in choice for choice in choices):
        return {"anyOf": choices}
    merged: Schema = {}
    for choice in choices:
        merged |= choice
    return merged | {"type": [choice["type"] for choice in choices]}


def _descriptions(kind: Any) -> dict[str, str]:
    """Return the descriptions of the keys of a `TypedDict`.

    Keys that are keywords of Python, such as `from`, are in a base class that a function call
    creates. Their descriptions are annotations of the types.
    """
    hints = get_type_hints(kind, include_extras=True)
    named = {key: one.__metadata__[0] for key, one in hints.items() if get_origin(one) is Annotated}
    tree = ast.parse(Path(inspect.getfile(kind)).read_text())
    found = (node for node in tree.body if isinstance(node, ast.ClassDef))
    body = next(node.body for node in found if node.name == kind.__name__)
    return named | {
        key.target.id: " ".join(str(text.value.value).split())
        for key, text in pairwise(body)
        if isinstance(key, ast.AnnAssign)
        and isinstance(key.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
