"""What programs are guaranteed to take before and after, as text."""

from collections.abc import Iterator

from slowpath.cli.printable import aligned_line, one_line
from slowpath.commands.chain.documents import ChainProgram, Guarantee
from slowpath.schema.rates import Metric, format_rate
from slowpath.schema.wording import metric_words

_RATES: dict[str, Metric] = {"bit/s": "bitrate", "packets/s": "packetrate"}


def guarantee_lines(program: ChainProgram) -> Iterator[str]:
    """A line for each guarantee and estimate of a program, and why one is not known."""
    reasons = dict[str, None]()
    for one in program["guarantees"]:
        yield one_line(f"{program['name']}: {_sentence(one)}")
        reasons |= dict.fromkeys(f"on {one['target']}, {reason}" for reason in one["reasons"])
        more = (text for text in one["assumptions"] if text not in program["assumptions"])
        reasons |= dict.fromkeys(f"on {one['target']}, if {text}" for text in more)
    about = dict.fromkeys(text for one in program["guarantees"] for text in one["about"])
    if about:
        reasons[f"before and after are for {'; '.join(about)}"] = None
    yield from (aligned_line(f"{program['name']}: {one_line(reason)}") for reason in reasons)


def _sentence(one: Guarantee) -> str:
    """`on ebpf, at most 941 instructions before, 57 instructions after (exact)`."""
    if one["before"] is None and one["after"] is None:
        return f"on {one['target']}, {metric_words(one['unit'])} unknown before and after"
    values = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    before, after = (_text(one, value, bottleneck) for value, bottleneck in values)
    return f"on {one['target']}, {_which(one)}{before} before, {after} after{_how(one)}"


def _which(one: Guarantee) -> str:
    if not one["guaranteed"]:
        return "estimated "
    return "at least " if one["unit"] in _RATES else "at most "


def _how(one: Guarantee) -> str:
    if one["exact"]:
        return " (exact)"
    return " (under conditions)" if one["assumptions"] else ""


def how(one: Guarantee) -> str:
    """What is known of the numbers: `at most, exact`; `estimated`."""
    words = "exact" if one["exact"] else "under conditions" if one["assumptions"] else ""
    return ", ".join(filter(None, (_which(one).strip(), words)))


def unit_words(one: Guarantee) -> str:
    """What the numbers are: `memory accesses`, `bit/s`, `time in the program`."""
    if one["unit"] == "ns":
        return "time in the program"
    return one["unit"] if one["unit"] in _RATES else metric_words(one["unit"])


def _text(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    counted = value is not None and one["unit"] not in _RATES and one["unit"] != "ns"
    words = f" {metric_words(one['unit'])}" if counted else ""
    return f"{value_text(one, value, bottleneck)}{words}"


def value_text(one: Guarantee, value: float | None, bottleneck: str | None) -> str:
    """A number, with its unit if that scales, and what sets a rate: `20.9 Gbit/s (dram)`."""
    if value is None:
        return "unknown"
    unit = one["unit"]
    if unit in _RATES:
        by = f" ({bottleneck})" if bottleneck else ""
        return f"{format_rate(value, _RATES[unit])}{by}"
    return f"{value:.1f} ns" if unit == "ns" else f"{value:.0f}"
