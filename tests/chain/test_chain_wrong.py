"""Tests that wrong descriptions of chains and topologies cause an error message of one line."""

from pathlib import Path

import pytest

from compiler import needs_clang
from support import ROOT, slowpath

EXAMPLES = ROOT / "examples/chain"
COMMANDS = {"chain": ("chain", "facts"), "topology": ("chain", "plan", "--no-cache-dir")}


def described(kind: str) -> str:
    """Return the example description of a `chain` or `topology`, with absolute paths of objects."""
    text = (EXAMPLES / f"{kind}.yaml").read_text()
    return text.replace("object: ", f"object: {EXAMPLES}/")


def message(kind: str, folder: Path, content: bytes) -> str:
    """Return the error message about a wrong description of a `chain` or `topology`."""
    file = folder / f"{kind}.yaml"
    file.write_bytes(content)
    return failure(*COMMANDS[kind], file).removeprefix(f"error: {file}: ")


def failure(*words: str | Path) -> str:
    """Run a command that must fail, and return the only line on standard error."""
    run = slowpath(*words)
    assert (run.returncode, run.stdout) == (3, ""), run.stderr
    (line,) = run.stderr.splitlines()
    return line


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize("kind", ["chain", "topology"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "line 1: is empty; a {kind} begins with `schema: 1`"),
        (b"\xff\xfe", "is not UTF-8 text: byte 0"),
        (b"[" * 100_000, "line 1: "),
        (b"schema: 1\nschema: 1\n", "line 2: `schema` is defined twice"),
        (
            b"schema: 1\nprograms: &a ["
            + b"{name: a, object: "
            + b"b" * 1000
            + b"}]\n"
            + b"nodes: ["
            + b"*a, " * 100_000
            + b"]\n",
            "line ",
        ),
        ((EXAMPLES / "firewall.bpf.o").read_bytes(), "is not UTF-8 text"),
    ],
    ids=["empty", "bytes", "deep", "twice", "aliases", "object"],
)
def test_invalid_files_are_errors(kind: str, content: bytes, expected: str, tmp_path: Path) -> None:
    assert message(kind, tmp_path, content).startswith(expected.format(kind=kind))


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        ("chain", "[XDP_PASS]", "XDP_PASS", "a list is expected here: `[one, another]`"),
        ("chain", "[XDP_PASS]", "[XDP_PAS]", '"XDP_PAS" is not an action: XDP_ABORTED, '),
        ("chain", "schema: 1", "schema: 9", "schema 9 is unknown; write `schema: 1`"),
        ("chain", "schema: 1", "schema: -1", "a number from 0 to 4294967295 is expected here"),
        ("topology", "share: 60", "share: most", "a number is expected here"),
        ("topology", "share: 60", "share: .nan", "share NaN: must be a finite number above 0"),
        ("topology", "[ttl, ethernet_addresses]", "[ttl], bytes: [[0, 65536]]", "a number from 0 "),
        (
            "topology",
            "[ttl, ethernet_addresses]",
            "[ttl], bytes: [[9, 9]]",
            "[9, 9] is not a range of bytes",
        ),
        (
            "topology",
            "program: firewall",
            "program: wall",
            'unknown program "wall"; choose one of ',
        ),
    ],
)
def test_errors_name_the_line(kind: str, old: str, new: str, expected: str, tmp_path: Path) -> None:
    text = described(kind)
    number = line_of(text, old)
    found = message(kind, tmp_path, text.replace(old, new, 1).encode())
    assert found.startswith(f"line {number}: {expected}")


@pytest.mark.parametrize(
    ("kind", "other", "key"), [("chain", "topology", "nodes"), ("topology", "chain", "edges")]
)
def test_one_kind_is_told_from_the_other(kind: str, other: str, key: str, tmp_path: Path) -> None:
    text = described(other)
    expected = f"line {line_of(text, f'{key}:')}: `{key}` belongs to a {other}, for "
    assert message(kind, tmp_path, text.encode()).startswith(expected)


@pytest.mark.parametrize("kind", ["chain", "topology"])
def test_no_program_is_named_by_its_line(kind: str, tmp_path: Path) -> None:
    text = described(kind)
    number = line_of(text, "name: firewall")
    file = tmp_path / "file.o"
    other = text.replace(str(EXAMPLES / "firewall.bpf.o"), str(file))
    file.write_bytes(b"")
    empty = message(kind, tmp_path, other.encode())
    assert empty.startswith(f"line {number}: firewall: {file} is empty; pass an object")
    assert empty.endswith("; a chain consists of BPF objects")
    file.write_bytes((EXAMPLES / "firewall.bpf.o").read_bytes()[:700])
    assert message(kind, tmp_path, other.encode()).startswith(f"error: {file}: damaged ELF file: ")
    lost = text.replace("name: firewall", "program: lost, name: firewall")
    if kind == "chain":
        lost = text.replace("- name: firewall", "- program: lost\n    name: firewall")
        number += 1
    expected = (
        f"line {number}: firewall: {EXAMPLES / 'firewall.bpf.o'} does not have a program lost; "
    )
    assert message(kind, tmp_path, lost.encode()).startswith(expected)


@pytest.mark.parametrize("kind", ["chain", "topology"])
def test_nul_bytes_in_file_names_are_errors(kind: str, tmp_path: Path) -> None:
    text = described(kind).replace(str(EXAMPLES / "firewall.bpf.o"), '"a\\0b.o"')
    found = message(kind, tmp_path, text.encode())
    assert found.endswith("a\\x00b.o: a file name cannot contain a NUL byte")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xff", "is not UTF-8 text: byte 0"),
        (b"a = " + b"[" * 100_000, "line 1: neither TOML nor JSON: "),
        (b"nothing = []\n", "map nothing: unknown map; the object has "),
    ],
    ids=["bytes", "deep", "unknown"],
)
def test_invalid_map_files_are_errors(content: bytes, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "maps.toml"
    file.write_bytes(content)
    line = failure("chain", "optimize", EXAMPLES / "rules.bpf.o", "--maps", file)
    assert line.startswith(f"error: {file}: {expected}")


@pytest.mark.parametrize("command", ["bound", "facts", "optimize", "plan"])
def test_flags_are_for_c_sources_that_a_description_names(command: str, tmp_path: Path) -> None:
    needs_clang()
    kind = "topology" if command == "plan" else "chain"
    source = EXAMPLES / "port_filter.bpf.c"
    text = source.read_text().replace("int port_filter(", "int NAME(")
    (tmp_path / "named.bpf.c").write_text(text)
    with_source = described(kind).replace(f"{EXAMPLES}/firewall.bpf.o", "named.bpf.c")
    with_source = with_source.replace("/load_balancer.bpf.o", "/counter.bpf.o")  # faster to analyse
    file = tmp_path / "described.yaml"
    file.write_text(with_source)
    more = {"plan": ["--no-cache-dir"], "optimize": ["--packets", "0"]}.get(command, [])
    flags = f"-DNAME=called_so -I{EXAMPLES}"
    run = slowpath("chain", command, file, "--cflags", flags, *more, "--format", "json")
    assert run.returncode == 0, run.stderr
    assert "called_so" in run.stdout or command in {"bound", "plan"}
    file.write_text(described(kind))
    line = failure("chain", command, file, "--cflags", flags, *more)
    assert line.endswith("no program is a C or P4 source, so --cflags has no effect")


def test_tc_programs_are_refused(tmp_path: Path) -> None:
    mark = ROOT / "tests/objects/tc_mark.bpf.o"
    text = (
        "schema: 1\nprograms:\n"
        f"  - {{name: a, object: {EXAMPLES}/firewall.bpf.o}}\n"
        f"  - {{name: b, object: {mark}}}\n"
        "edges:\n  - {from: a, on: [XDP_PASS], to: b}\n"
    )
    assert message("chain", tmp_path, text.encode()) == (
        f"line 4: b: {mark}: no XDP program in the object; it has tc: mark (sched_cls); this "
        "command takes only XDP programs"
    )
    text = text.replace(f"object: {mark}", f"object: {mark}, program: mark")
    assert message("chain", tmp_path, text.encode()) == (
        "program mark is of type sched_cls; only XDP programs form chains"
    )
