"""Precision and recall: of proofs, and of the classifier alone on projects that it has not seen."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from corpus import Labelled, rows
from learning import KINDS, learn, predicted, read_model

_FOLDS = 5


def figures(known: Sequence[Labelled], results: Sequence[dict[str, Any]]) -> str:
    """Tables in Markdown, and what was missed."""
    found = {
        (one["project"], one["path"], function["shown"]): function["found"]
        for one in results
        for function in one.get("functions", {}).values()
    }
    judged = [
        (one, found[one.project, one.path, one.function])
        for one in known
        if (one.project, one.path, one.function) in found
    ]
    lines = ["| what | functions | proved | recall |", "|---|---|---|---|"]
    hits = Counter[str]()
    wrong = [(one, got) for one, got in judged if got and got["kind"] != one.label]
    for kind in KINDS:
        mine = [(one, got) for one, got in judged if one.label == kind]
        hits[kind] = sum(bool(got and got["kind"] == kind) for _, got in mine)
        lines.append(_row(kind, len(mine), hits[kind]))
    positives = [one for one, _ in judged if one.label in KINDS]
    total = sum(hits.values())
    lines.append(_row("all", len(positives), total))
    negatives = sum(one.label not in KINDS for one, _ in judged)
    projects = len({one.project for one, _ in judged})
    lines.append(
        f"\n{projects} projects, {len(positives)} positives, {negatives} negatives; precision "
        f"{100 * total / max(1, total + len(wrong)):.1f} %"
    )
    lines += [f"wrong: {one} {got['algorithm']}" for one, got in wrong]
    lines += [f"missed: {one}" for one, got in judged if one.label in KINDS and not got]
    lines.append(_alone(known, results))
    return "\n".join(lines)


def _row(kind: str, count: int, hits: int) -> str:
    return f"| {kind} | {count} | {hits} | {100 * hits / max(1, count):.1f} % |"


def _alone(known: Iterable[Labelled], results: Sequence[dict[str, Any]]) -> str:
    """The classifier without proofs, by projects that it did not learn from."""
    data = list(rows(known, results))
    projects = sorted({row.project for row in data})
    hit = named = positives = 0
    for fold in range(_FOLDS):
        test = set(projects[fold::_FOLDS])
        model = read_model(learn([row for row in data if row.project not in test]))
        held = [row for row in data if row.project in test]
        for row, (kind, _) in zip(held, predicted(held, model), strict=True):
            positives += row.label in KINDS
            named += kind != "none"
            hit += kind != "none" and kind == row.label
    return (
        f"the classifier alone, projects left out: precision {100 * hit / max(1, named):.1f} %, "
        f"recall {100 * hit / max(1, positives):.1f} % ({len(data)} functions)"
    )
