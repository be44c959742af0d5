"""Tests the report of `slowpath insights FILE`: advice, missing information, notes and errors."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from browser import axe_violations
from compiler import needs_clang
from insights_counted import as_it_is, trace
from slowpath.app import app
from slowpath.core.jobs import isolated_job
from slowpath.core.jobs.memory import parse_size
from slowpath.core.jobs.supervision import ProcessWorker
from slowpath.core.schema.validation import schema
from slowpath.insights.advice.report import advice_csv
from slowpath.insights.blocks.traced import ExecutedBlock
from support import GOLDEN, ROOT, check_golden, remembered, slowpath
from test_html import parsed, texts

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")
SOURCE = "tests/advice/filter.c"
TRACE = "examples/insights/udp_counter.pcap"
TRACED = (SOURCE, "--entry", "process", "--pcap", TRACE)


def advised(*words: str | Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(remembered("insights", *words, "--format", "json"))
    Draft202012Validator(schema("advice")).validate(read)
    return read


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the report on the example `filter` as text and as HTML page, from one run."""
    needs_clang()  # the fixture `with_clang` is set up later than this one
    file = tmp_path_factory.mktemp("shown") / "advice.html"
    run = slowpath("insights", *TRACED, "--html", str(file))
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout, file.read_text()


def test_workers_that_run_at_the_same_time_share_the_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits, sums = dict[ProcessWorker, int](), list[int]()

    class Recorded(ProcessWorker):
        """A worker that records its memory limit from its first job until its end."""

        def start(self, number: int, seconds: float | None, arguments: Any = ()) -> None:
            limits[self] = self._memory() or 0
            sums.append(sum(limits.values()))
            super().start(number, seconds, arguments)

        def kill(self) -> None:
            limits.pop(self, None)
            super().kill()

    monkeypatch.setattr(isolated_job, "ProcessWorker", Recorded)
    monkeypatch.chdir(ROOT)
    assert app(["insights", *TRACED, "--memory", "3G"]) == 0
    capsys.readouterr()
    assert max(sums) == parse_size("3G")
    sums.clear()
    assert app(["insights", SOURCE, "--memory", "3G"]) == 0
    assert set(sums) == {parse_size("3G")}


def counts_of() -> dict[str, Any]:
    """Return the counts of the filter example, with which tests compare the report's figures."""
    read: dict[str, Any] = json.loads(remembered("insights", "counts", *TRACED, "--format", "json"))
    return read


@pytest.mark.parametrize(("name", "words"), [("advice", TRACED), ("advice_plain", (SOURCE,))])
def test_reports_are_as_expected(name: str, words: tuple[str, ...], shown: tuple[str, str]) -> None:
    text = shown[0] if words == TRACED else remembered("insights", *words)
    check_golden(GOLDEN / f"insights/{name}.txt", text)
    check_golden(
        GOLDEN / f"insights/{name}.json", remembered("insights", *words, "--format", "json")
    )
    check_golden(GOLDEN / f"insights/{name}.csv", csv_of(advised(*words)))


def csv_of(report: dict[str, Any]) -> str:
    return "".join(f"{line}\n" for line in advice_csv(report))  # type: ignore[arg-type]


def test_the_page_is_as_expected_and_links_lead_somewhere(shown: tuple[str, str]) -> None:
    _, text = shown
    check_golden(GOLDEN / "insights/advice.html", text)
    root = parsed(text)
    anchors = {one.attrib["id"] for one in root.iter() if "id" in one.attrib}
    links = [one.attrib["href"] for one in root.iter("a") if one.attrib["href"].startswith("#")]
    found = advised(*TRACED)
    # The contents link to the advice and its line; the advice and its line link to each other.
    located = sum(1 for one in found["advice"] if one["line"])
    assert len(links) == len(found["advice"]) + 3 * located
    assert {one[1:] for one in links} <= anchors
    visible, lines = texts(root), (ROOT / SOURCE).read_text().splitlines()
    for one in (*found["lines"], *found["accesses"], *found["loops"]):
        assert lines[one["line"] - 1].expandtabs(4) in visible


def test_the_page_begins_with_the_users_source_and_folds_headers(tmp_path: Path) -> None:
    source, header = tmp_path / "nf.c", tmp_path / "deep.h"
    header.write_text(
        "static inline unsigned deep(const unsigned char *p) {\n"
        "  unsigned s = 0;\n  for (int i = 0; i < 4; i++)\n    s += p[i];\n  return s;\n}\n"
    )
    filler = "\n".join(f"// filler {number}" for number in range(40))
    source.write_text(
        f'#include "deep.h"\n{filler}\nstatic unsigned table[64];\n'
        "void process(unsigned char *packet, unsigned length) {\n"
        "  unsigned at = deep(packet);\n"
        "  for (unsigned i = 0; i < 64; i++)\n    table[i] += at;\n}\n"
    )
    page = tmp_path / "nf.html"
    run = slowpath("insights", source, "--entry", "process", "--html", page)
    assert run.returncode == 0, run.stderr
    root = parsed(page.read_text())
    names = [texts(one) for one in root.iter("h2")]
    assert "nf.c" in names
    assert "deep.h" not in names
    folded = [texts(one) for one in root.iter("summary")]
    assert any(one.startswith("deep.h: ") for one in folded)
    visible = texts(root)
    assert "// filler 20" not in visible
    assert "table[i] += at;" in visible
    assert not [one for one in (*names, *folded) if str(tmp_path) in one]


def test_numbers_are_those_of_the_commands_that_they_come_from(tmp_path: Path) -> None:
    """Check that counts, costs and layouts equal those that other `insights` commands report."""
    found = advised(*TRACED)
    files = [tmp_path / "placement.json", tmp_path / "coalescing.json"]
    run = slowpath(
        *("insights", "counts", *TRACED, "--format", "json"),
        *("--placement-out", str(files[0]), "--coalescing-out", str(files[1])),
    )
    assert run.returncode == 0, run.stderr
    (case,) = json.loads(
        slowpath("insights", "placement", str(files[0]), "--format", "json").stdout
    )["results"]
    cost = {one["structure"]: one["cost"] for one in case["structures"]}
    (everything,) = (one for one in case["compared"] if one["placement"] == "all in emem")
    placed = [one for one in found["advice"] if one["kind"] == "placement"]
    assert sum(one["after"] for one in placed) == pytest.approx(case["cost"])
    assert sum(one["before"] for one in placed) == pytest.approx(everything["cost"])
    assert {name for one in placed for name in one["what"].split(", ")} == cost.keys()
    layouts = json.loads(
        slowpath("insights", "coalescing", str(files[1]), "--format", "json").stdout
    )["results"]
    packed = {one["what"]: one for one in found["advice"] if one["kind"] == "coalescing"}
    for layout in layouts:
        source = next(one for one in layout["compared"] if one["layout"] == "source")
        if source["accesses"] > layout["accesses"]:
            one = packed.pop(layout["element"])
            assert (one["before"], one["after"]) == (source["accesses"], layout["accesses"])
            assert one["code"] == layout["struct"]
    assert not packed
    instructions = found["traffic"]["instructions"]
    assert found["traffic"]["unit"] == "instructions of the card"
    assert found["traffic"]["cycles"] == pytest.approx(instructions + everything["cost"])
    (engine,) = (one for one in found["advice"] if one["kind"] == "accelerator")
    assert 0 < engine["before"] < found["card"]["work"]["instructions"]
    assert 0 < engine["saved_cycles"] < instructions
    assert engine["unit"] == "LLVM instructions"


BRANCHES = """
static unsigned tcp, other;
int look(const unsigned char *data, unsigned length) {
    if (data[12] != 8) {
        other++;
        return 0;
    }
    for (unsigned at = 14; at < data[14]; at++)
        if (data[at] == 6)
            tcp += data[at + 1] * 3;
    return length > 60;
}
"""


def test_instructions_are_those_of_blocks_as_often_as_they_run(tmp_path: Path) -> None:
    """Check that the report multiplies the instructions of each block by its number of runs.

    `insights blocks` states the instructions of a block.
    """
    source = tmp_path / "look.c"
    source.write_text(BRANCHES)
    run = slowpath("insights", "blocks", str(source), "--format", "json")
    [program] = json.loads(run.stdout)["programs"]
    blocks = {one["name"]: one["instructions"] for one in program["functions"][0]["blocks"]}
    common = {"entry": 1, "for.cond.preheader": 1, "for.cond.cleanup": 1, "return": 1}
    loop_runs = {"for.body.preheader": 1, "for.body": 10, "for.inc": 10}
    runs_by_packet = {
        bytes(60): {"entry": 1, "if.then": 1, "return": 1},
        bytes(12) + b"\x08" + bytes(47): common,
        bytes(12) + b"\x08\0\x18" + bytes(45): common | loop_runs,
    }
    instructions = [
        sum(blocks[name] * times for name, times in runs.items())
        for runs in runs_by_packet.values()
    ]
    found = advised(source, "--pcap", trace(tmp_path, list(runs_by_packet)))
    assert found["traffic"]["unit"] == "instructions of the card"
    assert found["traffic"]["instructions"] == pytest.approx(sum(instructions) / 3, abs=1e-4)
    lines = {one["line"]: one["instructions_per_packet"] for one in found["lines"]}
    assert 0 < lines[5] <= blocks["if.then"] / 3 + 1e-4
    assert sum(lines.values()) == pytest.approx(found["traffic"]["instructions"], abs=1e-3)


def test_a_packet_may_take_as_many_blocks_as_is_said(tmp_path: Path) -> None:
    source, traced = tmp_path / "look.c", trace(tmp_path, [bytes(12) + b"\x08\0\x18" + bytes(45)])
    source.write_text(BRANCHES)
    run = slowpath("insights", source, "--pcap", traced, "--blocks", "9")
    assert run.returncode == 3
    assert "packet 1 of the trace: endless loop" in run.stderr
    assert "endless loop: one packet ran more basic blocks than --blocks allows" in run.stderr
    run = slowpath("insights", source, "--pcap", traced, "--blocks", "99", timeout=300)
    assert run.returncode == 0, run.stderr
    run = slowpath("insights", source, "--blocks", "9")
    assert run.returncode == 2
    assert (
        "'--blocks': the option needs a run of the function; give a trace with --pcap" in run.stderr
    )


def test_without_code_for_the_card_the_report_says_so(tmp_path: Path) -> None:
    source = tmp_path / "float.c"
    source.write_text("int f(const unsigned char *data, int length) { return data[0] * 0.5f; }\n")
    found = advised(source, "--pcap", TRACE, "--packets", "3")
    assert found["traffic"]["unit"] == "LLVM instructions"
    (gap,) = (one for one in found["unsaid"] if one["what"] == "instructions on the card")
    assert "clang cannot compile the source for BPF" in gap["why"]


def test_the_largest_effect_comes_first_and_unknown_ones_last() -> None:
    effects = [one["effect"] for one in advised(*TRACED)["advice"]]
    assert len(effects) > 2
    assert effects == sorted(effects, reverse=True)
    assert [one["effect"] for one in advised(SOURCE)["advice"]] == [None]


def test_lines_are_those_of_the_source() -> None:
    lines = (ROOT / SOURCE).read_text().splitlines()
    found = advised(*TRACED)

    def text(one: dict[str, Any]) -> str:
        assert one["file"] == SOURCE
        return lines[int(one["line"]) - 1]

    for one in found["advice"]:
        name = one["what"].partition(",")[0].partition(" ")[0]
        assert name in text(one)
    for one in found["structures"]:
        assert one["structure"] in text(one)
    assert {"for", "while"} == {text(one).split()[0] for one in found["loops"]}
    accesses = {(text(one).strip(), one["of"]): one for one in found["accesses"]}
    assert accesses["wrong++;", "wrong"]["reads"] == accesses["wrong++;", "wrong"]["writes"] == 1
    assert accesses["one->packets++;", "entries"]["writes"] == 1
    assert {of for line, of in accesses if "data[i]" in line} == {"data"}
    assert not {of for _, of in accesses} - {"wrong", "entries", "table", "data", "packet"}


def test_what_is_not_known_is_said() -> None:
    plain, traced = advised(SOURCE), advised(*TRACED)
    assert plain["traffic"] is None
    assert plain["lines"] == plain["assumptions"] == []
    assert {one["before"] for one in plain["advice"]} == {None}
    plain_gaps = {one["what"] for one in plain["unsaid"]}
    traced_gaps = {one["what"] for one in traced["unsaid"]}
    assert plain_gaps - traced_gaps == {
        "memory of each structure",
        "order of variables",
        "instructions for each packet",
        "number of cores",
        "functions to share the card with",
    }
    assert not traced_gaps
    assert plain["card"] is None
    assert traced["assumptions"]


NESTED = """
#include <stdint.h>
static uint32_t seen[64];
static uint16_t word(const uint8_t *at) {
    return at[0] << 8 | at[1];
}
static uint16_t sum(const uint8_t *data) {
    uint32_t total = 0;
    for (int at = 0; at < 20; at += 2)
        total += word(data + at);
    total = (total & 0xffff) + (total >> 16);
    return ~((total & 0xffff) + (total >> 16));
}
int process(const uint8_t *data, uint32_t length) {
    if (length < 34)
        return 0;
    uint16_t found = sum(data + 14);
    seen[found % 64]++;
    return found ^ data[12] * 5 ^ length % 7;
}
"""


def test_what_an_engine_does_counts_once_with_all_that_it_alone_calls(tmp_path: Path) -> None:
    file = tmp_path / "nested.c"
    file.write_text(NESTED)
    words = (file, "--entry", "process", "--pcap", TRACE)
    found = advised(*words)
    [engine] = [one for one in found["advice"] if one["certainty"] == "proved" and one["before"]]
    assert (engine["kind"], engine["what"]) == ("accelerator", "sum")
    run = slowpath("insights", "counts", *words, "--format", "json")
    each = dict[str, float]()
    for one in json.loads(run.stdout)["blocks"]:
        executed = one["instructions"] * one["per_packet"]
        each[one["symbol"]] = each.get(one["symbol"], 0) + executed
    assert each["word"] > 0
    assert engine["before"] == pytest.approx(each["sum"] + each["word"])
    # Card instructions of nested inlined functions count once as well.
    assert 0 < engine["saved_cycles"] < 0.95 * found["traffic"]["instructions"]


def test_blocks_are_shared_out_once() -> None:
    within = [(frozenset({"sum"}), 0.25), (frozenset({"sum", "word"}), 0.5)]
    block = ExecutedBlock("process", "", 0, False, 1.0, 8.0, within, {})
    assert block.share(frozenset({"sum", "word"})) == block.share(frozenset({"sum"})) == 0.75
    assert block.share(frozenset({"word"})) == 0.5
    assert block.share(frozenset({"process"})) == 1
    assert block.share(frozenset({"other"})) == 0


def test_nothing_is_said_of_cores_for_floating_point(tmp_path: Path) -> None:
    file = tmp_path / "average.c"
    file.write_text(
        "static double average;\n"
        "int process(const unsigned char *data, unsigned length) {\n"
        "    average = average * 0.9 + length * 0.1;\n"
        "    return average > 100;\n}\n"
    )
    found = advised(file, "--pcap", TRACE)
    assert found["card"] is None
    assert not {"cores", "neighbour"} & {one["kind"] for one in found["advice"]}
    [reason] = [one["why"] for one in found["unsaid"] if "cores" in one["what"]]
    assert reason.startswith(f"the code in {file}:3 uses floating-point numbers")


def test_estimates_say_what_the_card_has_not() -> None:
    found = advised(*TRACED)
    for one in found["advice"]:
        if one["kind"] in ("cores", "neighbour"):
            assert (
                "Each unsupported operation counts as one instruction (a global variable"
                in one["sure"]
            )


def test_cores_and_neighbours_are_those_of_the_card() -> None:
    """Check that advice on cores and neighbours agrees with the curve and list in the report.

    Both are computed from the work per packet in the trace.
    """
    found = advised(*TRACED)
    card = found["card"]
    counts = counts_of()
    llvm = sum(one["instructions"] * one["per_packet"] for one in counts["blocks"])
    assert card["work"]["instructions"] == pytest.approx(llvm)
    parts = {one["structure"]: one for one in card["work"]["parts"]}
    assert parts["entries"]["memory"] == "imem"  # as recommended
    assert parts["entries"]["most"] == pytest.approx(4)
    assert 0 < parts["entries"]["fewest"] < 2
    by_kind = {one["kind"]: one for one in found["advice"]}
    cores, neighbour = by_kind["cores"], by_kind["neighbour"]
    assert cores["title"] == f"Use {card['cores']['knee_cores']} cores"
    points = {one["cores"]: one["throughput_pps"] for one in card["cores"]["points"]}
    knee = card["cores"]["knee_cores"]
    assert cores["before"] == pytest.approx(60e9 / points[60])
    assert cores["after"] == pytest.approx(knee * 1e9 / points[knee])
    assert cores["effect"] == pytest.approx(1 - cores["after"] / cores["before"])
    kept = [one["kept"] for one in card["neighbours"]]
    assert neighbour["after"] == pytest.approx(100 * max(kept))
    assert neighbour["before"] == pytest.approx(100 * sum(kept) / len(kept))
    assert card["neighbours"][0]["neighbour"] in neighbour["title"]
    assert {cores["certainty"], neighbour["certainty"]} == {"estimated"}
    assert {cores["saved_cycles"], neighbour["saved_cycles"]} == {None}


def test_reports_on_other_sources_are_neighbours(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(advised(*TRACED)))
    table = "examples/insights/functions.csv"
    found = advised(*TRACED, "--beside", other, "--beside", table)["card"]["neighbours"]
    names = [one["neighbour"] for one in found]
    assert {f"process of {SOURCE}", "filter-and-nat", "itself"} <= set(names)
    own, itself = (found[names.index(name)] for name in (f"process of {SOURCE}", "itself"))
    assert own["kept"] == pytest.approx(itself["kept"], rel=0.05)


def test_what_was_noted_of_the_counts_is_in_the_report(tmp_path: Path) -> None:
    """Check that the report notes calls of accelerators, which are not counted as instructions.

    Functions of the source with similar names are counted.
    """
    source, page = tmp_path / "engine.c", tmp_path / "engine.html"
    source.write_text(
        "#include <nic/engine.h>\n"
        "NIC_ENGINE uint32_t nic_engine_fold(uint32_t sum) { return sum * 31 + (sum >> 7); }\n"
        "int process(const uint8_t *data, uint32_t length) {\n"
        "return length > 34 && nic_engine_fold(nic_engine_checksum(data, 34)) & 1; }\n"
    )
    run = slowpath("insights", source, "--pcap", TRACE, "--entry", "process", "--html", page)
    assert run.returncode == 0, run.stderr
    heading = "Notes on the counts; advice on cores and neighbours also uses these"
    _, _, below = run.stdout.partition(f"\n{heading}:\n")
    notes = " ".join(below.partition("\n\n")[0].split())
    note = (
        "an engine of the card executes nic_engine_checksum, 1 times for each packet; the "
        "counts do not include the work of the engine"
    )
    assert notes == f"- {note}"
    shown = page.read_text()
    assert f"<h2>{heading}</h2>" in shown
    assert f"<li>{note}</li>" in shown


def test_the_only_function_that_no_other_calls_gets_the_packets() -> None:
    run = slowpath("insights", SOURCE, "--pcap", TRACE, "--format", "json")
    taken, named = json.loads(run.stdout), advised(*TRACED)
    (note,) = taken["traffic"].pop("notes")
    assert note.startswith(
        "process receives the packets, because no other function calls it; select"
    )
    assert run.stderr == f"warning: {SOURCE}: {note}\n"
    assert named["traffic"].pop("notes") == []
    assert taken == named


def test_csv_has_the_advice_of_json() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_of(advised(*TRACED)))))
    known = advised(*TRACED)["advice"]
    assert [one["title"] for one in rows] == [one["title"] for one in known]
    effects = [float(one["effect"]) for one in rows]
    assert effects == pytest.approx([one["effect"] for one in known])


def test_following_the_advice_changes_the_numbers_as_announced(tmp_path: Path) -> None:
    """Check that the advised order of struct members has the announced number of accesses.

    The test changes the source; then, no more advice must follow.
    """
    (announced,) = (one for one in advised(*TRACED)["advice"] if one["kind"] == "coalescing")
    members = re.findall(r"^\t(\w+ \w+;)$", announced["code"], re.MULTILINE)
    assert len(members) == 4
    source = (ROOT / SOURCE).read_text()
    body = "".join(f"\t{one}\n" for one in members)
    changed, count = re.subn(r"(?<=struct entry {\n)[^}]*", body, source)
    assert count == 1
    assert changed != source
    file = tmp_path / "changed.c"
    file.write_text(changed)
    words = (str(file), *TRACED[1:])
    assert "coalescing" not in {one["kind"] for one in advised(*words)["advice"]}
    out = tmp_path / "coalescing.json"
    run = slowpath("insights", "counts", *words, "--coalescing-out", str(out))
    assert run.returncode == 0, run.stderr
    run = slowpath("insights", "coalescing", str(out), "--format", "json")
    (layout,) = json.loads(run.stdout)["results"]
    (source_order,) = (one for one in layout["compared"] if one["layout"] == "source")
    assert source_order["accesses"] == announced["after"] < announced["before"]


def test_names_of_others_stay_texts_in_the_page(tmp_path: Path) -> None:
    source, page = tmp_path / "nf.c", tmp_path / "nf.html"
    name = "evil<script>alert(1)</script>\u202e\x1b[2J.c"
    source.write_text(f"""int state[4]; /* <b>\u202e&amp; */
int look(const unsigned char *data, int length) {{ return state[data[0] & 3] += length; }}
# 7 "{name}"
int other(int x) {{ return x + state[0]; }}
""")
    run = slowpath("insights", str(source), "--html", str(page), "--format", "json")
    assert run.returncode == 0, run.stderr
    assert "<script>" in "".join(one["file"] for one in json.loads(run.stdout)["accesses"])
    text = page.read_text()
    assert not {"\u202e", "\x1b"} & set(text)
    tags = {one.tag for one in parsed(text).iter()}
    assert "script" not in tags
    assert "b" not in tags


WRONG = {
    "no_such_entry": ((SOURCE, "--entry", "nothing"), 3, "does not have a function 'nothing'"),
    "no_source": (("missing.c",), 3, "missing.c: no such file"),
    "no_trace": ((*TRACED[:-1], "missing.pcap"), 3, "error: missing.pcap: "),
    "no_capture": ((*TRACED[:-1], SOURCE), 3, SOURCE),
    "several": (
        ("tests/advice/elements.c", "--pcap", TRACE),
        3,
        "the source has several functions without a caller; name the function that "
        "receives packets "
        "with --entry: "
        "avgcounter, compute, counter,",
    ),
    "page": ((SOURCE, "--html", "page.txt"), 2, "the file name must end in .html"),
    "target": ((SOURCE, "--target", "ebpf"), 2, "no value 'ebpf'"),
    "config": ((SOURCE, "--config", "A 1"), 2, "give a trace with --pcap"),
    "beside": ((SOURCE, "--beside", "a.json"), 2, "give a trace with --pcap"),
    "no_beside": ((*TRACED, "--beside", "missing.csv"), 3, "missing.csv: no such file"),
    "no_functions": ((*TRACED, "--beside", SOURCE), 3, f"{SOURCE}: line 1: the line is not JSON"),
    "misspelt": (("placment", "a.json"), 2, "no command 'placment'; did you mean 'placement'?"),
    "two": ((SOURCE, SOURCE), 2, "unexpected argument"),
    "none": (("--format", "json"), 2, "arguments are required: FILE"),
}


@pytest.mark.parametrize(("words", "code", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_named(words: tuple[str, ...], code: int, reason: str) -> None:
    run = slowpath("insights", *words)
    assert run.returncode == code, run.stderr
    assert reason in run.stderr
    assert not run.stdout


def test_a_source_that_does_not_compile_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.c"
    file.write_text("int process(void)\n{\n\treturn nothing;\n}\n")
    run = slowpath("insights", str(file))
    assert run.returncode == 3
    assert "broken.c:3" in run.stderr


def test_a_page_does_not_replace_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "trace.html"
    file.write_bytes((ROOT / TRACE).read_bytes())
    words = (*TRACED[:-1], str(file), "--html", str(file))
    run = slowpath("insights", *words)
    assert run.returncode == 2
    assert "would overwrite" in run.stderr
    assert file.read_bytes() == (ROOT / TRACE).read_bytes()


def test_names_of_commands_win_over_files_but_paths_are_files(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("int x;\n")
    named = slowpath("insights", "counts", "--help", cwd=tmp_path)
    assert "Count basic blocks and memory accesses" in named.stdout
    path = slowpath("insights", "./counts", cwd=tmp_path)
    assert "./counts: the file is neither a source in C or C++" in path.stderr
    help_text = slowpath("insights", "--help").stdout
    assert "{COMMAND,FILE}" in help_text


def test_the_help_for_a_source_lists_its_options() -> None:
    """Check that `--help` after a file lists the options of this report, such as `--config`."""
    run = slowpath("insights", "nf.c", "--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert "Usage: slowpath insights [OPTIONS] FILE" in run.stdout
    options = re.findall(r"^  (--[a-z]+)", run.stdout, re.MULTILINE)
    assert {"--pcap", "--entry", "--config", "--beside", "--cflags", "--html"} <= set(options)
    assert "--config TEXT     Configure the element as Click does" in run.stdout


def test_an_element_in_the_manner_of_click_gets_advice() -> None:
    found, file = as_it_is("nat"), "examples/insights/nat.cc"
    Draft202012Validator(schema("advice")).validate(found)
    assert found["traffic"]["entry"] == "NAT::push"
    assert found["traffic"]["unit"] == "instructions of the card"
    assert found["traffic"]["instructions"] > 100
    assert any("counted in generated code" in one for one in found["assumptions"])
    kinds = {"cores", "neighbour"}
    first, second, third, *_ = (one for one in found["advice"] if one["kind"] not in kinds)
    assert (first["what"], second["what"]) == ("NAT::_mappings", "NAT::_flows")
    assert (first["kind"], first["certainty"]) == ("placement", "assumption")
    assert (third["what"], third["kind"]) == ("NAT::_mappings (Mapping)", "coalescing")
    assert {one["file"] for one in found["structures"]} == {file}
    assert {one["file"] for one in found["lines"]} == {file}
    assert "this" in {one["of"] for one in found["accesses"]}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_has_no_faults_of_accessibility(
    shown: tuple[str, str], tmp_path: Path, width: int, *, dark: bool
) -> None:
    page = tmp_path / "advice.html"
    page.write_text(shown[1])
    assert axe_violations(page, tmp_path, width, dark=dark) == []
