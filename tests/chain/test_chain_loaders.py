"""Tests that `slowpath chain` handles pinned maps and licences of objects like a loader."""

import json
from pathlib import Path
from typing import Any

import pytest

from compiler import needs_clang
from oracles import compared
from running_kernel import needs_kernel
from support import slowpath
from test_schema import check

HEAD = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
char LICENSE[] SEC("license") = "%s";
"""
MAP = """
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, %d);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, %d);
} shared SEC(".maps");
"""
BEGIN = """
SEC("xdp") int %s(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 key = 0;
	if (data + 60 > end)
		return XDP_DROP;
"""
WRITES = """
	__u64 value = data[1];
	bpf_map_update_elem(&shared, &key, &value, 0);
	return XDP_PASS;
}
"""
READS = """
	__u64 *value = bpf_map_lookup_elem(&shared, &key);
	if (value && *value == 7)
		return XDP_TX;
	return XDP_DROP;
}
"""
FILTERS = """
	return data[12] == 8 ? XDP_PASS : XDP_DROP;
}
"""
NEEDS_GPL = """
	if (data[12] != 8)
		return XDP_TX;
	bpf_trace_printk("x", 2, key);
	return XDP_PASS;
}
"""


def _chain(folder: Path, first: str, second: str) -> Path:
    needs_clang()
    (folder / "first.c").write_text(first)
    (folder / "second.c").write_text(second)
    file = folder / "pin.yaml"
    file.write_text(
        "schema: 1\nprograms:\n - {name: a, object: first.c}\n - {name: b, object: second.c}\n"
        "edges:\n - {from: a, on: [XDP_PASS], to: b}\n"
    )
    return file


def _pinned(folder: Path, entries: int = 2, pinning: int = 1) -> Path:
    head = HEAD % "GPL"
    first = head + MAP % (2, 1) + BEGIN % "a" + WRITES
    return _chain(folder, first, head + MAP % (entries, pinning) + BEGIN % "b" + READS)


def _licensed(folder: Path, first: str, second: str, body: str = NEEDS_GPL) -> Path:
    one = HEAD % first + BEGIN % "a" + FILTERS
    return _chain(folder, one, HEAD % second + BEGIN % "b" + body)


def _optimized(file: Path, *words: str | Path) -> dict[str, Any]:
    run = slowpath("chain", "optimize", file, *words, "--format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    check("chain", run.stdout)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_a_writer_is_found_through_the_pin(tmp_path: Path) -> None:
    file, maps = _pinned(tmp_path), tmp_path / "pin.toml"
    maps.write_text('[["b:shared"]]\nkey = 0\nvalue = 7\n')
    found = _optimized(file, "--maps", maps, "--packets", "0")
    _, second = found["programs"]
    (frozen,) = second["frozen"]
    assert not frozen["used"]
    assert frozen["why_not"].startswith("a: a may write it")
    assert (
        "map shared is the same as a:shared: both objects pin it by this name"
        in (second["remarks"])
    )


def test_a_pinned_map_keeps_its_name_where_programs_become_one(tmp_path: Path) -> None:
    needs_kernel()
    file, out = _pinned(tmp_path), tmp_path / "out"
    found = _optimized(file, "--fuse", "-o", out, "--packets", "2000")
    fused = found["fused"]
    assert fused["not_written"] is None
    assert (fused["rehearsal"]["agrees"], fused["rehearsal"]["differs"]) == (True, False)
    shown = slowpath("show", out / "pin.bpf.o", "--format", "json")
    (written,) = json.loads(shown.stdout)["results"]
    assert [one["name"] for one in written["maps"]] == ["shared"]
    compared("kernel", fused["rehearsal"]["packets"], "packets through a fused program")


def test_pins_that_are_not_alike_are_refused(tmp_path: Path) -> None:
    run = slowpath("chain", "optimize", _pinned(tmp_path, entries=3), "--packets", "0")
    assert run.returncode == 3
    assert "line 4: b:shared and a:shared differ: both objects pin them by this" in run.stderr


def test_maps_of_one_name_stay_apart_unless_both_are_pinned(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _optimized(_pinned(tmp_path, pinning=0), "--fuse", "-o", out, "--packets", "0")
    shown = slowpath("show", out / "pin.bpf.o", "--format", "json")
    (written,) = json.loads(shown.stdout)["results"]
    assert sorted(one["name"] for one in written["maps"]) == ["b_shared", "shared"]


def test_a_shared_map_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = _pinned(tmp_path)
    for names in ("['a:nope']", "['a:nope', 'b:shared']"):
        file.write_text(file.read_text().split("shared_maps")[0] + f"shared_maps: [{names}]\n")
        run = slowpath("chain", "optimize", file, "--packets", "0")
        assert run.returncode == 3
        assert "unknown map a:nope; choose one of shared" in run.stderr


@pytest.mark.parametrize("licenses", [("Proprietary", "GPL"), ("MIT", "Dual BSD/GPL")])
def test_what_needs_the_gpl_is_not_fused_with_what_is_not_under_it(
    tmp_path: Path, licenses: tuple[str, str]
) -> None:
    out = tmp_path / "out"
    file = _licensed(tmp_path, *licenses)
    found = _optimized(file, "--fuse", "-o", out, "--packets", "0")
    assert found["fused"] is None
    assert found["not_fused"].startswith(
        f"b calls bpf_trace_printk, which the kernel reserves for programs under the GPL, but a is "
        f'under the license "{licenses[0]}"'
    )
    assert not (out / "pin.bpf.o").exists()


def test_no_program_gets_a_license_that_it_does_not_have(tmp_path: Path) -> None:
    for licenses, expected in (
        (("GPL", "Proprietary"), None),
        (("Proprietary", "Proprietary"), "Proprietary"),
        (("Dual MIT/GPL", "GPL"), "GPL"),
    ):
        file = _licensed(tmp_path, *licenses, FILTERS)
        found = _optimized(file, "--fuse", "-o", tmp_path / "out", "--packets", "0")
        if expected is None:
            assert "an object has only one license" in found["not_fused"]
            continue
        shown = slowpath("show", tmp_path / "out/pin.bpf.o", "--format", "json")
        (written,) = json.loads(shown.stdout)["results"]
        assert written["license"] == expected


def test_what_is_not_proved_is_not_written(tmp_path: Path) -> None:
    file, out = _pinned(tmp_path), tmp_path / "out"
    run = slowpath(
        *("chain", "optimize", file, "--fuse", "-o", out, "--packets", "0"),
        *("--deadline", "0.000001", "--format", "json"),
    )
    if run.stdout:
        found = json.loads(run.stdout)
        assert found["fused"] is None or found["fused"]["not_written"]
    assert not (out / "pin.bpf.o").exists()


# --- verify ---------------------------------------------------------------------------------------

SAME = """
	__u64 value = data[1] | data[2] << 8;
	asm volatile("" : "+r"(value));
	value &= 0xff;
	bpf_map_update_elem(&shared, &key, &value, 0);
	return XDP_PASS;
}
"""
OTHER = WRITES.replace("data[1]", "data[2]")


def _verify(folder: Path, first: str, second: str, *words: str) -> tuple[int, dict[str, Any]]:
    needs_clang()
    files = folder / "one.c", folder / "two.c"
    for file, body in zip(files, (first, second), strict=True):
        file.write_text(HEAD % "GPL" + MAP % (2, 1) + BEGIN % "a" + body)
    run = slowpath("chain", "verify", *files, *words, "--format", "json")
    check("verify", run.stdout)
    found: dict[str, Any] = json.loads(run.stdout)
    return run.returncode, found


def test_programs_that_do_the_same_are_proved(tmp_path: Path) -> None:
    code, found = _verify(tmp_path, WRITES, SAME)
    assert (code, found["outcome"], found["counterexample"]) == (0, "equal", None)
    assert found["shared"] == ["shared"]
    assert found["proof"]["pairs"] > 1
    text = slowpath("chain", "verify", tmp_path / "one.c", tmp_path / "two.c").stdout
    assert text.startswith(f"equal: {tmp_path}/one.c and {tmp_path}/two.c do the same")


def test_programs_that_differ_are_shown_with_a_packet(tmp_path: Path) -> None:
    code, found = _verify(tmp_path, WRITES, OTHER)
    assert (code, found["outcome"]) == (1, "differ")
    packet = bytes.fromhex(found["counterexample"]["packet"])
    assert packet[1] != packet[2]
    text = slowpath("chain", "verify", tmp_path / "one.c", tmp_path / "two.c").stdout
    assert text.startswith("differ: ")
    assert f"for packet {packet.hex()}" in text


def test_facts_make_programs_equal(tmp_path: Path) -> None:
    code, found = _verify(tmp_path, WRITES, OTHER, "--fact", "bytes 1-1 = bytes 2-2")
    assert (code, found["outcome"]) == (0, "equal")
    assert found["facts"] == ["bytes 1-1 = bytes 2-2"]


TAIL_CALLS = """
SEC("xdp") int last(struct xdp_md *ctx) { return XDP_TX; }
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__array(values, int(void *));
} filled SEC(".maps") = { .values = { [0] = (void *)&last } };
"""
CALLS = """
	bpf_tail_call(ctx, &filled, 0);
	return XDP_PASS;
}
"""


def test_what_is_not_decided_says_why(tmp_path: Path) -> None:
    needs_clang()
    file = tmp_path / "calls.c"
    file.write_text(HEAD % "GPL" + TAIL_CALLS + BEGIN % "a" + CALLS)
    run = slowpath("chain", "verify", file, file, "--program", "a")
    assert run.returncode == 4
    assert run.stdout.startswith("not decided: ")
    assert "map filled holds programs or maps of one object" in run.stdout


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    needs_clang()
    file = tmp_path / "one.c"
    file.write_text(HEAD % "GPL" + BEGIN % "a" + FILTERS)
    run = slowpath("chain", "verify", file, file, "--program", "b")
    assert run.returncode == 3
    assert f"error: {file}: does not have a program b; it has xdp: a\n" == run.stderr
