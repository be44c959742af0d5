"""Tests the test bed `dpdk-swx`: its pipelines, their runs on DPDK, and errors."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import oracles
from calibrating import calibrated, fewest_samples, needs_dpdk
from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.specification import (
    read_experiment,
    settings_at,
    shipped_experiment,
    shipped_names,
    swept_values,
    with_range,
)
from slowpath.calibrate.testbeds import dpdk, swx_programs
from slowpath.calibrate.testbeds.swx_programs import (
    Pipelines,
    expected_packet,
    swx_driver,
    swx_pipelines,
)
from slowpath.core.errors import InputError
from support import GOLDEN, check_golden

SWX = [name for name in shipped_names() if "dpdk-swx" in shipped_experiment(name)["testbeds"]]


@pytest.mark.parametrize(("name", "value"), [("forward-size", 64), ("headers-removed", 2)])
def test_expected_pipelines(name: str, value: int) -> None:
    found = swx_pipelines(shipped_experiment(name), value)
    folder = GOLDEN / "experiments/swx"
    check_golden(folder / f"{name}.spec", found.component.text)
    packets = {"packet": found.packet, "sent": found.component.sent, "without": found.baseline.sent}
    lines = "".join(f"{role} {packet.hex()}\n" for role, packet in packets.items())
    check_golden(folder / f"{name}.packets", lines)


def test_the_baseline_is_the_same_without_the_component() -> None:
    for name in SWX:
        found = swx_pipelines(shipped_experiment(name), swept_values(shipped_experiment(name))[0])
        more, less = (
            [re.sub(r"^\t\w+ : ", "\t", line) for line in each.text.splitlines()[2:]]
            for each in (found.component, found.baseline)
        )
        left = iter(more)
        assert all(line in left for line in less), name


def test_every_component_of_p4_has_a_pipeline() -> None:
    p4 = {path.stem for path in dpdk.SWX.templates.parent.glob("p4/*.p4")}
    assert {*dpdk.SWX.kinds()} >= p4 - {"digest", "head"}
    assert {*dpdk.SWX.kinds()} <= COMPONENTS.keys()


# --- runs on DPDK ---------------------------------------------------------------------------------


def test_the_reader_of_dpdk_takes_all_pipelines(tmp_path: Path) -> None:
    """Check that DPDK's parser accepts the first and the last pipeline of each sweep."""
    needs_dpdk()
    files = []
    for name in SWX:
        experiment = shipped_experiment(name)
        for value in {swept_values(experiment)[0], swept_values(experiment)[-1]}:
            found = swx_pipelines(experiment, value)
            for role, pipeline in (("with", found.component), ("without", found.baseline)):
                file = tmp_path / f"{name}-{value}.{role}.spec"
                file.write_text(pipeline.text)
                files.append(file)
    broken = tmp_path / "broken.spec"
    broken.write_text(files[0].read_text().replace("rx m.port", "rx m.prt"))
    words = [str(read_by_dpdk(tmp_path)), *map(str, files), str(broken)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    *lines, last = done.stdout.splitlines()
    assert lines == [f"{file} OK" for file in files]
    assert last == f"{broken} 0: Pipeline instructions configuration error."
    oracles.compared("dpdk", len(files), "pipelines")


def read_by_dpdk(folder: Path) -> Path:
    """Compile a program that parses pipeline files with DPDK's parser, and return its path."""
    command = ["pkg-config", "--cflags", "--libs", "libdpdk"]
    flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    source, binary = Path(__file__).parent / "swx_parser.c", folder / "reader"
    words = [shutil.which("cc") or "cc", str(source), "-o", str(binary), "-march=native", *flags]
    subprocess.run(words, check=True)
    return binary


MEASURED = (
    "arithmetic-constant",
    "arithmetic-shift-independent",
    "branches-predictable",
    "checksum-helper",
    "checksum-update",
    "clone-bytes",
    "clones",
    "field-writes-header",
    "field-writes-metadata",
    "forward-size",
    "headers-added",
    "headers-removed",
    "hash-crc32-bytes",
    "hash-jhash-bytes",
    "meter-entries",
    "meter-repeats",
    "parser-fields",
    "parser-branches",
    "recirculation",
    "state-atomic-adds",
    "state-reads",
    "state-writes",
    "table-exact-entries",
    "table-exact-miss-entries",
    "table-exact-repeats",
    "table-lpm-entries",
    "table-lpm-miss-entries",
    "table-lpm-ipv6-prefix-bits",
    "table-lpm-key-bytes",
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


@pytest.mark.parametrize("name", MEASURED)
def test_all_points_are_measured_and_packets_come_out_as_worked_out(
    tmp_path: Path, name: str
) -> None:
    """Check that all values of a sweep are measured, and that pipelines change packets correctly.

    The measuring program compares each packet with the packet that `expected_packet` returns.
    """
    needs_dpdk()
    sweep = shipped_experiment(name)["component"]["sweep"]
    experiment = with_range(shipped_experiment(name), None, min(sweep["last"], 2000), 3)
    found = calibrated(tmp_path, "dpdk-swx", experiment)
    measurement, points = found["measurement"], found["result"]["points"]
    assert (measurement["state"], measurement["errors"]) == ("complete", [])
    assert [one["value"] for one in points] == swept_values(experiment)
    assert fewest_samples(tmp_path, name) >= 3
    # One of three observations may be an outlier.
    assert all(one["observations"] >= 2 and one["program"] > 0 for one in points)
    oracles.compared("dpdk", len(points), "points of experiments")


def test_every_component_is_measured_in_a_test() -> None:
    assert {shipped_experiment(name)["component"]["kind"] for name in MEASURED} == {
        *dpdk.SWX.kinds()
    }


MISTAKES = [
    ("table-exact-entries", "size 3", "size 2", r"entry 2 cannot be added: No space left"),
    ("table-exact-entries", "h.key.bits", "h.before.bytes", r"table0: 0 hits and \d+ misses in"),
    (
        "table-exact-entries",
        "add m.sum t.data0",
        "add m.sum 2",
        "byte 11 of packets is 0x02, not 0x01",
    ),
    (
        "table-lpm-entries",
        "h.key.bits lpm",
        "h.key.bytes lpm",
        r"entries-3.spec:\d+ \(table table0\): Invalid argument",
    ),
    ("table-lpm-repeats", "\ttable table0\n\ttable", "\ttable", r"table0: \d+ hits and 0 misses"),
    ("table-ternary-acl-tables", "\ttable table1", "\ttable table0", "table0: .* hits and 0 miss"),
    ("headers-added", "\temit h.own0\n", "", "packets of 80 bytes came out, not of 88"),
    ("headers-added", "\ttx m.port", "\tdrop", r"of \d+ packets only 0 came out"),
    ("state-atomic-adds", "regadd state0", "regwr state0", "state0: the sum of its words is 1"),
    ("state-reads", "regrd m.value state1", "regrd m.value state0", None),
    ("hash-jhash-repeats", "hash jhash", "hash crc32", r"byte \d+ of packets is"),
    ("meter-repeats", "meter meter1", "meter meter0", r"meter0: \d+ green packets of \d+"),
    ("clones", "mov m.slot 1", "mov m.slot 0", r"\d+ copies of \d+ packets"),
]
"""Mistakes: an experiment, a part of its pipelines, a wrong text for this part, and the error.

None as error means that no packet differs.
"""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda it: f"{it[0]}: {it[2].strip()}")
def test_pipelines_that_do_not_do_what_they_should_are_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: tuple[str, str, str, str | None]
) -> None:
    needs_dpdk()
    name, right, wrong, message = mistake
    experiment = with_range(shipped_experiment(name), 2, 3, 2)

    def mistaken(*arguments: object) -> Pipelines:
        found = swx_pipelines(*arguments)  # type: ignore[arg-type]
        text = found.component.text.replace(right, wrong)
        return found._replace(component=found.component._replace(text=text))

    monkeypatch.setattr(swx_programs, "swx_pipelines", mistaken)
    found = calibrated(tmp_path, "dpdk-swx", experiment)["measurement"]
    reasons = {one["value"]: one["reason"] for one in found["errors"]}
    if message is None:
        assert not reasons
    else:
        assert re.search(message, reasons[3])


# --- unsupported experiments ----------------------------------------------------------------------

LACKING = [
    (
        "table-exact-entries",
        "size: 64(.*): 30",
        r"size: 400\1: 300",
        "does not support headers of 258 bytes in front of the key",
    ),
    (
        "table-exact-entries",
        "{key_bytes: 16",
        "{map: lru_hash, key_bytes: 16",
        "supports only map: hash, not lru",
    ),
    ("table-lpm-fib-entries", "", "", "supports only method: lpm, not fib"),
    ("table-ternary-linear-entries", "", "", "supports only method: acl, not linear"),
    ("checksum-loop", "", "", "supports only method: helper, update, not loop"),
    ("arithmetic-divide", "", "", "supports only operation: add, xor, shift, constant, not divide"),
    ("branches-random", "", "", "supports only predictable: yes, not no"),
    (
        "table-exact-entries",
        "offset: 30",
        "offset: 8",
        "the key cannot begin in the Ethernet header, which dpdk-swx parses",
    ),
    (
        "arithmetic-add",
        "component:",
        "  vary: [{offset: 30, bytes: 4, how: random, values: 1}]\ncomponent:",
        "varies only the keys of tables and of state",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), LACKING)
def test_unsupported_experiments_are_errors(name: str, old: str, new: str, message: str) -> None:
    file = Path(dpdk.__file__).parent.parent / f"experiments/catalogue/{name}.yaml"
    text = re.sub(old, new, file.read_text(), count=1, flags=re.DOTALL)
    experiment = read_experiment("x", re.sub(r"testbeds: .*", "testbeds: [dpdk-swx]", text))
    with pytest.raises(InputError, match=message):
        swx_driver(experiment)
    with pytest.raises(InputError, match=message):
        swx_pipelines(experiment, swept_values(experiment)[0])


def test_results_of_components_worked_out_by_hand() -> None:
    """Check computed packets against results that were worked out by hand.

    The arithmetic component adds 0x020000000003 twice. XOR with three equal sums leaves one of
    them.
    """
    experiment = shipped_experiment("arithmetic-add")
    packet = swx_pipelines(experiment, 2).packet
    out = expected_packet(experiment, settings_at(experiment, 2), packet, component=True)
    assert out[6:12].hex() == f"{3 * 0x020000000003 ^ 0x020000000003:012x}"
    experiment = shipped_experiment("checksum-helper")
    found = swx_pipelines(experiment, 4)
    word = found.packet[42:46]
    total = int.from_bytes(word[:2], "big") + int.from_bytes(word[2:], "big")
    assert found.component.sent[12:14].hex() == f"{0xFFFF - total:04x}"
