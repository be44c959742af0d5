"""Tests the generated XDP programs of experiments: texts, compilation, and runs in the kernel."""

import json
import re
from pathlib import Path

import pytest

import oracles
from calibrating import prepared
from running_kernel import needs_kernel
from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.specification import (
    read_experiment,
    settings_at,
    shipped_experiment,
    shipped_names,
    swept_values,
)
from slowpath.calibrate.testbeds.generation import TemplateError, expand
from slowpath.calibrate.testbeds.linux_xdp import BED
from slowpath.calibrate.testbeds.xdp_programs import xdp_program
from slowpath.core.errors import InputError
from support import CAMPAIGN, GOLDEN, check_golden

XDP = [name for name in shipped_names() if "linux-xdp" in shipped_experiment(name)["testbeds"]]


@pytest.mark.parametrize(("name", "value"), [("arithmetic-divide", 5), ("branches-random", 64)])
def test_expected_programs(name: str, value: int) -> None:
    program = xdp_program(shipped_experiment(name), value, component=True)
    folder = GOLDEN / "experiments/xdp"
    check_golden(folder / f"{name}.bpf.c", program.text)
    text = json.dumps({"maps": json.loads(program.maps), "packet": program.packet.hex()}, indent=1)
    check_golden(folder / f"{name}.json", text + "\n")


@pytest.mark.parametrize("name", XDP)
def test_maps_hold_what_parameters_say(name: str) -> None:
    """Check number and size of the generated entries in lookup tables.

    Other tests check the map content that helper functions use, in the kernel.
    """
    experiment = shipped_experiment(name)
    kind, values = experiment["component"]["kind"], swept_values(experiment)
    for value in values[:2] if kind.startswith("table-") else ():
        settings = settings_at(experiment, value)
        maps = json.loads(xdp_program(experiment, value, component=True).maps)
        maps.pop(".bss", None)
        width, shape = int(settings.get("key_bytes", 4)), settings.get("method")
        front = 0 if kind in ("table-exact", "table-array") or shape == "linear" else 4
        key = 4 if shape == "linear" else front + width
        size = int(settings["value_bytes"]) + (2 * width if shape == "linear" else 0)
        assert len(maps) == settings.get("tables", 1)
        for entries in maps.values():
            if kind == "table-array":  # all elements exist, and are 0
                assert entries == []
                continue
            assert len({one["key"] for one in entries}) == len(entries) == settings["entries"]
            assert {len(one["key"]) for one in entries} == {2 * key}
            assert {len(one["value"]) for one in entries} == {2 * size}
        bare = json.loads(xdp_program(experiment, value, component=False).maps)
        assert bare.keys() <= {".bss"}


def test_every_component_has_a_template_but_those_that_xdp_lacks() -> None:
    assert {*BED.kinds()} == COMPONENTS.keys() - {*("clone", "memory", "meter", "recirculate")}


_RUN = dict[tuple[str, str, bytes], tuple[int, int]]()
"""Results of the programs that ran: action and number of instructions.

A key has the source without its first comment, the maps and the packet.
"""


@pytest.mark.parametrize("name", XDP)
def test_the_kernel_takes_the_path_that_the_interpreter_takes(name: str, tmp_path: Path) -> None:
    """Check that kernel and interpreter execute the same path of an experiment's programs.

    This includes the program without the component. The last value of each sweep is tested; in
    campaigns (`make campaign`), the first one, too.
    """
    needs_kernel()
    experiment = shipped_experiment(name)
    points = [value for value in swept_values(experiment) if value <= 3000]
    counted = []
    for value in (points[0], points[-1]) if CAMPAIGN > 1 else points[-1:]:
        instructions = []
        for component in (False, True):
            program = xdp_program(experiment, value, component=component)
            text = re.sub(r"\A/\*.*?\*/\n", "", program.text, flags=re.DOTALL)
            key = (text, program.maps, program.packet)
            if key not in _RUN:  # many experiments share their program without the component
                case = prepared(tmp_path, program, program.maps)
                _RUN[key] = case.action, case.instructions
            action, executed = _RUN[key]
            assert action == (3 if experiment["component"]["kind"] == "forward" else 2)
            instructions.append(executed)
        assert instructions[0] <= instructions[1], "the component takes instructions"
        counted.append(instructions[1] - instructions[0])
    assert counted[-1] > 0
    oracles.compared("kernel", 2 * len(counted), "programs of experiments")


SHORT = """\
schema: 1
name: x
description: x
metrics: [ns]
traffic: {size: 64, headers: [ethernet, ipv4, udp]}
component: {kind: KIND, sweep: SWEEP}
"""


@pytest.mark.parametrize(
    ("kind", "sweep", "reason"),
    [
        (
            "parser",
            "headers, first: 9, last: 9",
            "too short; this program needs 114",
        ),
        ("push", "headers, first: 8, last: 8}, fixed: {header_bytes: 64", "512 bytes do not fit"),
        (
            "parser",
            "fields, first: 4, last: 4",
            "4 fields of 2 bytes do not fit into headers of 8 bytes",
        ),
        (
            "copy",
            "bytes, first: 512, last: 512",
            "too short; this program needs 554",
        ),
        (
            "table-lpm",
            "entries, first: 200, last: 200}, fixed: {prefix_bits: 8",
            "have fewer than 200 different",
        ),
        (
            "table-lpm",
            "prefix_bits, first: 33, last: 33",
            "addresses of 32 bits cannot have prefixes of 33 bits",
        ),
        ("table-ternary", "key_bytes, first: 64, last: 64", "too short; this program needs 106"),
    ],
)
def test_contradictory_parameters_are_errors(kind: str, sweep: str, reason: str) -> None:
    text = SHORT.replace("KIND", kind).replace("SWEEP", f"{{parameter: {sweep}}}")
    experiment = read_experiment("x.yaml", text)
    with pytest.raises(InputError, match=reason):
        xdp_program(experiment, swept_values(experiment)[0], component=True)


# --- templates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ${x} b", "a 2 b\n"),
        ("//@ repeat x as i\n${i},${x}\n//@ end\n.", "0,2\n1,2\n.\n"),
        ("//@ repeat 2 as i\n  //@ repeat i as j\n${i}${j}\n//@ end\n//@ end", "10\n"),
        ("//@ if yes\na\n//@ else\nb\n//@ end", "a\n"),
        ("//@ if not yes\na\n//@ else\nb\n//@ end", "b\n"),
        ("//@ if x\na\n//@ end\n//@ if not x\nb\n//@ end", "a\n"),
        ("//@ if word == one\na\n//@ end\n//@ if word == two\nb\n//@ end", "a\n"),
        ("//@ if no\n//@ if yes\na\n//@ else\nb\n//@ end\n//@ end", ""),
        ("//@ include other", "other 2\n"),
        ("//@ repeat x as i\n${at${i}}\n//@ end", "a\nb\n"),
        ("$x {x} %d", "$x {x} %d\n"),
    ],
)
def test_templates(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "t").write_text(text)
    (tmp_path / "other").write_text("other ${x}")
    values: dict[str, int | str] = {
        "x": 2,
        "yes": "yes",
        "no": 0,
        "word": "one",
        "at0": "a",
        "at1": "b",
    }
    assert expand(tmp_path, "t", values) == expected


@pytest.mark.parametrize(
    "text", ["${y}", "//@ if x", "//@ while x\n//@ end", "//@ repeat y as i\n//@ end"]
)
def test_defects_of_templates_are_noticed(tmp_path: Path, text: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(TemplateError):
        expand(tmp_path, "t", {"x": 2})
