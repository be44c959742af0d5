"""Tests the conversion of sources to LLVM IR: functions, types, lines, loops, calls, compiler."""

from pathlib import Path

import pytest

llvm = pytest.importorskip("llvmlite.binding")
preparation = pytest.importorskip("slowpath.insights.source.unit")

from slowpath.core.errors import InputError  # noqa: E402
from slowpath.core.programs.sources import Clang  # noqa: E402
from slowpath.insights.accelerators import candidates  # noqa: E402
from slowpath.insights.accelerators.proofs.harness import noise_of  # noqa: E402
from slowpath.insights.source.calls import find_entry, reachable_functions, recursive, roots  # noqa: E402
from slowpath.insights.source.entry import choose_entry  # noqa: E402
from slowpath.insights.source.functions import (  # noqa: E402
    Block,
    Function,
    loops,
)
from slowpath.insights.source.sources import (  # noqa: E402
    Source,
    is_for_kernel,
    is_xdp,
    load_source,
    may_have_programs,
)

SOURCE = """
#include <stdint.h>
#include <stddef.h>

struct context {
    uint64_t count;
    uint32_t state[5];
    uint8_t block[64];
};

static int step(int x) {
    return x * 3;
}

uint16_t all(const struct context *c, uint16_t *out, int16_t change, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 5; k++)
            *out ^= (uint16_t)c->state[k];
        change = (int16_t)step(change);
    }
    return (uint16_t)(*out + change);
}
"""


@pytest.fixture
def program(tmp_path: Path) -> object:
    file = tmp_path / "nf.c"
    file.write_text(SOURCE)
    return preparation.CompiledUnit(load_source(str(file), Clang()))


def test_functions_have_types_and_callees(program: object, tmp_path: Path) -> None:
    functions = program.functions  # type: ignore[attr-defined]
    assert list(functions) == ["all", "step"] or list(functions) == ["step", "all"]
    whole = functions["all"]
    assert (whole.line.file, whole.line.line) == (str(tmp_path / "nf.c"), 15)
    assert whole.result == "i16"
    kinds = [(one.kind, one.bits, one.signed) for one in whole.parameters]
    assert kinds == [
        ("pointer", 0, False),
        ("pointer", 0, False),
        ("integer", 16, True),
        ("integer", 64, False),
    ]
    context, out, *_ = whole.parameters
    assert (context.reads, context.writes) == (True, False)
    assert (out.reads, out.writes) == (True, True)
    assert context.described.constant
    assert context.described.pointee == "context"
    members = [(one.name, one.offset, one.size, one.element) for one in context.described.members]
    assert members == [("count", 0, 8, 8), ("state", 8, 20, 4), ("block", 28, 64, 1)]
    assert [one.described.name for one in whole.parameters] == ["c", "out", "change", "n"]
    assert whole.calls == {"step"}
    assert whole.assembly is False


def test_loops_match_the_source(program: object) -> None:
    found = loops(program.functions["all"])  # type: ignore[attr-defined]
    assert [one.depth for one in found] == [1, 2]
    assert found[1].blocks < found[0].blocks
    assert loops(program.functions["step"]) == []  # type: ignore[attr-defined]


def test_own_functions_are_known_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, beside = tmp_path / "include/x/bits/own.c", tmp_path / "include/x/bits/beside.h"
    file.parent.mkdir(parents=True)
    beside.write_text("static int beside(int x) { return x * 3; }\n")
    file.write_text('#include "beside.h"\nint own(int x) { return beside(x) + 1; }\n')
    functions = preparation.CompiledUnit(load_source(str(file), Clang())).functions
    assert {name: one.own for name, one in functions.items()} == {"own": True, "beside": False}
    assert {name: one.supports for name, one in functions.items()} == {"own": False, "beside": True}
    monkeypatch.setattr(candidates, "_SYSTEM_FOLDERS", (str(tmp_path),))
    assert candidates.user_functions(functions) == ["own"]


def test_names_that_are_not_ascii_are_refused_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "names.c"
    file.write_text("static int zähler;\n\nint prüfe(int x) { return x + zähler; }\n")
    source = load_source(str(file), Clang())
    with pytest.raises(InputError) as caught:
        _ = preparation.CompiledUnit(source).functions
    assert caught.value.reason == f"{file}:3: function names must be ASCII: prüfe"


def test_an_export_is_only_missed_in_cplusplus() -> None:
    with pytest.raises(
        InputError, match=r"does not define a function; perhaps EXPORT_ELEMENT is missing$"
    ):
        choose_entry("nf.cc", {}, None)
    with pytest.raises(InputError, match=r"does not define a function$"):
        choose_entry("nf.c", {}, None)


def seeming(folder: Path, name: str, text: str) -> tuple[bool, bool]:
    file = folder / name
    file.write_text(text)
    return is_xdp(str(file)), may_have_programs(str(file))


def test_code_decides_if_a_source_is_for_the_kernel(tmp_path: Path) -> None:
    whole = 'SEC("xdp") int f(struct xdp_md *ctx) { return 2; }\n'
    plain = "int f(const unsigned char *data, int length) { return length; }\n"
    attribute = whole.replace('SEC("xdp")', '__attribute__((section("xdp"), used))')
    for text in (whole, attribute, f'const char *c = "//"; /* */ {whole}'):
        assert seeming(tmp_path, "f.c", text) == (True, True)
    assert seeming(tmp_path, "f.h", whole) == (False, True)
    for comment in (f"/* once:\n{whole}*/\n", f"// {whole}"):
        assert seeming(tmp_path, "f.c", comment + plain) == (False, False)
    assert seeming(tmp_path, "f.c", f"struct xdp_md; /* {whole} */ {plain}") == (False, True)
    assert seeming(tmp_path, "f.c", f'SEC("tc") {plain}') == (False, True)
    kept = f'int x __attribute__((section("mine")));\n{plain}'
    assert seeming(tmp_path, "f.c", kept) == (False, False)


def test_included_files_may_have_the_programs(tmp_path: Path) -> None:
    """Check that a source counts as XDP if an included file has its program, as in xdp-filter."""
    whole = 'SEC("xdp") int f(struct xdp_md *ctx) { return 2; }\n'
    (tmp_path / "within").mkdir()
    (tmp_path / "within/program.h").write_text(f'#include "../again.h"\n{whole}')
    (tmp_path / "again.h").write_text('#include "within/program.h"\n')
    file = tmp_path / "f.c"
    file.write_text('#define MODE 1\n#include "again.h"\n#include "not_there.h"\n')
    assert is_xdp(str(file))
    file.write_text(f"#include <bpf/libbpf.h>\n{file.read_text()}")
    assert not is_xdp(str(file))


def test_includes_decide_if_a_source_is_for_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    plain = "int f(int x) { return x; }\n"
    for headers, kernel in {
        ("bpf/bpf_helpers.h",): True,
        ("vmlinux.h",): True,
        ("linux/bpf.h",): True,
        ("linux/bpf.h", "bpf/libbpf.h"): False,
        ("linux/bpf.h", "bpf/bpf.h"): False,
        ("linux/if_ether.h",): False,
        (): False,
    }.items():
        file.write_text("".join(f"#include <{one}>\n" for one in headers) + plain)
        assert is_for_kernel(str(file)) == kernel, headers
    file.write_text(f"// #include <vmlinux.h>\n{plain}")
    assert not is_for_kernel(str(file))
    file.write_text(f' # include "bpf_helpers.h"\n{plain}')
    assert is_for_kernel(str(file))
    (tmp_path / "beside.h").write_text("#include <bpf/bpf_helpers.h>\n")
    file.write_text(f'#include "beside.h"\n{plain}')
    assert is_for_kernel(str(file))
    loader = tmp_path / "f.cc"
    loader.write_text(file.read_text())
    assert not is_for_kernel(str(loader))


def graph(edges: dict[str, tuple[str, ...]]) -> Function:
    blocks = tuple(Block(name, (), after) for name, after in edges.items())
    nothing = frozenset[str]()
    return Function("f", "f", None, "void", (), False, blocks, nothing, nothing, False)


def test_loops_match_dominance_by_removal() -> None:
    """Compare the loops that are found with those by a definition that removes blocks.

    A loop header dominates a block if the block becomes unreachable without the header.
    """
    noise = noise_of(4)
    for _ in range(150):
        names = [f"b{at}" for at in range(7)]
        edges = {
            name: tuple(dict.fromkeys(noise.choices(names[1:], k=noise.randrange(3))))
            for name in names
        }

        def reachable(without: str | None, edges: dict[str, tuple[str, ...]] = edges) -> set[str]:
            seen, left = set[str](), ["b0"] if without != "b0" else []
            while left:
                name = left.pop()
                if name in seen or name == without:
                    continue
                seen.add(name)
                left += edges[name]
            return seen

        there = reachable(None)
        headers = {
            header
            for block in there
            for header in edges[block]
            if block == header or block not in reachable(header)
        }
        assert {one.header for one in loops(graph(edges))} == headers


def test_calls_are_followed() -> None:
    def function(name: str, *calls: str) -> Function:
        nothing = frozenset[str]()
        return Function(name, name, None, "void", (), False, (), frozenset(calls), nothing, False)

    functions = {
        one.name: one
        for one in (
            function("a", "b", "llvm.memcpy"),
            function("b", "c"),
            function("c"),
            function("d", "e"),
            function("e", "d"),
            function("g", "g"),
        )
    }
    assert reachable_functions(functions, "a") == {"a", "b", "c"}
    assert recursive(functions) == {"d", "e", "g"}
    assert find_entry("nf.c", functions, "a") == "a"
    assert roots("nf.c", functions) == ["a", "g"]  # d and e are called by each other
    with pytest.raises(InputError, match="all functions are called by other functions"):
        roots("nf.c", {name: functions[name] for name in "de"})
    with pytest.raises(InputError, match="does not have a function 'z'; it has a, b, c, d, e, g"):
        find_entry("nf.c", functions, "z")
    with pytest.raises(InputError, match="d is recursive"):
        find_entry("nf.c", functions, "d")


def test_a_module_of_another_machine_is_refused() -> None:
    text = b'target triple = "bpf"\ndefine void @f() {\n  ret void\n}\n'
    with pytest.raises(InputError, match="is for bpf, but this machine is"):
        _ = preparation.CompiledUnit(Source("x.ll", text, "text", compiled=False)).module
