"""Tests that results for P4 programs speak of packets, table entries, warnings and conditions.

The analysed program is the translation, whose results speak of bytes and BPF maps.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.bounds.p4_terms import table_entries
from slowpath.core.engine import MapsFile
from slowpath.core.engine.p4 import translate, translated
from slowpath.core.programs.p4 import maps_of
from slowpath.core.programs.packet import witness_bytes
from support import ROOT, slowpath

EXAMPLES = sorted((ROOT / "examples/p4").glob("*.p4"))
ROUTER = ROOT / "examples/p4/router.p4"
START = """\
#include <core.p4>
#include <v1model.p4>
header H { bit<32> ip; bit<16> port; }
struct Hs { H h; }
struct M { }
parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {
    state start { b.extract(hdr.h); transition accept; }
}
control V(inout Hs hdr, inout M m) { apply { } }
control E(inout Hs hdr, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in Hs hdr) { apply { b.emit(hdr.h); } }
"""


def program(locals_: str, apply: str) -> str:
    """Return a P4 switch program whose ingress control has these declarations and statements."""
    return (
        f"{START}control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{\n"
        "    action drop() { mark_to_drop(s); }\n"
        "    action send(bit<9> port) { s.egress_spec = port; }\n"
        f"    {locals_}\n    apply {{ {apply} }}\n}}\n"
        "V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    )


def bound(file: Path, *options: str | Path) -> dict[str, Any]:
    """Return the first result of `slowpath bound` for a program."""
    run = slowpath("bound", file, "--format", "json", *options)
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)["results"][0]
    return result


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_shown_fields_are_the_bytes_of_the_packet(file: Path) -> None:
    for path in bound(file, "--paths", "5")["paths"]:
        view = path["witness"]["p4"]
        assert view["unknown"] is None
        assert view["parser"][0] == "start"
        assert view["parser"][-1] in ("accept", "reject")
        packet = witness_bytes(path["witness"])
        bits = values = known = 0
        for field in (field for header in view["headers"] for field in header["fields"]):
            ones = (1 << field["bits"]) - 1
            mask = 0 if field["value"] is None else int(field.get("mask", hex(ones)), 16)
            bits += field["bits"]
            values = values << field["bits"] | int(field["value"] or "0", 16)
            known = known << field["bits"] | mask
        assert bits % 8 == 0
        size = bits // 8
        assert size <= len(packet)
        # Fields may show arbitrary bytes as zeros, but must not show required bytes as arbitrary.
        wanted = int.from_bytes(bytes(byte or 0 for byte in packet[:size]), "big")
        needed = int.from_bytes(bytes(0 if byte is None else 255 for byte in packet[:size]), "big")
        assert values == wanted
        assert needed & ~known == 0


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_path_has_the_lines_of_the_tables_that_hit(file: Path) -> None:
    """Check that the path of the compiled program has the lines of the tables that hit.

    The expected tables come from a run of the P4 source on the path's packet.
    """
    text = file.read_text().splitlines()
    for path in bound(file)["paths"]:
        lines = {text[one["line"] - 1].strip() for one in path["lines"] if one["line"]}
        view = path["witness"]["p4"]
        for run in view["tables"]:
            # For tables with constant entries, the path contains the lines of these entries.
            if any(
                one.startswith(f"{run['table']} ")
                for all_ in view["entries"].values()
                for one in all_
            ):
                name = run["table"].rpartition(".")[2]
                assert any(f"{name}.apply()" in line for line in lines), run


def test_entries_of_all_kinds_have_the_terms_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "kinds.p4"
    file.write_text(
        program(
            "table acl { key = { hdr.h.ip: ternary; hdr.h.port: optional; } "
            "actions = { send; drop; } size = 4; }\n"
            "table ports { key = { hdr.h.port: range; } actions = { send; drop; } size = 2; }",
            "acl.apply(); ports.apply();",
        )
    )
    entries = tmp_path / "entries.txt"
    entries.write_text(
        "acl 10.0.0.0 &&& 0xff000000, 80 priority 5 -> send(port=3)\n"
        "acl *, * priority 1 -> drop()\n"
        "ports 80..90 -> drop()\n"
    )
    run = slowpath("bound", file, "--maps", entries)
    assert run.returncode == 0, run.stderr
    assert "tables        I.acl: " in run.stdout
    free = bound(file)["paths"][0]["witness"]["p4"]
    shown = [one for entry in free["entries"].values() for one in entry]
    assert any(one.startswith("I.acl masks 0: hdr.h.ip &&& ") for one in shown)
    assert any(one.startswith("I.acl hdr.h.ip = ") for one in shown)
    assert any(one.startswith("I.ports entr") and ": hdr.h.port = " in one for one in shown)


def test_entries_are_shown_as_they_are_written(tmp_path: Path) -> None:
    """Check that map content with table entries is shown as the entries were written.

    All kinds of matches occur.
    """
    file = tmp_path / "kinds.p4"
    text = program(
        "table acl { key = { hdr.h.ip: ternary; hdr.h.port: optional; } actions = { send; drop; } }"
        "table ports { key = { hdr.h.port: range; hdr.h.ip: ternary; } actions = { send; drop; } }"
        "table routes { key = { hdr.h.port: exact; hdr.h.ip: lpm; } actions = { send; drop; } }",
        "acl.apply(); ports.apply(); routes.apply();",
    )
    file.write_text(text)
    lines = (
        "acl 10.0.0.0 &&& 0xff000000, 80 priority 5 -> send(port=3)\n"
        "acl *, * priority 1 -> drop()\n"
        "ports 80..90, 0x1 &&& 0x3 -> send(port=1)\n"
        "routes 80, 10.0.0.0/8 -> send(port=2)\n"
        "routes default -> drop()\n"
    )
    maps = json.loads(maps_of(str(file), [], MapsFile("entries.txt", lines)))
    translate(str(file), [])
    source = translated(str(file))
    assert source is not None
    shown = table_entries(source.tables, maps)
    assert shown == {
        "I_acl": [
            "I.acl hdr.h.ip = 0xa000000 &&& 0xff000000, hdr.h.port = 0x50 priority 2 "
            "-> send(port = 0x3)",
            "I.acl hdr.h.ip = *, hdr.h.port = * priority 1 -> drop()",
        ],
        "I_acl_masks": [
            "I.acl masks 0: hdr.h.ip &&& 0xff000000, hdr.h.port &&& 0xffff",
            "I.acl masks 1: hdr.h.ip &&& 0x0, hdr.h.port &&& 0x0",
        ],
        "I_acl_default": [],
        "I_ports": [
            "I.ports entry 0: hdr.h.port = 0x50..0x5a, hdr.h.ip = 0x1 &&& 0x3 -> send(port = 0x1)"
        ],
        "I_ports_default": [],
        "I_routes": ["I.routes hdr.h.port = 0x50, hdr.h.ip = 0xa000000/8 -> send(port = 0x2)"],
        "I_routes_default": ["I.routes default -> drop()"],
    }


def test_pages_have_the_terms_of_the_program(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = slowpath("bound", ROUTER, "--html", page)
    assert run.returncode == 0, run.stderr
    text = page.read_text()
    assert "start, ipv4, " in text
    assert "headers.ethernet.type = 0x800" in text
    assert "RouterIngress.routes headers.ipv4.destination = " in text


def test_limits_of_tables_are_conditions(tmp_path: Path) -> None:
    file = tmp_path / "limits.p4"
    file.write_text(
        program(
            "table ports { key = { hdr.h.port: range; } actions = { drop; } size = 65; }\n"
            "table acl { key = { hdr.h.ip: ternary; } actions = { drop; } size = 17; }",
            "ports.apply(); acl.apply();",
        )
    )
    result = bound(file)
    assert result["guarantee"]["verdict"] == "conditional"
    assert result["guarantee"]["exact"] is False
    conditions = [
        "table I.ports has at most 64 of its 65 entries",
        "the entries of table I.acl have at most 16 combinations of masks",
    ]
    assert [one for one in result["assumptions"] if "table" in one] == conditions
    text = slowpath("bound", file).stdout
    assert all(one in text.replace("\n", " ") for one in conditions)
    assert "exact if" in text
    page = tmp_path / "page.html"
    assert slowpath("bound", file, "--html", page).returncode == 0
    assert all(one in page.read_text() for one in conditions)
    small = file.read_text().replace("= 65", "= 64").replace("= 17", "= 16")
    file.write_text(small)
    assert bound(file)["guarantee"]["verdict"] == "exact"


def test_numbers_that_do_not_fit_have_warnings_in_results(tmp_path: Path) -> None:
    file = tmp_path / "large.p4"
    file.write_text(program("", "hdr.h.port = 65537;"))
    wanted = "line 16, column 26: 65537 does not fit bit<16>; the value is 1 [SP0289]"
    assert wanted in bound(file)["notes"]
    assert wanted in slowpath("bound", file).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "line 1, column 1: the program has no package 'main'"),
        (b"\n\n", "line 1, column 1: the program has no package 'main'"),
        (b"\x00\xff\x7f\x10\x00", "line 1, column 1: "),
        (b"const bit<8> a = 1;\n#include <core.p4>\n", "line 1, column 1: the program has no"),
    ],
)
def test_files_without_a_program_have_faults_of_p4(
    tmp_path: Path, content: bytes, wanted: str
) -> None:
    file = tmp_path / "bad.p4"
    file.write_bytes(content)
    run = slowpath("bound", file, codes=True)
    assert run.returncode == 3
    assert wanted in run.stderr
    assert "[SP028" in run.stderr


def test_a_missing_direction_names_the_direction_to_write(tmp_path: Path) -> None:
    file = tmp_path / "direction.p4"
    file.write_text(program("", "").replace("control V(inout Hs hdr", "control V(Hs hdr"))
    run = slowpath("bound", file)
    assert "its parameter 'hdr' has no direction, write inout" in run.stderr
    file.write_text(program("action set(bit<9> p) { p = 1; }", ""))
    run = slowpath("bound", file)
    assert "'p' has no direction, declare it with inout or out" in run.stderr


def test_maps_reads_files_of_control_planes(tmp_path: Path) -> None:
    lines = tmp_path / "routes.txt"
    lines.write_text("routes 10.0.0.0/8 -> set_next_hop(next_hop=10.0.0.1, port=3)\n")
    runtime = tmp_path / "s1-runtime.json"
    entry = {
        "table": "RouterIngress.routes",
        "match": {"headers.ipv4.destination": ["10.0.0.0", 8]},
        "action_name": "RouterIngress.set_next_hop",
        "action_params": {"next_hop": "10.0.0.1", "port": 3},
    }
    runtime.write_text(json.dumps({"target": "bmv2", "table_entries": [entry]}, indent=1))
    messages = tmp_path / "entries.txtpb"
    messages.write_text(
        "entities { table_entry { table_id: 7\n"
        ' match { field_id: 1 lpm { value: "\\n\\000\\000\\000" prefix_len: 8 } }\n'
        ' action { action { action_id: 8 params { param_id: 1 value: "\\n\\000\\000\\001" }\n'
        ' params { param_id: 2 value: "\\003" } } } } }\n'
    )
    run = slowpath("bound", ROUTER, "--maps", messages, codes=True)
    assert run.returncode == 3
    assert f"{messages}: line 1: 'table_id' is a number of a P4Info file" in run.stderr
    (tmp_path / "p4info.txtpb").write_text(
        'tables { preamble { id: 7 name: "RouterIngress.routes" }\n'
        ' match_fields { id: 1 name: "headers.ipv4.destination" } }\n'
        'actions { preamble { id: 8 name: "RouterIngress.set_next_hop" }\n'
        ' params { id: 1 name: "next_hop" } params { id: 2 name: "port" } }\n'
    )
    wanted = bound(ROUTER, "--maps", lines)
    for file in (runtime, messages):
        found = bound(ROUTER, "--maps", file)
        assert found["guarantee"] == wanted["guarantee"]
        assert found["paths"][0]["witness"] == wanted["paths"][0]["witness"]
    runtime.write_text(runtime.read_text().replace("prefix", "").replace('"match"', '"matches"'))
    run = slowpath("bound", ROUTER, "--maps", runtime, codes=True)
    assert f"{runtime}: line 6: the entry has the unknown field 'matches'" in run.stderr
    assert "[SP0286]" in run.stderr
