"""Computes the precision and recall of accelerator identification: proofs and classifier.

The classifier is also judged without proofs, on projects that were left out of its training.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from corpus import Labelled, rows
from expected import catalogue, differs
from learning import KINDS, Row, learn, predicted, read_model

from slowpath.insights.accelerators.classifier import MODEL

_FOLDS = 5
Found = dict[str, Any]


class Judged(NamedTuple):
    """A labelled function, with the proof that was found for it, if any."""

    one: Labelled
    got: Found | None  # None without a proof


def figures(known: Sequence[Labelled], results: Sequence[dict[str, Any]]) -> str:
    """Return tables of precision and recall in Markdown, and lists of wrong or missed functions."""
    judged = _judged(known, results)
    positives = [each for each in judged if each.one.label in KINDS]
    negatives = len(judged) - len(positives)
    wrong = [(one, got) for one, got in judged if got and got["kind"] != one.label]
    lines = ["| what | functions | proved | recall | projects |", "|---|---|---|---|---|"]
    lines += [_row(kind, [each for each in positives if each.one.label == kind]) for kind in KINDS]
    lines.append(_row("all", positives))
    total = sum(map(_right, positives))
    projects = len({one.project for one, _ in judged})
    files = len({(one.project, one.path) for one, _ in judged})
    others = sum(one.label == "other" for one, _ in judged)
    lines.append(
        f"\n{files} files of {projects} projects, {len(positives)} positives, {negatives} "
        f"negatives ({others} of them algorithms that are not looked for); precision "
        f"{_percent(total, total + len(wrong))}, recall {_percent(total, len(positives))}"
    )
    lines += [f"wrong: {' '.join(one[:4])}: {got['algorithm']}" for one, got in wrong]
    lines += [f"missed: {' '.join(one[:4])}" for one, got in positives if not got]
    lines += _parameters(positives)
    lines += _unlabelled(known, results)
    lines += [
        f"not examined: {one['project']} {one['path']}: {one['error'][-90:]!r}"
        for one in results
        if "error" in one
    ]
    lines += _alone(known, results)
    return "\n".join(lines)


def _judged(known: Sequence[Labelled], results: Sequence[dict[str, Any]]) -> list[Judged]:
    """Return the labelled functions that were analysed, with their proofs.

    Functions that implement no accelerator count only if the analysis did not run out of time.
    """
    found = {
        (one["project"], one["path"], function["shown"]): (function["found"], one["stopped"])
        for one in results
        for function in one.get("functions", {}).values()
    }
    judged = []
    for one in known:
        got, stopped = found.get((one.project, one.path, one.function), (None, None))
        if stopped is None or (stopped and not got and one.label not in KINDS):
            continue
        judged.append(Judged(one, got))
    return judged


def _right(each: Judged) -> bool:
    return each.got is not None and each.got["kind"] == each.one.label


def _row(kind: str, functions: Sequence[Judged]) -> str:
    hits = sum(map(_right, functions))
    projects = len({each.one.project for each in functions})
    return f"| {kind} | {len(functions)} | {hits} | {_percent(hits, len(functions))} | {projects} |"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def _parameters(positives: Iterable[Judged]) -> list[str]:
    """Return lines that compare the CRC parameters of proofs with those that projects document."""
    table = catalogue()
    compared = [
        (one, differs(one.crc, got["parameters"], table))
        for one, got in positives
        if got and one.label == "crc" and got["kind"] == "crc" and got["part_of"] is None
    ]
    wrong = [(one, problem) for one, problem in compared if problem]
    lines = [f"CRC parameters as named: {len(compared) - len(wrong)} of {len(compared)}"]
    return lines + [f"parameters of {' '.join(one)}: {problem}" for one, problem in wrong]


def _unlabelled(known: Iterable[Labelled], results: Iterable[dict[str, Any]]) -> list[str]:
    """Return lines about proofs for functions without a label, for a person to check."""
    labelled = {(one.project, one.path, one.function) for one in known}
    return [
        f"beside: {one['project']} {one['path']} {function['shown']}: "
        f"{function['found']['algorithm']}"
        for one in results
        for function in one.get("functions", {}).values()
        if function["found"] and (one["project"], one["path"], function["shown"]) not in labelled
    ]


def _alone(known: Iterable[Labelled], results: Sequence[dict[str, Any]]) -> list[str]:
    """Judge the classifier without proofs: as shipped, and on projects left out of its training."""
    data = list(rows(known, results))
    projects = sorted({row.project for row in data})
    named = list[tuple[Row, str]]()
    for fold in range(_FOLDS):
        test = set(projects[fold::_FOLDS])
        model = read_model(learn([row for row in data if row.project not in test]))
        held_out = [row for row in data if row.project in test]
        kinds = predicted(held_out, model)
        named += [(row, kind) for row, (kind, _) in zip(held_out, kinds, strict=True)]
    shipped = read_model(MODEL.read_text())
    as_shipped = [
        (row, kind) for row, (kind, _) in zip(data, predicted(data, shipped), strict=True)
    ]
    return [
        f"the classifier alone, projects left out: {_named(named)}",
        f"the classifier alone, as in the package: {_named(as_shipped)}",
    ]


def _named(named: Sequence[tuple[Row, str]]) -> str:
    hits = sum(kind == row.label for row, kind in named if kind != "none")
    counts = Counter(kind != "none" for _, kind in named)
    related = sum(kind != "none" and row.label == "other" for row, kind in named)
    positives = sum(row.label in KINDS for row, _ in named)
    return (
        f"precision {_percent(hits, counts[True])} "
        f"({_percent(hits, counts[True] - related)} without algorithms that are not looked for), "
        f"recall {_percent(hits, positives)} ({len(named)} functions)"
    )
