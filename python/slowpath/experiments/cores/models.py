"""The part `[timing.model]` of a target: what components take, as experiments came to."""

import json
from collections.abc import Iterable, Iterator, Sequence

from slowpath.experiments.cores.description import quoted
from slowpath.experiments.results.documents import ModelDocument
from slowpath.models.documents import Segment

_BY_KEY = ("map_lookup_elem", "map_update_elem", "map_delete_elem")
"""Helpers that look for an entry by its key."""


def models_text(documents: Sequence[ModelDocument], spread: frozenset[str]) -> str:
    """A table for each model, by the names of the experiments.

    `spread` are those whose packets are spread over what the parameter counts: where these are
    entries of a map, the model says what calls take that look for one.
    """
    tables = [
        "\n".join(_table(document, spread=document["experiment"] in spread))
        for document in sorted(documents, key=lambda document: document["experiment"])
        if document["model"] is not None and len(document["model"]["x"]) == 1
    ]
    return "".join(f"\n{table}\n" for table in tables)


def _table(document: ModelDocument, *, spread: bool) -> Iterator[str]:
    model = document["model"]
    assert model is not None  # noqa: S101 - others are not asked for
    yield f"[timing.model.{document['experiment']}]"
    yield f"description = {quoted(document['description'])}"
    yield f"parameter = {quoted(document['parameter'])}"
    calls = _calls(document) if spread else []
    if calls:
        yield f"calls = {json.dumps(calls)}"
        yield f"found = {json.dumps(_finds(document))}"
    yield f"smape = {model['errors']['smape']:.4f}"
    if model["held_out"] is not None:
        yield f"held_out_smape = {model['held_out']['smape']:.4f}"
    yield f"data_sha256 = {quoted(document['samples_sha256'] or '')}"
    segments = [f"    {_segment(one)}," for one in model["segments"]]
    yield "\n".join(["segments = [", *segments, "]"])
    residuals = model["residuals"]
    if residuals is not None:
        yield f"residuals = {{ x = {_list(residuals['x'])}, share = {_list(residuals['share'])} }}"


def _segment(segment: Segment) -> str:
    cells = {
        "from": _number(segment["from"]),
        "to": _number(segment["to"]),
        "template": quoted(segment["template"]),
        "parameters": _list(one["value"] for one in segment["parameters"]),
    }
    if segment["origin"] != 0:
        cells["origin"] = _number(segment["origin"])
    for name, limit in (("at_least", segment["at_least"]), ("at_most", segment["at_most"])):
        if limit is not None:
            cells[name] = _number(limit)
    if segment["extrapolates"]:
        cells["extrapolates"] = "true"
    return f"{{ {', '.join(f'{name} = {cell}' for name, cell in cells.items())} }}"


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _number(value: float) -> str:
    """All digits: a function may be the small difference of large terms."""
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else repr(float(value))  # noqa: PLR2004


def _calls(document: ModelDocument) -> list[str]:
    """The calls whose prices grow as this experiment's look-ups do."""
    if document["parameter"] != "entries":
        return []
    fixed = document["fixed"]
    if document["kind"] == "table-lpm" and fixed.get("method") == "lpm":
        types = "lpm_trie"
    elif document["kind"] in {"table-exact", "table-array"} and "map" in fixed:
        types = str(fixed["map"])
    else:
        return []
    helpers = _BY_KEY if _finds(document) else _BY_KEY[:1]
    return [f"{helper}.{types}" for helper in helpers]


def _finds(document: ModelDocument) -> bool:
    return document["fixed"].get("hit") != "no"
