"""Tests that each packet of an experiment matches exactly the intended table entry."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from calibrating import prepared
from running_kernel import needs_kernel
from slowpath.calibrate.experiments.specification import read_experiment
from slowpath.calibrate.testbeds.generation import address_of, prefix_of, prefix_shape
from slowpath.calibrate.testbeds.xdp_programs import xdp_program

WIDTHS = st.sampled_from([4, 8, 12, 16])


@given(WIDTHS, st.data())
def test_an_address_has_its_own_prefix_and_no_other(width: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(8, 8 * width))
    others = data.draw(st.binary(min_size=width - 4, max_size=width - 4))
    most = (1 << prefix_shape(bits).bits - 1) - 1
    one, other = (data.draw(st.integers(0, most)) for _ in range(2))
    prefix, address = prefix_of(one, bits, others), address_of(one, bits, others)
    behind = 8 * width - bits
    first, second = (int.from_bytes(each, "big") for each in (prefix, address))
    assert len(prefix) == len(address) == width
    assert first == second >> behind << behind
    assert address[0] < 0x80
    assert (prefix == prefix_of(other, bits, others)) == (one == other)


def test_long_prefixes_differ_in_their_last_bytes() -> None:
    others = bytes.fromhex("20010db8" + 8 * "11")
    assert prefix_of(1, 48, others).hex() == "20011e3779b1" + 10 * "00"
    assert address_of(1, 48, others).hex() == "20011e3779b1" + "0db8" + 8 * "11"
    assert prefix_of(1, 24, others)[:4] == prefix_of(1, 24, b"")


SPECIFICATION = """\
schema: 1
name: x
description: x
metrics: [ns]
traffic: {size: 128, headers: [ethernet, ipv4, udp]}
component: {kind: KIND, sweep: {parameter: entries, first: 5, last: 5}, fixed: {FIXED}}
"""
TABLES = [
    ("table-exact", "tables: 2, repeats: 2"),
    ("table-exact", "key_bytes: 64, value_bytes: 128"),
    ("table-ternary", "key_bytes: 4, tables: 2, repeats: 2"),
    ("table-ternary", "key_bytes: 8"),
    ("table-ternary", "key_bytes: 64, value_bytes: 1024"),
    ("table-ternary", "method: tuples, masks: 3, tables: 2, repeats: 2"),
    ("table-ternary", "method: tuples, masks: 3, key_bytes: 8"),
    ("table-ternary", "method: tuples, masks: 3, key_bytes: 64, value_bytes: 1024"),
    ("table-lpm", "tables: 2, repeats: 2"),
    ("table-lpm", "value_bytes: 1024"),
    *(
        ("table-lpm", f"key_bytes: {width}, prefix_bits: {bits}")
        for width, bits in [
            (4, 8),
            (4, 31),
            (8, 32),
            (8, 33),
            (8, 64),
            (12, 47),
            (12, 96),
            (16, 8),
            (16, 40),
            (16, 63),
            (16, 127),
            (16, 128),
        ]
    ),
]
"""Components with their fixed parameters.

Components with the parameter `hit` also run with misses.
"""
PASS, ABORTED = 2, 0


@pytest.mark.parametrize(("kind", "fixed"), TABLES)
def test_programs_find_the_entry_that_is_meant(kind: str, fixed: str, tmp_path: Path) -> None:
    """Check that table lookups find the intended entry; the programs abort if they do not."""
    needs_kernel()
    text = SPECIFICATION.replace("KIND", kind).replace("FIXED", fixed)
    program = xdp_program(read_experiment("x.yaml", text), 5, component=True)
    maps = json.loads(program.maps)
    assert all(len(entries) == 5 for entries in maps.values())
    assert prepared(tmp_path, program, program.maps).action == PASS
    meant = 4 if kind == "table-ternary" else 0
    for name, entries in maps.items():
        entry = entries[meant]
        linear = kind == "table-ternary" and "tuples" not in fixed
        kept = [entry | {"value": "0" * len(entry["value"])}] if linear else []
        others = [one for one in entries if one != entry]
        less = json.dumps(maps | {name: others + kept})
        assert prepared(tmp_path, program, less).action == ABORTED, name
        oracles.compared("kernel", 2, "programs of experiments")
    if kind == "table-ternary":
        return
    text = text.replace("fixed: {", "fixed: {hit: no, ")
    program = xdp_program(read_experiment("x.yaml", text), 5, component=True)
    assert prepared(tmp_path, program, program.maps).action == PASS
    oracles.compared("kernel", 1, "programs of experiments")
