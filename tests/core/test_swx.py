"""Tests the analysis of pipelines of DPDK's software switch: slowest paths, errors with lines."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slowpath import api
from slowpath.calibrate.experiments.specification import (
    shipped_experiment,
    shipped_names,
    swept_values,
)
from slowpath.calibrate.testbeds.swx_programs import swx_pipelines
from slowpath.core.errors import OptionError
from support import GOLDEN, check_golden, slowpath

PIPELINE = """\
struct ethernet_t {
	bit<48> destination
	bit<48> source
	bit<16> type
}

struct metadata_t {
	bit<32> port
	bit<64> count
}

struct forward_t {
	bit<32> port
}

header ethernet instanceof ethernet_t
metadata instanceof metadata_t
regarray packets size 0x100 initval 0

action forward args instanceof forward_t {
	mov m.port t.port
	jmpneq DONE t.port 3
	regadd packets t.port 1
	DONE : return
}

action reject args none {
	drop
}

table routes {
	key {
		h.ethernet.destination exact
	}
	actions {
		forward
		reject
	}
	default_action reject args none const
	size 0x100
}

apply {
	rx m.port
	extract h.ethernet
	jmpeq KNOWN h.ethernet.type 0x800
	drop
	KNOWN : table routes
	emit h.ethernet
	tx m.port
}
"""


def bound(file: Path, *options: str) -> dict[str, Any]:
    run = slowpath("bound", file, *options, "--format", "json")
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)["results"][0]
    return result


def test_the_slowest_path_has_a_packet_an_outcome_and_lines(tmp_path: Path) -> None:
    file = tmp_path / "routes.spec"
    file.write_text(PIPELINE)
    result = bound(file)
    assert result["target"] == "dpdk-swx"
    assert result["guarantee"]["exact"] is True
    assert result["guarantee"]["counts"] == {"instructions": 10, "lookups": 1, "headers": 1}
    path = result["paths"][0]
    executed = {one["line"] for one in path["lines"] if one["line"]}
    first = 1 + PIPELINE.splitlines().index("\tregadd packets t.port 1")
    assert {first, first + 1} <= executed
    assert path["witness"]["packet"][24:28] == "0800"
    outcomes = [one["meaning"] for one in path["witness"]["unknowns"]]
    assert "hit, action forward" in outcomes


REPORT = """\
  witness       a packet of 60 bytes; -- is any byte
    0000  -- -- -- -- -- -- -- --  -- -- -- -- 08 00 -- --  0: Ethernet  14: IPv4
    *
    0030  -- -- -- -- -- -- -- --  -- -- -- --
  tables        lookups in order, with the entries that they need
    line 48 routes h.ethernet.destination=any: hit, action forward t.port=0x00000003
  output        a packet of 60 bytes; 00 for each byte of any value in the input
    0000  00 00 00 00 00 00 00 00  00 00 00 00 08 00 00 00  0: Ethernet  14: IPv4
"""


def test_witnesses_have_the_entries_and_the_output(tmp_path: Path) -> None:
    file = tmp_path / "routes.spec"
    file.write_text(PIPELINE)
    paths = bound(file, "--paths", "all")["paths"]
    packet = (12 * "00" + "0800").ljust(120, "0")
    key = {"field": "h.ethernet.destination", "bits": 48, "value": "0x000000000000"}
    port = {"field": "t.port", "bits": 32, "value": "0x00000003", "arbitrary": False}
    assert paths[0]["witness"]["pipeline"] == {
        "packet": packet,
        "port": 0,
        "entries": [
            {
                "table": "routes",
                "line": 48,
                "key": [{**key, "arbitrary": True}],
                "hit": True,
                "action": "forward",
                "data": [port],
            }
        ],
        "output": packet,
        "output_port": 3,
        "initial_state": [],
    }
    views = [path["witness"]["pipeline"] for path in paths]
    misses = [view for view in views if view["entries"] and not view["entries"][0]["hit"]]
    assert [view["output"] for view in misses] == [None]
    assert sum(not view["entries"] for view in views) == 1
    run = slowpath("bound", file, "--paths", "all")
    assert REPORT in run.stdout
    assert "routes h.ethernet.destination=any: miss, default action reject\n" in run.stdout
    assert "output        none, because the pipeline drops the packet\n" in run.stdout
    assert "outcome" not in run.stdout


def test_state_of_earlier_packets_is_named_only_if_the_path_needs_it(tmp_path: Path) -> None:
    file = tmp_path / "routes.spec"
    counted = "KNOWN : regrd m.count packets 3\n\tjmpeq SEEN m.count 0x1122\n\tdrop\n\tSEEN : "
    file.write_text(PIPELINE.replace("KNOWN : ", counted))
    view = bound(file)["paths"][0]["witness"]["pipeline"]
    (state,) = view["initial_state"]
    assert (state["field"], state["value"]) == ("packets[3]", "0x0000000000001122")


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        (
            "rx m.port",
            "rx port",
            "SP0290",
            "line 44: 'port' is not a metadata field",
        ),
        ("emit h.ethernet", "movh h.a.b m.c", "SP0291", "line 49: the instruction 'movh' is newer"),
        ("emit h.ethernet", "emit h.ipv4", "SP0292", "line 49: the file declares no header 'ipv4'"),
        ("emit h.ethernet", "recirculate", "SP0293", "line 50: a packet may take more"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, code: str, message: str) -> None:
    file = tmp_path / "wrong.spec"
    file.write_text(PIPELINE.replace(old, new))
    run = slowpath("bound", file, codes=True)
    assert run.returncode == 3
    (line,) = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert message in line
    assert line.endswith(f"[{code}]")


def test_other_targets_and_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "routes.spec"
    file.write_text(PIPELINE)
    elsewhere = "in a call of their own, with --target dpdk-swx [SP0408]"
    for words in [(file, "--target", "ebpf"), (file, "examples/firewall.bpf.o")]:
        run = slowpath("bound", *words, codes=True)
        assert run.returncode == 3
        assert elsewhere in run.stderr
    run = slowpath("bound", "examples/firewall.bpf.o", "--target", "dpdk-swx", codes=True)
    assert run.returncode == 3
    assert "target dpdk-swx runs only pipelines of DPDK (.spec files)" in run.stderr
    monkeypatch.setenv("SLOWPATH_TARGET", "ebpf")
    assert elsewhere in slowpath("bound", file, codes=True).stderr


def test_pipelines_of_experiments_have_bounds(tmp_path: Path) -> None:
    """Check that an experiment's pipeline costs more with its component than without."""
    files = []
    for name in shipped_names():
        experiment = shipped_experiment(name)
        if "dpdk-swx" not in experiment["testbeds"]:
            continue
        found = swx_pipelines(experiment, swept_values(experiment)[0])
        for role, pipeline in (("with", found.component), ("without", found.baseline)):
            if "recirculate" not in pipeline.text:
                files.append(tmp_path / f"{name}.{role}.spec")
                files[-1].write_text(pipeline.text)
    run = slowpath("bound", *files, "--format", "json")
    assert run.returncode == 0, run.stderr
    counts = {
        Path(one["file"]).name: one["guarantee"]["counts"]["instructions"]
        for one in json.loads(run.stdout)["results"]
    }
    assert len(counts) == len(files)
    for file in (file.name for file in files if ".with." in file.name):
        assert counts[file] > counts[file.replace(".with.", ".without.")] > 1


HEAD = """\
struct eth_t {
	bit<48> dst
	bit<48> src
	bit<16> len
}

struct opt_t {
	bit<8> n
	varbit<64> data
}

struct meta_t {
	bit<32> port
	bit<32> group
	bit<32> member
	bit<16> len
}

header eth instanceof eth_t
header opt instanceof opt_t
metadata instanceof meta_t
"""
SELECTOR = """
selector s {
	group_id m.group
	selector {
		h.eth.src
	}
	member_id m.member
	n_groups_max 4
	n_members_per_group_max 4
}
"""
LEARNER = """
action go args none {
	mov m.group 0
	return
}

learner l {
	key {
		h.eth.dst
	}
	actions {
		go
	}
	default_action go args none
	size 16
	timeout {
		10
	}
}
"""


@pytest.mark.parametrize(
    ("parts", "lines", "verdict", "reason"),
    [
        (
            "",
            ["extract h.eth", "mov m.len h.eth.len", "extract h.opt m.len"],
            "conditional",
            "each packet has the bytes of the headers",
        ),
        (
            "",
            ["mov m.len 0", "AGAIN : extract h.eth", "add m.len 1", "jmplt AGAIN m.len 5"],
            "conditional",
            "each packet has the bytes of the headers",
        ),
        (
            SELECTOR,
            ["extract h.eth", "mov m.group 1", "table s", "table s"],
            "bound",
            "a run looks up a table twice",
        ),
        (LEARNER, ["extract h.eth", "table l"], "bound", "entries of a learner may have data"),
    ],
    ids=["variable header", "loop", "selector", "learner"],
)
def test_conditions_of_pipelines_are_named(
    tmp_path: Path, parts: str, lines: list[str], verdict: str, reason: str
) -> None:
    body = "".join(f"\t{line}\n" for line in ["rx m.port", *lines, "tx m.port"])
    (tmp_path / "a.spec").write_text(f"{HEAD}{parts}\napply {{\n{body}}}\n")
    run = slowpath("bound", "a.spec", "--format", "json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)["results"][0]
    assert result["guarantee"]["verdict"] == verdict
    assert reason in run.stdout


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "SP0207", "the file is empty; pass a pipeline (.spec)"),
        ("\n\n", "SP0207", "the file is empty; pass a pipeline (.spec)"),
        (
            "Name: router\nVersion: 1.0\n%description\nA router.\n",
            "SP0290",
            "line 1: the file is not a pipeline of DPDK's software switch: unknown statement",
        ),
        (
            PIPELINE.partition("bit<64>")[0],
            "SP0290",
            "line 9: the block 'struct' of line 7 does not end",
        ),
        (PIPELINE.partition("apply")[0], "SP0290", "line 42: the file has no 'apply' block"),
        ("\0\0", "SP0290", "line 1: the line has a zero byte; the file is not text"),
    ],
    ids=["empty", "blank", "other", "truncated", "without apply", "binary"],
)
def test_a_file_that_is_not_a_pipeline_is_named(
    tmp_path: Path, text: str, code: str, message: str
) -> None:
    (tmp_path / "a.spec").write_text(text)
    (tmp_path / "good.spec").write_text(PIPELINE)
    for words in [(), ("--target", "dpdk-swx"), ("--target", "ebpf"), ("good.spec",)]:
        run = slowpath("bound", "a.spec", *words, cwd=tmp_path, codes=True)
        assert run.returncode == 3
        (line,) = [line for line in run.stderr.splitlines() if line.startswith("error: a.spec")]
        assert line.startswith(f"error: a.spec: {message}")
        assert line.endswith(f"[{code}]")
        assert "good.spec:" not in run.stderr


def test_a_missing_pipeline_does_not_change_the_target_of_others(tmp_path: Path) -> None:
    (tmp_path / "good.spec").write_text(PIPELINE)
    run = slowpath("bound", "good.spec", "missing.spec", cwd=tmp_path, codes=True)
    assert "missing.spec: no such file" in run.stderr
    assert "good.spec:" not in run.stderr


def test_a_folder_has_its_pipelines_but_no_other_spec_files(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    run = slowpath("bound", "folder", cwd=tmp_path)
    assert (
        "is a directory without programs (*.bpf.o, *.o for BPF, *.bpf.c, *.p4, *.spec, *.asm)"
        in (run.stderr)
    )
    for name, text in [
        ("a.spec", PIPELINE),
        ("ignored.spec", PIPELINE),
        ("package.spec", "Name: router\nVersion: 1.0\n"),
        (".gitignore", "ignored.spec\n"),
    ]:
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)  # noqa: S607 - git of the user
    run = slowpath("bound", "folder", "--format", "json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)["results"]
    assert (result["file"], result["target"]) == ("folder/a.spec", "dpdk-swx")


@pytest.mark.parametrize(
    "command", ["insights", "chain bound", "chain facts", "chain verify a.spec", "compile"]
)
def test_commands_for_other_programs_name_those_for_pipelines(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.spec").write_text(PIPELINE)
    run = slowpath(*command.split(), "a.spec", cwd=tmp_path)
    assert run.returncode == 3
    assert "is a pipeline of DPDK's software switch, which this command does not read" in run.stderr
    assert "slowpath bound, annotate and show read it" in run.stderr


def test_the_content_of_a_pipeline_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.spec"
    file.write_text(PIPELINE)
    shown = slowpath("show", file, "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    (found,) = json.loads(shown.stdout)["results"]
    # Count the statements of the text as an independent oracle.
    words = [line.split() for line in PIPELINE.splitlines()]
    tables = [one[1] for one in words if one[:1] == ["table"]]
    assert [one["name"] for one in found["tables"]] == tables
    assert [one["name"] for one in found["actions"]] == [
        one[1] for one in words if one[:1] == ["action"]
    ]
    assert found["headers"] == [one[1] for one in words if one[:1] == ["header"]]
    text = slowpath("show", file).stdout
    for table in found["tables"]:
        (line,) = (one for one in text.splitlines() if one.split()[:2] == [table["name"], "table"])
        for key in table["key"]:
            assert f"{key['field']} {key['match']}" in line
        assert line.split()[-1] == str(table["size"])
    result = api.show_pipelines(file)
    assert [row["name"] for row in result.rows] == tables
    assert result.pipelines == [found]


def test_what_show_refuses_about_pipelines(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.spec", tmp_path / "b.spec"
    good.write_text(PIPELINE)
    bad.write_text(PIPELINE.replace("apply {", "apply {{"))
    run = slowpath("show", bad, good, "--format", "json", codes=True)
    assert run.returncode == 3
    assert f"{bad}: line " in run.stderr
    assert "[SP0290]" in run.stderr
    first, second = json.loads(run.stdout)["results"]
    assert first["tables"] == []
    assert first["error"] in run.stderr
    assert second["tables"]
    page = slowpath("show", good, "--html", tmp_path / "page.html")
    assert page.returncode == 2
    assert "describes objects; omit it for pipelines" in page.stderr
    with pytest.raises(OptionError, match="show_pipelines"):
        api.show(good)
    with pytest.raises(OptionError, match="is not a pipeline"):
        api.show_pipelines("examples/flow_monitor.bpf.o")


def test_costs_of_lines_of_a_pipeline(tmp_path: Path) -> None:
    (tmp_path / "routes.spec").write_text(PIPELINE)
    for name, words in [("pipeline", ()), ("pipeline_instructions", ("--instructions",))]:
        run = slowpath("annotate", "routes.spec", *words, cwd=tmp_path)
        assert (run.returncode, run.stderr) == (0, "")
        check_golden(GOLDEN / f"annotate/{name}.txt", run.stdout)


def test_two_versions_of_a_pipeline_differ(tmp_path: Path) -> None:
    (tmp_path / "old.spec").write_text(PIPELINE)
    slower = "KNOWN : table routes\n\tregadd packets m.port 1"
    (tmp_path / "new.spec").write_text(PIPELINE.replace("KNOWN : table routes", slower))
    for form in ("table", "csv", "markdown"):
        run = slowpath("diff", "old.spec", "new.spec", "--format", form, cwd=tmp_path)
        assert (run.returncode, run.stderr) == (0, "")
        check_golden(GOLDEN / f"diff/pipeline.{form}", run.stdout)
