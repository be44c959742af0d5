"""Tests `slowpath measure` for pipelines of DPDK's software switch."""

import json
from pathlib import Path, PurePath
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from calibrating import needs_dpdk
from slowpath import api
from slowpath.core.schema.validation import schema
from slowpath.main import main
from slowpath.measure import pipelines
from slowpath.measure.pipelines import _entries, _lookups, _obstacle, _Run
from support import ROOT, slowpath

SPEC = """
struct ethernet_t {
	bit<48> destination
	bit<48> source
	bit<16> type
}

struct send_t {
	bit<32> port
}

struct metadata_t {
	bit<32> port
	bit<16> kind
}

header ethernet instanceof ethernet_t
metadata instanceof metadata_t

action send args instanceof send_t {
	mov m.port t.port
	return
}

action discard args none {
	drop
}

table types {
	key {
		m.kind exact
	}
	actions {
		send
		discard
	}
	default_action discard args none const
	size 16
}

apply {
	rx m.port
	extract h.ethernet
	mov m.kind h.ethernet.type
	jmpeq OTHER h.ethernet.type 0x600
	table types
	emit h.ethernet
	tx m.port
	OTHER : mov m.port PORT
	emit h.ethernet
	tx m.port
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "switch.spec"
    file.write_text(SPEC.replace("PORT", "3"))
    return file


def measured(file: Path, *options: str, code: int = 0) -> Any:
    done = slowpath("measure", str(file), "--seconds", "1", "--format", "json", *options)
    assert done.returncode == code, done.stderr
    document = json.loads(done.stdout)
    Draft202012Validator(schema("pipelines")).validate(document)
    return document["results"][0]


def test_all_paths_of_a_pipeline_are_timed(spec: Path) -> None:
    needs_dpdk()
    result = measured(spec, "--paths", "all")
    assert result["error"] is None
    assert result["complete"]
    assert [path["error"] for path in result["paths"]] == [None] * 4
    dropped = [path for path in result["paths"] if path["output"] is None]
    assert sorted(path["entries"] for path in dropped) == [
        ["types action discard"],
        ["types match 0x0000 action discard"],
    ]
    hit = next(path for path in result["paths"] if "action send" in str(path["entries"]))
    assert hit["output"] == hit["packet"]
    for path in result["paths"]:
        assert path["builds"] >= 3
        assert path["low_ns"] <= path["measured_ns"] <= path["high_ns"]


def test_paths_to_ports_that_do_not_exist_are_not_timed(tmp_path: Path) -> None:
    needs_dpdk()
    file = tmp_path / "switch.spec"
    file.write_text(SPEC.replace("PORT", "60000"))
    result = measured(file, "--paths", "all")
    failed = [path for path in result["paths"] if path["error"] is not None]
    assert [path["error"].partition(";")[0] for path in failed] == [
        "the pipeline sends the packet to port 60000"
    ]
    assert sum(path["measured_ns"] is not None for path in result["paths"]) == 3


def test_a_path_that_ends_dpdk_does_not_end_the_measurement(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_dpdk()
    monkeypatch.setattr(pipelines, "_OUT_PORTS", 1 << 32)
    spec.write_text(SPEC.replace("PORT", "0xfffffff0"))
    words = ["slowpath", "measure", str(spec), "--seconds", "1", "--format", "json"]
    monkeypatch.setattr("sys.argv", [*words, "--paths", "all"])
    with pytest.raises(SystemExit):
        main()
    result = json.loads(capsys.readouterr().out)["results"][0]
    errors = [path["error"] for path in result["paths"]]
    assert errors.count("DPDK ended abnormally on this path") == 1
    assert errors.count(None) == 3


def test_packets_arrive_at_the_port_of_the_witness(tmp_path: Path) -> None:
    needs_dpdk()
    file = tmp_path / "switch.spec"
    text = SPEC.replace("PORT", "3").replace(
        "jmpeq OTHER h.ethernet.type 0x600", "jmpeq OTHER m.port 5"
    )
    file.write_text(text)
    result = measured(file, "--paths", "all")
    assert {path["port"] for path in result["paths"]} == {0, 5}
    assert [path["error"] for path in result["paths"]] == [None] * 4
    bases = {path["port"]: path["baseline_ns"] for path in result["paths"]}
    assert None not in bases.values()


def test_a_pipeline_that_dpdk_refuses_has_the_reason(tmp_path: Path) -> None:
    needs_dpdk()
    file = tmp_path / "switch.spec"
    # DPDK wants a power of two for the size of an exact table, up to 2^31.
    file.write_text(SPEC.replace("PORT", "3").replace("size 16", "size 0xffffffff"))
    result = measured(file, code=3)
    assert result["error"] is not None


def test_p4_programs_are_measured_as_pipelines() -> None:
    needs_dpdk()
    result = measured(ROOT / "examples/p4/acl.p4", "--testbed", "dpdk-swx")
    assert result["file"] == str(ROOT / "examples/p4/acl.p4")
    assert sum(path["measured_ns"] is not None for path in result["paths"]) >= 4
    assert all(PurePath(file).name == "acl.p4" for file, _ in result["paths"][0]["source"])


def test_the_python_api_has_pipelines(spec: Path) -> None:
    needs_dpdk()
    found = api.measure(spec, seconds=0.3)
    assert [one["file"] for one in found.pipelines] == [str(spec)]
    assert (found.programs, found.comparison) == ([], None)
    assert len(found.to_dataframe()) == len(found.pipelines[0]["paths"])


@pytest.mark.parametrize(
    "option", [["--mode", "live"], ["--pcap", "x"], ["--html", "x.html"], ["--format", "sarif"]]
)
def test_options_of_bpf_programs_are_refused(spec: Path, option: list[str]) -> None:
    done = slowpath("measure", str(spec), *option)
    assert done.returncode == 2
    assert option[0] in done.stderr
    assert "pipelines" in done.stderr


def test_other_test_beds_are_refused(spec: Path) -> None:
    done = slowpath("measure", str(spec), "--testbed", "ebpf")
    assert done.returncode == 2
    assert "'ebpf' does not measure programs; choose linux-xdp or dpdk-swx" in done.stderr


def field(name: str, value: str) -> Any:
    return {"field": name, "bits": 16, "value": value, "arbitrary": False}


def lookup(*, hit: bool, key: str = "0x0800", action: str = "send") -> Any:
    return {
        "table": "types",
        "line": 40,
        "key": [field("m.kind", key)],
        "hit": hit,
        "action": action,
        "data": [field("t.port", "0x1")],
    }


def test_entries_of_equal_keys_are_installed_once() -> None:
    assert list(_entries([lookup(hit=True), lookup(hit=True)])) == [
        "entry types match 0x0800 action send port 0x1"
    ]


def test_tables_without_a_hit_have_an_entry_for_another_key() -> None:
    missed: Any = lookup(hit=False)
    default, other = _entries([missed])
    assert default == "default types action send port 0x1"
    key = int(missed["key"][0]["value"], 0)
    assert other == f"other types match {key ^ 1:#06x}"
    # The other lookup of the table must not find the entry.
    second: Any = {**missed, "key": [{**missed["key"][0], "value": f"{key ^ 1:#x}"}]}
    assert list(_entries([missed, second]))[-1] == f"other types match {key ^ 2:#06x}"
    wide: Any = {**missed, "key": [{**missed["key"][0], "value": f"0x{2:032x}"}]}
    assert list(_entries([wide]))[-1] == f"other types match 0x{3:032x}"
    missed["key"] = []
    assert list(_entries([missed])) == [default]


def test_lookups_are_counted_by_table() -> None:
    assert list(_lookups([lookup(hit=True), lookup(hit=False), lookup(hit=True)])) == [
        "lookups types 2 1"
    ]


def test_paths_that_dpdk_cannot_repeat_are_not_timed() -> None:
    def reason(state: list[Any], port: int, *calls: str, output: int | None = None) -> str | None:
        pipeline: Any = {"initial_state": state, "port": port, "output_port": output}
        witness: Any = {"unknowns": [{"call": call} for call in calls]}
        return _obstacle(witness, pipeline)

    assert reason([], 0, "table types") is None
    assert "earlier packets left in m.kind" in str(reason([field("m.kind", "0x1")], 0))
    assert reason([], 2, output=511) is None
    assert "arrive at port 16" in str(reason([], 16))
    assert "to port 512" in str(reason([], 0, output=512))
    assert "hash crc32" in str(reason([], 0, "table types", "hash crc32"))


STATEFUL = """\
struct eth_t {
	bit<48> dst
	bit<48> src
	bit<16> type
}
struct m_t {
	bit<32> port
	bit<32> group
	bit<32> member
	bit<64> value
}
header eth instanceof eth_t
metadata instanceof m_t
regarray r size 8 initval 0
metarray meters size 8
DECLARATION
apply {
	rx m.port
	extract h.eth
	mov m.group 3
	STATEMENT
	jmpeq OTHER m.member 2
	emit h.eth
	tx m.port
	OTHER : mov h.eth.type 7
	regwr r 1 h.eth.src
	emit h.eth
	tx m.port
}
"""


SELECTOR = """\
selector s {
	group_id m.group
	selector {
		h.eth.dst
	}
	member_id m.member
	n_groups_max 16
	n_members_per_group_max 8
}
"""


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("regrd m.member r 1", "content that earlier packets left in r[1]"),
        ("table s", "a certain result of selector,"),
        ("meter meters 1 m.group 0 m.member", "a certain result of meter,"),
    ],
)
def test_each_path_that_is_left_out_has_its_reason(
    tmp_path: Path, statement: str, why: str
) -> None:
    needs_dpdk()
    file = tmp_path / "stateful.spec"
    # DPDK refuses a selector that no instruction names.
    declared = SELECTOR if statement == "table s" else ""
    text = STATEFUL.replace("DECLARATION\n", declared).replace("STATEMENT", statement)
    file.write_text(text)
    document = json.loads(slowpath("measure", file, "--seconds", "0.5", "--format", "json").stdout)
    (record,) = document["results"]
    left = [path for path in record["paths"] if path["measured_ns"] is None]
    assert left
    assert all(why in path["error"] and path["code"] == "SP0809" for path in left)
    if len(left) == len(record["paths"]):
        assert record["code"] == "SP0809"
    assert why in slowpath("measure", file, "--seconds", "0.5").stdout


def test_errors_of_later_builds_remove_a_path() -> None:
    timed = _Run(2, 0.01)
    for line in ("path 0", "sample 0 50", "path 1", "sample 1 99", "visit 1", "path 1"):
        timed.record_line(line, [0, 1])
    assert timed.builds == 1
    assert timed.current == 1
    assert timed.estimate(1) is not None
    timed.record_line("error 1 byte 3 that DPDK sends is 0x01, not 0x00", [0, 1])
    assert timed.estimate(1) is None
    assert timed.errors == {1: "byte 3 that DPDK sends is 0x01, not 0x00"}


def test_times_must_agree_before_a_run_is_precise() -> None:
    timed = _Run(1, 0.01)
    for time in (50, 70, 50, 70):
        timed.record_line(f"sample 0 {time}", [0])
        timed.record_line("visit 1", [0])
    assert not timed.is_enough()
    for _ in range(200):
        timed.record_line("sample 0 60", [0])
        timed.record_line("visit 1", [0])
    assert timed.is_enough()
