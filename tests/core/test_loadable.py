"""Tests the report on programs that no kernel loads: too much stack, and wrong callbacks."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import oracles
from running_kernel import needs_kernel
from support import slowpath
from test_configuration import compiled

pytestmark = pytest.mark.usefixtures("with_clang")


def shown(file: Path) -> Any:
    run = slowpath("show", file, "--format", "json")
    (object_,) = json.loads(run.stdout)["results"]
    (program,) = object_["programs"]
    return program


def nested(bytes_: list[int]) -> str:
    """Return C functions that call each other in a chain.

    `bytes_` are the sizes of their stack frames.
    """
    lines = []
    for number, size in reversed(list(enumerate(bytes_))):
        head = f"static __attribute__((noinline)) int f{number}(__u32 a)"
        if number == 0:
            head = 'SEC("xdp") int nested(struct xdp_md *ctx)'
            lines.append(f"{head} {{ __u32 a = ctx->rx_queue_index;")
        else:
            lines.append(f"{head} {{")
        last = number + 1 == len(bytes_)
        # The assembler statement uses the address, so that clang does not split or remove the
        # array.
        kept = 'asm volatile("" : : "r"(&b[0]) : "memory");'
        lines.append(f"__u64 b[{size // 8}]; {kept} b[0] = a; b[{size // 8 - 1}] = a + 1; {kept}")
        called = "0" if last else f"f{number + 1}(a + 1)"
        lines.append(f"int r = {called}; return r + b[0] + b[{size // 8 - 1}]; }}")
    return "\n".join(lines)


def loads(file: Path) -> bool:
    """Return true if the running kernel loads the object with bpftool."""
    pin = f"/sys/fs/bpf/slowpath-{file.parent.name}"
    run = subprocess.run(
        [shutil.which("bpftool") or "bpftool", "prog", "load", file, pin],
        capture_output=True,
        text=True,
        check=False,
    )
    Path(pin).unlink(missing_ok=True)
    return run.returncode == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_rejects_deep_stacks(tmp_path: Path, seed: int) -> None:
    needs_kernel()
    if shutil.which("bpftool") is None:
        oracles.missing("libbpf", "there is no bpftool")
    draw = random.Random(seed)  # noqa: S311 - for tests
    sizes = [8 * draw.randrange(1, 24) for _ in range(draw.randrange(1, 8))]
    if seed % 3 == 0:
        sizes = [*sizes[:2], 8 * draw.randrange(30, 60)]
    file = compiled(tmp_path, nested(sizes))
    program = shown(file)
    taken = loads(file)
    if program["not_loadable"]:
        assert not taken, (sizes, program["not_loadable"])
    elif program["stack"]["bytes"] <= 512:
        assert taken, (sizes, program["stack"])
    oracles.compared("kernel", 1, "programs with stacks")


def test_the_stack_along_calls_is_shown(tmp_path: Path) -> None:
    program = shown(compiled(tmp_path, nested([200, 200, 200])))
    assert program["stack"]["deepest"] == ["nested", "f1", "f2"]
    assert program["stack"]["bytes"] > 512
    assert "the stack of 3 functions is" in program["not_loadable"][0]
    text = slowpath("show", tmp_path / "program.bpf.o").stdout
    assert "no kernel loads this program: the stack of 3 functions is" in text
    run = slowpath("bound", tmp_path / "program.bpf.o", "--target", "ebpf", "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    assert any("no kernel loads this program: the stack" in note for note in result["notes"])


DRAIN = """
struct { __uint(type, BPF_MAP_TYPE_USER_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
__u64 sum;
static long record(struct bpf_dynptr *d, void *c) {
    for (int i = 0; i < 500; i++) { sum += i; asm volatile("" ::: "memory"); }
    return 0;
}
SEC("xdp") int drain(struct xdp_md *ctx) {
    return bpf_user_ringbuf_drain(&ring, record, (void *)0, 0) < 0 ? 1 : 2;
}
"""
LESS = """
struct bpf_rb_root;
struct bpf_rb_node;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
    _Bool (less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta, __u64 off) __ksym;
static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b) { return a < b; }
SEC("xdp") int tree(struct xdp_md *ctx) {
    return bpf_rbtree_add_impl((void *)ctx, (void *)ctx, less, 0, 0);
}
"""
THROW = """
extern void bpf_throw(__u64 cookie) __ksym;
SEC("xdp") int throws(struct xdp_md *ctx) {
    if (ctx->rx_queue_index) bpf_throw(7);
    return 2;
}
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [(DRAIN, "bpf_user_ringbuf_drain"), (LESS, "bpf_rbtree_add_impl"), (THROW, "bpf_throw")],
)
def test_callbacks_cannot_be_assumed_harmless(tmp_path: Path, text: str, name: str) -> None:
    file = compiled(tmp_path, text)
    run = slowpath("bound", file, "--target", "ebpf")
    assert run.returncode == 3
    assert name in run.stderr
    assert "--assume" not in run.stderr
    assumed = tmp_path / "assume.toml"
    assumed.write_text(f'[helper.{name}]\nreason = "it is harmless"\n')
    run = slowpath("bound", file, "--target", "ebpf", "--assume", assumed)
    assert run.returncode == 3
    assert f"--assume cannot treat {name} as harmless" in run.stderr
