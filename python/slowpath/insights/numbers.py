"""Numbers as they are said: with as many digits as say something."""

_PERCENT = 100


def rounded(number: float, digits: int = 6) -> float:
    """A number without digits that differ from machine to machine."""
    return float(f"{number:.{digits}g}")


def percent(share: float | None, digits: int = 1) -> str:
    """A share; nothing where there is none."""
    return "" if share is None else f"{_PERCENT * share:.{digits}f} %"


def number(count: float, what: str) -> str:
    """So many of something: 1 byte, 4,096 bytes, 2.5 reads."""
    digits = f"{count:,}" if isinstance(count, int) else f"{count:,g}"
    return f"{digits} {what}{'' if count == 1 else 's'}"
