"""Tests P4 programs as input: analyses with source lines, errors with lines, and C for XDP."""

import json
import re
from pathlib import Path

import pytest

from support import ROOT, slowpath

EXAMPLES = ROOT / "examples"
ROUTER = EXAMPLES / "p4/router.p4"
FILTER = """\
#include <core.p4>
#include <ebpf_model.p4>
#include "headers.p4"

struct headers_t { ethernet_t ethernet; }

parser Parse(packet_in packet, out headers_t headers) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Filter(inout headers_t headers, out bool pass) {
    apply { pass = headers.ethernet.type == TYPE; }
}

ebpfFilter(Parse(), Filter()) main;
"""
HEADERS = "header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Write a P4 program that needs an included file and a macro, and return its file."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/headers.p4").write_text(HEADERS)
    (tmp_path / "filter.p4").write_text(FILTER)
    return tmp_path / "filter.p4"


def test_a_p4_program_has_a_bound_with_its_lines() -> None:
    run = slowpath("bound", ROUTER, "--format", "json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)["results"][0]
    assert result["guarantee"]["exact"] is True
    lines = {(one["file"], one["line"]) for one in result["paths"][0]["lines"] if one["line"]}
    assert {Path(file).name for file, _ in lines} == {"router.p4"}
    text = ROUTER.read_text().splitlines()
    shown = {text[line - 1].strip() for _, line in lines}
    assert "packet.extract(headers.ipv4);" in shown
    assert "if (routes.apply().hit) {" in shown


def test_flags_name_folders_and_macros(small: Path) -> None:
    flags = f"-I {small.parent}/include -DTYPE=0x86dd"
    run = slowpath("bound", small, "--cflags", flags, "--format", "json")
    assert run.returncode == 0, run.stderr
    missing = slowpath("bound", small, codes=True)
    assert "line 3, column 10: headers.p4 not found; name its folder with -I" in missing.stderr
    assert "[SP0282]" in missing.stderr
    undefined = slowpath("bound", small, "--cflags", f"-I{small.parent}/include", codes=True)
    assert "line 15, column 45: 'TYPE' is not declared" in undefined.stderr
    assert "[SP0284]" in undefined.stderr


def test_a_fault_of_a_header_names_the_header(small: Path) -> None:
    header = small.parent / "include/headers.p4"
    header.write_text(HEADERS.replace("type; }", "type }"))
    run = slowpath("bound", small, "--cflags", f"-I{header.parent} -DTYPE=1", codes=True)
    assert run.returncode == 3
    assert f"{header}, line 1, column" in run.stderr
    assert "';' expected, found '}'" in run.stderr
    assert "[SP0280]" in run.stderr


def test_constructs_without_a_translation_are_refused(small: Path) -> None:
    small.write_text(
        FILTER.replace("== TYPE", "== magic()").replace(
            "control", "extern bit<16> magic();\ncontrol"
        )
    )
    run = slowpath("bound", small, "--cflags", f"-I{small.parent}/include", codes=True)
    assert run.returncode == 3
    assert "line 16, column 45: magic cannot be compiled for XDP yet" in run.stderr
    assert "[SP0285]" in run.stderr


def test_programs_that_need_more_than_the_stack_keep_headers_in_a_map(small: Path) -> None:
    names = [f"part{number}" for number in range(48)]
    fields = "\n".join(f"    bit<128> {name};" for name in names)
    swaps = "\n".join(
        f"        headers.big.{name} = headers.big.{name} ^ headers.big.{other};"
        for name, other in zip(names, reversed(names), strict=True)
    )
    small.write_text(
        f"""\
#include <core.p4>
#include <xdp_model.p4>
header big_t {{
{fields}
}}
struct headers_t {{ big_t big; }}
parser Parse(packet_in packet, out headers_t headers) {{
    state start {{ packet.extract(headers.big); transition accept; }}
}}
control Switch(inout headers_t headers, in xdp_input input, out xdp_output output) {{
    apply {{
{swaps}
        output.output_action = xdp_action.XDP_TX;
        output.output_port = 0;
    }}
}}
control Deparse(in headers_t headers, packet_out packet) {{ apply {{ packet.emit(headers.big); }} }}
xdp(Parse(), Switch(), Deparse()) main;
"""
    )
    run = slowpath("show", small)
    assert run.returncode == 0, run.stderr
    assert "yes" in run.stdout


def test_p4_compiles_to_c_that_clang_accepts(tmp_path: Path) -> None:
    made = tmp_path / "router.c"
    run = slowpath("compile", ROUTER, "--to", "xdp-c", "-o", made)
    assert run.returncode == 0, run.stderr
    bound = slowpath("bound", made, "--format", "json")
    assert bound.returncode == 0, bound.stderr
    direct = slowpath("bound", ROUTER, "--format", "json")
    costs = [json.loads(one.stdout)["results"][0]["guarantee"] for one in (bound, direct)]
    assert costs[0] == costs[1]


def test_p4_compiles_to_a_pipeline_with_its_conditions(tmp_path: Path) -> None:
    made = tmp_path / "router.spec"
    run = slowpath("compile", ROUTER, "--to", "swx", "-o", made)
    assert run.returncode == 0, run.stderr
    assert "SWX does not check lengths" in run.stderr
    assert "counts packets, but not bytes" in run.stderr
    text = made.read_text()
    assert "h.ipv4.destination lpm" in text
    assert text.rstrip().endswith("drop\n}")


def test_the_slowest_path_through_a_pipeline_has_lines_of_the_program() -> None:
    run = slowpath("bound", ROUTER, "--target", "dpdk-swx", "--format", "json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert "compiler" not in document  # nothing was compiled
    result = document["results"][0]
    assert result["guarantee"]["verdict"] == "conditional"
    assert any("SWX does not check lengths" in one for one in result["assumptions"])
    path = result["paths"][0]
    text = ROUTER.read_text().splitlines()
    assert {Path(one["file"]).name for one in path["lines"]} == {"router.p4"}
    shown = {text[one["line"] - 1].strip() for one in path["lines"]}
    assert {"packet.extract(headers.ipv4);", "neighbours.apply();"} <= shown
    entries = path["witness"]["pipeline"]["entries"]
    places = {one["table"]: text[one["line"] - 1].strip() for one in entries}
    assert places["RouterIngress_neighbours"] == "neighbours.apply();"


def test_costs_and_differences_of_pipelines_have_lines_of_the_program(tmp_path: Path) -> None:
    run = slowpath("annotate", ROUTER, "--target", "dpdk-swx")
    assert run.returncode == 0, run.stderr
    line = next(one for one in run.stdout.splitlines() if "neighbours.apply();" in one)
    assert re.search(r" 1 +1 +1 +0 +[\d.]+ +[\d.]+ +98 {2,}neighbours", line), line
    changed = tmp_path / "router.p4"
    changed.write_text(ROUTER.read_text().replace("sent.count((bit<32>)port);", ""))
    run = slowpath("diff", ROUTER, changed, "--target", "dpdk-swx")
    assert "1 better" in run.stdout, run.stderr
    assert re.search(r"router.p4:73 .* sent.count", run.stdout)


def test_a_guarantee_of_a_pipeline_holds_for_all_entries(tmp_path: Path) -> None:
    entries = tmp_path / "entries.txt"
    entries.write_text("routes 10.0.0.0/8 -> drop()\n")
    run = slowpath("bound", ROUTER, "--target", "dpdk-swx", "--maps", entries, codes=True)
    assert run.returncode == 2
    assert "target dpdk-swx guarantees costs for all entries of tables" in run.stderr
    assert "[SP0108]" in run.stderr


def test_targets_that_run_other_translations_share_a_command() -> None:
    run = slowpath("bound", ROUTER, "--target", "linux-xdp,dpdk-swx", "--format", "json")
    assert run.returncode == 0, run.stderr
    costs = {one["target"]: one["guarantee"] for one in json.loads(run.stdout)["results"]}
    alone = slowpath("bound", ROUTER, "--target", "dpdk-swx", "--format", "json")
    assert costs["dpdk-swx"] == json.loads(alone.stdout)["results"][0]["guarantee"]
    assert costs["linux-xdp"]["verdict"] == "exact"


def test_entries_of_tables_stand_beside_a_pipeline(tmp_path: Path) -> None:
    entries, made = tmp_path / "entries.txt", tmp_path / "router.spec"
    entries.write_text(
        "routes 10.0.0.0/8 -> set_next_hop(next_hop=10.0.0.1, port=3)\n"
        "routes 10.1.0.0/16 -> set_next_hop(next_hop=10.0.0.1, port=4)\n"
        "neighbours 10.0.0.1 -> set_destination(00:11:22:33:44:55)\n"
    )
    run = slowpath("compile", ROUTER, "--to", "swx", "--maps", entries, "-o", made)
    assert run.returncode == 0, run.stderr
    file = tmp_path / "router.RouterIngress_routes.add.txt"
    assert f"{file}: 2 entries; DPDK loads them with" in run.stderr
    assert f"'pipeline PIPELINE table RouterIngress_routes add {file}'" in run.stderr
    assert file.read_text().splitlines() == [
        "match 0xa010000/0xffff0000 priority 0 action RouterIngress_set_next_hop "
        "next_hop 0xa000001 port 0x4",
        "match 0xa000000/0xff000000 priority 1 action RouterIngress_set_next_hop "
        "next_hop 0xa000001 port 0x3",
    ]
    other = tmp_path / "router.RouterIngress_neighbours.add.txt"
    assert other.read_text() == (
        "match 0xa000001 action RouterIngress_set_destination address 0x1122334455\n"
    )


def test_entries_beside_a_pipeline_need_a_place_and_fit(tmp_path: Path) -> None:
    entries = tmp_path / "entries.txt"
    entries.write_text("routes default -> drop()\n")
    for options, message in (
        (
            ("--to", "swx"),
            (
                "'--maps': the option writes entries to files beside the pipeline; add --output "
                "FILE.spec"
            ),
        ),
        (("--to", "xdp-c"), "'--maps': has no effect with --to xdp-c"),
        ((), "'--maps': needs --to swx"),
    ):
        run = slowpath("compile", ROUTER, *options, "--maps", entries)
        assert run.returncode == 2
        assert message in run.stderr
    made = tmp_path / "router.spec"
    run = slowpath("compile", ROUTER, "--to", "swx", "--maps", entries, "-o", made, codes=True)
    assert run.returncode == 3
    assert f"{entries}: line 1: the default action of table 'RouterIngress.routes'" in run.stderr
    assert not made.exists()
    entries.write_text("[[maps]]\n")
    run = slowpath("compile", ROUTER, "--to", "swx", "--maps", entries, "-o", made, codes=True)
    assert "is content of BPF maps, which a pipeline lacks" in run.stderr
    assert "[SP0270]" in run.stderr


def test_a_pipeline_needs_constructs_that_dpdk_has(small: Path) -> None:
    clocked = small.parent / "clocked.p4"
    text = ROUTER.read_text()
    clocked.write_text(
        text.replace("mark_to_drop", "metadata.next_hop = standard.packet_length; mark_to_drop", 1)
    )
    run = slowpath("compile", clocked, "--to", "swx", codes=True)
    assert run.returncode == 3
    assert "[SP0285]" in run.stderr


@pytest.mark.parametrize(
    "option",
    [
        ("--target", "agilio-cx-2x40"),
        ("--section", "xdp"),
        ("--prog-name", "program"),
        ("--map-abi", "call"),
        ("--btf", "types"),
        ("--mtu", "1500"),
        ("--source",),
        ("--verify",),
        ("--format", "json"),
    ],
    ids=lambda option: option[0],
)
@pytest.mark.parametrize("to", ["xdp-c", "swx"])
def test_a_translation_refuses_options_of_listings(to: str, option: tuple[str, ...]) -> None:
    run = slowpath("compile", ROUTER, "--to", to, *option, codes=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"error: invalid value for '{option[0]}'" in run.stderr
    assert re.search(r"\[SP010[78]\]", run.stderr)


def test_only_p4_is_translated_to_c() -> None:
    run = slowpath("compile", EXAMPLES / "firewall.bpf.o", "--to", "xdp-c", codes=True)
    assert run.returncode == 2
    assert "is not a P4 program" in run.stderr
    assert "[SP0108]" in run.stderr


def test_a_folder_has_its_p4_programs_but_not_their_headers(small: Path) -> None:
    run = slowpath("bound", small.parent, "--cflags", f"-I{small.parent}/include -DTYPE=1")
    assert run.returncode == 0, run.stderr
    assert "filter.p4" in run.stdout
    assert "headers.p4 ·" not in run.stdout


def test_a_sweep_changes_a_macro_of_p4() -> None:
    run = slowpath("sweep", ROUTER, "-D", "ROUTES=16,64", "--format", "json")
    assert run.returncode == 0, run.stderr
    assert [point["values"] for point in json.loads(run.stdout)["results"]]


def test_other_uses_of_p4_have_advice(tmp_path: Path) -> None:
    other = tmp_path / "program"
    other.write_text(FILTER)
    assert "is P4; rename it to a name that ends in .p4" in slowpath("bound", other).stderr
    assert (
        "is P4; slowpath bound and slowpath annotate read it" in slowpath("insights", ROUTER).stderr
    )


def test_map_content_of_a_witness_has_the_names_of_tables() -> None:
    run = slowpath("bound", ROUTER)
    assert run.returncode == 0, run.stderr
    assert "parser        start, ipv4, " in run.stdout
    assert "headers.ethernet.type = 0x800" in run.stdout
    assert "RouterIngress.routes: hit, set_next_hop(next_hop = 0x0, port = " in run.stdout
    routes = "RouterIngress.routes headers.ipv4.destination = 0x0/32 -> set_next_hop(next_hop = 0x0"
    assert routes in run.stdout
    neighbours = (
        "RouterIngress.neighbours metadata.next_hop = 0x0 -> set_destination(address = any)"
    )
    assert neighbours in run.stdout


def test_maps_can_be_entries_of_tables(tmp_path: Path) -> None:
    entries = tmp_path / "routes.txt"
    entries.write_text(
        "# one route, and no neighbour for its next hop\n"
        "routes 10.0.0.0/8 -> set_next_hop(next_hop=10.0.0.1, port=3)\n"
        "neighbours 10.0.0.2 -> set_destination(02:00:00:00:00:01)\n"
    )
    run = slowpath("bound", ROUTER, "--maps", entries, "--format", "json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)["results"][0]
    fewer = result["guarantee"]["counts"]["instructions"]
    free = slowpath("bound", ROUTER, "--format", "json")
    assert fewer < json.loads(free.stdout)["results"][0]["guarantee"]["counts"]["instructions"]


def test_a_fault_of_an_entry_names_its_line(tmp_path: Path) -> None:
    entries = tmp_path / "routes.txt"
    entries.write_text("\nroutes 10.0.0.0/40 -> drop()\n")
    run = slowpath("bound", ROUTER, "--maps", entries, codes=True)
    assert run.returncode == 3
    assert f"{entries}: line 2: table 'RouterIngress.routes': prefix length 40" in run.stderr
    assert "[SP0286]" in run.stderr


def test_a_fault_has_the_same_place_in_all_commands(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.p4"
    wrong.write_text(ROUTER.read_text().replace("apply {", "apply { x = ;", 1))
    entries = tmp_path / "routes.txt"
    entries.write_text("routes 10.0.0.0/8 -> drop()\n")
    line = next(at for at, one in enumerate(wrong.read_text().splitlines(), 1) if "x = ;" in one)
    fault = f"error: {wrong}: line {line}, column 17: an expression expected, found ';' [SP0280]\n"
    for words in [
        ("bound", wrong),
        ("bound", wrong, "--maps", entries),
        ("annotate", wrong),
        ("show", wrong),
        ("compile", wrong),
        ("compile", wrong, "--to", "swx"),
    ]:
        run = slowpath(*words, codes=True)
        assert (run.returncode, run.stdout, run.stderr) == (3, "", fault)


def test_a_warning_and_a_rejected_translation_have_the_place_of_a_fault(tmp_path: Path) -> None:
    wide = tmp_path / "wide.p4"
    wide.write_text(ROUTER.read_text().replace("headers.ipv4.ttl - 1", "headers.ipv4.ttl - 300"))
    line = next(at for at, one in enumerate(wide.read_text().splitlines(), 1) if "- 300" in one)
    note = f"line {line}, column 47: 300 does not fit bit<8>; the value is 44"
    run = slowpath("bound", wide, "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    assert f"{note} [SP0289]" in result["notes"]
    run = slowpath("bound", wide, "--cflags", "-Werror=conversion", codes=True)
    place = rf"error: {re.escape(str(wide))}: line \d+, column \d+: clang rejects the translation"
    assert re.match(place, run.stderr)
    assert run.stderr.endswith("[SP0222]\n")


def test_the_license_of_a_translation_is_not_shown(tmp_path: Path) -> None:
    run = slowpath("show", ROUTER, "--html", tmp_path / "page.html")
    assert run.stdout.splitlines()[0] == str(ROUTER)
    assert "license" not in (tmp_path / "page.html").read_text()
    run = slowpath("show", ROUTER, "--format", "json")
    assert json.loads(run.stdout)["results"][0]["license"] is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("routes", "the entry of table 'RouterIngress.routes' has no key and no action; write"),
        ("routes 10.0.0.0/8", "the entry of table 'RouterIngress.routes' has no action; write"),
        ("routes -> drop()", "takes 1 key (headers.ipv4.destination), the entry has 0"),
        (f"routes {'x' * 5000} -> drop()", f"'{'x' * 60}…' is neither a number nor an address"),
    ],
    ids=["name", "key", "action", "long"],
)
def test_an_incomplete_or_long_entry_has_a_short_message(
    tmp_path: Path, entry: str, message: str
) -> None:
    entries = tmp_path / "routes.txt"
    entries.write_text(f"{entry}\n")
    run = slowpath("bound", ROUTER, "--maps", entries)
    assert run.returncode == 3
    assert f"{entries}: line 1: " in run.stderr
    assert message in run.stderr
    assert len(run.stderr) < 400
