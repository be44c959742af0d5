"""Tests that rewritten programs are compared with their originals on virtual Ethernet devices."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oracles import compared
from running_kernel import needs_kernel
from slowpath.core.engine import kernel, objects
from slowpath.core.engine.report_types import RehearsalReport
from slowpath.core.jobs import Stopping
from slowpath.core.programs.loading import load_program
from slowpath.core.programs.sources import Clang
from support import ROOT, slowpath
from test_schema import check

PRELUDE = """
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex; };
char _license[] SEC("license") = "GPL";
#define DATA ((u8 *)(long)ctx->data)
#define END ((u8 *)(long)ctx->data_end)
"""
FRONT = """
SEC("xdp") int front(struct xdp_md *ctx)
{
	if (DATA + 60 > END || END - DATA > 1000)
		return 1;
	return 2;
}
"""
"""A program that passes packets of 60 to 1000 bytes and drops others."""
TRAILER = """
static long (*adjust_tail)(struct xdp_md *, int) = (void *)65;
u64 grown, refused;
SEC("xdp") int trailer(struct xdp_md *ctx)
{
	if (DATA + 60 > END)
		return 1;
	if (adjust_tail(ctx, 100)) {
		refused++;
		return 2;
	}
	grown++;
	return 3;
}
"""
"""A program that adds a trailer of 100 bytes. Without room for it, the packet passes unchanged."""
SEED = bytes(range(60))
UNPRIVILEGED = """
import json, sys
from slowpath.app import app
sys.exit(app(sys.argv[1:]))
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Write a chain of two programs, `FRONT` and `TRAILER`, and return its file."""
    for name, text in (("front", FRONT), ("trailer", TRAILER)):
        (tmp_path / f"{name}.bpf.c").write_text(PRELUDE + text)
    programs = [{"name": name, "object": f"{name}.bpf.c"} for name in ("front", "trailer")]
    edges = [{"from": "front", "on": ["XDP_PASS"], "to": "trailer"}]
    file = tmp_path / "chain.yaml"
    file.write_text(json.dumps({"schema": 1, "programs": programs, "edges": edges}))
    return file


def optimized(chain: Path, *words: str | Path) -> dict[str, Any]:
    """Rewrite the second program of a chain without a guard, and return the report on it."""
    options = ("--trust", "--packets", "1000", "--format", "json")
    run = slowpath("chain", "optimize", chain, *options, *words)
    assert run.returncode == 0, run.stderr
    check("chain", run.stdout)
    return dict(json.loads(run.stdout)["programs"][1])


def program(file: Path) -> objects.Object:
    return objects.read_object(str(file), load_program(str(file), Clang()))


def rehearsed(chain: Path, rewritten: bytes) -> RehearsalReport:
    """Compare a rewritten version of `TRAILER` with the original, in all XDP modes.

    Packets pass the program `FRONT` first.
    """
    front, trailer = (program(chain.parent / f"{name}.bpf.c") for name in ("front", "trailer"))
    stages = [kernel.Stage(front, 0, [2])]
    both = kernel.Rehearsed(stages, (trailer, 0), rewritten, [SEED])
    how = kernel.Rehearsing(packets=1000, rounds=0, frames=300)
    return kernel.rehearse(kernel.open_kernel(), both, how, Stopping())


def test_a_program_that_is_right_in_test_runs_only_is_found(chain: Path, tmp_path: Path) -> None:
    needs_kernel()
    one = optimized(chain, "--receive", "test-run", "-o", tmp_path / "out")
    result = one["rehearsal"]
    assert (one["proved"], result["agrees"], result["packets"]) == (True, True, 1000)
    why = "packets do not arrive there as --receive test-run says"
    assert [(on["mode"], on["frames"], on["why_not"]) for on in result["devices"]] == [
        ("native", 0, why),
        ("generic", 0, why),
    ]
    found = rehearsed(chain, (tmp_path / "out/trailer.bpf.o").read_bytes())
    assert found["compared"] == 1000  # in test runs
    difference = found["difference"]
    assert difference is not None
    assert difference["what"] == "on veth (native), the runs return 2 and 3"
    assert len(bytes.fromhex(difference["packet"] or "")) >= 60
    compared("kernel", 1000, "packets in rehearsals")


def test_a_program_for_any_device_is_tried_on_devices(chain: Path, tmp_path: Path) -> None:
    needs_kernel()
    one = optimized(chain, "-o", tmp_path / "out")
    assert one["proved"]
    native, generic = one["rehearsal"]["devices"]
    assert one["rehearsal"]["agrees"]
    assert (native["mode"], native["frames"], native["why_not"]) == ("native", 1000, None)
    assert (generic["mode"], generic["frames"], generic["why_not"]) == ("generic", 1000, None)
    # `FRONT` drops frames of other lengths.
    assert all(on["shortest"] == 60 and 500 < on["longest"] <= 1000 for on in (native, generic))
    run = slowpath("chain", "optimize", chain, "--trust", "--packets", "500")
    (line,) = [line for line in run.stdout.splitlines() if "on veth" in line]
    assert line.startswith("trailer: on veth, same results for 500 native frames of ")
    assert " bytes and 500 generic frames of " in line
    again = rehearsed(chain, (tmp_path / "out/trailer.bpf.o").read_bytes())
    assert again["difference"] is None
    compared("kernel", 3000, "frames in rehearsals")


def test_devices_are_those_that_deliver_packets_as_it_is_said(chain: Path) -> None:
    needs_kernel()
    native, generic = optimized(chain, "--receive", "veth")["rehearsal"]["devices"]
    assert [one["mode"] for one in (generic, native) if one["why_not"]] == ["generic"]
    devices = optimized(chain, "--receive", "length=100..200")["rehearsal"]["devices"]
    assert all(one["frames"] == 1000 for one in devices)
    assert all((one["shortest"], one["longest"]) == (100, 200) for one in devices)


def test_without_namespaces_test_runs_go_on(chain: Path) -> None:
    needs_kernel()
    if shutil.which("setpriv") is None:
        pytest.skip(
            "setpriv, which takes privileges away, is not installed (apt install util-linux)"
        )
    words = ["chain", "optimize", str(chain), "--trust", "--packets", "500"]
    command = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", UNPRIVILEGED, *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert "trailer: in the kernel, same results for " in run.stdout
    for mode in ("native", "generic"):
        (line,) = [line for line in lines if line.startswith(f"trailer: on veth ({mode})")]
        assert "not tested: the kernel does not create a network namespace for us" in line
        assert "CAP_SYS_ADMIN" in line
    assert any(
        "not timed: the kernel does not create a network namespace" in line for line in lines
    )
    compared("kernel", 2, "answers to processes without privileges")
