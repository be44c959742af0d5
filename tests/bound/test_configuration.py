"""Tests values of global variables, which loaders set: `--set` and sections in `--maps`."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import oracles
from compiler import needs_clang
from running_kernel import needs_kernel
from slowpath.core.programs.clang import compile_c
from slowpath.core.programs.sources import Clang
from support import slowpath

pytestmark = pytest.mark.usefixtures("with_clang")

_START = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#define WORK do { n++; asm volatile("" : "+r"(n)); } while (0)
"""
_END = '\nchar _license[] SEC("license") = "GPL";\n'
ROUNDS = """
const volatile __u32 rounds = 1;
SEC("xdp") int rodata(struct xdp_md *ctx) {
    __u32 n = 0;
    for (__u32 i = 0; i < 256; i++) { if (i >= rounds) break; WORK; }
    return n;
}
"""
"""C source of a program with a variable that a loader sets, as with `skel->rodata->rounds = 200`.
"""


def compiled(folder: Path, text: str, name: str = "program") -> Path:
    """Compile the C code `text`, with includes and a license added, and return the object file."""
    source = folder / f"{name}.bpf.c"
    source.write_text(_START + text + _END)
    made = folder / f"{name}.bpf.o"
    made.write_bytes(compile_c(str(source), Clang()))
    return made


def bound(*words: str | Path) -> Any:
    run = slowpath("bound", *words, "--target", "ebpf", "--format", "json")
    assert run.returncode == 0, run.stderr + run.stdout
    (result,) = json.loads(run.stdout)["results"]
    return result


def count(result: Any) -> int:
    assert result["guarantee"]["verdict"] != "bound"
    instructions: int = result["guarantee"]["counts"]["instructions"]
    return instructions


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_clang()
    return compiled(tmp_path_factory.mktemp("rounds"), ROUNDS)


def test_a_variable_that_a_loader_sets_is_a_condition(rounds: Path) -> None:
    result = bound(rounds)
    assert result["guarantee"]["verdict"] == "conditional"
    assert result["assumptions"] == ["rounds in .rodata has the value from the object"]
    run = slowpath("bound", rounds, "--target", "ebpf")
    assert "rounds in .rodata has the value from the object" in " ".join(run.stdout.split())


def test_set_values_act_like_compiled_values(rounds: Path, tmp_path: Path) -> None:
    for value in (0, 1, 200, 1000):
        text = ROUNDS.replace("rounds = 1", f"rounds = {value}")
        other = bound(compiled(tmp_path, text, f"rounds{value}"))
        stated = bound(rounds, "--set", f"rounds={value}")
        assert stated["assumptions"] == [f"rounds in .rodata is {value}"]
        assert count(stated) == count(other)
        maps = tmp_path / "maps.toml"
        maps.write_text(f'[[".rodata"]]\nkey = 0\nvalue = {value}\n')
        from_maps = bound(rounds, "--maps", maps)
        assert from_maps["assumptions"] == stated["assumptions"]
        assert count(from_maps) == count(other)
        # If a variable is stated several times, the last value counts.
        both = bound(rounds, "--maps", maps, "--set", "rounds=7", "--set", f"rounds={value}")
        assert count(both) == count(other)


def test_any_value_is_no_condition(rounds: Path) -> None:
    result = bound(rounds, "--set", "rounds=any")
    assert result["guarantee"]["verdict"] == "exact"
    assert result["assumptions"] == []
    assert count(result) == count(bound(rounds, "--set", "rounds=256"))
    (path,) = result["paths"]
    values = {one.get("name"): one.get("value") for one in path["witness"]["environment"]}
    assert values["rounds in .rodata"] >= 256


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("round=2", "unknown variable; the object has "),
        ("rounds", "write NAME=VALUE"),
        ("rounds=-1", "-1 is not from 0 to 4294967295"),
        ("rounds=4294967296", "4294967296 is not from 0 to 4294967295"),
        ("rounds=many", "'many' is not an integer"),
        ("config.low=1", "there is no member low"),
        ("config.ports[2]=1", "[2] is not below 2"),
        ("config=00", "the variable has 8 bytes; write 16 hexadecimal digits"),
        ("mode=WRONG", "is not an integer"),
        ("flag=2", "2 is neither true nor false"),
        ("primes=00", "`const` and not `volatile`"),
    ],
)
def test_unknown_names_and_values_are_rejected(tmp_path: Path, stated: str, reason: str) -> None:
    run = slowpath("bound", compiled(tmp_path, KINDS), "--target", "ebpf", "--set", stated)
    assert run.returncode == 3
    assert reason in run.stderr.replace('"', "'")


KINDS = """
enum mode { FEW, SOME = 5, LOTS = 9 };
struct config { __u32 high; __u16 ports[2]; };
const volatile __u32 rounds = 1;
const volatile struct config config = { 1, { 2, 3 } };
const volatile enum mode mode = FEW;
const volatile _Bool flag;
volatile __u32 table[4];
const __u32 primes[16] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53 };
const volatile __u32 answer = 2;
SEC("xdp") int kinds(struct xdp_md *ctx) {
    __u32 n = primes[ctx->rx_queue_index & 15] & 1;
    if (mode == LOTS) for (int i = 0; i < 9; i++) WORK;
    if (flag) for (int i = 0; i < 5; i++) WORK;
    for (__u32 i = 0; i < 30 && i < config.ports[1]; i++) WORK;
    for (__u32 i = 0; i < 30 && i < rounds; i++) WORK;
    if (table[1] == 77) for (int i = 0; i < 40; i++) WORK;
    return n + answer;
}
"""


def test_conditions_name_what_matters(tmp_path: Path) -> None:
    object_ = compiled(tmp_path, KINDS)
    plain = bound(object_)
    names = {sentence.split()[0] for sentence in plain["assumptions"]}
    # Values that are only returned, constant tables and writable variables cause no conditions.
    assert names == {"rounds", "config", "mode", "flag"}
    for stated, more in (
        ("mode=LOTS", 9),
        ("mode=9", 9),
        ("flag=true", 5),
        ("config.ports[1]=29", 0),
        ("config=01000000 0200 1d00", 0),
    ):
        result = bound(object_, "--set", stated)
        assert count(result) >= count(plain) + more, stated
    partly = bound(object_, "--set", "config.ports[1]=29")["assumptions"]
    assert "config.ports[1] in .rodata is 29" in partly
    assert "config in .rodata otherwise has the value from the object" in partly
    stated = bound(object_, "--set", "table[1]=3")
    assert "table[1] in .data is 3 when a packet arrives" in stated["assumptions"] or (
        "table[1] in .bss is 3 when a packet arrives" in stated["assumptions"]
    )
    assert count(stated) < count(plain)


def test_measure_uses_set_values(rounds: Path, tmp_path: Path) -> None:
    needs_kernel()
    maps = tmp_path / "maps.toml"
    maps.write_text('[[".rodata"]]\nkey = 0\nvalue = "c8000000"\n')
    for words in (("--set", "rounds=200"), ("--maps", str(maps))):
        run = slowpath("measure", rounds, *words, "--seconds", "0.2", "--format", "json")
        assert run.returncode == 0, run.stderr
        (program,) = json.loads(run.stdout)["results"]
        counts = [path["instructions"] for path in program["paths"]]
        assert counts == [count(bound(rounds, *words))]
        oracles.compared("kernel", len(counts), "configured paths measured")


_PACKET = """
unsigned char *first = (void *)(long)ctx->data;
if (first + 1 > (unsigned char *)(long)ctx->data_end) return 1;
"""


def _drawn(draw: random.Random) -> tuple[str, list[tuple[str, str, list[str]]]]:
    """Generate a random program; return its source and its variables.

    Each variable is a tuple: its name, a declaration with `@` in place of the value, and two
    values.
    """
    known = []
    body = []
    for number in range(draw.randrange(2, 5)):
        name = f"v{number}"
        kind = draw.choice(["__u8", "__u16", "__u32", "int", "__u64", "_Bool"])
        least = -3 if kind == "int" else 0
        most = 1 if kind == "_Bool" else 12
        values = [str(draw.randrange(least, most + 1)) for _ in range(2)]
        known.append((name, f"const volatile {kind} {name} = @;", values))
        pivot, rounds = draw.randrange(0, most + 1), draw.randrange(1, 12)
        shape = draw.randrange(3)
        if shape == 0:
            body.append(
                f"for (int i = 0; i < {rounds + 4}; i++) {{ if (i >= {name}) break; WORK; }}"
            )
        elif shape == 1:
            body.append(f"if ({name} == {pivot}) for (int i = 0; i < {rounds}; i++) WORK;")
        else:
            inner = f"for (int i = 0; i < {rounds}; i++) WORK;"
            body.append(f"if ({name} > {pivot} && first[0] == {number}) {inner}")
    text = "\n".join(
        ["@DECLARATIONS@", 'SEC("xdp") int drawn(struct xdp_md *ctx) {', "__u32 n = 0;", _PACKET]
    )
    return "\n".join([text, *body, "return n;", "}"]), known


@pytest.mark.parametrize("seed", range(6))
def test_random_configurations(tmp_path: Path, seed: int) -> None:
    """Check that `--set` changes a program just like other values in its source do.

    Random programs are compared in analyses and in the kernel.
    """
    needs_kernel()
    text, known = _drawn(random.Random(seed))  # noqa: S311 - for tests

    def with_values(which: int, name: str) -> Path:
        lines = [line.replace("@", values[which]) for _, line, values in known]
        return compiled(tmp_path, text.replace("@DECLARATIONS@", "\n".join(lines)), name)

    first, second = with_values(0, "first"), with_values(1, "second")
    words = [
        word
        for name, line, values in known
        for word in (
            "--set",
            f"{name}={'true' if '_Bool' in line and values[1] == '1' else values[1]}",
        )
    ]
    stated, other = bound(first, *words), bound(second)
    assert count(stated) == count(other)
    assert not any("from the object" in one for one in stated["assumptions"])
    everything = [word for name, _, _ in known for word in ("--set", f"{name}=any")]
    anything = bound(first, *everything)
    assert anything["guarantee"]["verdict"] == "exact"
    assert count(anything) >= max(count(stated), count(bound(first)))
    run = slowpath("measure", first, *words, "--seconds", "0.1", "--format", "json")
    assert run.returncode == 0, run.stderr
    (program,) = json.loads(run.stdout)["results"]
    slowest = max(path["instructions"] for path in program["paths"])
    assert slowest == count(stated)
    oracles.compared("kernel", 1, "random configurations")
