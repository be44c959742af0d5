"""Tests policies that place functions on NICs, by enumeration of placements and by definitions."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contention_fleets import EXAMPLE, FLEET, SLAS, fleet_of
from slowpath.contention.options import POLICIES
from slowpath.contention.placement import fleet as fleets
from slowpath.contention.placement import running
from slowpath.contention.placement.fleet import (
    Arrivals,
    Fleet,
    GroundTruth,
    Mix,
    drawn,
    possible_mixes,
)
from slowpath.contention.placement.policies import POLICIES as ONLINE
from slowpath.contention.placement.policies import TURNED_AWAY, Demand, Placement, Prices, place
from slowpath.contention.placement.reading import read_arrivals, read_fleet, read_truth
from slowpath.contention.placement.running import (
    OPTIMAL,
    Judge,
    SequenceInputs,
    assign,
    fewest,
    judge,
    mixes_of,
    run,
    summary,
)
from slowpath.contention.placement.shares import PredictedShares, Shares, measured_shares
from slowpath.core.errors import InputError
from slowpath.core.schema.validation import schema
from support import slowpath

pytestmark = pytest.mark.filterwarnings("ignore")

Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
PREDICTED = PredictedShares(FLEET)


def arriving(*arrivals: tuple[int, float]) -> Arrivals:
    function, sla = zip(*arrivals, strict=True)
    rows = tuple(str(at) for at in range(len(arrivals)))
    return Arrivals(np.array(function), np.array(sla, dtype=float), rows)


def counts_of(arrivals: Arrivals) -> Places:
    return np.bincount(arrivals.function, minlength=3)


ARRIVALS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(SLAS)), min_size=1, max_size=6
).map(lambda arrivals: arriving(*arrivals))


def partitions(count: int) -> Iterator[list[list[int]]]:
    """Yield all ways to distribute `count` functions over NICs that are alike."""
    if not count:
        yield []
        return
    for rest in partitions(count - 1):
        yield [*rest, [count - 1]]
        for at in range(len(rest)):
            yield [*rest[:at], [*rest[at], count - 1], *rest[at + 1 :]]


def keeps_all(nic: list[int], arrivals: Arrivals, fleet: Fleet, shares: Shares) -> bool:
    """Return true if a NIC has enough cores, and each function gets its promised throughput."""
    mix = tuple(sorted(int(arrivals.function[at]) for at in nic))
    if sum(fleet.sizes[at] for at in mix) > fleet.cores or shares.missing([mix]):
        return False
    kept = shares.kept[shares.row(mix)]
    return all(kept[arrivals.function[at]] >= arrivals.sla[at] for at in nic)


def by_enumeration(arrivals: Arrivals, fleet: Fleet, shares: Shares) -> int | None:
    """Return the least number of NICs, found by trying all placements.

    Return None if no placement keeps all promises.
    """
    return min(
        (
            len(nics)
            for nics in partitions(len(arrivals.function))
            if all(keeps_all(nic, arrivals, fleet, shares) for nic in nics)
        ),
        default=None,
    )


@settings(max_examples=30)
@given(ARRIVALS)
def test_the_optimum_is_that_of_all_placements(arrivals: Arrivals) -> None:
    mixes = possible_mixes(FLEET, counts_of(arrivals))
    PREDICTED.fill(mixes)
    plan = fewest(PREDICTED.shares, mixes, arrivals)
    assert plan is not None
    assert plan.proven
    assert plan.total == by_enumeration(arrivals, FLEET, PREDICTED.shares)
    placement = assign(plan, PREDICTED.shares, arrivals)
    found = judge(placement, arrivals, Judge(PREDICTED.shares, PREDICTED))
    assert placement.nics == plan.total
    assert not found.broken.any()


@pytest.mark.parametrize("nearest", [1, 3, 1_000])
@settings(max_examples=30)
@given(ARRIVALS, st.randoms(use_true_random=False))
def test_the_optimum_of_any_shares_is_that_of_all_placements(
    nearest: int, arrivals: Arrivals, dice: object
) -> None:
    """Compare the least number of NICs with that of all placements, for random throughputs.

    Throughput need not fall with more neighbours, and is unknown for some mixes.
    """
    draw = np.random.default_rng(dice.getrandbits(32))  # type: ignore[attr-defined]
    shares, mixes = Shares(3), []
    for mix in possible_mixes(FLEET, counts_of(arrivals)):
        if draw.random() < 0.8:
            mixes.append(mix)
            kept = np.array([draw.uniform(0.6, 1) if at in mix else np.inf for at in range(3)])
            shares.add(mix, kept, kept)
    with mock.patch.object(running, "_NEAREST", nearest):
        plan = fewest(shares, mixes, arrivals)
    expected = by_enumeration(arrivals, FLEET, shares)
    assert (None if plan is None else plan.total) == expected


def test_mixes_are_all_that_cores_and_arrivals_allow() -> None:
    arrivals = arriving((0, 0.9), (0, 0.9), (1, 0.9), (2, 0.9))
    found = possible_mixes(FLEET, counts_of(arrivals))
    assert len(found) == len({*found})
    every = {
        tuple(sorted(arrivals.function[at] for at in range(4) if bits >> at & 1))
        for bits in range(1, 16)
    }
    assert {*found} == {m for m in every if sum(FLEET.sizes[at] for at in m) <= FLEET.cores}


def test_too_many_mixes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MOST_MIXES", 3)
    with pytest.raises(InputError, match="more than 3 mixes"):
        possible_mixes(FLEET)


# --- policies -------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([one for one in POLICIES if one != "optimal"]))
def test_nobody_gets_cores_that_others_have(seed: int, policy: str) -> None:
    arrivals = drawn(FLEET, 20, (7, seed))
    placement = place(FLEET, arrivals, policy, PREDICTED)
    mixes = mixes_of(placement, arrivals)
    assert all(mixes)
    assert sum(map(len, mixes)) == 20
    assert all(sum(FLEET.sizes[at] for at in mix) <= FLEET.cores for mix in mixes)


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_contention_aware_placement_keeps_promises_by_its_own_models(seed: int) -> None:
    """Check that each function goes to the first NIC on which all promises can be kept.

    If there is none, it gets a new NIC. A promise is a share of solo throughput.
    """
    arrivals = drawn(FLEET, 20, (7, seed))
    placement = place(FLEET, arrivals, "contention-aware", PREDICTED)
    found = judge(placement, arrivals, Judge(PREDICTED.shares, PREDICTED))
    assert not found.broken.any()
    nics: list[list[int]] = []
    for at, nic in enumerate(placement.nic):
        fits = []
        for functions in nics:
            mix = tuple(sorted(int(arrivals.function[one]) for one in [*functions, at]))
            if sum(FLEET.sizes[one] for one in mix) <= FLEET.cores:
                PREDICTED.fill([mix])
            fits.append(keeps_all([*functions, at], arrivals, FLEET, PREDICTED.shares))
        assert nic == (fits.index(True) if any(fits) else len(nics))
        if nic == len(nics):
            nics.append([])
        nics[nic].append(at)


def test_greedy_takes_the_nic_with_most_free_cores() -> None:
    arrivals = arriving((1, 0.9), (1, 0.9), (1, 0.9), (0, 0.9), (0, 0.9))
    assert place(FLEET, arrivals, "greedy", PREDICTED).nic.tolist() == [0, 0, 1, 1, 1]
    assert place(FLEET, arrivals, "monopolise", PREDICTED).nic.tolist() == [0, 1, 2, 3, 4]


def test_who_finds_no_nic_is_turned_away() -> None:
    small = FLEET._replace(most=1)
    arrivals = arriving((1, 0.75), (1, 0.75), (0, 0.75))
    assert place(small, arrivals, "monopolise", PREDICTED).nic.tolist() == [
        0,
        TURNED_AWAY,
        TURNED_AWAY,
    ]
    assert place(small, arrivals, "greedy", PREDICTED).nic.tolist() == [0, 0, TURNED_AWAY]
    outcome = run(SequenceInputs(small, PREDICTED, None, ("greedy",), True), arrivals)["policies"][
        0
    ]
    assert (outcome["turned_away"], outcome["wastage"], outcome["unjudged"]) == (1, None, 0)


def test_promises_are_judged_beside_those_that_are_there_in_the_end() -> None:
    """Check that promises are judged by the neighbours at the end, not by those at arrival.

    Function 0 keeps 0.9 of its solo throughput next to one other function, and 0.8 next to two.
    """
    known: dict[Mix, dict[int, float]] = {
        (0,): {0: 100.0},
        (1,): {1: 50.0},
        (2,): {2: 10.0},
        (0, 0): {0: 90.0},
        (0, 0, 2): {0: 80.0, 2: 10.0},
    }
    truth = GroundTruth("mixes.csv", known)
    arrivals = arriving((0, 0.85), (0, 0.75), (2, 1.0), (1, 0.9), (2, 0.9))
    source = Judge(measured_shares(truth, 3), None)
    found = judge(Placement(np.array([0, 0, 0, 1, 1]), 2), arrivals, source)
    assert found.kept[:3].tolist() == [0.8, 0.8, 1.0]
    assert found.broken.tolist() == [True, False, False, False, False]
    assert np.isnan(found.kept[3:]).all()  # the table lacks (1, 2)
    assert found.violations == pytest.approx(1 / 3)
    outcome = run(SequenceInputs(FLEET, PREDICTED, truth, ("monopolise",), True), arrivals)
    # Both f0 keep 0.9 on one NIC; all others are alone.
    assert outcome["reference"] == {"nics": 4, "least": 4}
    assert outcome["policies"][0]["wastage"] == pytest.approx(1 / 4)


def test_measured_throughput_alone_is_what_promises_are_shares_of() -> None:
    slower = FLEET._replace(functions=tuple(one._replace(solo=2000.0) for one in FLEET.functions))
    found = PredictedShares(slower)
    (at,) = found.rows([(0, 1)])
    assert found.shares.kept[at, 0] == pytest.approx(found.shares.throughput[at, 0] / 2000)
    assert found.shares.kept[found.shares.row((0,)), 0] == 1


def test_random_sequences_are_the_same_each_time_and_different_from_each_other() -> None:
    one, again, other = (drawn(FLEET, 300, (0, at)) for at in (3, 3, 4))
    assert (one.function == again.function).all()
    assert (one.sla == again.sla).all()
    assert (one.function != other.function).any()
    assert {*np.unique(one.sla)} == {*SLAS}
    assert np.bincount(one.function).min() > 60


def test_policies_have_one_list_of_names() -> None:
    assert (*ONLINE, OPTIMAL) == POLICIES


def test_summaries_are_means() -> None:
    fleets = SequenceInputs(FLEET, PREDICTED, None, ("greedy", "optimal"), True)
    found = [run(fleets, drawn(FLEET, 8, (1, at)), each=False) for at in range(3)]
    greedy, best = summary(found)
    assert greedy["nics"] == pytest.approx(np.mean([one["policies"][0]["nics"] for one in found]))
    assert best["wastage"] == 0
    assert best["violations"] == 0


# --- files ----------------------------------------------------------------------------------------

GOOD = """nics: {device: example, cores: 8}
functions:
  nat: {model: nat.model.json, cores: 2, traffic: {flows: 16000, size: 1500}, sla: 0.9}
  ids: {model: ids.model.json, cores: 4, traffic: {flows: 16000, size: 1500, mtbr: 9}, sla: [.8, 1]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("nat", "ids"):
        file = f"{name}.model.json"
        (tmp_path / file).write_text((EXAMPLE / file).read_text())
    (tmp_path / "fleet.yaml").write_text(GOOD)
    return tmp_path


def test_a_fleet_is_what_its_file_says(folder: Path) -> None:
    found = read_fleet(str(folder / "fleet.yaml"))
    assert (found.device, found.cores, found.most) == ("example", 8, None)
    nat, ids = found.functions
    assert (nat.name, nat.cores, nat.sla, nat.solo) == ("nat", 2, (0.9,), None)
    assert (ids.cores, ids.sla, ids.kind.mtbr) == (4, (0.8, 1.0), 9.0)


def test_promises_can_be_percentages(folder: Path) -> None:
    file, arrivals = folder / "fleet.yaml", folder / "arrivals.csv"
    file.write_text(GOOD.replace("sla: 0.9", "sla: 90%").replace("[.8, 1]", "[80 %, 1]"))
    found = read_fleet(str(file))
    assert [one.sla for one in found.functions] == [(0.9,), (0.8, 1.0)]
    arrivals.write_text("function,sla\nnat,90%\nids,0.85\nids,70 %\n")
    assert read_arrivals(str(arrivals), found).sla.tolist() == [0.9, 0.85, 0.7]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores: 8", "cores: 0", "fleet.yaml:1: nics.cores: '0' is not a number from 1 to"),
        ("cores: 8", "cores: 8.5", "8.5 is not a whole number"),
        (
            "cores: 8",
            "cores: 3",
            "fleet.yaml:4: functions.ids: the function needs 4 cores, but a NIC has 3",
        ),
        ("cores: 8}", "cores: 8, colour: red}", "nics.colour: is unknown"),
        (
            "device: example",
            "device: another",
            "nat.model.json is of the device 'example', but the NICs",
        ),
        (
            "flows: 16000",
            "flows: -1",
            "functions.nat.traffic.flows: '-1' is not a number from 1 to",
        ),
        ("model: nat.model.json, ", "", "fleet.yaml:3: functions.nat: lacks model"),
        ("nat.model.json", "none.json", "functions.nat.model: none.json: no such file"),
        ("nat.model.json", "fleet.yaml", "functions.nat.model: fleet.yaml: the file is not JSON"),
        (
            ", mtbr: 9",
            "",
            "traffic lacks mtbr (matches per MB), because the model ids.model.json has an",
        ),
        ("sla: 0.9", "sla: 1.1", "functions.nat.sla: '1.1' is not a number from 1e-06 to 1; write"),
        ("sla: 0.9", "sla: 110%", "functions.nat.sla: '110' is not a number from 0.0001 to 100"),
        ("[.8, 1]", "[1, 1]", "functions.ids.sla: the list has a promised share twice"),
        ("  nat:", "  na+t:", "functions.na+t: the key is not a name"),
    ],
)
def test_fleets_that_cannot_be(folder: Path, old: str, new: str, message: str) -> None:
    file = folder / "fleet.yaml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as wrong:
        read_fleet(str(file))
    assert message in str(wrong.value)


def test_a_function_that_says_nothing_of_itself_is_named(folder: Path) -> None:
    file = folder / "ids.model.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"contention": None}))
    with pytest.raises(InputError, match="lacks the contention that the function causes"):
        read_fleet(str(folder / "fleet.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("function\n", "has no rows"),
        ("name\nnat\n", "lacks the column 'function'; it has name"),
        ("function\nnat\nnaat\n", "line 3, column function: 'naat' is not a function of"),
        ("function\nnat\nids\n", "lacks the column 'sla'"),
        ("function,sla\nnat,0.9\nids,-0.9\n", "line 3, column sla: -0.9 is negative"),
        ("function,sla\nnat,90\n", "line 2, column sla: 90 is above 1"),
        ("function,sla\nnat,900%\n", "line 2, column sla: 9 is above 1"),
        ("function,sla\nnat,much%\n", "line 2, column sla: 'much%' is not a finite number"),
        ("function,sla\nnat,\n", "line 2, column sla: the cell is empty"),
    ],
)
def test_arrivals_that_cannot_be(folder: Path, text: str, message: str) -> None:
    file = folder / "arrivals.csv"
    file.write_text(text)
    with pytest.raises(InputError) as wrong:
        read_arrivals(str(file), read_fleet(str(folder / "fleet.yaml")))
    assert message in str(wrong.value)


TRUTH = "mix,function,throughput\nnat,nat,1000\nids,ids,500\nids+nat,nat,900\nids+nat,ids,400\n"


def test_measured_mixes_are_shares_of_themselves_alone(folder: Path) -> None:
    file = folder / "mixes.csv"
    file.write_text(TRUTH)
    found = read_truth(str(file), read_fleet(str(folder / "fleet.yaml")))
    assert found.kept((0, 1)) == {0: 0.9, 1: 0.8}
    assert found.kept((0, 0)) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nat,nat,1000\n", "", "lacks a row for 'nat' alone"),
        ("ids+nat,ids,400\n", "", "mix nat+ids: the table lacks a row for the function 'ids'"),
        ("ids+nat,ids,400", "ids+acl,ids,400", "line 5, column mix: 'acl' is not a function of"),
        ("ids+nat,ids,400", "ids+nat,nat,4", "line 5, column function: the row repeats this"),
        (
            "nat,nat,1000",
            "nat,ids,1000",
            ("line 2, column function: the function 'ids' is not in the mix"),
        ),
        ("1000", "-1", "line 2, column throughput: -1 is negative"),
        (
            "mix,",
            "# device: other\nmix,",
            "line 1, device: the device is 'other', but the NICs are 'example'",
        ),
        (
            "mix,",
            "# unit throughput: Gbit/s\nmix,",
            "line 1, unit throughput: the unit is 'Gbit/s', but the models",
        ),
        ("mix,", "mixed,", "lacks the column 'mix'"),
        ("throughput", "rate", "lacks the column 'throughput'"),
    ],
)
def test_measured_mixes_that_cannot_be(folder: Path, old: str, new: str, message: str) -> None:
    file = folder / "mixes.csv"
    file.write_text(TRUTH.replace(old, new, 1))
    with pytest.raises(InputError) as wrong:
        read_truth(str(file), read_fleet(str(folder / "fleet.yaml")))
    assert message in str(wrong.value)


# --- the command ----------------------------------------------------------------------------------

WORDS = ("contention", "place", EXAMPLE / "fleet.yaml", "--arrivals", EXAMPLE / "arrivals.csv")


def test_formats_say_the_same() -> None:
    run = slowpath(*WORDS, "--format", "json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    Draft202012Validator(schema("placement")).validate(document)
    (outcome,) = document["sequences"][0]["policies"]
    rows = list(csv.DictReader(io.StringIO(slowpath(*WORDS, "--format", "csv").stdout)))
    assert [row["row"] for row in rows] == [one["row"] for one in outcome["placed"]]
    assert [int(row["nic"]) for row in rows] == [one["nic"] for one in outcome["placed"]]
    assert [float(row["kept"]) for row in rows] == [one["kept"] for one in outcome["placed"]]
    text = slowpath(*WORDS).stdout
    assert f"contention-aware  {outcome['nics']:>4}" in text
    assert "The same models place functions and judge promises" in text


def test_the_nics_of_the_best_policy_are_listed() -> None:
    policies = ("--policy", "greedy", "--policy", "contention-aware", "--policy", "optimal")
    run = slowpath(*WORDS, *policies)
    assert run.returncode == 0, run.stderr
    document = json.loads(slowpath(*WORDS, *policies, "--format", "json").stdout)
    greedy, _, optimal = document["sequences"][0]["policies"]
    assert greedy["nics"] < optimal["nics"]  # with broken promises
    head, *rest = run.stdout.partition("Placement by ")[2].splitlines()
    assert head == "optimal, the best of these policies:"
    nics = [line.split()[0] for line in rest[1 : 1 + optimal["nics"]]]
    assert nics == [str(nic) for nic in range(1, optimal["nics"] + 1)]
    assert rest[1 + optimal["nics"]].startswith("For the placement by another policy")


def test_many_nics_are_cut_short(folder: Path) -> None:
    (folder / "fleet.yaml").write_text(GOOD.replace("cores: 2", "cores: 8"))
    (folder / "arrivals.csv").write_text("function,sla\n" + "nat,0.9\n" * 23)
    words = ("contention", "place", folder / "fleet.yaml", "--arrivals", folder / "arrivals.csv")
    text = slowpath(*words, "--policy", "monopolise", "--policy", "optimal").stdout
    assert "   20  nat (" in text
    assert "   21  nat (" not in text
    assert "3 more NICs are in the output of --format csv." in text
    alone = slowpath(*words, "--policy", "monopolise").stdout
    assert "   23  nat (" in alone
    assert "Placement by" not in alone


def test_measured_mixes_judge(folder: Path) -> None:
    (folder / "mixes.csv").write_text(TRUTH)
    (folder / "arrivals.csv").write_text("function,sla\nnat,0.95\nids,0.7\n")
    words = ("contention", "place", folder / "fleet.yaml", "--arrivals", folder / "arrivals.csv")
    run = slowpath(*words, "--policy", "greedy", "--truth", folder / "mixes.csv")
    assert "nat (90.0 of 95 %, broken)" in run.stdout
    assert "Promises are judged by" in run.stdout
    assert "mixes.csv" in run.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "of --arrivals and --sequences"),
        (["--arrivals", "a.csv", "--sequences", "3"], "of --arrivals and --sequences"),
        (
            ["--arrivals", "a.csv", "--length", "3"],
            "'--length': the option is for random sequences",
        ),
        (["--sequences", "3", "--policy", "magic"], "--policy"),
        (["--sequences", "3", "--jobs", "2", "--scheduler", "tcp://x:1"], "--jobs"),
    ],
)
def test_wrong_options(words: list[str], message: str) -> None:
    run = slowpath("contention", "place", EXAMPLE / "fleet.yaml", *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


def test_wrong_files_are_one_line_and_exit_code_three(folder: Path) -> None:
    (folder / "arrivals.csv").write_text("function\nnaat\n")
    words = ("contention", "place", folder / "fleet.yaml", "--arrivals", folder / "arrivals.csv")
    run = slowpath(*words)
    assert (run.returncode, run.stdout) == (3, "")
    (line,) = run.stderr.splitlines()
    assert line.endswith(
        f"line 2, column function: 'naat' is not a function of {folder / 'fleet.yaml'}, "
        "which has nat, ids"
    )


def test_who_has_to_be_sure_counts_on_less() -> None:
    mixes = possible_mixes(FLEET)
    kept = {}
    for sure in (None, 0.75, 0.95):
        predicted = PredictedShares(FLEET, sure)
        predicted.fill(mixes)
        kept[sure] = np.array([predicted.shares.kept[predicted.shares.row(m)] for m in mixes])
    several = np.array([len(mix) > 1 for mix in mixes])
    assert (kept[0.75] <= kept[None] + 1e-9).all()
    assert (kept[0.95] <= kept[0.75] + 1e-9).all()
    assert (kept[0.95][several] < kept[None][several]).any()
    assert (kept[0.95][~several] == kept[None][~several]).all()  # always 1


NO_NICS = np.zeros(0, dtype=np.intp)
"""The mix of each NIC in use: an empty array, because no NIC is in use."""

# --- prices ---------------------------------------------------------------------------------------


class KnownShares(PredictedShares):
    """Throughputs of mixes that are all known, so that no predictions are needed."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares

    def fill(self, mixes: object, pool: object = None) -> None:
        """Predict nothing, because all throughputs are known."""


def alike(kept: Sequence[float]) -> KnownShares:
    """Return the share of solo throughput that each copy of a function keeps.

    The first value is for one copy on the NIC, the next one for two copies, and so on.
    """
    shares = Shares(1)
    for count, share in enumerate(kept, 1):
        shares.add((0,) * count, np.array([share]), np.array([share]))
    return KnownShares(shares)


def promising(*sla: float) -> Fleet:
    """Return a fleet with one function, for whose arrivals the throughputs `sla` are promised.

    They are shares of solo throughput.
    """
    fleet = fleet_of((1,))
    return fleet._replace(functions=(fleet.functions[0]._replace(sla=sla),))


def test_prices_are_those_of_the_linear_program() -> None:
    """Check the value of free room on a NIC against the dual linear program, solved by hand.

    Two instances with 95 % of their solo throughput fill a NIC, or four with 80 %. So one instance
    costs 1/2 or 1/4 of a NIC.
    """
    fleet = promising(0.8, 0.95)
    shares = alike((1.0, 0.95, 0.9, 0.8))
    prices = Prices(shares.shares, possible_mixes(fleet))
    prices.renew([Demand(fleet).expected(100)], NO_NICS, np.zeros((0, 1)))
    rows = shares.rows([(0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)])
    promised = np.array([[0.8], [0.8], [0.8], [0.8]])
    assert prices.values(rows, promised) == pytest.approx([0.75, 0.5, 0.25, 0.0])
    # A function with a promise of 95 % leaves only one more place with 95 %.
    assert prices.values(rows[:1], np.array([[0.95]])) == pytest.approx([0.5])


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_no_mix_is_worth_more_than_a_nic(seed: int) -> None:
    """Check that no mix of functions is worth more than one NIC at the computed prices.

    Prices are a solution of the dual linear program, so a mix in the optimal plan is worth exactly
    one NIC.
    """
    draw = np.random.default_rng(seed)
    shares, mixes = Shares(3), possible_mixes(FLEET)
    for mix in mixes:
        kept = np.array([draw.uniform(0.6, 1) if at in mix else np.inf for at in range(3)])
        shares.add(mix, kept, kept)
    prices = Prices(shares, mixes)
    demand = Demand(FLEET)
    for function, promise in zip(draw.integers(3, size=30), draw.choice(SLAS, 30), strict=True):
        demand.add(int(function), float(promise))
    prices.renew([demand.expected(100)], NO_NICS, np.zeros((0, 3)))
    worth = prices.worth().sum(axis=1)
    assert worth.max() == pytest.approx(1.0)
    assert worth.min() >= -1e-9


@pytest.mark.parametrize(("policy", "most"), [("contention-aware", 41), ("bid-price", 32)])
def test_prices_keep_like_promises_together(policy: str, most: int) -> None:
    """Check that policies with prices put functions with equal promises on the same NICs.

    The policy first-fit mixes promises of 95 % and 80 % of solo throughput, and half of each NIC
    stays unused.
    """
    fleet = promising(0.8, 0.95)
    shares = alike((1.0, 0.95, 0.9, 0.8))
    arrivals = arriving(*[(0, 0.95), (0, 0.8)] * 40)
    found = place(fleet, arrivals, policy, shares)
    assert most - 2 <= found.nics <= most
    assert not judge(found, arrivals, Judge(shares.shares, None)).broken.any()


def test_prices_turn_nobody_away_who_has_a_place() -> None:
    fleet = fleet_of((1,), most=2)
    found = place(fleet, arriving(*[(0, 0.75)] * 9), "bid-price", alike((1.0, 0.95, 0.9, 0.8)))
    assert sorted(found.nic) == [TURNED_AWAY, 0, 0, 0, 0, 1, 1, 1, 1]
