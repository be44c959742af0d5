"""Tests the reports on made-up results in every format."""

import csv
import json

import pytest

from slowpath.bounds.cli import FORMATS
from slowpath.bounds.report import COLUMNS
from slowpath.bounds.report_rates import format_cycles, full_report
from slowpath.core import codes
from slowpath.core.errors import Coded
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import DESCRIBED_PATHS, failed_result, is_capped, own_rate
from slowpath.core.schema.results import Detail, Result, Stretch
from support import GOLDEN, check_golden, make_bound, make_path, make_result

DETAIL: Detail = {
    "paths": [
        {
            "ranges": [(0, 3), (8, 9), (8, 9)],
            "exit": 15000,
            "listing": [(0, "immed[gprA_0, 0x0]"), (8, "nop"), (8, "nop"), (9, "br[.8]")],
            "stretches": [],
            "branches": [],
            "profile": None,
        }
    ],
    "code": [],
    "failure": None,
    "blocks": [],
    "unmatched": [],
}
_WRONG = Coded(codes.LISTING_SYNTAX, "bad.asm:3: no such thing")
FAILED = failed_result("bad.asm", "agilio-cx-2x40", "bitrate", _WRONG)
OPEN = make_result(
    file="open.asm",
    guarantee=make_bound(exact=False, stopped="deadline"),
    paths=[],
    assumptions=["writes to DRAM cost 5 engine cycles"],
)
PACKETS = make_result(file="packets.asm", metric="packetrate", naive=make_bound())
SOURCE = make_result(
    file="source.asm",
    paths=[
        make_path(
            source=[("a.c", 1), ("b.h", 9)],
            lines=[
                {"file": "./a.c", "line": 1, "text": "x = *p;", "instructions": 4},
                {"file": "b.h", "line": 9, "text": "\treturn y;", "instructions": 2},
            ],
            witness={
                "packet": "--" * 60,
                "length": 60,
                "maps": {"flows": [{"key": "00000001", "value": "ff"}], "empty": []},
                "unknowns": [],
                "environment": [],
            },
        )
    ],
)


def stretch(line: int | None, first: int, last: int) -> Stretch:
    return {"line": line, "first": first, "last": last, "instructions": last - first + 1}


WITH_LINES: Detail = DETAIL | {
    "paths": [
        DETAIL["paths"][0]
        | {"stretches": [stretch(0, 0, 3), *[stretch(1, 8, 8), stretch(None, 9, 9)] * 2]}
    ]
}


def text_of(result: Result, detail: Detail = DETAIL, *, verbose: bool = False) -> str:
    return "".join(f"{line.text}\n" for line in full_report(result, detail, verbose=verbose))


def write(form: str, results: list[Result]) -> str:
    reporter = FORMATS.reporter(form)([r["file"] for r in results], verbose=False)
    lines = [*reporter.start()]
    for result in results:
        lines += reporter.add(result, DETAIL, json.dumps(result, ensure_ascii=False))
    return "".join(f"{line.text}\n" for line in [*lines, *reporter.finish()])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exact", text_of(make_result())),
        ("verbose", text_of(make_result(), verbose=True)),
        ("lower-bound", text_of(OPEN)),
        ("packetrate", text_of(PACKETS)),
        ("source-and-maps", text_of(SOURCE, WITH_LINES)),
        (
            "two-paths",
            text_of(
                make_result(paths=[make_path()] * 2),
                DETAIL | {"paths": DETAIL["paths"] * 2},
            ),
        ),
        ("incomplete-paths", text_of(make_result(guarantee=make_bound(stopped="deadline")))),
        ("table", write("table", [make_result(), FAILED, OPEN, SOURCE])),
    ],
)
def test_text(name: str, text: str) -> None:
    check_golden(GOLDEN / f"reports/{name}.txt", text)


def test_words() -> None:
    """Check that reports call a computed rate `guaranteed`, and never `measured`."""
    assert "measured" not in text_of(make_result(), verbose=True)
    assert "guaranteed" in text_of(make_result())


def test_a_failed_program_has_no_report() -> None:
    assert text_of(FAILED) == ""


def test_control_characters_stay_out_of_reports() -> None:
    assert "\x1b" not in text_of(make_result(file="a\x1b[2J\nb.asm"))


def test_json() -> None:
    document = json.loads(write("json", [make_result(), FAILED]))
    assert set(document) == {"slowpath", "command", "schema", "results", "notes"}
    assert [entry["file"] for entry in document["results"]] == ["sample.asm", "bad.asm"]
    assert document["results"][0]["guarantee"] == make_bound()
    assert document["results"][1]["error"] == "bad.asm:3: no such thing"
    assert document["results"][0].keys() == document["results"][1].keys()


def test_json_survives_any_encoding() -> None:
    odd = make_result(file='\N{LATIN SMALL LETTER E WITH ACUTE}\N{SNAKE}".asm')
    text = write("json", [odd, FAILED])
    assert text.isascii()
    files = [entry["file"] for entry in json.loads(text)["results"]]
    assert files == [odd["file"], FAILED["file"]]


def test_of_many_paths_the_slowest_are_described() -> None:
    rates = [24e9 + 1e9 * (index // 50) for index in range(250)]
    paths = [make_path(bitrate_bps=rate) for rate in rates]
    detail = DETAIL | {"paths": DETAIL["paths"] * DESCRIBED_PATHS}
    text = text_of(make_result(paths=paths), detail)
    assert text.count("  witness  ") == DESCRIBED_PATHS == 100
    assert "satisfiable path 100 of 250: 25.0 Gbit/s" in text
    assert text.endswith(
        "\n\n150 more satisfiable paths, from 26.0 Gbit/s to 28.0 Gbit/s; --format json lists all\n"
    )
    (last,) = text_of(make_result(paths=paths[:101]), detail).splitlines()[-1:]
    assert last == "1 more satisfiable path, 26.0 Gbit/s; --format json lists all"


def test_csv() -> None:
    rows = list(csv.DictReader(write("csv", [make_result(), FAILED, OPEN]).splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert [row["exact"] for row in rows] == ["true", "", "false"]
    assert float(rows[0]["bitrate_bps"]) == make_bound()["bitrate_bps"]
    assert rows[0]["min_packet_size"] == "61"
    assert rows[1]["error"] == "bad.asm:3: no such thing"
    assert rows[2]["stopped"] == "deadline"


def test_cycles() -> None:
    assert [format_cycles(c) for c in (790, 4.052463035413383, 0.0, 12.5)] == [
        "790",
        "4.05",
        "0",
        "12.5",
    ]


CAPPED = make_result(
    file="capped.asm",
    guarantee=make_bound(bitrate_bps=24e9, bottleneck="mac"),
    naive=make_bound(bitrate_bps=24e9, bottleneck="mac"),
)


def test_the_rate_of_the_program_itself_is_told_where_a_fixed_limit_is_lower() -> None:
    assert is_capped(CAPPED)
    assert own_rate(CAPPED) == pytest.approx(50_632_911.3924 * 8 * 61)
    assert "mac, a fixed limit of the device; the program by itself allows 24.7" in text_of(CAPPED)
    assert "by itself" not in text_of(make_result())
    check_golden(GOLDEN / "reports/capped.txt", write("table", [make_result(), CAPPED]))


def test_without_a_path_only_the_capped_rate_is_known() -> None:
    assert own_rate(OPEN) is None
    assert own_rate(FAILED) is None
    assert not is_capped(OPEN)


def test_components_without_work_set_no_limit() -> None:
    components = {"processing": None, "dram": None, "mac": 1.0}
    idle = make_result(guarantee=make_bound(components=components, bottleneck="mac"))
    assert own_rate(idle) is None
    packets = make_result(metric="packetrate")
    assert own_rate(packets) == 50_632_911.3924


def test_tabs_in_messages_are_blanks() -> None:
    assert one_line("a\tb\nc\x1b") == "a b c\\x1b"
