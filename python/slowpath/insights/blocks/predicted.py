"""The learnt way: blocks as a model predicts them, from LLVM's language alone."""

from collections.abc import Iterator, Mapping

import llvmlite.binding as llvm

from slowpath.cli.errors import InputError
from slowpath.insights.blocks.exact.steps import language
from slowpath.insights.blocks.language import accesses
from slowpath.insights.blocks.language.program import Language, Traced
from slowpath.insights.blocks.language.provenance import Kind
from slowpath.insights.blocks.learnt.model import Model, shipped
from slowpath.insights.blocks.learnt.words import Describer, Said
from slowpath.insights.blocks.predictions.documents import (
    PredictedBlock,
    PredictedFunction,
    PredictedProgram,
)
from slowpath.insights.blocks.predictions.question import Question
from slowpath.insights.preparation.calls import find_entry
from slowpath.insights.preparation.functions import Block, Function, Parameter, functions_of

_ROUNDED = 2


def predicted_programs(asked: Question) -> Iterator[PredictedProgram]:
    """The programs of a source, or the function that is asked for, one by one.

    Raises:
        InputError: when it cannot be compiled, or has no such function.
        StoppedError: when the time is up before.
    """
    text = language(asked.file, asked.clang)
    functions = functions_of(llvm.parse_assembly(text))
    module, model = Language(text, functions), shipped()
    for entry in _entries(asked, functions):
        yield predict(module, entry, model)


def _entries(asked: Question, functions: Mapping[str, Function]) -> list[str]:
    """The function that is asked for; else those that no other calls."""
    if asked.entry is not None:
        return [find_entry(asked.file, functions, asked.entry)]
    called = {name for one in functions.values() for name in one.calls}
    found = [name for name in functions if name not in called]
    if not found:
        raise InputError(asked.file, "it has no function that no other calls; name one: --entry")
    return [find_entry(asked.file, functions, name) for name in found]


def predict(module: Language, entry: str, model: Model) -> PredictedProgram:
    """A function and those that it calls."""
    traced = module.traced(entry, [_kind(one) for one in module.functions[entry].parameters])
    functions = [_function(one, module, model) for one in traced.values()]
    functions.sort(key=lambda one: one["name"] != module.functions[entry].shown)
    rows = [row for one in functions for row in one["blocks"]]
    return {
        "entry": module.functions[entry].shown,
        "model": "learnt",
        "why": None,
        "functions": functions,
        "instructions": round(sum(one["instructions"] for one in rows), _ROUNDED),
        "wrapper": None,
        "around": None,
        "total": None,
    }


def _kind(parameter: Parameter) -> Kind:
    """What a parameter is taken to point to, by its type.

    Bytes, numbers and headers are the packet's; other structures are state.
    """
    if parameter.kind != "pointer" or parameter.described is None:
        return "unknown"
    pointee = parameter.described.pointee
    if pointee == "xdp_md":
        return "context"
    return "packet" if pointee.endswith("hdr") or not parameter.described.members else "state"


def _function(traced: Traced, module: Language, model: Model) -> PredictedFunction:
    function = traced.function
    rows = [
        _block(block, said, module, model)
        for block, said in zip(function.blocks, Describer(traced).said(), strict=True)
    ]
    return {
        "name": function.shown,
        "file": function.line.file if function.line else "",
        "line": function.line.line if function.line else 0,
        "blocks": rows,
    }


def _block(block: Block, said: Said, module: Language, model: Model) -> PredictedBlock:
    places = [module.line(one.place) for one in block.instructions]
    line = next((place for place in places if place is not None), None)
    guess = model.predict(said.words)
    calls = accesses.calls(block, module.functions)
    return {
        "name": said.block,
        "file": line.file if line else "",
        "line": line.line if line else 0,
        "llvm": accesses.counted(block),
        "bpf": None,
        "instructions": round(guess.instructions, _ROUNDED),
        "low": round(guess.low, _ROUNDED),
        "high": round(guess.high, _ROUNDED),
        "call_instructions": None,
        "accesses": {"packet": said.packet, "state": said.state, "unknown": said.unknown},
        "calls": [{"what": name, "times": times} for name, times in sorted(calls.items())],
        "refused": [],
    }
