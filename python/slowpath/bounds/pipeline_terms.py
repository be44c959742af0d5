"""Formats the table entries and the output of witnesses of DPDK's pipelines."""

from collections.abc import Sequence

from slowpath.core.schema.results import (
    Named,
    PipelineField,
    PipelineLookup,
    Surroundings,
    Unknown,
    Witness,
)


def lookup_text(lookup: PipelineLookup) -> str:
    """Return a lookup: line, table, key, and the entry or default action that it needs."""
    parts = [f"line {lookup['line']}", lookup["table"], *_fields(lookup["key"])]
    result = "hit, action" if lookup["hit"] else "miss, default action"
    action = " ".join([lookup["action"], *_fields(lookup["data"])])
    return f"{' '.join(parts)}: {result} {action}"


def state_text(field: PipelineField) -> str:
    """Return a field or register with its content before the packet."""
    return f"{field['field']} = {field['value']}"


def _fields(fields: Sequence[PipelineField]) -> list[str]:
    return [f"{one['field']}={'any' if one['arbitrary'] else one['value']}" for one in fields]


def other_requirements(witness: Witness) -> list[Named | Surroundings]:
    """Return the required initial values, without the action data that the lookups state."""
    given = witness["environment"] or []
    if "pipeline" not in witness:
        return given
    return [
        one for one in given if "memory" not in one or not one["memory"].startswith("action data ")
    ]


def other_unknowns(witness: Witness) -> list[Unknown]:
    """Return the values from outside, without the outcomes that the lookups of a pipeline state."""
    lines = {one["line"] for one in witness["pipeline"]["entries"]} if "pipeline" in witness else ()
    return [
        one for one in witness["unknowns"] if one["line"] not in lines or one["result"] != "outcome"
    ]
