"""Numbers as reports of `slowpath insights` write them."""

_PERCENT = 100


def number(value: float) -> str:
    """Whole where it is."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def percent(share: float | None) -> str:
    """A share; nothing where there is none."""
    return "" if share is None else f"{_PERCENT * share:.1f} %"
