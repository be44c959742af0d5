"""Holds a result against a required rate (`--require`)."""

from collections.abc import Sequence
from enum import Enum

from slowpath.exit_codes import ExitCode
from slowpath.rates import Rate, format_apart, format_rate
from slowpath.results import Result, metric_rate


class Decision(Enum):
    """Whether a program meets a required rate."""

    MET = ExitCode.FINE
    FAILED = ExitCode.FAILED
    UNDECIDED = ExitCode.UNDECIDED


def decide(result: Result, required: Rate) -> Decision:
    """Compares the guarantee with the requirement.

    A lower bound below the requirement decides nothing, unless a satisfiable path is known that
    is slower than required.
    """
    guarantee = result["guarantee"]
    if guarantee is None:
        return Decision.UNDECIDED
    if metric_rate(guarantee, required.metric) >= required.value:
        return Decision.MET
    witnessed = any(metric_rate(p, required.metric) < required.value for p in result["paths"])
    return Decision.FAILED if guarantee["exact"] or witnessed else Decision.UNDECIDED


def explain(result: Result, required: Rate, decision: Decision) -> str:
    """The decision as a sentence."""
    guarantee, metric = result["guarantee"], required.metric
    if guarantee is None:
        return f"{format_rate(required.value, metric)} required, nothing guaranteed"
    rates = [metric_rate(guarantee, metric)]
    if not guarantee["exact"] and decision is Decision.FAILED:
        rates = [metric_rate(path, metric) for path in result["paths"]]
    rate, wanted = format_apart(min(rates), required.value, metric)
    match decision:
        case Decision.MET:
            return f"{rate} guaranteed, {wanted} required"
        case Decision.FAILED if guarantee["exact"]:
            return f"only {rate} guaranteed, {wanted} required"
        case Decision.FAILED:
            return f"a packet is known that allows only {rate}, {wanted} required"
        case Decision.UNDECIDED:
            return (
                f"undecided: {wanted} required, at least {rate} guaranteed ({guarantee['stopped']})"
            )


def reproduce(command: str, files: Sequence[str], options: Sequence[str]) -> str:
    """The shell command that runs `command` on the files with the same options."""
    import shlex

    protected = [f"./{file}" if file.startswith("-") else file for file in files]
    return shlex.join(["slowpath", command, *protected, *options])
