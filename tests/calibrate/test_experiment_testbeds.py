"""Tests the test beds: computed costs are exact, and measurements run.

No test depends on measured times.
"""

import re
import shutil
from pathlib import Path

import pytest

import oracles
from calibrating import LIMITS, bed_of, calibrated, fewest_samples, needs_dpdk
from running_kernel import needs_kernel
from slowpath.calibrate.experiments.evaluation import evaluate
from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.experiments.running import RunCallbacks, metric_on, run, run_settings
from slowpath.calibrate.experiments.specification import (
    Experiment,
    read_experiment,
    shipped_experiment,
    shipped_names,
    with_range,
)
from slowpath.calibrate.testbeds import dpdk as dpdk_bed
from slowpath.calibrate.testbeds import dpdk_programs, xdp_programs
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.jobs import Stopping
from slowpath.models.parts import evaluate as predict
from support import CAMPAIGN

# --- computed: cost of each step of the sweep, worked out by hand ---------------------------------

EXACT = [
    # A comparison with its jump is one instruction, and so is a 64-bit constant.
    ("ebpf", "arithmetic-add", 1),
    ("ebpf", "arithmetic-constant", 1),
    ("ebpf", "arithmetic-divide", 1),
    ("ebpf", "calls", 5),  # the call, three instructions of the function, and a move of the result
    ("ebpf", "field-writes-header", 1),
    ("ebpf", "parser-branches", 1),
    (
        "ebpf",
        "parser-headers",
        7,
    ),  # bounds check (3), type, check of the type, a field, and its addition
    ("ebpf", "state-reads", 2),  # a load and an addition
    ("ebpf", "state-writes", 1),
    ("ebpf", "table-exact-repeats", 7),  # map, key (2), call, check, load, addition
    ("ebpf", "table-exact-tables", 7),
    ("ebpf", "table-exact-entries", 0),
    ("ebpf", "table-lpm-repeats", 7),
    ("ebpf", "table-lpm-tables", 7),
    ("ebpf", "table-lpm-key-bytes", 0),
    ("ebpf", "table-lpm-ipv6-prefix-bits", 0),
    ("ebpf", "table-lpm-value-bytes", 0),
    # For each of 16 entries, 4 bytes of the key take three loads and three operations.
    ("ebpf", "table-ternary-linear-key-bytes", 24),
    # For each of 16 entries: index, map, key (2), call, check, 4 bytes as above, check, next (2).
    ("ebpf", "table-ternary-linear-repeats", 229),
    ("ebpf", "table-ternary-linear-tables", 229),
    ("ebpf", "table-ternary-linear-value-bytes", 0),
    ("ebpf", "table-ternary-tuples-key-bytes", 2),  # each word is copied for four masks
    ("ebpf", "table-ternary-tuples-repeats", 57),
    ("ebpf", "table-ternary-tuples-tables", 57),
    ("ebpf", "table-ternary-tuples-value-bytes", 0),
    # The card has one instruction for each half of a 64-bit operation.
    ("agilio-cx-2x40", "arithmetic-add", 2),
    ("agilio-cx-2x40", "arithmetic-xor", 2),
    ("agilio-cx-2x40", "arithmetic-constant", 4),  # two 16-bit parts for each half
    ("agilio-cx-2x40", "parser-headers", 18),
    ("agilio-cx-2x40", "state-atomic-adds", 7),
    ("agilio-cx-2x40", "table-ternary-linear-repeats", 831),
    ("agilio-cx-2x40", "table-ternary-linear-value-bytes", 0),
]


@pytest.mark.parametrize(("bed", "name", "step"), EXACT)
def test_models_of_what_is_computed_are_exactly_right(
    tmp_path: Path, bed: str, name: str, step: int
) -> None:
    experiment = with_range(shipped_experiment(name), None, None, 5 if CAMPAIGN > 1 else 3)
    found = calibrated(tmp_path, bed, experiment)
    points, model = found["result"]["points"], found["result"]["model"]
    assert found["measurement"]["state"] == "complete"
    assert not found["measurement"]["errors"]
    first = points[0]
    expected = [first["cost"] + step * (one["value"] - first["value"]) for one in points]
    assert [one["cost"] for one in points] == expected
    assert all(one["low"] == one["high"] == one["cost"] for one in points)
    assert model is not None
    (segment,) = model["segments"]
    assert segment["template"] == ("polynomial-1" if step else "polynomial-0")
    between = [one["value"] + 0.5 for one in points[:-1]]
    predicted = predict(model, between).y
    for x, y in zip(between, predicted, strict=True):
        assert y == pytest.approx(first["cost"] + step * (x - first["value"]), rel=1e-9, abs=1e-9)


def test_what_the_card_cannot_run_has_a_reason_at_each_point(tmp_path: Path) -> None:
    experiment = with_range(shipped_experiment("arithmetic-divide"), None, None, 2)
    experiment["testbeds"] = ["agilio-cx-2x40"]
    found = calibrated(tmp_path, "agilio-cx-2x40", experiment)
    assert found["measurement"]["state"] == "failed"
    assert all("division" in one["reason"] for one in found["measurement"]["errors"])
    assert found["result"]["reason"] == "no value of the parameter was measured"


# --- measured -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["headers-added", "table-exact-entries", "branches-random", "tail-calls"]
)
def test_the_kernel_measures_all_points(tmp_path: Path, name: str) -> None:
    needs_kernel()
    experiment = with_range(shipped_experiment(name), None, None, 3)
    if name == "table-exact-entries":
        experiment = with_range(experiment, 1, 1000, 3)
    found = calibrated(tmp_path, "linux-xdp", experiment)
    measurement, points = found["measurement"], found["result"]["points"]
    assert (measurement["state"], measurement["errors"]) == ("complete", [])
    assert [one["value"] for one in points] == measurement["points"]
    assert all(one["observations"] >= 1 and one["program"] > 0 for one in points)
    assert sorted(file.suffix for file in (tmp_path / name / "programs").glob("*.c"))
    oracles.compared("kernel", len(points), "points of experiments")


def test_a_stopped_measurement_is_partial(tmp_path: Path) -> None:
    needs_kernel()
    stopping, experiment = Stopping(), shipped_experiment("calls")
    bed = bed_of("linux-xdp")
    into = RunFolder(tmp_path)
    into.begin(run_settings(bed.name, LIMITS, ["calls", "loops"]), [experiment])

    def say(_name: str, text: str) -> None:
        if text.startswith("loaded 1 "):
            stopping.ask()

    others = [experiment, shipped_experiment("loops")]
    assert list(run(into, bed, others, LIMITS, RunCallbacks(stopping, say))) == ["calls"]
    found = evaluate(into.of("calls"))
    assert found["measurement"]["state"] == "partial"
    assert all(one["observations"] == 1 for one in found["result"]["points"])


DPDK = (
    "array-entries",
    "checksum-helper",
    "clone-bytes",
    "copy-bytes",
    "digest-bytes",
    "hash-crc32-bytes",
    "hash-jhash-bytes",
    "memory-latency",
    "meter-entries",
    "table-exact-entries",
    "table-exact-miss-entries",
    "table-exact-tables",
    "table-lpm-entries",
    "table-lpm-fib-entries",
    "table-lpm-fib-ipv6-entries",
    "table-lpm-ipv6-entries",
    "table-lpm-ipv6-prefix-bits",
    "table-lpm-miss-entries",
    "table-lpm-repeats",
    "table-lpm-tables",
    "table-lpm-value-bytes",
    "table-ternary-acl-entries",
    "table-ternary-acl-key-bytes",
    "table-ternary-acl-repeats",
    "table-ternary-acl-tables",
    "table-ternary-acl-value-bytes",
)
"""Experiments to be measured: at least one for each component."""


@pytest.mark.parametrize("name", DPDK)
def test_dpdk_measures_all_points(tmp_path: Path, name: str) -> None:
    needs_dpdk()
    sweep = shipped_experiment(name)["component"]["sweep"]
    last = min(sweep["last"], 1 << 20 if sweep["parameter"] == "bytes" else 1000)
    experiment = with_range(shipped_experiment(name), None, last, 2)
    before = {*Path("/var/run/dpdk").glob("*")}
    found = calibrated(tmp_path, "dpdk", experiment)
    assert {*Path("/var/run/dpdk").glob("*")} <= before
    measurement, points = found["measurement"], found["result"]["points"]
    assert (measurement["state"], measurement["errors"]) == ("complete", [])
    assert [one["value"] for one in points] == [sweep["first"], last]
    assert fewest_samples(tmp_path, name) >= 3
    # One of three observations may be an outlier.
    assert all(one["observations"] >= 2 and one["program"] > 0 for one in points)
    oracles.compared("dpdk", len(points), "points of experiments")


DPDK_MISTAKES = [
    (
        "table-exact-entries",
        "action) < 0)\n\t\t\t\treturn -1",
        "actions[t]) < 0)\n\t\t\t\treturn -1",
        "table 0: entry 1 is not found",
    ),
    ("table-exact-entries", "key[3] |= 0x80", "key[3] |= 0", "a key is found that is not there"),
    ("table-lpm-entries", "prefix_bits, entry)", "prefix_bits, 1)", "prefix 0 is not found"),
    ("table-lpm-entries", "->number |= 1U << 31", "->number |= 0", "an address is found"),
    ("table-lpm-entries", ", prefix_bits, entry)", ", 33, entry)", "0 cannot be added: Inv"),
    ("table-lpm-fib-entries", "address.number, p", "0, p", "table 0: prefix 0 is not found"),
    ("table-lpm-ipv6-entries", "byte[0] |= 0x80", "byte[0] |= 0", "an address is found"),
    ("table-lpm-fib-ipv6-entries", "front, &spread", "12, &spread", "prefix 0 is not found"),
    ("table-ternary-acl-entries", "last ? 0 : 1U << 31", "last ? 1 : 0", "finds entry 1, not 3"),
    ("table-ternary-acl-key-bytes", "last ? 0 : ~0U", "~0U", None),
    ("table-ternary-acl-tables", "last ? 0 : 1U", "last ? 1U << 31 : 1U", "finds entry 0, not 100"),
]
"""Mistakes: an experiment, a part of its program, a wrong text for this part, and the error.

None as error means that no result differs.
"""


@pytest.mark.parametrize("mistake", DPDK_MISTAKES, ids=lambda it: f"{it[0]}: {it[2].strip()}")
def test_look_ups_on_dpdk_that_are_wrong_are_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: tuple[str, str, str, str | None]
) -> None:
    needs_dpdk()
    name, right, wrong, message = mistake
    shipped = shipped_experiment(name)
    swept = shipped["component"]["sweep"]["parameter"]
    experiment = with_range(shipped, *((3, 3) if swept == "entries" else (4, 4)), 1)

    right_program = dpdk_programs.dpdk_program

    def mistaken(experiment: Experiment) -> str:
        text = right_program(experiment)
        assert text.count(right) == 1
        return text.replace(right, wrong)

    monkeypatch.setattr(dpdk_programs, "dpdk_program", mistaken)
    errors = calibrated(tmp_path, "dpdk", experiment)["measurement"]["errors"]
    assert [message in one["reason"] for one in errors] == ([True] if message else [])  # type: ignore[operator]


def test_every_component_for_dpdk_is_measured_in_a_test() -> None:
    assert {shipped_experiment(name)["component"]["kind"] for name in DPDK} == {
        *dpdk_bed.DPDK.kinds()
    }


def test_what_dpdk_lacks_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cc").symlink_to(shutil.which("true") or "/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    bed = bed_of("dpdk")
    message = re.escape("needs pkg-config; install it with: apt install libdpdk-dev gcc pkg-config")
    with pytest.raises(UnavailableError, match=message), bed.open(LIMITS, Stopping()):
        pass


# --- written only ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", ["exit 0", "echo 'x.p4(1): error' >&2; exit 1", None])
def test_p4_is_written_and_checked_by_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str | None
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    if compiler is not None:
        (tools / "p4c").write_text(f"#!/bin/sh\n{compiler}\n")
        (tools / "p4c").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    found = calibrated(tmp_path, "p4", shipped_experiment("recirculation"))["measurement"]
    refused = compiler is not None and "error" in compiler
    assert found["state"] == ("failed" if refused else "written")
    assert {one["reason"] for one in found["errors"]} == (
        {"p4c: x.p4(1): error"} if refused else set()
    )
    word = "p4c accepts them" if compiler else "p4c is not installed"
    assert refused or found["notes"] == [f"Programs were written; {word}."]
    written = tmp_path / "recirculation/programs"
    assert (written / "passes-3.p4").exists()
    assert len((written / "passes-3.packet").read_text()) == 2 * 134 + 1


def test_p4_with_one_refused_program_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "p4c").write_text(
        "#!/bin/sh\ncase $* in *passes-2.p4) echo 'passes-2.p4(7): error' >&2; exit 1;; esac\n"
    )
    (tools / "p4c").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    found = calibrated(tmp_path, "p4", shipped_experiment("recirculation"))["measurement"]
    assert found["state"] == "written"
    assert found["errors"] == [{"value": 2, "reason": "p4c: passes-2.p4(7): error"}]
    count = len(found["points"])
    assert found["notes"] == [f"Programs were written; p4c accepts those of {count - 1} values."]


# --- which experiment is for which test bed -------------------------------------------------------


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_experiments_fit_the_test_beds_that_they_name(name: str) -> None:
    experiment = shipped_experiment(name)
    for bed_name in experiment["testbeds"]:
        bed = bed_of(bed_name)
        metric = metric_on(bed, experiment)
        assert metric in experiment["metrics"] if bed.metrics else metric is None


def test_a_test_bed_says_why_it_is_none_for_an_experiment() -> None:
    bed = bed_of("dpdk")
    with pytest.raises(InputError, match=r"is for the test beds linux-xdp, ebpf.*, not for dpdk"):
        metric_on(bed, shipped_experiment("loops"))
    for change, message in (
        (
            {"metrics": ["instructions"]},
            "the experiment asks for instructions, but the test bed dpdk provides ns, cycles",
        ),
        (
            {"component": shipped_experiment("loops")["component"]},
            "dpdk does not have the component loops",
        ),
    ):
        experiment = {**shipped_experiment("table-exact-entries"), **change}
        del experiment["testbeds"]
        with pytest.raises(InputError, match=message):
            metric_on(bed, experiment)  # type: ignore[arg-type]
    text = (
        xdp_programs.FOLDER.parent.parent.parent / "experiments/catalogue/table-lru-entries.yaml"
    ).read_text()
    other = read_experiment("x", text.replace("testbeds: [linux-xdp", "testbeds: [dpdk"))
    with pytest.raises(InputError, match="dpdk supports only map: hash"):
        metric_on(bed, other)


@pytest.mark.parametrize(
    ("bed", "name", "old", "new", "message"),
    [
        (
            "dpdk",
            "table-lpm-key-bytes",
            "schema: 1",
            "schema: 1",
            "dpdk cannot sweep key_bytes, as it has a separate table for each key size",
        ),
        (
            "dpdk",
            "table-lpm-repeats",
            "entries: 100",
            "entries: 100, key_bytes: 8",
            "dpdk supports only key_bytes: 4 or 16, not 8",
        ),
        (
            "dpdk",
            "table-ternary-tuples-tables",
            "schema",
            "schema",
            "dpdk supports only method: acl",
        ),
        (
            "linux-xdp",
            "table-ternary-acl-tables",
            "schema",
            "schema",
            "the method acl is for the test bed dpdk; XDP programs support linear and tuples",
        ),
        (
            "p4",
            "table-ternary-linear-repeats",
            "first: 1, ",
            "first: 2, ",
            "applies a table only once",
        ),
        (
            "p4",
            "table-lpm-repeats",
            "first: 1, ",
            "first: 2, ",
            "v1model applies a table only once",
        ),
        (
            "dpdk-swx",
            "table-lpm-fib-ipv6-entries",
            "schema",
            "schema",
            "supports only method: lpm, not fib",
        ),
        (
            "dpdk-swx",
            "table-ternary-linear-tables",
            "schema",
            "schema",
            "supports only method: acl, not linear",
        ),
    ],
)
def test_what_a_test_bed_lacks_of_tables_is_said(
    bed: str, name: str, old: str, new: str, message: str
) -> None:
    text = (
        xdp_programs.FOLDER.parent.parent.parent / f"experiments/catalogue/{name}.yaml"
    ).read_text()
    text = re.sub(r"metrics: .*", "metrics: [ns, instructions]", text)
    text = re.sub(r"testbeds: .*", f"testbeds: [{bed}]", text.replace(old, new))
    with pytest.raises(InputError, match=message):
        metric_on(bed_of(bed), read_experiment("x", text))
