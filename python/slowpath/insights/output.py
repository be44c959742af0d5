"""Output that the insights commands share: checks of files, warnings, and formatted numbers."""

from collections.abc import Sequence

from slowpath.core import inputs
from slowpath.core.errors import OptionError
from slowpath.core.terminal import first_few, note

_WRITTEN = (".csv", ".json")
SHOWN = 3
"""Number of items that a sentence lists before it abbreviates the rest."""
GUESS = "what is said of them is a guess"


def check_output(output: str | None, read: Sequence[str]) -> None:
    """Check that the file of `--output` can be written, without replacing an input file.

    Its name must end in .csv or .json. `read` contains the names of the input files.

    Raises:
        OptionError: when a check fails.
    """
    if output is None:
        return
    if not output.endswith(_WRITTEN):
        raise OptionError("--output", "the file has to end in .csv or .json")
    inputs.check_output("--output", output, read)


def warn_of_extrapolation(
    file: str, what: str, unusual: Sequence[tuple[str, Sequence[str]]]
) -> None:
    """Warn about items, such as functions, whose values lie outside of all measurements.

    Args:
        file: name of the file with the items.
        what: noun and verb to follow a number: `functions are`.
        unusual: name of each item, with the columns that lie outside (empty for most items).
    """
    odd = [f"{name} ({', '.join(columns)})" for name, columns in unusual if columns]
    if odd:
        text = f"{len(odd)} of {len(unusual)} {what} unlike those that were measured"
        warn(file, f"{text}: {first_few(odd, SHOWN)}; {GUESS}")


def warn(file: str, text: str) -> None:
    """Write a warning about a file to standard error."""
    note(f"warning: {file}: {text}")


def number(value: float) -> str:
    """Format a number: without decimals if it is whole, else with six significant digits."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def rounded(number: float, digits: int = 6) -> float:
    """Round a number to significant digits that are the same on every machine."""
    return float(f"{number:.{digits}g}")


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share in percent; return an empty string for None."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def quantity(count: float, unit: str) -> str:
    """Format a count with its unit, such as 1 byte, 4,096 bytes or 2.5 reads."""
    digits = f"{count:,}" if isinstance(count, int) else f"{count:,g}"
    return f"{digits} {unit}{'' if count == 1 else 's'}"
