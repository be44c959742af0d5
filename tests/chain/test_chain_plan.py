"""Tests `slowpath chain plan`, which finds program variants for the paths of a network."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from oracles import compared
from running_kernel import needs_kernel
from support import ROOT, slowpath
from test_schema import check

EXAMPLES = ROOT / "examples/chain"
TOPOLOGY = EXAMPLES / "topology.yaml"


Hop = dict[str, Any]
PASSED: Hop = {"on": ["XDP_PASS"]}


def plan(file: Path, cache: Path | None, *words: str | Path, code: int = 0) -> dict[str, Any]:
    """Run `chain plan` on a topology, and return the JSON document.

    If `cache` is None, the command uses no cache. `code` is the expected exit code.
    """
    kept = ("--no-cache-dir",) if cache is None else ("--cache-dir", cache)
    run = slowpath("chain", "plan", file, *kept, *words, "--format", "json")
    assert (run.returncode, run.stderr) == (code, "")
    check("plan", run.stdout)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def at(found: dict[str, Any], node: str) -> list[dict[str, Any]]:
    """Return the variants that a plan proposes for the program at a node."""
    return [spot for spot in found["hot_spots"] if spot["node"] == node]


def described(
    folder: Path,
    programs: dict[str, Path],
    nodes: dict[str, str | None],
    paths: list[list[Hop]],
) -> Path:
    """Write the description of a topology, and return its file.

    `programs` are object files by name, `nodes` the program of each node, and `paths` the nodes of
    each path.
    """
    topology = {
        "schema": 1,
        "programs": [{"name": name, "object": str(file)} for name, file in programs.items()],
        "nodes": [
            {"name": name} | ({"program": program} if program else {})
            for name, program in nodes.items()
        ],
        "paths": [{"hops": hops} for hops in paths],
    }
    file = folder / "topology.yaml"
    file.write_text(json.dumps(topology))
    return file


def copied(folder: Path, *names: str) -> dict[str, Path]:
    """Copy objects of examples to a folder, so that a test can replace them; return the copies."""
    return {
        name: Path(shutil.copy(EXAMPLES / f"{name}.bpf.o", folder / f"{name}.bpf.o"))
        for name in names
    }


def line(folder: Path, balancer: str = "load_balancer") -> tuple[Path, dict[str, Path]]:
    """Write a topology with firewall, counter and load balancer on one path.

    Return its file, and the copied objects by program.
    """
    programs = copied(folder, "firewall", "counter", balancer)
    nodes: dict[str, str | None] = {"a": "firewall", "b": "counter", "c": balancer}
    hops: list[Hop] = [{"node": "a"} | PASSED, {"node": "b"} | PASSED, {"node": "c"}]
    return described(folder, programs, nodes, [hops]), programs


def test_the_example_pays_where_the_firewall_is_in_front() -> None:
    found = plan(TOPOLOGY, None)
    web, other = found["hot_spots"]
    assert [(one["node"], one["variant"]) for one in (web, other)] == [
        ("server-7", "all"),
        ("server-8", "edge-1"),
    ]
    assert (web["share"], other["share"]) == (0.6, 0.3)
    assert web["gain"] == 2 * other["gain"] > 100
    assert (web["rests_on"], web["irrelevant"]) == (["edge-1"], ["tor-3"])
    assert web["guard"]["instructions"] < web["instructions_before"] / 8
    assert {fact["kind"] for fact in web["facts"]} >= {"length", "bytes"}
    # The router between firewall and load balancer neither establishes nor invalidates facts.
    lines = [line for fact in web["facts"] for line in fact["established"]]
    assert {(line["program"], Path(line["file"]).name) for line in lines} == {
        ("firewall", "firewall.bpf.c")
    }
    as_is = {(one["node"], *one["ingresses"]) for one in found["as_is"]}
    assert as_is == {("edge-1", "outside"), ("edge-2", "outside"), ("server-8", "edge-2")}
    assert [path["never"] for path in found["paths"]] == [None, None, None]
    assert (found["kept"], found["stopped"], found["not_looked_at"]) == (0, None, [])


def test_the_report_is_a_table(tmp_path: Path) -> None:
    run = slowpath("chain", "plan", TOPOLOGY, "--no-cache-dir", "-o", tmp_path)
    assert run.returncode == 0
    header, first, second, *rest = run.stdout.splitlines()
    assert header.split()[:4] == ["node", "program", "variant", "traffic"]
    assert first.split()[:5] == ["server-7", "balancer", "all", "60.0", "%"]
    assert second.split()[-1] == str(tmp_path / "server-8.edge-1.bpf.o")
    assert any(text.startswith("balancer at server-7 (all): tor-3 is irrelevant") for text in rest)
    assert any(text.endswith("s in all") for text in rest)


def test_costs_are_those_of_the_chain(tmp_path: Path) -> None:
    """Check that the plan states the instruction counts that `chain bound` finds.

    `chain bound` analyses the whole chain, without facts about packets.
    """
    file, programs = line(tmp_path, "load_balancer_card")  # the fastest one to analyse

    def bound(balancer: Path) -> int:
        chain = {
            "schema": 1,
            "programs": [
                {"name": "firewall", "object": str(EXAMPLES / "firewall.bpf.o"), "device": "a"},
                {"name": "counter", "object": str(EXAMPLES / "counter.bpf.o"), "device": "b"},
                {"name": "balancer", "object": str(balancer), "device": "c"},
            ],
            "edges": [
                {"from": "firewall", "on": ["XDP_PASS"], "to": "counter"},
                {"from": "counter", "on": ["XDP_PASS"], "to": "balancer"},
            ],
        }
        written = tmp_path / "chain.yaml"
        written.write_text(json.dumps(chain))
        run = slowpath("chain", "bound", written, "--target", "ebpf", "--format", "json")
        results = json.loads(run.stdout)["results"]
        (result,) = [one for one in results if one["program"].endswith("@c")]
        assert result["guarantee"]["verdict"] == "exact"
        return int(result["guarantee"]["counts"]["instructions"])

    before = bound(programs["load_balancer_card"])
    for mode in ((), ("--trust",)):
        (spot,) = at(plan(file, None, *mode, "-o", tmp_path / "out"), "c")
        after = bound(Path(spot["file"]))
        assert spot["cost_before"]["exact"]
        assert spot["cost_after"]["exact"]
        costs = [spot[side]["instructions"] for side in ("cost_before", "cost_after")]
        assert costs == [before, after]
        assert spot["gain"] == before - after


def test_the_kernel_takes_variants(tmp_path: Path) -> None:
    needs_kernel()
    out = tmp_path / "out"
    plan(TOPOLOGY, None, "-o", out)
    files = sorted(file.name for file in out.iterdir())
    assert files == ["server-7.all.bpf.o", "server-8.edge-1.bpf.o"]
    for file in files:
        words = ("--seconds", "0.1", "--paths", "1", "--cache", "hot", "--no-stretches")
        run = slowpath("measure", out / file, *words, "--format", "json", timeout=120)
        (result,) = json.loads(run.stdout)["results"]
        assert result["error"] is None, run.stderr
    compared("kernel", len(files), "variants that are loaded")


def test_a_second_plan_computes_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first, second = plan(TOPOLOGY, cache), plan(TOPOLOGY, cache)
    assert (first["kept"], first["computed"]) == (0, second["kept"])
    assert (second["computed"], second["queries"], second["changed"]) == (0, 0, [])
    assert second["hot_spots"] == first["hot_spots"]
    assert list(cache.rglob("*.new")) == []


def test_only_what_depends_on_a_program_is_computed_anew(tmp_path: Path) -> None:
    file, programs = line(tmp_path)
    cache = tmp_path / "cache"
    first = plan(file, cache)
    assert (first["kept"], first["changed"]) == (0, [])
    shutil.copy(EXAMPLES / "load_balancer_rolled.bpf.o", programs["load_balancer"])
    second = plan(file, cache)
    assert second["changed"] == ["load_balancer"]
    assert 0 < second["computed"] < first["computed"]
    assert second["kept"] + second["computed"] == first["computed"]
    text = slowpath("chain", "plan", file, "--cache-dir", cache).stdout
    assert " 0 computed, " in text
    shutil.copy(EXAMPLES / "load_balancer.bpf.o", programs["load_balancer"])
    run = slowpath("chain", "plan", file, "--cache-dir", cache)
    results = first["computed"]
    assert f"load_balancer changed since the last plan: 0 of {results} results recomputed" in (
        run.stdout
    )


def test_another_mode_is_another_result(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    guarded, trusting = plan(TOPOLOGY, cache), plan(TOPOLOGY, cache, "--trust")
    assert trusting["kept"] > 0
    assert trusting["computed"] > 0
    assert guarded["hot_spots"][0]["guard"] is not None
    assert trusting["hot_spots"][0]["guard"] is None


def test_damaged_files_are_computed_anew(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = plan(TOPOLOGY, cache)
    files = sorted(cache.glob("??/*"))
    # The cache has a file for each result, one about the programs of the topology, and one about
    # the engine. Plans do not report damage of the last one.
    assert len(files) == first["computed"] + 2
    for number, file in enumerate(files):
        data = file.read_bytes()
        at = len(data) * (number + 1) // (len(files) + 1)
        file.write_bytes(data[:at] if number % 2 else bytes([*data[:at], data[at] ^ 1, *data[at:]]))
    second = plan(TOPOLOGY, cache)
    assert (second["kept"], second["computed"]) == (0, first["computed"])
    assert len([note for note in second["notes"] if "is damaged" in note]) == len(files) - 1
    assert second["hot_spots"] == first["hot_spots"]
    third = plan(TOPOLOGY, cache)
    assert (third["computed"], third["notes"]) == (0, [])


def test_a_cache_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    found = plan(TOPOLOGY, file / "cache")
    assert len(found["hot_spots"]) == 2
    assert [note for note in found["notes"] if "cannot be kept" in note]


def test_the_cache_is_where_xdg_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SLOWPATH_CACHE_DIR")
    monkeypatch.delenv("SLOWPATH_NO_CACHE")
    assert slowpath("chain", "plan", TOPOLOGY).returncode == 0
    assert list((tmp_path / "slowpath").iterdir())


def test_without_time_nodes_are_named_that_nobody_has_looked_at() -> None:
    found = plan(TOPOLOGY, None, "--deadline", "1e-9", code=4)
    assert found["stopped"] == "deadline"
    assert sorted(found["not_looked_at"]) == ["edge-1", "edge-2", "server-7", "server-8"]
    assert (found["hot_spots"], found["as_is"]) == ([], [])


def test_what_is_not_done_in_time_is_not_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    plan(TOPOLOGY, cache, "--deadline", "1e-9", code=4)
    assert plan(TOPOLOGY, cache) | {"seconds": 0} == plan(TOPOLOGY, None) | {"seconds": 0}


def test_a_program_that_nothing_reaches_says_why(tmp_path: Path) -> None:
    programs = copied(tmp_path, "firewall", "counter", "load_balancer")
    nodes: dict[str, str | None] = {
        "edge": "firewall",
        "tor": None,
        "server": "load_balancer",
        "meter": "counter",
        "spare": None,
    }
    hops: list[Hop] = [{"node": "edge", "on": ["XDP_TX"]}, {"node": "tor"}, {"node": "server"}]
    file = described(tmp_path, programs, nodes, [hops, [{"node": "meter"}]])
    found = plan(file, None)
    never, fine = found["paths"]
    assert never["never"].startswith(
        "tor is never reached on path 1: firewall at edge never returns XDP_TX: firewall.bpf.c:"
    )
    assert fine["never"] is None
    assert found["unused"] == ["spare"]
    nodes_named = {one["node"] for one in [*found["hot_spots"], *found["as_is"]]}
    assert nodes_named == {"edge", "meter"}  # nodes that packets never reach are not in the plan


def test_neighbours_know_less(tmp_path: Path) -> None:
    file, _ = line(tmp_path)
    (spot,) = at(plan(file, None), "c")
    assert (spot["rests_on"], spot["irrelevant"]) == (["a"], ["b"])
    neighbours = plan(file, None, "--neighbours")
    assert at(neighbours, "c") == []
    assert [spot["rests_on"] for spot in at(neighbours, "b")] == [["a"]]


def test_facts_and_their_lines_are_those_of_the_chain(tmp_path: Path) -> None:
    programs = copied(tmp_path, "firewall", "load_balancer")
    nodes: dict[str, str | None] = {"a": "firewall", "b": "load_balancer"}
    hops: list[Hop] = [{"node": "a"} | PASSED, {"node": "b"}]
    (spot,) = at(plan(described(tmp_path, programs, nodes, [hops]), None), "b")
    chain = {
        "schema": 1,
        "programs": [
            {"name": name, "object": str(file), "device": name} for name, file in programs.items()
        ],
        "edges": [{"from": "firewall", "to": "load_balancer"} | PASSED],
    }
    file = tmp_path / "chain.yaml"
    file.write_text(json.dumps(chain))
    run = slowpath("chain", "facts", file, "--format", "json")
    (_, balancer) = json.loads(run.stdout)["programs"]
    assert spot["facts"] == balancer["facts"]
    assert all(fact["established"] for fact in spot["facts"])


def test_names_of_variants_tell_them_apart(tmp_path: Path) -> None:
    programs = copied(tmp_path, "firewall", "load_balancer_card")
    nodes: dict[str, str | None] = {
        "a": "firewall",
        "t": None,
        "u": None,
        "s": "load_balancer_card",
    }
    start: Hop = {"node": "a"} | PASSED
    end: Hop = {"node": "s"}
    changed: Hop = {"node": "t", "bytes": [[62, 86]]}
    paths = [[start, end], [start, changed, end], [start, {"node": "u"}, end]]
    file = described(tmp_path, programs, nodes, paths)
    two = plan(file, None, "--trust", "-o", tmp_path / "two")["hot_spots"]
    assert [(one["variant"], one["ingresses"]) for one in two] == [
        ("a+u", ["a", "u"]),
        ("t", ["t"]),
    ]
    written = sorted(file.name for file in (tmp_path / "two").iterdir())
    assert written == ["s.a+u.bpf.o", "s.t.bpf.o"]
    (one,) = plan(file, None, "--trust", "--variants", "1")["hot_spots"]
    assert one["gain"] < sum(spot["gain"] for spot in two)


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    text = TOPOLOGY.read_text()
    lines = text.splitlines()
    number = next(at for at, one in enumerate(lines, 1) if "node: tor-3" in one)
    file = tmp_path / "topology.yaml"
    file.write_text(text.replace("{node: tor-3, changes", "{node: tor-4, changes"))
    run = slowpath("chain", "plan", file)
    assert run.returncode == 3
    assert f"{file}: line {number}: unknown node" in run.stderr
    file.write_text(text)
    run = slowpath("chain", "plan", file)
    assert run.returncode == 3
    assert "firewall.bpf.o" in run.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--cache-dir", "x", "--no-cache-dir"], "--no-cache-dir"),
        (["--variants", "0"], "--variants"),
        (["--deadline", "-1"], "--deadline"),
    ],
)
def test_wrong_options_are_named(words: list[str], part: str) -> None:
    run = slowpath("chain", "plan", TOPOLOGY, *words)
    assert run.returncode == 2
    assert part in run.stderr


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    run = slowpath("chain", "plan", TOPOLOGY, "--no-cache-dir", "-o", file)
    assert run.returncode == 2
    assert "is a file, not a folder" in run.stderr
