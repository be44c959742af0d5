"""Generated programs of experiments: expected ones, and what clang and the kernel make of them."""

import json
from pathlib import Path

import pytest

import oracles
from running_kernel import needs_kernel
from slowpath.calibrate.experiments.components import COMPONENTS
from slowpath.calibrate.experiments.reading import (
    read_experiment,
    shipped_experiment,
    shipped_names,
)
from slowpath.calibrate.experiments.specification import swept_values
from slowpath.calibrate.programs.template import TemplateError, expand
from slowpath.calibrate.programs.xdp import ENTRY, XdpProgram, components_with_template, xdp_program
from slowpath.core.engine import kernel, objects
from slowpath.core.errors import InputError
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from support import GOLDEN, check_golden

EXPECTED = [
    ("parser-fields", 4),
    ("table-exact-entries", 3),
    ("table-exact-miss-entries", 2),
    ("table-lpm-entries", 3),
    ("table-lpm-ipv6-prefix-bits", 48),
    ("table-ternary-linear-entries", 3),
    ("table-ternary-linear-key-bytes", 16),
    ("table-ternary-masks", 4),
    ("table-ternary-tuples-key-bytes", 16),
    ("arithmetic-divide", 5),
    ("branches-random", 64),
    ("tail-calls", 2),
]
XDP = [name for name in shipped_names() if "linux-xdp" in shipped_experiment(name)["testbeds"]]


@pytest.mark.parametrize(("name", "value"), EXPECTED)
def test_expected_programs(name: str, value: int) -> None:
    program = xdp_program(shipped_experiment(name), value, component=True)
    folder = GOLDEN / "experiments/xdp"
    check_golden(folder / f"{name}.bpf.c", program.text)
    text = json.dumps({"maps": json.loads(program.maps), "packet": program.packet.hex()}, indent=1)
    check_golden(folder / f"{name}.json", text + "\n")


def test_the_baseline_is_the_same_without_the_component() -> None:
    program = xdp_program(shipped_experiment("table-exact-entries"), 3, component=False)
    check_golden(GOLDEN / "experiments/xdp/baseline.bpf.c", program.text)
    assert json.loads(program.maps).keys() == {".bss"}


def test_every_component_has_a_template_but_those_that_xdp_lacks() -> None:
    assert {*components_with_template()} == COMPONENTS.keys() - {"memory", "recirculate"}


def written(folder: Path, program: XdpProgram) -> objects.Subject:
    """A program compiled."""
    file = folder / "program.bpf.c"
    file.write_text(program.text)
    found = objects.read_object(str(file), compile_c(str(file), Clang(("-mcpu=v3",))))
    number = next(each.number for each in objects.programs(found) or [] if each.name == ENTRY)
    return objects.Subject(str(file), found, number, None)


@pytest.mark.parametrize("name", XDP)
def test_the_kernel_takes_the_path_that_the_interpreter_takes(name: str, tmp_path: Path) -> None:
    """Of the fewest and the most, with and without the component: no look-up fails."""
    needs_kernel()
    station = kernel.open_station(kernel.open_kernel(), None)
    experiment = shipped_experiment(name)
    points = [value for value in swept_values(experiment) if value <= 3000]
    counted = []
    for value in (points[0], points[-1]):
        instructions = []
        for component in (False, True):
            program = xdp_program(experiment, value, component=component)
            witness = {
                "packet": program.packet.hex(),
                "length": len(program.packet),
                "maps": json.loads(program.maps),
                "unknowns": [],
                "environment": [],
            }
            subject = written(tmp_path, program)
            case = kernel.prepare_case(station, subject, json.dumps(witness), None)
            assert case.action == (3 if experiment["component"]["kind"] == "forward" else 2)
            instructions.append(case.instructions)
        assert instructions[0] <= instructions[1], "the component takes instructions"
        counted.append(instructions[1] - instructions[0])
    assert counted[-1] > 0
    oracles.compared("kernel", 4, "programs of experiments")


SHORT = """\
schema: 1
name: x
description: x
metrics: [ns]
traffic: {size: 64, headers: [ethernet, ipv4, udp]}
component: {kind: KIND, sweep: SWEEP}
"""


@pytest.mark.parametrize(
    ("kind", "sweep", "said"),
    [
        (
            "parser",
            "headers, first: 9, last: 9",
            "too short, 114 are needed",
        ),
        ("push", "headers, first: 8, last: 8}, fixed: {header_bytes: 64", "512 bytes are too many"),
        ("parser", "fields, first: 4, last: 4", "4 fields do not fit into headers of 8 bytes"),
        (
            "copy",
            "bytes, first: 512, last: 512",
            "too short, 554 are needed",
        ),
        (
            "table-lpm",
            "entries, first: 200, last: 200}, fixed: {prefix_bits: 8",
            "are no 200",
        ),
        (
            "table-lpm",
            "prefix_bits, first: 33, last: 33",
            "addresses of 32 bits have no prefixes of 33 bits",
        ),
        ("table-ternary", "key_bytes, first: 64, last: 64", "too short, 106 are needed"),
    ],
)
def test_parameters_that_do_not_fit_together(kind: str, sweep: str, said: str) -> None:
    text = SHORT.replace("KIND", kind).replace("SWEEP", f"{{parameter: {sweep}}}")
    experiment = read_experiment("x.yaml", text)
    with pytest.raises(InputError, match=said):
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
