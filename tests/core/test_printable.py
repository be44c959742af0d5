"""Tests that untrusted text in the output of any command has no effect on terminals or programs.

Input files, saved results and options contain control sequences, invisible characters, characters
that reverse the writing direction, and formulas. Every command writes each of its formats.
"""

import csv
import gzip
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest

from contention_short import shorten_profiles
from contention_tables import MEMORY
from slowpath import app as cli
from slowpath.core.command import Command
from slowpath.core.formats import _end
from slowpath.core.parser import Parser, read
from slowpath.core.printable import aligned_line, csv_line, json_ascii, json_line, one_line
from successful_calls import CERTIFICATE, ENDLESS
from support import ROOT, commands, make_result

HOSTILE = "\x1b]0;x\x07\r\x7f\x9b\u202e\u200b\ufeff\u2028\U000e0041\u3164"
"""A text that would change a window's title, start lines, and reverse the writing direction. Parts
are invisible.
"""
ODD_BYTES = os.fsdecode(b"\xff\xfe")
"""Part of a file name that is not valid UTF-8. Python represents it by lone surrogates."""
OBJECT = ROOT / "examples/count_min.1.bpf.o"
COUNTED = "tests/counts/histogram.c"
TRAFFIC = "examples/insights/nat.pcap"
GRAPH = "tests/click/tree/passing.click"
REPLACED = {
    b"count_min\0": b"\x1b[2J\xe2\x80\xae=\x7f\0",  # program
    b"Dual MIT/GPL": b"GPL\x1b]0;pwn\x07\r",  # licence
    b"./count_min.bpf.c": b"./coun\xe2\x80\xaein.bpf.c",  # source file
    b"\tif ((void": b"\tif\x1b[2J\xe2\x80\xae",  # source line
}
SECTION = {b".relxdp\0": b".rel\x1b[H\0"}
BROKEN = {b"sketch\0": b"\xc2\x9b\xe2\x80\x8bk\0"}
"""Replacement of a map's name in an object, by a name that no valid object has."""
FORMULA = ("=", "+", "-", "@")
COLUMN = "=\x1b[2J\x7f\x9b\u202e\u200b"
EXPERIMENT = """schema: 1
name: hostile
description: {}
metrics: [instructions]
traffic: {{size: 64, headers: [ethernet]}}
component:
  kind: arithmetic
  sweep: {{parameter: count, first: 1, last: 9, points: 5, scale: linear}}
"""

C_SOURCE = f"""
#ifdef BAD
#error {HOSTILE}
#endif
__attribute__((section("x{HOSTILE[:4]}"), used)) int program(void *context)
{{
	return VALUE;
}}
"""

NF_SOURCE = f"""
int state[4]; /* {HOSTILE[:6]}<b>&amp; */
# 7 "=evil<script>.c"
int look(const unsigned char *data, int length) {{ return state[data[0] & 3] += length; }}
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command in this process.

    It returns the exit code, output and errors.
    """
    shorten_profiles(monkeypatch)

    def call(*words: str | Path) -> tuple[int, str, str]:
        try:
            code = cli.app([str(word) for word in words])
        except SystemExit as left:
            code = int(left.code or 0)
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with input files whose names and texts contain control characters."""
    made = tmp_path / f"={HOSTILE}{ODD_BYTES}\n"
    made.mkdir()
    variants = (
        ("object.bpf.o", REPLACED),
        ("section.bpf.o", SECTION),
        ("broken.bpf.o", BROKEN),
    )
    for name, changes in variants:
        content = OBJECT.read_bytes()
        for plain, hostile in changes.items():
            assert plain in content
            assert len(plain) == len(hostile)
            content = content.replace(plain, hostile)
        (made / name).write_bytes(content)
    instruction = "0:\t .0  immed[gprA_0, 0x1], gpr_wrboth\n"
    (made / "broken.asm").write_text(instruction + f"8:\t .1  {HOSTILE}[gprA_0]\n")
    (made / "target.toml").write_text(f'name = "{HOSTILE[8:]}"\nschema = "@{HOSTILE[9:]}"\n')
    with (made / "data.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([COLUMN, "@ns", "text"])
        rows.writerows([x, 3.0 * x, HOSTILE] for x in range(1, 13))
    with (made / "memory.csv").open("w", newline="") as file:
        file.write(f"# function: ={COLUMN}\n# device: @{COLUMN}\n# unit throughput: ={COLUMN}\n")
        memory = csv.writer(file)
        memory.writerow(["row", *MEMORY])
        memory.writerows(
            [
                f"={HOSTILE[:8]}{at}",
                100 + at,
                1500,
                1,
                2e9,
                1e6 * at,
                1e6,
                1e9,
                1e8,
                1 + at,
                900 - at,
            ]
            for at in range(1, 13)
        )
    description = json.dumps(f"={HOSTILE[:8]}\u202e")
    (made / "source.bpf.c").write_text(C_SOURCE)
    (made / "nf.c").write_text(NF_SOURCE)
    (made / "experiment.yaml").write_text(EXPERIMENT.format(description))
    tiny = ROOT / "tests/contention/contention_tiny.yaml"
    (made / "tiny.yaml").write_text(tiny.read_text())
    (made / "broken.yaml").write_text(f"schema: 1\n{description}: 1\n")
    chain: dict[str, Any] = {"schema": 1, "programs": [], "edges": []}
    for name in ("first", "second"):
        chain["programs"].append({"name": name, "object": "object.bpf.o"})
    chain["edges"].append({"from": "first", "on": ["XDP_PASS"], "to": "second"})
    (made / "chain.yaml").write_text(json.dumps(chain))
    chain["programs"][1]["object"] = f"{HOSTILE}\udcff"
    (made / "lost.yaml").write_text(json.dumps(chain))
    chain["edges"].append({"from": HOSTILE, "on": [HOSTILE], "to": "first"})
    (made / "cycle.yaml").write_text(json.dumps(chain))
    hops = [{"node": "one", "on": ["XDP_PASS"]}, {"node": "two"}]
    topology: dict[str, Any] = {
        "schema": 1,
        "programs": [{"name": "first", "object": "object.bpf.o"}],
        "nodes": [{"name": node, "program": "first"} for node in ("one", "two")],
        "paths": [{"name": "path", "hops": hops}],
    }
    (made / "topology.yaml").write_text(json.dumps(topology))
    topology["paths"].append({"name": HOSTILE, "hops": [{"node": HOSTILE}]})
    (made / "unknown.yaml").write_text(json.dumps(topology))
    certificate = json.loads(gzip.decompress((ROOT / CERTIFICATE).read_bytes()))
    certificate |= {"slowpath": HOSTILE, "file": HOSTILE}
    (made / "hostile.cert").write_bytes(gzip.compress(json.dumps(certificate).encode()))
    for name in ("old", "new"):
        results = [hostile_result(name), make_result(program=f"={HOSTILE}\ud800")]
        (made / f"{name}.json").write_text(json.dumps({"slowpath": "0", "results": results}))
    return made


def hostile_result(side: str) -> dict[str, Any]:
    """Return a saved result with control characters in all its texts.

    `side` is `old` or `new`.
    """

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            # Results with another word as a verdict would be rejected.
            return {k: one if k == "verdict" else changed(one) for k, one in value.items()}
        if isinstance(value, list):
            return [changed(one) for one in value]
        return f"@{HOSTILE}\ud83d{value}\n|`<b>" if isinstance(value, str) else value

    result: dict[str, Any] = changed(json.loads(json.dumps(make_result(assumptions=[side]))))
    return result | {"metric": "bitrate", "program": f"+{HOSTILE}", "error": None}


def formats(command: Command) -> list[str]:
    """Return the formats of a command, the values of `--format`; without it, one empty text."""
    for entry in command.options:
        if "--format" in entry.names:
            return list(entry.settings["choices"])
    return [""]


def calls(command: str, folder: Path) -> list[list[str | Path]]:
    """Return argument lists that make a command print hostile texts, in all its reports.

    Hostile texts contain control sequences and similar characters.
    """
    thing = folder / "object.bpf.o"
    listing, broken = folder / "broken.asm", folder / "broken.bpf.o"
    all_of = ["-s", "*"]
    source = folder / "source.bpf.c"
    section, data = folder / "section.bpf.o", folder / "data.csv"
    quick = ["--recipe", "ridge-pressure"]
    hot = ["--seconds", "0.1", "--cache", "hot", "--no-stretches"]
    saved: list[str | Path] = [folder / "old.json", folder / "new.json"]
    wrong: list[list[str | Path]] = [[folder / "missing"], [thing], [data]]
    described = ("broken", "cycle", "lost")
    chains: list[list[str | Path]] = [[folder / f"{name}.yaml"] for name in described]
    chains += wrong[:2]
    known: dict[str, list[list[str | Path]]] = {
        "bound": [
            [thing, *all_of],
            [thing, *all_of, "-v", "--target", "ebpf", "--require", HOSTILE],
            [thing, section, listing, broken, folder / "missing", *all_of],
            [thing, "--target", f"{HOSTILE}"],
            [thing, "--target", folder / "target.toml", *all_of],
            [thing, *all_of, "--assume", folder / "target.toml"],
            [thing, "-n", HOSTILE],
            [thing, f"--{HOSTILE}"],
        ],
        "annotate": [
            [thing, section, *all_of, "--target", "ebpf"],
            [thing, section, listing, *all_of],
        ],
        "diff": [
            saved,
            [thing, section, *all_of],
            [*saved, "--fail-on", "bitrate_pct < 5", "--fail-on", f"verdict_b != {HOSTILE}"],
            [*saved, "--filter", f"!{HOSTILE}"],
            [folder / "missing", thing],
            [*saved, "--sort", HOSTILE],
        ],
        "chain bound": [
            [folder / "chain.yaml", "--target", "ebpf"],
            [folder / "chain.yaml", "-v"],
            *chains,
        ],
        "chain facts": [
            [folder / "chain.yaml"],
            *chains,
        ],
        "chain optimize": [
            [folder / "chain.yaml"],
            *chains,
            [folder / "chain.yaml", "--trust", "-o", folder / "written"],
            [folder / "chain.yaml", "--fuse", "-o", thing],
            [folder / "chain.yaml", "--packets", "0", "--html", folder / "written" / "page.html"],
        ],
        "chain plan": [
            [folder / "topology.yaml", "--no-cache-dir"],
            [folder / "topology.yaml", "--cache-dir", folder / "written", "--trust"],
            [folder / "unknown.yaml", "--no-cache-dir"],
            [folder / "broken.yaml", "--no-cache-dir"],
            [folder / "missing", "--no-cache-dir"],
            [thing, "--no-cache-dir"],
        ],
        "chain verify": [
            [thing, thing],
            [thing, thing, "--program", HOSTILE],
            [thing, section],
            [listing, broken],
            [folder / "missing", thing],
        ],
        "check": [
            [thing, thing],
            [thing, folder / "missing"],
            [folder / "missing", folder / "hostile.cert"],
            [listing, folder / "hostile.cert"],
            [thing, folder / "hostile.cert"],
            [OBJECT, folder / "hostile.cert"],
        ],
        "compile": [
            [thing, *all_of],
            [thing, *all_of, "--verify"],
            [thing, *all_of, "--output", folder / "written"],
            [listing],
            [section],
            [broken],
        ],
        "show": [
            [thing],
            [thing, section, listing, broken, folder / "missing"],
            [thing, "-n", HOSTILE],
        ],
        "measure": [
            [thing, *all_of, "--seconds", "0.1"],
            [section, listing, broken, folder / "missing", *all_of, *hot],
            [thing, "-n", HOSTILE],
        ],
        "sweep": [
            [source, "-D", f"VALUE=1,=2,{HOSTILE}", "--target", "agilio-cx-2x40,ebpf", *all_of],
            [source, "-D", "VALUE=1,2", "--target", "ebpf", *all_of],
            [source, "-D", "VALUE=1", "--cflags", "-DBAD", "--target", "ebpf"],
            [source, "-D", "VALUE=1", "--target", HOSTILE],
            [source, "-D", HOSTILE],
            [source, "-D", "VALUE=1", "--plot", HOSTILE],
            [folder / "missing.c", "-D", "VALUE=1"],
        ],
        "fit": [
            [data, "--x", COLUMN, "--y", "@ns"],
            [data, "--x", COLUMN, "--y", "@ns", "--query", data],
            [data, "--x", COLUMN, "--y", "text"],
            [data, "--x", HOSTILE, "--y", "@ns"],
            [folder / "missing", "--x", "x", "--y", "y"],
            [thing, "--x", "x", "--y", "y"],
        ],
        "calibrate": [
            [folder / "experiment.yaml", "--testbed", "ebpf", "-o", folder / f"@{HOSTILE[:8]}"],
            [folder / "experiment.yaml", "--testbed", HOSTILE],
            [folder / "broken.yaml"],
            [folder / "missing"],
            ["--component", HOSTILE],
            ["--testbed", "load", "--rate", HOSTILE],
            [folder / "broken.yaml", "--testbed", "load"],
            ["--rerun", folder],
            ["--evaluate", folder / "missing"],
        ],
        "contention profile": [
            [folder / "tiny.yaml", "-o", folder / "profile", "--mixes", "3"],
            [folder / "broken.yaml", "-o", folder / "profile"],
            [folder / "experiment.yaml", "-o", folder / "profile"],
            [folder / "missing", "-o", folder / "profile"],
            [data, "-o", folder / "profile"],
        ],
        "contention train": [
            [folder / "memory.csv", "--recipe", "ridge-pressure"],
            [folder / "memory.csv", "--recipe", HOSTILE],
            [folder / "memory.csv", data],
            [folder / "missing"],
            [thing],
        ],
        "contention predict": [
            ["--memory-table", folder / "memory.csv", "--query", folder / "memory.csv", *quick],
            ["--memory-table", folder / "memory.csv", "--query", data, *quick],
            ["--memory-table", data, "--query", data],
            [thing, "--query", data],
            [folder / "missing", "--traffic", HOSTILE],
        ],
        "contention diagnose": [
            ["examples/fleet/nat.model.json", "--traffic", "flows=9,size=64"],
            ["examples/fleet/nat.model.json", "--traffic", HOSTILE],
            [
                "examples/fleet/nat.model.json",
                *("--traffic", "flows=9,size=64", "--what-if", HOSTILE),
            ],
            [thing, "--traffic", "flows=9,size=64"],
        ],
        "contention place": [
            ["examples/fleet/fleet.yaml", "--arrivals", "examples/fleet/arrivals.csv"],
            ["examples/fleet/fleet.yaml", "--arrivals", data],
            [folder / "broken.yaml", "--arrivals", data],
            [thing, "--arrivals", data],
        ],
        "contention suggest": [
            ["examples/fleet/fleet.yaml", "--mixes", "2"],
            ["examples/fleet/fleet.yaml", "--measured", data],
            [folder / "broken.yaml"],
            [thing],
        ],
        "contention evaluate": [
            [folder / "memory.csv", "--recipe", "constant"],
            [data, "--recipe", HOSTILE],
            [thing],
        ],
        "reproduce": [
            [],
            [HOSTILE],
            ["insights", HOSTILE],
            ["insights", "placement", folder / "missing"],
            ["insights", "placement", folder],
            ["insights", "placement", cases_file(folder), "--html", folder / "written.html"],
            ["insights", "placement", cases_file(folder), "--only", HOSTILE],
            [
                "insights",
                "figure-15",
                "examples/insights/udp_counter.json",
                "--only",
                "udp-counter, IMEM 2*",
            ],
        ],
        "insights cores": [
            ["--query", "examples/insights/functions.csv"],
            *(["--query", *one] for one in wrong),
            ["--query", "examples/insights/functions.csv", "--train", data],
        ],
        "insights colocation": [
            ["--query", "examples/insights/group.jsonl"],
            *(["--query", *one] for one in wrong),
            ["--query", "examples/insights/group.jsonl", "--train", data],
        ],
        "insights placement": [
            ["examples/insights/udp_counter.json"],
            *wrong,
        ],
        "insights coalescing": [
            ["examples/insights/connection.json"],
            *wrong,
        ],
        "insights": [
            ["tests/advice/filter.c", "--html", folder / "written.html"],
            [folder / "nf.c", "--html", folder / "written.html"],
            ["tests/advice/filter.c", "--entry", HOSTILE],
            ["tests/advice/filter.c", "--pcap", folder / "missing"],
            ["tests/advice/filter.c", "--pcap", data, "--entry", "process"],
            [folder / "missing"],
            [thing],
        ],
        "insights counts": [
            [COUNTED, "--pcap", TRAFFIC, "--packets", "9"],
            [COUNTED, "--pcap", TRAFFIC, "--entry", HOSTILE],
            [COUNTED, "--pcap", TRAFFIC, "--cflags", HOSTILE],
            [COUNTED, "--pcap", folder / "missing"],
            [COUNTED, "--pcap", thing],
            [COUNTED, "--pcap", data],
            [thing, "--pcap", TRAFFIC],
        ],
        "insights graph": [
            [GRAPH, "--click", "tests/click/tree", "--html", folder / "written.html"],
            [GRAPH, "--click", folder / "missing"],
            [GRAPH, "--click", "tests/click/tree", "--traffic", HOSTILE],
            [folder / "missing", "--click", "tests/click/tree"],
            [thing, "--click", "tests/click/tree"],
        ],
        "insights blocks": [
            ["examples/chain/counter.bpf.c"],
            ["examples/chain/counter.bpf.c", "--entry", HOSTILE],
            ["examples/chain/counter.bpf.c", "--cflags", HOSTILE],
            *wrong,
        ],
        "insights accelerators": [
            ["tests/accelerators/sums.c", "--entry", "adler_plain"],
            ["tests/accelerators/sums.c", "--entry", HOSTILE],
            ["tests/accelerators/sums.c", "--cflags", HOSTILE],
            *wrong,
        ],
        "schema": [["bound"], [HOSTILE]],
        "demo": [[]],
        "completion": [["bash"], [HOSTILE]],
        "man": [[], [folder / "missing" / "man"]],
        "help": [["bound"], [HOSTILE]],
        "targets list": [[]],
        "targets show": [["ebpf"], [HOSTILE]],
        "targets models": [["linux-xdp"], [folder / "target.toml"], [HOSTILE], [thing]],
        "targets check": [[folder / "target.toml", folder / "missing", thing]],
        "watch": [[folder / "missing"], [thing, "--target", HOSTILE]],
        "lsp": [["--target", HOSTILE]],
        "explain": [["SP0201"], ["--list"], [HOSTILE]],
        "config show": [[settings_file(folder, '"5Mpps"')], [folder / "target.toml"]],
        "config cache": [
            ["--cache-dir", thing],
            ["--cache-dir", folder / "missing", "--clear"],
        ],
        "config check": [
            [settings_file(folder, '"5Mpps"')],
            [settings_file(folder, "5")],
            [folder / "target.toml"],
        ],
    }
    assert command in known, f"no hostile call of `slowpath {command}` is known"
    return known[command]


def settings_file(folder: Path, required: str) -> Path:
    """Write a settings file with control characters in its target and glob; return the file."""
    escaped = "".join(f"\\U{ord(one):08x}" for one in HOSTILE)
    file = folder / f"settings{len(required)}.toml"
    file.write_text(f'target = "{escaped}.toml"\n[require]\n"{escaped}" = {required}\n')
    return file


def cases_file(folder: Path) -> Path:
    """Write a placement problem with control characters in its name; return the file."""
    structure = {
        "name": "one",
        "size_bytes": 8,
        "accesses": [{"operation": "read", "count": 1}],
    }
    published = {"placement": {"one": "near"}, "cost": 3}
    case = {"name": f"@{HOSTILE[:8]}", "structures": [structure], "published": published}
    document = {
        "levels": ["near"],
        "capacity_bytes": {"all": {"near": 64}},
        "access_cost": {"read": {"near": 3}},
        "cases": [case],
    }
    (folder / "placement.json").write_text(json.dumps(document))
    return folder / "placement.json"


EXTRA = {
    ("annotate", "table"): ["--instructions"],
    ("compile", "listing"): ["--source"],
    ("show", "table"): ["--listing"],
}


@pytest.mark.parametrize(
    ("command", "form"), [(path, form) for path, one in commands() for form in formats(one)]
)
def test_output_has_no_effect(command: str, form: str, folder: Path, run: Run) -> None:
    codes = set[int]()
    runs, reports = calls(command, folder), dict[str, Path]()
    if command == "measure" and form == "table":
        others = formats(dict(commands())[command])
        reports = {one: folder / f"report{_end(one)}" for one in others if one != form}
        runs[0] += [word for file in reports.values() for word in ("--report", file)]
    elif command == "measure":  # the report of the other run has the stretches
        runs[0] += ["--cache", "hot", "--no-stretches"]
    for words in runs:
        chosen = ["--format", form, *EXTRA.get((command, form), [])] if form else []
        code, output, errors = run(*command.split(), *words, *chosen)
        codes.add(code)
        assert code in {0, 1, 2, 3, 4}, errors
        check_report(form, output)
        check_plain(errors)
    for one, file in reports.items():
        check_report(one, file.read_text())
    ends = command not in ENDLESS  # others end only if they refuse their arguments
    written_any = codes & {0, 1} or command.endswith(" check") or not ends
    assert written_any, "all calls failed; nothing was written"
    written = folder / "written"
    if command == "compile" and form == "listing":
        check_plain(written.read_text())


def check_report(form: str, text: str) -> None:
    check_plain(text)
    if form == "json" and text:
        check_texts(json.loads(text))
    elif form == "csv" and text:
        check_csv(text)


def check_plain(text: str) -> None:
    for line in text.split("\n"):
        assert aligned_line(line) == line, ascii(line)


def check_texts(value: Any) -> None:
    """Check that all texts in a value can be encoded as UTF-8; lone surrogates cannot."""
    json.dumps(value, ensure_ascii=False).encode()


def check_csv(output: str) -> None:
    header, *rows = csv.reader(output.splitlines())
    for row in rows:
        assert len(row) == len(header)
        for cell in row:
            assert not cell.lstrip().startswith(FORMULA) or is_number(cell), cell


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_hostile_texts_appear_in_outputs(folder: Path, run: Run) -> None:
    """Check that the hostile texts do appear in outputs, escaped.

    Without them, all other tests of this file would pass without effect.
    """
    code, output, _ = run("show", folder / "object.bpf.o", "--listing")
    assert code == 0
    for text in (r"\u{1b}[2J\u{202e}=\u{7f}", r"if\u{1b}[2J\u{202e}", r"pwn\u{7}"):
        assert text in output
    _, output, _ = run("show", folder / "section.bpf.o")
    assert r"\u{1b}[H" in output
    _, _, errors = run("show", folder / "broken.bpf.o")
    assert r"map \u{9b}\u{200b}k" in errors
    _, output, _ = run("diff", folder / "old.json", folder / "new.json", "--format", "csv")
    assert r"'+\x1b]0;x\x07" in output
    assert r"\u3164" in output


# --- the functions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ümläut, 漢字, ×", "plain, ümläut, 漢字, ×"),
        ("a\nb\tc", "a b c"),
        ("\x00\x1b\x7f\x85\x9b\r", r"\x00\x1b\x7f\x85\x9b\r"),
        ("\u202a\u202e\u2066\u2069\u200e\u061c", r"\u202a\u202e\u2066\u2069\u200e\u061c"),
        ("\u200b\u200d\u2060\ufeff\u00ad\u3164\ufe0f", r"\u200b\u200d\u2060\ufeff\xad\u3164\ufe0f"),
        ("\u2028\u2029\U000e0001\U000e0101", r"\u2028\u2029\U000e0001\U000e0101"),
        (os.fsdecode(b"\xff"), r"\udcff"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown
    assert one_line(shown) == shown


def test_every_control_and_format_character_is_escaped() -> None:
    for code in range(0x110000):
        if category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            text = one_line(chr(code))
            assert text == " " or (text.isascii() and text.startswith("\\")), hex(code)


def test_csv_cells() -> None:
    assert csv_line(["a", None, 1, -1.5, "b,c", 'd"e']) == 'a,,1,-1.5,"b,c","d""e"'
    assert csv_line(["=1", "+1", "-1", "@a", "\t=1", "\uff1d1", "a=1"]) == (
        "'=1,'+1,'-1,'@a,' =1,'\uff1d1,a=1"
    )
    assert csv_line(["a\r\nb\x1b"]) == r"a\r b\x1b"
    assert csv_line([True, False, 29.790480000000002, 54_400_000.0, 1e-7]) == (
        "true,false,29.79048,54400000,1e-07"
    )


def test_all_csv_has_the_same_writer() -> None:
    modules = (ROOT / "python/slowpath").rglob("*.py")
    assert [one.name for one in modules if "csv.writer" in one.read_text()] == ["printable.py"]


def test_json_is_printable_ascii_and_unicode() -> None:
    value = {HOSTILE: [HOSTILE, 1.5, None], "pair": "\N{GRINNING FACE}"}
    text = json_line(value)
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == value
    assert json.loads(json_line("a\udcff\\")) == "a\\udcff\\"
    assert json_ascii('{"a": "\x7f\u202e"}') == r'{"a": "\u007f\u202e"}'


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_json_has_no_numbers_that_are_none(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_line({"low_ns": number})


def test_options_are_read_as_typed() -> None:
    """Check that the parser keeps control characters in options, for example in file names."""
    args = read(Parser("slowpath show", dict(commands())["show"]), [HOSTILE])
    assert args.file == [HOSTILE]
