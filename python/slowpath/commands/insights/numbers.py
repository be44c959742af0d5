"""Numbers as reports of `slowpath insights` write them."""


def number(value: float) -> str:
    """Whole where it is."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"
