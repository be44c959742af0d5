"""Tests the diagnosis of a function: bottleneck, changes with traffic, hypothetical changes."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contention_models import FLOWS, kind, model
from slowpath.contention.bottleneck import (
    ChangeError,
    Setting,
    Swept,
    bottlenecks,
    changed,
    crossings,
    diagnose,
    grid,
    read_change,
    sweep,
    with_attribute,
)
from slowpath.contention.diagnose import read_sweep
from slowpath.contention.mixes import predict_mixes
from slowpath.core.errors import OptionError
from slowpath.core.quantities import significant
from slowpath.core.schema.validation import schema
from support import ROOT, slowpath
from test_html import parsed, texts

pytestmark = pytest.mark.filterwarnings("ignore")

FLEET = ROOT / "examples/fleet"
TARGET, FIRST, SECOND = (model(seed, base) for seed, base in ((0, 3e-4), (1, None), (2, 2e-4)))
SETTING = Setting(kind(TARGET), (kind(FIRST, "first"), kind(SECOND, "second")))


def test_the_slowest_stage_is_the_bottleneck_by_its_margin() -> None:
    (found,) = diagnose([SETTING], 0.9)
    kinds = (SETTING.target, *SETTING.others)
    mixed = predict_mixes(kinds, [(0, 1, 2)], 0.9)
    stages = {"memory": mixed.memory[0], "regex": mixed.accelerator[0]}
    assert {part["resource"]: part["throughput"] for part in found["resources"]} == stages
    assert found["throughput"] == min(stages.values())
    assert stages[found["bottleneck"]] == min(stages.values())
    assert found["margin"] == pytest.approx(max(stages.values()) / min(stages.values()) - 1)
    ends = {part["resource"]: part for part in found["resources"]}
    high, low = ends[found["bottleneck"]]["high"], ends[str(found["next"])]["low"]
    assert high is not None
    assert low is not None
    assert found["sure"] == (high < low)
    (alone,) = diagnose([Setting(SETTING.target, ())], 0.9)
    assert found["share_of_solo"] == pytest.approx(found["throughput"] / alone["throughput"])
    assert alone["share_of_solo"] == 1


def test_one_resource_has_no_margin() -> None:
    (found,) = diagnose([Setting(kind(FIRST), (kind(SECOND, "second"),))], 0.9)
    assert (found["bottleneck"], found["next"], found["margin"]) == ("memory", None, None)
    assert found["sure"]


def test_run_to_completion_would_be_as_fast_without_the_contention_of_its_bottleneck() -> None:
    """Check the predicted throughput of a run-to-completion function without its bottleneck.

    Then, only the other resource adds time. The expected value is computed by hand (Eq. 4 of the
    paper).
    """
    adds = model(0, 3e-4, pattern="run-to-completion")
    (found,) = diagnose([Setting(kind(adds), SETTING.others)], 0.9)
    (alone,) = diagnose([Setting(kind(adds), (kind(FIRST, "first"),))], 0.9)
    regex = next(part for part in found["resources"] if part["resource"] == "regex")
    assert found["throughput"] < min(part["throughput"] for part in found["resources"])
    if found["bottleneck"] == "memory":
        assert found["margin"] == pytest.approx(regex["throughput"] / found["throughput"] - 1)
    assert alone["throughput"] > found["throughput"]


# --- along an attribute ---------------------------------------------------------------------------


def test_the_crossing_along_matches_is_where_both_stages_are_equal() -> None:
    """Check the ratio of matches from which the accelerator, not memory, is the bottleneck.

    Matches slow down the accelerator only, so the expected ratio is computed by hand.
    """
    alone = Setting(kind(TARGET), ())
    found = sweep(alone, Swept("mtbr", 0.0, 5000.0, 11), 0.9)
    (crossing,) = found["crossings"]
    memory = predict_mixes([kind(TARGET)], [(0,)], 0.9).memory[0]
    by_hand = (1 / memory / 3e-4 - 1) / 0.003
    assert crossing["at"] == pytest.approx(by_hand, rel=1e-9)
    assert (crossing["before"], crossing["after"]) == ("memory", "regex")


@pytest.mark.parametrize(
    ("attribute", "first", "last"), [("flows", 200.0, 3000.0), ("mtbr", 0.0, 3000.0)]
)
def test_crossings_are_those_of_a_dense_sweep(attribute: str, first: float, last: float) -> None:
    swept = Swept(attribute, first, last, 12)  # type: ignore[arg-type]
    # Choose requests that take as long as memory does for a packet at 900 flows.
    beside = [kind(TARGET)._replace(flows=900.0), kind(FIRST, "first")._replace(flows=900.0)]
    memory = predict_mixes(beside, [(0, 1)], 0.9).memory[0]
    base = 1 / memory / (1 + 0.003 * 400)
    setting = Setting(kind(model(0, base), mtbr=400.0), (kind(FIRST, "first"),))
    found = sweep(setting, swept, 0.9)
    dense = list(np.linspace(first, last, 1401))
    names = bottlenecks([with_attribute(setting, swept.attribute, one) for one in dense], 0.9)
    changes = [
        (one, two) for one, two in pairwise(zip(dense, names, strict=True)) if one[1] != two[1]
    ]
    assert changes
    assert len(changes) == len(found["crossings"])
    for crossing, ((low, before), (high, after)) in zip(found["crossings"], changes, strict=True):
        assert low < crossing["at"] <= high
        assert (crossing["before"], crossing["after"]) == (before, after)


@given(
    st.lists(st.integers(1, 10**6), max_size=5, unique=True),
    st.integers(2, 60),
)
def test_whole_numbers_are_located_exactly(places: list[int], count: int) -> None:
    """Check that a sweep finds the exact values, `places`, at which the bottleneck changes.

    Two changes between neighbouring samples cancel out and cannot be found.
    """

    def ask(values: object) -> list[str]:
        return ["AB"[sum(one >= place for place in places) % 2] for one in values]  # type: ignore[attr-defined]

    values = [float(one) for one in sorted({*np.linspace(0, 10**6 + 1, count).astype(int)})]
    found = {one["at"] for one in crossings(values, ask(values), ask, whole=True)}
    assert found <= {float(one) for one in places}
    for low, high in pairwise(values):
        inside = [one for one in places if low < one <= high]
        assert len(found & {float(one) for one in inside}) == len(inside) % 2


def test_grids_have_both_sides_of_each_power_of_two() -> None:
    found = grid(Swept("flows", 1.0, 1e6, 5))
    assert {2.0**at - e for at in range(1, 20) for e in (0, 1)} <= {*found}
    assert found == sorted(found)
    assert grid(Swept("mtbr", 0.0, 10.0, 3)) == [0.0, 5.0, 10.0]
    assert grid(Swept("size", 64.0, 66.0, 9)) == [64.0, 65.0, 66.0]


# --- what if --------------------------------------------------------------------------------------


def throughput(setting: Setting) -> float:
    return diagnose([setting], 0.9)[0]["throughput"]


def what_if(text: str, setting: Setting = SETTING) -> Setting:
    return changed(setting, read_change(text))


def test_changes_are_those_of_settings_that_were_made_so() -> None:
    twice = Setting(kind(model(0, 3e-4, queues=2)), SETTING.others)
    assert throughput(what_if("regex queues x2")) == throughput(twice)
    assert throughput(what_if("regex queues =2")) == throughput(twice)
    halves = Setting(kind(model(0, 1.5e-4)), (kind(FIRST, "first"), kind(model(2, 1e-4), "second")))
    assert throughput(what_if("regex time x0.5")) == pytest.approx(throughput(halves))
    assert what_if("flows x10") == with_attribute(SETTING, "flows", 10 * FLOWS)
    assert what_if("mtbr = 0") == with_attribute(SETTING, "mtbr", 0.0)
    assert what_if("without first").others == SETTING.others[1:]


@settings(max_examples=20)
@given(st.integers(1, 6), st.floats(0.05, 1.0))
def test_more_queues_and_faster_requests_never_slow_it(queues: int, factor: float) -> None:
    now = throughput(SETTING)
    assert throughput(what_if(f"regex queues x{queues}")) >= now * (1 - 1e-12)
    assert throughput(what_if(f"regex time x{factor:.6f}")) >= now * (1 - 1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("more cache", "is not a change; write 'regex queues xN"),
        ("regex queues x", "is not a change"),
        ("flows x0", "not a number above zero"),
        ("mtbr x1e", "is not a number"),
        ("regex time =2", "sets a time, but only factors"),
        ("regex queues x0.3", "x0.3' yields 0.3, which is not a possible number of queues"),
        (
            "without third",
            "without third' names a model that --with does not list; --with lists: first, second",
        ),
    ],
)
def test_changes_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ChangeError, match=message):
        what_if(text)


def test_changes_that_nothing_can_have() -> None:
    with pytest.raises(ChangeError, match="has no accelerator"):
        what_if("regex queues x2", Setting(kind(FIRST), ()))
    with pytest.raises(ChangeError, match="none of the functions uses an accelerator"):
        what_if("mtbr x2", Setting(kind(FIRST), ()))
    adds = model(0, 3e-4, pattern="run-to-completion")
    with pytest.raises(ChangeError, match="include the time of requests"):
        what_if("regex time x0.5", Setting(kind(adds), ()))


# --- the command ----------------------------------------------------------------------------------

WORDS = (
    "contention",
    "diagnose",
    FLEET / "ids.model.json",
    "--with",
    f"{FLEET / 'nat.model.json'},{FLEET / 'scanner.model.json'}",
    "--traffic",
    "flows=16000,size=1500,mtbr=200",
)


def test_formats_say_the_same(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    more = ("--sweep", "mtbr=0..1000/5", "--what-if", "regex queues x2")
    run = slowpath(*WORDS, *more, "--format", "json", "--html", page)
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    Draft202012Validator(schema("diagnosis")).validate(document)
    now, (change,) = document["now"], document["what_if"]
    assert change["gain"] == pytest.approx(
        change["diagnosis"]["throughput"] / now["throughput"] - 1
    )
    rows = list(csv.DictReader(io.StringIO(slowpath(*WORDS, *more, "--format", "csv").stdout)))
    assert [row["about"] for row in rows] == ["now", "what-if", *["sweep"] * 6]
    expected = [
        now["throughput"],
        change["diagnosis"]["throughput"],
        *(point["diagnosis"]["throughput"] for point in document["sweep"]["points"]),
    ]
    assert [float(row["throughput"]) for row in rows] == pytest.approx(expected, rel=1e-14)
    text = slowpath(*WORDS, *more).stdout
    (crossing,) = document["sweep"]["crossings"]
    assert f"{now['bottleneck']} is the bottleneck" in text
    assert f"{now['share_of_solo']:.2f} of solo throughput" in text
    assert float(rows[0]["share_of_solo"]) == pytest.approx(now["share_of_solo"], rel=1e-14)
    assert significant(crossing["at"], 4) in text
    root = parsed(page.read_text())
    colours = {one.attrib["style"] for one in root.iter("polyline")}
    assert colours == {"stroke: var(--c0)", "stroke: var(--c1)"}
    assert significant(crossing["at"], 4) in texts(root)


def test_requests_without_scatter_have_an_unknown_error() -> None:
    """Check that no format states an interval for an accelerator with an unknown error.

    The model of `ids` was trained on request times that lie exactly on a line, which leaves no
    errors to estimate from.
    """
    document = json.loads(slowpath(*WORDS, "--format", "json").stdout)
    Draft202012Validator(schema("diagnosis")).validate(document)
    now = document["now"]
    (regex,) = (one for one in now["resources"] if one["resource"] == "regex")
    assert (regex["low"], regex["high"]) == (None, None)
    assert (now["bottleneck"], now["low"], now["sure"]) == ("regex", None, False)
    row = next(csv.DictReader(io.StringIO(slowpath(*WORDS, "--format", "csv").stdout)))
    assert (row["low"], row["high"]) == ("", "")
    text = slowpath(*WORDS).stdout
    assert "The error is unknown, so the bottleneck is uncertain." in text
    assert "For rows without an interval, the error is unknown" in text


def test_guesses_are_named_with_their_inputs_and_values() -> None:
    traffic = "flows=16000,size=1500,mtbr=1500"
    run = slowpath(*WORDS[:-1], traffic, "--sweep", "flows=100..200000/3")
    assert run.returncode == 0, run.stderr
    now, swept = run.stderr.splitlines()
    assert now.endswith("outside the measured range: mtbr 1500 (measured: 0 to 1000)")
    assert "results of the sweep are guesses, because inputs are outside" in swept
    assert "flow_count 100 to 128 (measured: 230 to 3.975e+05)" in swept
    assert "mtbr 1500 (measured: 0 to 1000)" in swept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "'--traffic' is missing: the traffic is required"),
        (["--traffic", "flows=1,size=64"], ": mtbr is needed"),
        (["--traffic", "flows=1,size=64,mtbr=1", "--html", "page.txt"], "end in .html"),
        (["--traffic", "flows=1,size=64,mtbr=1", "--what-if", "magic"], "'--what-if': 'magic' is"),
        (
            ["--traffic", "flows=1,size=64,mtbr=1", "--sweep", "mtbr=3..1"],
            "must grow from FIRST to LAST",
        ),
    ],
)
def test_wrong_options(words: list[str], message: str) -> None:
    run = slowpath("contention", "diagnose", FLEET / "ids.model.json", *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed=1:2", "is not a sweep; write flows=, size= or mtbr="),
        ("mtbr=1", "is not a range; write FIRST..LAST"),
        ("flows=0..9", "must grow from FIRST to LAST, between 1"),
        ("flows=1.5:9", "must be whole numbers"),
        ("mtbr=0:9:1", "from 2 to"),
        ("mtbr=0..inf", "is not a range"),
    ],
)
def test_sweeps_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_sweep(text)
