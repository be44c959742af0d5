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
    """A requirement of a project's settings for the programs that match a glob."""

    glob: str
    requirement: Requirement
    text: str
    place: str  # FILE:LINE


class Decision(Enum):
    """Decision whether a requirement is met; the values are exit codes."""

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
    """Decide whether the guarantee meets the requirement.

    If only a bound is known and misses the required value, the decision is open. It is negative if
    a packet is known to miss the value, too.
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
    """Return the guarantee that requirements are compared with.

    It is the guarantee for any number of CPUs, if known.
    """
    return result.get("interleaved") or result["guarantee"]


def _decide_estimate(result: Result, required: Rate) -> Decision:
    """Decide whether the lowest estimated packet rate meets a required rate.

    If the rate is met but the search was stopped, the decision is open, because a slower path may
    exist.
    """
    estimate = result["estimate"]
    if estimate is None:
        return Decision.UNDECIDED
    if _least_rate(estimate) < required.value:
        return Decision.FAILED
    return Decision.MET if estimate["stopped"] is None else Decision.UNDECIDED


def _least_rate(estimate: Estimate) -> float:
    """Return the lowest packet rate within the interval with cold caches, in packets/s."""
    return _NANOSECONDS / estimate["cold"]["high_ns"]


class Judgement(NamedTuple):
    """Decision on a requirement, and the reason."""

    decision: Decision
    reason: str
    relied_on: list[str]  # conditions under which the requirement is met, one sentence each


def judge(result: Result, required: Requirement, *, accept: bool) -> Judgement:
    """Judge whether a result meets a requirement.

    If this depends on loop limits that the user assumed, the requirement counts as failed unless
    `accept` is true.
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
    """Return the value of the required metric: a count of a bound, or a cost of a path."""
    counts: Mapping[str, float] | None = found.get("cost") or found.get("counts")  # type: ignore[assignment]
    return counted(counts or {}, required.metric)[1]


def explain(result: Result, required: Requirement, decision: Decision) -> str:
    """Explain a decision in a sentence."""
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
    """Return words for the assumptions of an estimated rate: map entries, caches, receiving."""
    return f"{entries_words(time)}, {time['caches']} caches, receiving and sending excluded"


def _wanted(required: Requirement) -> str:
    if isinstance(required, Rate):
        return format_rate(required.value, required.metric)
    return f"at most {required.value} {metric_words(required.metric)}"


def _words(found: Bound | PathResult, required: Requirement) -> tuple[str, str]:
    """Format the found and the required value, with enough digits to show a difference."""
    if isinstance(required, Rate):
        return format_apart(metric_rate(found, required.metric), required.value, required.metric)
    return f"{_count(found, required)} {metric_words(required.metric)}", _wanted(required)


def _is_of_estimate(result: Result, required: Requirement) -> bool:
    """Return true if a requirement is compared with the estimated time, not with the guarantee.

    This is the case for required rates on targets that guarantee counts.
    """
    return isinstance(required, Rate) and is_count(result)


def relied_on(result: Result, required: Requirement) -> list[str]:
    """Return the assumptions on which a met requirement depends, one sentence each."""
    # If a guarantee for any number of CPUs exists, the first assumption excludes other CPUs.
    others = result["assumptions"][1 if "interleaved" in result else 0 :]
    texts = [condition(text) for text in others]
    if _is_of_estimate(result, required):
        texts += [reservation(text) for text in estimate_notes(result)]
    return [one_line(text) for text in texts]


def refusal(result: Result, required: Requirement) -> str:
    """Explain that a requirement is met only under assumed limits of loops."""
    cuts = " and ".join(one_line(condition(text)) for text in result["cuts"] or [])
    subject = "estimate" if _is_of_estimate(result, required) else "guarantee"
    return (
        f"the {subject} meets the requirement only if {cuts}; packets may make the loop run more "
        "often; accept the limit with --accept-assumptions"
    )


def reproduce(command: str, files: Sequence[str], options: Sequence[str]) -> str:
    """Return the shell command that runs a slowpath command on files with these options.

    It sets `SLOWPATH_CPU` as in this process if the target depends on it. The values of other
    variables `SLOWPATH_*` are among the options.
    """
    import shlex

    protected = [f"./{file}" if file.startswith("-") else file for file in files]
    words = shlex.join(["slowpath", *command.split(), *protected, *options])
    cpu = os.environ.get(CPU_VARIABLE)
    depends = ("--target", CALIBRATED) in pairwise(options)
    return f"{CPU_VARIABLE}={shlex.quote(cpu)} {words}" if cpu and depends else words
