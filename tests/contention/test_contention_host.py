"""Tests profiles that are measured on this machine: runs, competitors, CPUs, and files.

No test depends on speed.
"""

import csv
import itertools
import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sklearn.isotonic import IsotonicRegression

from contention_short import shorten_profiles
from running_kernel import needs_kernel
from slowpath.app import app
from slowpath.contention.profiling.folder import TABLES, queued_time
from slowpath.contention.profiling.machine import (
    FELT,
    CpuMonitor,
    Level,
    bubble_sizes,
    calibrated,
    probe_bytes,
)
from slowpath.contention.profiling.mixes import (
    Client,
    CpuAssignment,
    MemBench,
    Point,
    Rate,
    Timing,
    Traffic,
    kinds_of_mixes,
    measure_interleaved,
    median,
    mix_of,
    probed,
)
from slowpath.contention.profiling.profiler import RequestRow, request_time
from slowpath.contention.profiling.run import load_setup, read_setup
from slowpath.contention.profiling.setup import Function, Program
from slowpath.contention.reading import (
    read_accelerator,
    read_memory,
    read_own_contention,
)
from slowpath.core import codes
from slowpath.core.engine import neighbours
from slowpath.core.engine.objects import read_object
from slowpath.core.engine.report_types import Block, Reading, Surroundings
from slowpath.core.errors import InputError, StoppedError, UnavailableError
from slowpath.core.schema.validation import schema
from support import ROOT, slowpath

TINY = ROOT / "tests/contention/contention_tiny.yaml"
EXAMPLES = sorted((ROOT / "examples/contention").glob("*.yaml"))

# --- blocks ---------------------------------------------------------------------------------------


def reading(items: int, share: float = 1.0) -> Reading:
    """Return made-up results of a thread for one second; `share` is its share of CPU time."""
    done = {"items": items, "bytes": 0, "results": 0, "nanoseconds": 0}
    found: Reading = {
        "of": 0,
        "name": "function",
        "cpu": 0,
        "seconds": 1.0,
        "cpu_seconds": share,
        "served": [done],  # type: ignore[list-item]
        "counted": None,
    }
    return found


class Bench:
    """A fake machine with given results for runs alone, and for runs next to competitors."""

    def __init__(self, alone: Iterator[Reading], beside: Iterator[Reading]) -> None:
        self._sides = {False: alone, True: beside}
        self.order = list[bool]()

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        assert (warm, seconds) == (0.5, 2.0)
        self.order.append(beside)
        competitors = [reading(7)] if beside else []
        return {"subjects": [next(self._sides[beside])], "competitors": competitors}


def test_blocks_take_turns_and_disturbed_turns_are_made_again() -> None:
    alone = iter([reading(100), reading(5, share=0.5), reading(104), reading(102)])
    beside = iter([reading(50), reading(90), reading(52), reading(51)])
    bench = Bench(alone, beside)
    turns = measure_interleaved(bench, Timing(3, 2.0, 0.5))
    assert bench.order == [False, True] * 4
    assert turns.alone == Rate(102, 100, 104, 3, 1)
    assert turns.beside == Rate(51, 51, 51, 3, 0)  # half of the rate alone in each of three turns
    assert turns.competitor == 7
    assert turns.slowdown == 2.0


def test_something_else_is_measured_in_the_same_turns() -> None:
    bench = Bench(map(reading, [100, 70, 60]), map(reading, [50, 40, 30]))
    client = Bench(iter([reading(20), reading(9, share=0.5), reading(18)]), iter([]))
    turns = measure_interleaved(bench, Timing(2, 2.0, 0.5), reference=client)
    assert bench.order == [False, True] * 3
    assert client.order == [False] * 3
    assert turns.alone == Rate(70, 60, 100, 3, 0)
    assert turns.reference == Rate(17.5, 14, 21, 2, 1)
    assert turns.slowdown == 2.0


def test_disturbed_blocks_are_taken_where_there_are_no_others() -> None:
    busy = itertools.cycle([reading(10, share=0.9), reading(30, share=0.9)])
    half = itertools.cycle([reading(5), reading(15)])
    turns = measure_interleaved(Bench(busy, half), Timing(2, 2.0, 0.5))
    assert turns.alone == Rate(20, 10, 30, 6, 6)
    assert turns.beside == Rate(10, 10, 10, 6, 0)
    assert turns.slowdown == 2.0


def test_rates_are_by_neighbouring_blocks() -> None:
    changing = [100, 300, 50, 80, 100]  # load outside slows down all blocks of a turn
    alone = iter([reading(one) for one in changing])
    beside = iter([reading(one // 2) for one in changing])
    client = iter([reading(3 * one) for one in [*changing[:3], 20, 20]])
    turns = measure_interleaved(
        Bench(alone, beside), Timing(5, 2.0, 0.5), reference=Bench(client, iter([]))
    )
    assert turns.slowdown == 2.0
    assert turns.beside == Rate(50, 50, 50, 5, 0)
    assert turns.reference == Rate(300, 60, 300, 5, 0)


def test_threads_that_were_never_there_are_an_error() -> None:
    nothing = itertools.repeat(reading(0))
    with pytest.raises(UnavailableError, match="other programs occupy the CPUs, so"):
        measure_interleaved(Bench(nothing, itertools.repeat(reading(1))), Timing(2, 2.0, 0.5))


class Around:
    """A fake detector of other load on the machine.

    Each query takes the next value of `quiet`; true means that no other load was found.
    """

    def __init__(self, quiet: Sequence[bool]) -> None:
        self._quiet = iter(quiet)

    def wait(self, _go_on: Callable[[], None]) -> bool:
        return next(self._quiet)

    def quiet(self) -> bool:
        return next(self._quiet)


def test_blocks_with_others_on_the_processor_are_made_again() -> None:
    alone = map(reading, [100, 70, 102, 104])
    beside = map(reading, [50, 52, 51, 52])
    # The detector looks before and after each block. Other programs run from the first block with
    # competitors until before the second block alone.
    around = Around([True, True, True, False, False, *[True] * 10])
    turns = measure_interleaved(Bench(alone, beside), Timing(2, 2.0, 0.5), detector=around)
    assert turns.alone == Rate(102, 100, 104, 3, 1)
    assert turns.beside == Rate(51, 51, 51, 2, 1)
    assert turns.slowdown == 2.0


def observed(handover: float | None, *paces: float, alone: float = 23e-6) -> Surroundings:
    return {"handover": handover, "alone": alone, "paces": list(paces)}


NEAR, FAR = observed(60e-9, 23e-6, 23e-6), observed(310e-9, 23e-6, 23e-6)
ONE_CORE = observed(27e-9, 38e-6, 38e-6)


def monitor_of(*observations: Surroundings, limit: float = 0.0) -> CpuMonitor:
    """Return a monitor of two CPUs with these made-up observations; the last one is repeated."""
    following = itertools.chain(observations, itertools.repeat(observations[-1]))
    return CpuMonitor((0, 1), limit, lambda _one, _other: next(following), patience=0)


@pytest.mark.parametrize(
    ("found", "is_quiet", "in_place"),
    [
        (NEAR, True, True),
        (observed(70e-9, 19e-6, 23e-6), True, True),
        (FAR, False, False),
        (ONE_CORE, False, False),
        (observed(None, 23e-6, 23e-6), False, True),  # no answer
        (observed(60e-9, 33e-6, 23e-6, alone=33e-6), False, True),  # other load on the core
        (observed(60e-9, 23e-6, 33e-6), False, True),
    ],
)
def test_surroundings_are_quiet_where_cpus_share_a_cache_and_nothing_else(
    found: Surroundings, is_quiet: bool, in_place: bool
) -> None:
    monitor = monitor_of(*[NEAR] * 60, found)
    assert monitor.quiet() is is_quiet
    assert monitor.wait() is is_quiet
    assert monitor.misplaced == (0 if in_place else 1)


def test_cpus_that_were_behind_one_cache_are_to_be_there_however_seldom_it_is() -> None:
    monitor = monitor_of(*[FAR] * 60, *[NEAR] * 30, *[FAR] * 900, NEAR)
    found = [monitor.quiet() for _ in range(931)]
    # A placement counts once it was observed 20 times.
    assert found == [False] * 19 + [True] * 11 + [False] * 900 + [True]


def test_cpus_that_are_never_nearer_are_waited_for_once() -> None:
    monitor = monitor_of(FAR, limit=0.02)
    assert not monitor.quiet()
    # Wait as long as the limit allows.
    assert monitor.wait()
    assert monitor.quiet()
    assert 0 < monitor.misplaced < 1


def test_one_core_is_no_place_though_others_hide_it_now_and_then() -> None:
    """Check that two logical CPUs of one core are rejected, even if one observation differs.

    Other work can slow down the loop that runs alone, so that a second loop seems to cost nothing.
    """
    hidden = observed(27e-9, 38e-6, 38e-6, alone=33e-6)
    monitor = monitor_of(*[NEAR] * 60, *[ONE_CORE, ONE_CORE, hidden] * 30, NEAR)
    assert [monitor.quiet() for _ in range(91)] == [False] * 90 + [True]


def test_two_threads_of_one_core_are_taken_as_that() -> None:
    monitor = monitor_of(ONE_CORE)
    assert monitor.quiet()
    assert monitor.misplaced == 0


def test_who_waits_can_be_stopped() -> None:
    monitor = monitor_of(*[NEAR] * 60, FAR, limit=1e9)

    def stop() -> None:
        raise StoppedError(codes.INTERRUPTED, "this machine", "stopped")

    with pytest.raises(StoppedError):
        monitor.wait(stop)


def test_clocks_that_have_become_slower_are_usual_after_a_while() -> None:
    slower = observed(80e-9, 33e-6, 33e-6, alone=33e-6)
    monitor = monitor_of(*[NEAR] * 60, slower)
    assert not monitor.quiet()
    assert any(monitor.quiet() for _ in range(500))


@pytest.mark.parametrize("count", [1, 2, 5, 7, 10, 25])
def test_intervals_of_medians_have_them_as_often_as_they_say(count: int) -> None:
    draw = random.Random(count)  # noqa: S311 - no secret
    drawn = [median([draw.expovariate(1) for _ in range(count)]) for _ in range(2000)]
    true = np.log(2)
    covered = statistics.fmean(one.low <= true <= one.high for one in drawn)
    # With n values, the median is outside their range with probability 2^(1 - n).
    wanted = min(0.9, 1 - 2 ** (1 - count))
    assert covered > wanted - 0.025
    assert all(one.low <= one.value <= one.high for one in drawn)


# --- scores ---------------------------------------------------------------------------------------

SLOWDOWNS = st.lists(st.floats(0.9, 5), min_size=1, max_size=12)


@given(SLOWDOWNS)
def test_the_curve_rises_as_isotonic_regression_has_it(slowdowns: list[float]) -> None:
    measured = [Level(2.0**at, one) for at, one in enumerate(slowdowns)]
    curve = calibrated(measured)
    fitted = IsotonicRegression().fit_transform(np.arange(len(slowdowns)), slowdowns)
    different = np.unique(np.round(np.maximum(fitted, 1.0), 9))
    counted = different[different >= FELT]
    wanted = counted if counted.size else different[-1:]
    found = np.unique(np.round([one.slowdown for one in curve.levels], 9))
    np.testing.assert_allclose(found, wanted, atol=1e-8)
    assert [*curve.levels] == sorted(curve.levels)


@given(SLOWDOWNS, st.floats(0.5, 6), st.floats(0.5, 6))
def test_who_disturbs_more_has_no_smaller_score(
    slowdowns: list[float], one: float, other: float
) -> None:
    curve = calibrated([Level(2.0**at, each) for at, each in enumerate(slowdowns)])
    less, more = sorted((one, other))
    assert 0 <= curve.score(less) <= curve.score(more) <= curve.levels[-1].megabytes


def test_a_score_is_the_bubble_that_disturbs_as_much() -> None:
    curve = calibrated([Level(1, 1.2), Level(4, 2.0), Level(16, 3.0)])
    for size in (0.25, 1, 2, 4, 9, 16):
        assert curve.score(curve.slowdown(size)) == pytest.approx(size)
    assert curve.score(0.99) == 0
    assert curve.score(99) == 16
    assert bubble_sizes(32 << 20, 9)[::8] == [1 << 18, 1 << 26]
    with pytest.raises(ValueError, match="no levels"):
        calibrated([])


def test_scatter_beside_bubbles_that_the_probe_does_not_feel_is_no_size() -> None:
    bubbles = [Level(0.5, 0.99), Level(1, 1.004), Level(2, 1.01), Level(4, 1.012)]
    curve = calibrated([*bubbles, Level(8, 2.0), Level(16, 3.0)])
    assert curve.levels == (Level(8, 2.0), Level(16, 3.0))
    assert curve.score(1.012) == pytest.approx(0.012 * 8)
    assert calibrated(bubbles).levels == (Level(4, 1.012),)


def test_the_probe_is_larger_than_caches_that_nobody_shares() -> None:
    megabyte = 1 << 20
    assert probe_bytes(32 * megabyte, megabyte) == 4 * megabyte
    assert probe_bytes(6 * megabyte, megabyte) == 2 * megabyte
    assert probe_bytes(2 * megabyte, 2 * megabyte) == 2 * megabyte
    assert probe_bytes(8 * megabyte, 0) == megabyte


# --- who runs where -------------------------------------------------------------------------------

TRAFFIC = Traffic(100, 256, 500.0)
BENCH = MemBench(1 << 20, "updates", None)
CLIENT = Client(512, 100.0, 1e5, 2)


def function(pattern: Any, service: Any = "regex") -> Function:
    return Function("nf", ("nat",), service, pattern, 8)


def test_each_thread_has_a_cpu_of_its_own() -> None:
    one, two = CpuAssignment([4, 6]), CpuAssignment([4, 6, 7])
    whole = function("run-to-completion")
    ([subject], [competitor], _) = mix_of(whole, Point(TRAFFIC, BENCH, CLIENT), one)
    assert (subject["cpu"], competitor["cpu"]) == (4, 6)
    assert "accelerator_cpu" not in subject
    assert subject["clients"] == [{"packet_bytes": 512, "mtbr": 100.0, "rate": 1e5, "queues": 2}]
    staged = function("pipeline")
    ([subject], [competitor], _) = mix_of(staged, Point(TRAFFIC, BENCH, CLIENT), two)
    assert (subject["cpu"], subject["accelerator_cpu"], competitor["cpu"]) == (4, 6, 7)
    # With a competitor for memory only, the header stage runs alone.
    ([subject], [competitor], _) = mix_of(staged, Point(TRAFFIC, BENCH, None), one)
    assert (subject["service"], subject["pattern"]) == (None, "run-to-completion")
    ([probe], [competitor], _) = probed(staged, TRAFFIC, one, 4096)
    assert (probe["kind"], probe["cpu"], competitor["cpu"]) == ("probe", 4, 6)


def test_a_program_is_given_to_the_engine_with_its_traffic() -> None:
    content = read_object("counts", (ROOT / "examples/count_min.4.bpf.o").read_bytes())
    program = Program(content, 0, "192.0.2.9", None)
    nf = Function("nf", (), None, "run-to-completion", 8, program)
    spec = mix_of(nf, Point(TRAFFIC, BENCH, None), CpuAssignment([4, 6]))
    assert spec.subjects == [{"kind": "given", "cpu": 4, "work": 0}]
    [fed] = spec.programs
    assert (fed.content, fed.program) == (content, 0)
    assert fed.traffic == {
        "flows": TRAFFIC.flows,
        "packet_bytes": TRAFFIC.size,
        "destination": "192.0.2.9",
        "destination_port": None,
    }
    beside = probed(nf, TRAFFIC, CpuAssignment([4, 6]), 4096)
    assert beside.competitors == [{"kind": "given", "cpu": 6, "work": 0}]
    assert beside.programs == spec.programs


def test_what_takes_three_cpus_is_left_out_on_two() -> None:
    few, enough = CpuAssignment([0, 1]), CpuAssignment([0, 1, 2])
    staged, whole = function("pipeline"), function("run-to-completion")
    both = {"memory": True, "client": True}
    assert kinds_of_mixes(staged, few, **both) == ["memory", "accelerator"]
    assert kinds_of_mixes(staged, enough, **both) == ["memory", "accelerator", "both"]
    assert kinds_of_mixes(whole, few, **both) == ["memory", "accelerator", "both"]
    assert kinds_of_mixes(whole, few, memory=True, client=False) == ["memory"]


def test_request_times_are_between_those_that_were_measured() -> None:
    rows = [RequestRow(mtbr, Rate(t, t, t, 1, 0)) for mtbr, t in ((0, 1.0), (100, 3.0), (200, 4.0))]
    assert [request_time(rows, at) for at in (0, 50, 100, 150, 999)] == [1, 2, 3, 3.5, 4]
    assert queued_time(1.0, Client(512, 0, None, 3), 0.5) == 1.5
    # Below saturation, the requests of the client take a quarter of the time and leave 3/4.
    assert queued_time(1.0, Client(512, 0, 0.5, 1), 0.5) == pytest.approx(1 / 0.75 - 1)


# --- descriptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid(example: Path) -> None:
    assert load_setup(str(example)).function.name == example.stem


WRONG = {
    "schema: 1": ("schema: 2", "t.yaml:2: schema: 2 is not between 1 and 1"),
    "name: tiny": ("name: Tiny NF", "t.yaml:3: name: 'Tiny NF' is not a name"),
    "stages: [nat]": ("stages: [nat, dpi]", "t.yaml:4: function.stages[2]: 'dpi' is not one of"),
    "accelerator: regex, p": (
        "p",
        "t.yaml:5: traffic.mtbr: the function needs an `accelerator`, which searches payloads",
    ),
    "pattern: run-to-completion": (
        "pattern: both",
        "t.yaml:4: function.pattern: 'both' is not one",
    ),
    "flow_count: [100, 1000]": (
        "flow_count: [9, 1]",
        "traffic.flow_count: the value is not a range; write",
    ),
    "packet_size_bytes: [128": ("packet_size_bytes: [12", "packet_size_bytes[1]: 12 is not betw"),
    "working_set_bytes": ("wss_mb", "t.yaml:7: competitors.memory.wss_mb: is unknown"),
    "repetitions: 2": (
        "repetitions: -2",
        "t.yaml:9: effort.repetitions: '-2' is not a whole number",
    ),
}


@pytest.mark.parametrize("right", WRONG)
def test_errors_name_file_line_and_key(right: str) -> None:
    wrong, message = WRONG[right]
    text = TINY.read_text()
    assert right in text
    with pytest.raises(InputError) as problem:
        read_setup("t.yaml", text.replace(right, wrong, 1))
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("{pattern: pipeline, stages: [nat]}", "a pipeline needs an `accelerator`"),
        ("{pattern: pipeline, accelerator: regex}", "a pipeline needs `stages`"),
        ("{pattern: run-to-completion}", "needs `stages` or an `accelerator`"),
        ("{pattern: run-to-completion, stages: [{router: {}, acl: {}}]}", "must be one of flow-st"),
    ],
)
def test_functions_that_make_no_sense(parts: str, message: str) -> None:
    text = f"schema: 1\nname: t\nfunction: {parts}\ntraffic: {{}}\ncompetitors: {{}}\n"
    with pytest.raises(InputError, match=r"t.yaml:3: function") as problem:
        read_setup("t.yaml", text)
    assert message in str(problem.value)


XDP = f"""schema: 1
name: counts
function: {{xdp: {{object: {ROOT}/examples/count_min.4.bpf.o}}}}
traffic: {{flow_count: [100, 5000], packet_size_bytes: [64, 1500]}}
competitors: {{memory: {{working_set_bytes: [10_000, 1_000_000], configurations: 2}}}}
effort: {{mixes: 5, pairs: 1, block_ms: 5, warm_ms: 0, repetitions: 2}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("count_min.4", "missing", "t.yaml:3: function.xdp.object: "),
        (
            "bpf.o}",
            "bpf.o, program: other}",
            "function.xdp.program: .* does not have a program other; it",
        ),
        (
            "examples/count_min.4.bpf.o",
            "examples/two_protocols.asm",
            "is an NFP listing",
        ),
        ("bpf.o}", "bpf.o, destination: 10.0.0}", "'10.0.0' is not an IPv4 address such as"),
        ("bpf.o}", "bpf.o, destination_port: 65536}", "65536 is not between 0 and 65,535"),
        ("bpf.o}}", "bpf.o}, stages: [nat]}", "function.stages: is unknown; choose one of xdp"),
        (
            "1500]}",
            "9000]}",
            "t.yaml:4: traffic.packet_size_bytes.2.: 9000 is not between 64 and 3,500",
        ),
        ("1500]}", "1500], mtbr: 100}", "needs an `accelerator`, which searches payloads"),
    ],
)
def test_programs_that_make_no_sense(right: str, wrong: str, message: str) -> None:
    assert right in XDP
    with pytest.raises(InputError, match=message):
        read_setup("t.yaml", XDP.replace(right, wrong, 1))


def test_sizes_of_tables() -> None:
    text = TINY.read_text().replace("[nat]", "[{router: {prefixes: 5}}, acl, {acl: {rules: 7}}]")
    stages = read_setup("t.yaml", text).function.stages
    assert stages == ({"router": {"prefixes": 5}}, {"acl": {"rules": 1000}}, {"acl": {"rules": 7}})
    with pytest.raises(InputError, match="is empty"):
        read_setup("t.yaml", " ")


# --- the command ----------------------------------------------------------------------------------


def needs_two_cpus() -> None:
    allowed = neighbours.cpus(None, 1, "a test")
    if len(allowed) < 2:
        reason = f"a profile takes 2 CPUs, and these tests may use CPU {allowed[0]} only"
        pytest.skip(f"{reason}; run them where there are 2, or allow another one (taskset, cpuset)")


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def profiled(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `slowpath contention profile` for a short time in this process.

    It returns exit code, output and errors. If other programs keep a thread from its CPU for a
    whole block, it measures again with longer blocks.
    """
    shorten_profiles(monkeypatch)
    monkeypatch.chdir(ROOT)

    def run(description: Path, *words: str | Path) -> tuple[int, str, str]:
        text = description.read_text()
        for block_ms in (5, 50, 500):
            description.write_text(text.replace("block_ms: 5,", f"block_ms: {block_ms},"))
            code = app(["contention", "profile", str(description), *map(str, words)])
            output, errors = capfd.readouterr()
            if "make blocks longer (block_ms)" not in errors:
                break
        return code, output, errors

    return run


def test_a_program_is_profiled(tmp_path: Path) -> None:
    """Check a profile that is measured as users do it, with buffers and waits for this machine."""
    needs_two_cpus()
    needs_kernel()
    described, folder = tmp_path / "counts.yaml", tmp_path / "counts.profile"
    described.write_text(XDP)
    run = slowpath("contention", "profile", str(described), "-o", str(folder), "--format", "json")
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout)
    assert (record["mixes"], record["function"], record["left_out"]) == (5, "counts", [])
    memory = read_memory([str(folder / "memory.csv")])
    assert len(memory.rows) == 10
    assert all(memory.throughput > 0)
    assert not (folder / "accelerator.csv").exists()
    own = read_own_contention(str(folder / "contention.csv"), memory.origin)
    assert len(own.rows) == 6


def test_a_program_that_cannot_be_fed_is_an_error(tmp_path: Path, profiled: Run) -> None:
    needs_two_cpus()
    needs_kernel()
    described, wrong = tmp_path / "draws.yaml", "crates/ingress/tests/objects/packets.bpf.o"
    text = XDP.replace("examples/count_min.4.bpf.o}", f"{wrong}, program: draws}}")
    described.write_text(text)
    code, _, errors = profiled(described, "-o", tmp_path / "draws.profile")
    assert code == 3, errors
    assert "depends not only on the flow of the packet" in errors


def test_a_profile_is_what_training_takes(tmp_path: Path, profiled: Run) -> None:
    needs_two_cpus()
    description, folder = tmp_path / "tiny.yaml", tmp_path / "nf.profile"
    description.write_text(TINY.read_text())
    code, output, errors = profiled(description, "-o", folder, "--format", "json")
    assert code == 0, errors
    record = json.loads(output)
    Draft202012Validator(schema("profile")).validate(record)
    assert record == json.loads((folder / "profile.json").read_text())
    assert (record["mixes"], record["function"], record["left_out"]) == (15, "tiny", [])
    memory = read_memory([str(folder / "memory.csv")])
    assert (len(memory.rows), set(memory.columns)) == (
        10,
        {"flow_count", "packet_size_bytes", "score"},
    )
    assert (memory.origin.source, memory.origin.unit) == ("measured", "packets/s")
    assert memory.origin.mtbr == 0
    assert memory.origin.cache_mb == record["cache_bytes"] / 1e6
    requests = read_accelerator(str(folder / "accelerator.csv"), memory.origin)
    assert [*requests.mtbr] == [0, 250, 500, 750, 1000]
    own = read_own_contention(str(folder / "contention.csv"), memory.origin)
    assert len(own.rows) == 6
    with (folder / "mixes.csv").open() as file:
        mixes = [*csv.DictReader(line for line in file if not line.startswith("#"))]
    assert len(mixes) == 15
    for at, mix in enumerate(mixes):
        assert float(mix["low"]) <= float(mix["throughput"]) <= float(mix["high"])
        assert (mix["working_set_bytes"] == "", mix["client_mtbr"] == "") == (
            at % 3 == 1,
            at % 3 == 0,
        )
        assert (float(mix["inverse_throughput_sum"]) > 0) == (at % 3 != 0)
    # The request times of such short blocks can fall with the match ratio, which is an error.
    (folder / "accelerator.csv").unlink()
    model = tmp_path / "nf.model.json"
    words = ("--recipe", "ridge-pressure", "--pattern", "run-to-completion", "-o", str(model))
    train = slowpath("contention", "train", str(folder), *words)
    assert train.returncode == 0, train.stderr
    traffic = "flows=500,size=256,mtbr=100"
    predict = slowpath(
        "contention", "predict", str(model), "--traffic", traffic, "--with", str(model)
    )
    assert predict.returncode == 0, predict.stderr


@pytest.mark.parametrize("plan", ["adaptive", "active"])
def test_plans_that_ask_are_profiled(tmp_path: Path, profiled: Run, plan: str) -> None:
    needs_two_cpus()
    described, folder = tmp_path / "counts.yaml", tmp_path / "nf.profile"
    text = TINY.read_text().replace(", accelerator: regex", "").replace(", mtbr: [0, 1000]", "")
    text = text.replace("  accelerator: {packet_size_bytes: 256}\n", "")
    described.write_text(text)
    code, output, errors = profiled(described, "-o", folder, "--plan", plan, "--mixes", "9")
    assert code == 0, errors
    record = json.loads((folder / "profile.json").read_text())
    Draft202012Validator(schema("profile")).validate(record)
    assert (record["mixes"], record["wanted"], record["plan"]["name"]) == (9, 9, plan)
    assert (record["plan"]["relevant"] is None) == (plan == "active")
    assert ("The solo throughput varies by" in output) == (plan == "adaptive")
    unused = len(record["plan"]["unused"])
    assert len(read_memory([str(folder / "memory.csv")]).rows) == 2 * (9 - unused)


def test_a_deadline_ends_it_before_anything_is_known(tmp_path: Path) -> None:
    needs_two_cpus()
    words = ("-o", str(tmp_path / "p"), "--deadline", "0")
    run = slowpath("contention", "profile", str(TINY), *words)
    assert run.returncode == 3
    assert run.stderr.startswith(
        "error: this machine: the profile stopped before anything was measured; "
    )
    assert not (tmp_path / "p").exists()


def test_too_few_cpus_are_an_error_that_says_what_it_takes(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    cpu = neighbours.cpus(None, 1, "a test")[0]
    file.write_text(TINY.read_text() + f"cpus: [{cpu}]\n")
    run = slowpath("contention", "profile", str(file), "-o", str(tmp_path / "p"))
    assert run.returncode == 3
    message = f"a function beside a competitor needs 2 CPUs; this process may use 1: {cpu}"
    assert run.stderr == f"error: this machine: {message}\n"
    file.write_text(TINY.read_text() + "cpus: [0, 60000]\n")
    run = slowpath("contention", "profile", str(file), "-o", str(tmp_path / "p"))
    assert "CPU 60000 is not among the CPUs that this process may use" in run.stderr


def test_a_folder_without_tables_is_an_error(tmp_path: Path) -> None:
    run = slowpath("contention", "train", str(tmp_path))
    assert run.returncode == 3
    assert f"lacks the tables of a profile: {', '.join(TABLES)}" in run.stderr
