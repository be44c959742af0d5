"""Reads the option `--require` and decides whether a guarantee meets the required value."""

import os
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from slowpath.bounds.default_target import CALIBRATED, CPU_VARIABLE
from slowpath.core.errors import ExitCode
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import (
    condition,
    counted,
    entries_words,
    estimate_notes,
    is_count,
    is_found,
    metric_rate,
    metric_words,
    reservation,
)
from slowpath.core.schema.rates import (
    CountLimit,
    Rate,
    Requirement,
    format_apart,
    format_estimated_rate,
    format_rate,
    parse_rate,
)
from slowpath.core.schema.results import Bound, Estimate, PathResult, RatedTime, Result

_COUNT = r"<=\s*(?P<number>\d+)\s*(?P<metric>[a-z][a-z -]*)"
_MOST_DIGITS = 18
_NANOSECONDS = 1e9


class ProgramRequirement(NamedTuple):
    """A requirement from a project's settings for the programs whose name matches a glob."""

    glob: str
    requirement: Requirement
    text: str
    place: str  # FILE:LINE


class Decision(Enum):
    """The result of comparing a guarantee with a requirement; the values are exit codes."""

    MET = ExitCode.FINE
    FAILED = ExitCode.FAILED
    UNDECIDED = ExitCode.UNDECIDED


def parse_requirement(text: str) -> Requirement:
    """Read a requirement such as `10Gbit/s` or `<=4000 instructions`.

    Raises:
        ValueError: if the text is neither a rate nor a count.
    """
    stripped = text.strip()
    if not stripped.startswith(("<", "=", ">")):
        return parse_rate(text)
    match = re.fullmatch(_COUNT, stripped, re.IGNORECASE | re.ASCII)
    if match is None or len(match["number"]) > _MOST_DIGITS:
        raise ValueError(
            f"{text!r} is not a count that must not be exceeded; write for example "
            "'<=4000 instructions' or '<=300 memory-accesses', in quotes"
        )
    return CountLimit(int(match["number"]), "-".join(match["metric"].lower().split()))


def decide(result: Result, required: Requirement) -> Decision:
    """Decide whether the guarantee of a result meets a requirement.

    If the search ended early and its bound misses the requirement, the result is undecided. It is
    failed if a known packet misses the requirement, too.
    """
    guarantee = _binding(result)
    if guarantee is None:
        return Decision.UNDECIDED
    if isinstance(required, Rate) and is_count(result):
        return _decide_estimate(result, required)
    if _meets(guarantee, required):
        return Decision.MET
    witnessed = any(not _meets(path, required) for path in result["paths"])
    return Decision.FAILED if is_found(guarantee) or witnessed else Decision.UNDECIDED


def _binding(result: Result) -> Bound | None:
    """Return the guarantee to compare with requirements.

    It is the guarantee that holds while other CPUs write to maps, if known.
    """
    return result.get("interleaved") or result["guarantee"]


def _decide_estimate(result: Result, required: Rate) -> Decision:
    """Decide whether the lowest estimated packet rate meets a required rate.

    If it does but the search ended early, the result is undecided, because a slower path may exist.
    """
    estimate = result["estimate"]
    if estimate is None:
        return Decision.UNDECIDED
    if _least_rate(estimate) < required.value:
        return Decision.FAILED
    return Decision.MET if estimate["stopped"] is None else Decision.UNDECIDED


def _least_rate(estimate: Estimate) -> float:
    """Return the lowest packet rate that the estimate with cold caches allows, in packets/s."""
    return _NANOSECONDS / estimate["cold"]["high_ns"]


class Judgement(NamedTuple):
    """Decision on a requirement, with the reason for it."""

    decision: Decision
    reason: str
    relied_on: list[str]  # conditions under which the requirement is met, one sentence each


def judge(result: Result, required: Requirement, *, accept: bool) -> Judgement:
    """Judge whether a result meets a requirement.

    A result that depends on loop limits of `--unroll` fails unless `accept` is true.
    """
    decision = decide(result, required)
    if decision is Decision.MET and result["cuts"] and not accept:
        return Judgement(Decision.FAILED, refusal(result, required), [])
    relied = relied_on(result, required) if decision is Decision.MET else []
    return Judgement(decision, explain(result, required, decision), relied)


def _meets(found: Bound | PathResult, required: Requirement) -> bool:
    if isinstance(required, Rate):
        return metric_rate(found, required.metric) >= required.value
    return _count(found, required) <= required.value


def _count(found: Bound | PathResult, required: CountLimit) -> int:
    """Return the count of the required metric: that of a guarantee, or that of one path."""
    counts: Mapping[str, float] | None = found.get("cost") or found.get("counts")  # type: ignore[assignment]
    return counted(counts or {}, required.metric)[1]


def explain(result: Result, required: Requirement, decision: Decision) -> str:
    """Explain in a sentence why a requirement is met, missed or undecided."""
    guarantee = _binding(result)
    if guarantee is None:
        return f"{_wanted(required)} required, but nothing is guaranteed"
    if isinstance(required, Rate) and is_count(result):
        return _explain_estimate(result["estimate"], required, decision)
    return _explain_guarantee(result, guarantee, required, decision)


def _explain_guarantee(
    result: Result, guarantee: Bound, required: Requirement, decision: Decision
) -> str:
    found: Bound | PathResult = guarantee
    if not is_found(guarantee) and decision is Decision.FAILED:
        found = next(path for path in result["paths"] if not _meets(path, required))
    value, needed = _words(found, required)
    rate = isinstance(required, Rate)
    match decision:
        case Decision.MET:
            return f"{value} guaranteed, {needed} required"
        case Decision.FAILED if is_found(guarantee) and rate:
            return f"only {value} guaranteed, {needed} required"
        case Decision.FAILED if is_found(guarantee):
            return f"at most {value} guaranteed, {needed} required"
        case Decision.FAILED:
            verb = "allows only" if rate else "causes"
            return f"a known packet {verb} {value}, {needed} required"
        case Decision.UNDECIDED:
            least = "at least" if rate else "at most"
            return (
                f"undecided: {needed} required, {least} {value} guaranteed ({guarantee['stopped']})"
            )


def _explain_estimate(estimate: Estimate | None, required: Rate, decision: Decision) -> str:
    if estimate is None:
        return f"undecided: {_wanted(required)} required, but there is no estimate"
    least, needed = format_apart(_least_rate(estimate), required.value, required.metric)
    cold = estimate["cold"]
    middle = format_estimated_rate(cold)
    only = "only " if decision is Decision.FAILED else ""
    text = (
        f"{only}{least} at the pessimistic end of the estimate of {middle} ({_assumed(cold)}), "
        f"{needed} required; estimates are not guarantees"
    )
    if decision is not Decision.UNDECIDED:
        return text
    return (
        f"undecided: {text}; the search stopped before it had seen all paths "
        f"({estimate['stopped']})"
    )


def _assumed(time: RatedTime) -> str:
    """Describe the assumptions of an estimated rate: map entries, caches, excluded work."""
    return f"{entries_words(time)}, {time['caches']} caches, receiving and sending excluded"


def _wanted(required: Requirement) -> str:
    if isinstance(required, Rate):
        return format_rate(required.value, required.metric)
    return f"at most {required.value} {metric_words(required.metric)}"


def _words(found: Bound | PathResult, required: Requirement) -> tuple[str, str]:
    """Format the found and the required value, with enough digits to tell them apart."""
    if isinstance(required, Rate):
        return format_apart(metric_rate(found, required.metric), required.value, required.metric)
    return f"{_count(found, required)} {metric_words(required.metric)}", _wanted(required)


def _is_of_estimate(result: Result, required: Requirement) -> bool:
    """Return true if a requirement is compared with the estimated time, not with the guarantee.

    This is the case for a required rate if the target guarantees counts.
    """
    return isinstance(required, Rate) and is_count(result)


def relied_on(result: Result, required: Requirement) -> list[str]:
    """Return the assumptions that a met requirement depends on, one sentence each."""
    # If a guarantee for any number of CPUs exists, the first assumption excludes other CPUs.
    others = result["assumptions"][1 if "interleaved" in result else 0 :]
    texts = [condition(text) for text in others]
    if _is_of_estimate(result, required):
        texts += [reservation(text) for text in estimate_notes(result)]
    return [one_line(text) for text in texts]


def refusal(result: Result, required: Requirement) -> str:
    """Explain that a requirement is met only under loop limits that the user assumed."""
    cuts = " and ".join(one_line(condition(text)) for text in result["cuts"] or [])
    subject = "estimate" if _is_of_estimate(result, required) else "guarantee"
    return (
        f"the {subject} meets the requirement only if {cuts}; packets may make the loop run more "
        "often; accept the limit with --accept-assumptions"
    )


def reproduce(command: str, files: Sequence[str], options: Sequence[str]) -> str:
    """Return the shell command that runs a slowpath command on files with these options.

    It sets the variable `SLOWPATH_CPU` as in this process if the target depends on it. Values of
    other variables `SLOWPATH_*` are already in `options`.
    """
    import shlex

    protected = [f"./{file}" if file.startswith("-") else file for file in files]
    words = shlex.join(["slowpath", *command.split(), *protected, *options])
    cpu = os.environ.get(CPU_VARIABLE)
    depends = ("--target", CALIBRATED) in pairwise(options)
    return f"{CPU_VARIABLE}={shlex.quote(cpu)} {words}" if cpu and depends else words
