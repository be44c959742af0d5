"""Tests reading and formatting of rates, such as `40Gbit/s`."""

from decimal import ROUND_FLOOR, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.schema.rates import (
    METRICS,
    Metric,
    Rate,
    format_apart,
    format_improvement,
    format_packetrate,
    format_rate,
    parse_rate,
)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("40Gbit/s", Rate(40e9, "bitrate")),
        ("10Mpps", Rate(10e6, "packetrate")),
        ("10 Mpps", Rate(10e6, "packetrate")),
        ("1.5gbps", Rate(1.5e9, "bitrate")),
        ("500 kpps", Rate(500e3, "packetrate")),
        (".5Tbit/s", Rate(0.5e12, "bitrate")),
        ("7packets/s", Rate(7, "packetrate")),
        ("0pps", Rate(0, "packetrate")),
        ("54.4 Mpps", Rate(54.4e6, "packetrate")),
    ],
)
def test_parse(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text",
    [
        "",
        "40",
        "Gbit/s",
        "40GB/s",
        "-1pps",
        "1e9bps",
        "40 G bit/s",
        "nanpps",
        "4٠bps",
        "1pps2",
        f"1{'0' * 400}bps",
    ],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"rate|unit"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_rate(24_769_999_999.9, "bitrate"), "24.7 Gbit/s"),
        (format_packetrate(50_632_911.4), "50.6 Mpps"),
        (format_packetrate(54.4e6), "54.4 Mpps"),
        (format_packetrate(999_999_999.0), "999 Mpps"),
        (format_packetrate(1e9), "1.00 Gpps"),
        (format_packetrate(12.0), "12.0 pps"),
        (format_packetrate(0.0), "0.00 pps"),
        (format_rate(1e18, "bitrate"), "1000 Pbit/s"),
    ],
)
def test_format(text: str, expected: str) -> None:
    assert text == expected


rates = st.floats(min_value=1, max_value=1e14)
metrics = st.sampled_from(METRICS)


@given(rates, metrics)
def test_printed_rate_is_never_more_than_the_rate(value: float, metric: Metric) -> None:
    printed = parse_rate(format_rate(value, metric))
    assert printed.metric == metric
    assert value * 0.99 <= printed.value <= value


@given(rates, rates, metrics)
def test_different_rates_look_different(a: float, b: float, metric: Metric) -> None:
    low, high = format_apart(a, b, metric)
    assert (low == high) == (a == b)


@pytest.mark.parametrize(
    ("better", "base", "text"),
    [
        (24.7, 21.0, "+17.6 %"),
        (21.0, 21.0, "none"),
        (3.0, 1.0, "+200 %"),
        (1.0001, 1.0, "<0.1 %"),
        (1.0, 0.0, "none"),
    ],
)
def test_improvement(better: float, base: float, text: str) -> None:
    assert format_improvement(better, base) == text


EXACT = Context(prec=400)


@given(rates, metrics, st.integers(1, 12))
def test_digits_are_those_of_decimal_numbers(value: float, metric: Metric, digits: int) -> None:
    number, unit = format_rate(value, metric, digits).split()
    power = 3 * ["", "k", "M", "G", "T", "P"].index(unit.removesuffix("bit/s").removesuffix("pps"))
    exact = EXACT.scaleb(Decimal(repr(value)), -power)
    assert Decimal(number) == exact.quantize(Decimal(number), ROUND_FLOOR, context=EXACT)
    integer, _, decimals = number.partition(".")
    assert len(decimals) == max(digits - len(integer), 0)
