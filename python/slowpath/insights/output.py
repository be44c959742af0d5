"""Checks output files, and formats warnings and numbers, for all insights commands."""

from collections.abc import Iterator, Sequence

from slowpath.core import codes, inputs
from slowpath.core.errors import Coded, OptionError
from slowpath.core.quantities import number
from slowpath.core.terminal import first_few

_WRITTEN = (".csv", ".json")
SHOWN = 3
"""Number of items that a sentence lists before it abbreviates the rest."""
MEANS = (
    "Counts are means over the packets of the trace. For the worst case of an XDP program, run "
    "slowpath bound."
)
"""Remark on counts per packet in reports."""


def check_output(output: str | None, read: Sequence[str]) -> None:
    """Check that a report can be written to `output`, the value of `--output`.

    Its name must end in .csv or .json, and it must not replace an input file; `read` has their
    names.

    Raises:
        OptionError: when a check fails.
    """
    if output is None:
        return
    if not output.endswith(_WRITTEN):
        raise OptionError(codes.WRONG_SUFFIX, "--output", "the file name must end in .csv or .json")
    inputs.check_output("--output", output, read)


def extrapolation_warnings(
    file: str, what: str, unusual: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[Coded]:
    """Yield a warning if any items have values outside the range of the measurements.

    Predictions for these items, such as functions, are unreliable.

    Args:
        file: name of the file with the items.
        what: noun and verb to follow a number: `functions are`.
        unusual: name of each item, with the columns that lie outside (empty for most items).
    """
    odd = [f"{name} ({', '.join(columns)})" for name, columns in unusual if columns]
    if odd:
        text = f"{len(odd)} of {len(unusual)} {what} outside the measured range"
        yield Coded(
            codes.EXTRAPOLATED,
            f"{file}: {text}, so their predictions are guesses: {first_few(odd, SHOWN)}",
        )


def stop_warnings(file: str, reason: str | None) -> list[Coded]:
    """Return a warning that the report is incomplete, because the analysis stopped early.

    `reason` is the reason for the stop. If it is None, the report is complete, and there is no
    warning.
    """
    return (
        []
        if reason is None
        else [
            Coded(
                codes.INCOMPLETE_REPORT,
                f"{file}: the analysis stopped ({reason}), so the report is incomplete",
            )
        ]
    )


def rounded(number: float, digits: int = 6) -> float:
    """Round a number to `digits` significant digits.

    Reports use this so that they are equal on all machines.
    """
    return float(f"{number:.{digits}g}")


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share in percent; return an empty string for None."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def quantity(count: float, unit: str) -> str:
    """Format a count with its unit, such as "1 byte", "4,096 bytes" or "2.5 reads"."""
    return f"{number(count)} {unit}{'' if count == 1 else 's'}"
