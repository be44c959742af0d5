"""Pipelines of DPDK's software switch as input: slowest paths, and errors with their lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.calibrate.experiments.specification import (
    shipped_experiment,
    shipped_names,
    swept_values,
)
from slowpath.calibrate.programs.swx import swx_pipelines
from support import slowpath

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
        ("emit h.ethernet", "recirculate", "SP0293", "line 49: 'recirculate' sends the packet"),
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


def test_other_targets_and_options_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "routes.spec"
    file.write_text(PIPELINE)
    run = slowpath("bound", file, "--target", "ebpf", codes=True)
    assert run.returncode == 3
    assert "analyse it with --target dpdk-swx" in run.stderr
    run = slowpath("bound", "examples/firewall.bpf.o", "--target", "dpdk-swx", codes=True)
    assert run.returncode == 3
    assert "target dpdk-swx runs only .spec files" in run.stderr


def test_pipelines_of_experiments_have_bounds(tmp_path: Path) -> None:
    """Check that the slowest path costs more with the component of an experiment than without."""
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
