"""Tests that descriptions of experiments are read, and that errors name line and key."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.specification import (
    Scale,
    Sweep,
    read_experiment,
    settings_at,
    shipped_experiment,
    shipped_names,
    swept_values,
    values_of,
    with_range,
)
from slowpath.core.errors import InputError, OptionError
from slowpath.core.schema.validation import schema
from support import ROOT, slowpath

GOOD = """\
# A comment.
schema: 1
name: table-exact-mine
description: A look-up by entries
metrics: [ns]
traffic:
  size: 64
  headers: [ethernet, ipv4, udp]
  vary:
    - {offset: 30, bytes: 4, how: random, values: entries}
component:
  kind: table-exact
  sweep: {parameter: entries, first: 10, last: 1e5, points: 5, scale: log}
  fixed: {key_bytes: 16, hit: yes}
testbeds: [linux-xdp]
"""

SWEEP = "{parameter: entries, first: 10, last: 1e5, points: 5, scale: log}"
WRONG = [
    (
        "ipv4, udp]",
        "ipv4, udp, vxlan, udp]",
        8,
        "the header udp follows vxlan, where only ethernet may follow",
    ),
    ("schema: 1", "schema: 2", 2, "schema: 2 is not between 1 and 1"),
    (
        "name: table-exact-mine",
        "name: ../x",
        3,
        "name: '../x' is not a name; use up to 64 lower-case",
    ),
    ("description: A look-up by entries\n", "", 2, "lacks description"),
    ("A look-up by entries", "''", 4, "description: is not a text"),
    (
        "metrics: [ns]",
        "metrics: [ms]",
        5,
        "metrics[1]: 'ms' is not one of ns, cycles, instructions",
    ),
    (
        "metrics: [ns]",
        "metrics: [ns, ns]",
        5,
        "metrics: metrics must have at least one of ns, cycles",
    ),
    ("metrics: [ns]", "metrics: ns", 5, "metrics: is not a list; write [one, another]"),
    ("testbeds", "testbed", 15, "testbed: is unknown; choose one of schema, name, description"),
    (
        "  size: 64",
        "  size: 40",
        7,
        "traffic.size: packets of 40 bytes have no room for headers of 42",
    ),
    ("  size: 64", "  size: 64.5", 7, "traffic.size: '64.5' is not a whole number"),
    (
        "[ethernet, ipv4, udp]",
        "[ipv4]",
        8,
        "traffic.headers: the list of headers must begin with ethernet",
    ),
    (
        "ipv4, udp]",
        "udp]",
        8,
        "traffic.headers: the header udp follows ethernet, where only ipv4 or ipv6 may follow",
    ),
    (
        "ipv4, udp]",
        "vlan]",
        8,
        "traffic.headers[2]: 'vlan' is not one of ethernet, ipv4, ipv6, ",
    ),
    ("bytes: 4", "bytes: 5", 10, "traffic.vary[1].bytes: 5 is not between 1 and 4"),
    (
        "offset: 30",
        "offset: 62",
        10,
        "traffic.vary[1]: the range ends beyond the packet, which has 64 bytes",
    ),
    ("values: entries", "values: keys", 10, "'keys' is not a number, or one of entries, key_b"),
    (
        "kind: table-exact",
        "kind: table",
        12,
        "component.kind: 'table' is not one of forward, parser",
    ),
    (SWEEP, "{first: 1, last: 2}", 13, "component.sweep: lacks parameter"),
    (
        "parameter: entries",
        "parameter: hit",
        13,
        "component.sweep.parameter: 'hit' is not one of ent",
    ),
    ("last: 1e5", "last: 5e9", 13, "component.sweep.last: 5e9 is not between 1 and 4,000,000"),
    (
        "last: 1e5",
        "last: 9",
        13,
        "component.sweep.last: the last value, 9, is less than the first value, 10",
    ),
    ("scale: log", "scale: cubic", 13, "component.sweep.scale: 'cubic' is not one of linear, log"),
    ("key_bytes: 16", "key_bytes: 15", 14, "component.fixed.key_bytes: 15 is not a multiple of 4"),
    (
        "key_bytes: 16",
        "width: 16",
        14,
        "component.fixed.width: the name is not a parameter of table-exact; its parameters are ",
    ),
    (
        "key_bytes: 16",
        "entries: 16",
        14,
        "component.fixed.entries: the parameter is swept, so it cannot also be fixed",
    ),
    ("hit: yes", "hit: perhaps", 14, "component.fixed.hit: 'perhaps' is not one of yes, no"),
    ("hit: yes}", "hit: yes", 15, "is not YAML: "),
    ("hit: yes", "hit: yes, hit: no", 14, "component.fixed.hit: is defined twice"),
    ("  fixed: {", "  fixed: &a {self: *a, ", 14, "component.fixed.self: contains itself"),
    ("hit: yes", 'hit: "\\ud83d"', 14, "component.fixed.hit: has an incomplete character"),
    ("fixed: {", 'fixed: {"\\udfff": 2, ', 14, "component.fixed: has an incomplete character"),
    ("fixed: {", "fixed: {[1]: 2, ", 14, "component.fixed: has a key that is not a word"),
]


def test_escapes_of_json_are_whole_letters() -> None:
    text = GOOD.replace("A look-up by entries", '"\\ud83d\\ude00"')
    assert read_experiment("a.yaml", text)["description"] == "\N{GRINNING FACE}"


def test_a_specification_is_read() -> None:
    experiment = read_experiment("mine.yaml", GOOD)
    assert experiment["baseline"] == "without"
    assert experiment["component"]["fixed"] == {"key_bytes": 16, "hit": "yes"}
    assert swept_values(experiment) == [10, 100, 1000, 10000, 100000]
    assert settings_at(experiment, 100) == {
        "size": 64,
        "map": "hash",
        "entries": 100,
        "key_bytes": 16,
        "value_bytes": 64,
        "tables": 1,
        "repeats": 1,
        "hit": "yes",
    }


@pytest.mark.parametrize(("old", "new", "line", "message"), WRONG, ids=lambda it: str(it)[:40])
def test_invalid_specifications_are_errors(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as refused:
        read_experiment("mine.yaml", GOOD.replace(old, new, 1))
    assert refused.value.file == f"mine.yaml:{line}"
    assert message in refused.value.reason


@pytest.mark.parametrize("text", ["", "# nothing", "5", "[1]", "\t", "a: b: c", "a: !!x {", "\0"])
def test_what_is_no_specification_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.yaml:1"):
        read_experiment("x.yaml", text)


@given(st.text(alphabet="ab:{}[],-&*!|>'\"#\n \t1", max_size=60))
def test_no_text_is_worse_than_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_experiment("x.yaml", text)


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(1, 200),
    st.sampled_from(["linear", "log"]),
    st.sampled_from([1, 4, 8, 64]),
)
def test_values_are_within_the_range_and_have_its_ends(
    low: int, more: int, points: int, scale: Scale, step: int
) -> None:
    first, last = low * step, (low + more) * step
    sweep: Sweep = {
        "parameter": "entries",
        "first": first,
        "last": last,
        "points": points,
        "scale": scale,
    }
    values = values_of(sweep, step)
    assert values[0] == first
    assert values == sorted({*values})
    assert len(values) <= max(points, 1)
    assert values[-1] == (last if points > 1 else first)
    assert not any(value % step for value in values)


def test_another_range_is_checked_like_that_of_the_file() -> None:
    experiment = shipped_experiment("table-exact-entries")
    assert swept_values(with_range(experiment, 1, 1000, 4)) == [1, 10, 100, 1000]
    for first, last in ((0, 10), (10, 1), (1, 10**9)):
        with pytest.raises(InputError, match="table-exact-entries"):
            with_range(experiment, first, last, None)


# --- those that come with slowpath ----------------------------------------------------------------


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_ones_fit_the_schema(name: str) -> None:
    experiment = shipped_experiment(name)
    assert experiment["name"] == name
    assert len(swept_values(experiment)) >= 4
    Draft202012Validator(schema("experiment")).validate(json.loads(json.dumps(experiment)))


def test_every_component_has_a_shipped_experiment() -> None:
    kinds = {shipped_experiment(name)["component"]["kind"] for name in shipped_names()}
    assert kinds == COMPONENTS.keys()


def test_others_are_not_there() -> None:
    with pytest.raises(OptionError, match="'nothing' is not an experiment"):
        shipped_experiment("nothing")


def test_the_page_has_all_components_and_parameters() -> None:
    page = (ROOT / "docs/reference/experiments.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", page, re.MULTILINE))
    for name, component in COMPONENTS.items():
        named = set(re.findall(r"`(\w+)`", rows[name]))
        assert {key for key in component.parameters if key not in named} == set(), name


def test_the_specification_of_the_page_is_one() -> None:
    page = (ROOT / "docs/how-to/calibrate.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert read_experiment("page", text)["name"] == "rules-by-entries"


def test_the_schema_is_printed() -> None:
    assert json.loads(slowpath("schema", "experiment").stdout)["title"] == "slowpath experiment"
