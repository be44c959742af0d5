"""Tests `slowpath insights accelerators` on the functions in `tests/accelerators`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.jobs import Message
from slowpath.core.programs.clang import BITCODE, compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators import run
from slowpath.insights.accelerators.report import accelerators_text
from slowpath.insights.source.sources import Source
from support import ROOT, remembered, slowpath

llvm = pytest.importorskip("llvmlite.binding")
modules = pytest.importorskip("slowpath.insights.source.modules")
pytestmark = pytest.mark.usefixtures("with_clang")
FOLDER = ROOT / "tests/accelerators"
FILES = ("crc", "sums", "hashes", "digests", "ciphers", "lpm")

CRCS = {
    "crc8_bits": (8, 0x07, "0x00", "no", "no", 0),
    "crc8_maxim_step": (8, 0x31, "crc", "yes", "yes", 0),
    "crc16_ccitt_bits": (16, 0x1021, "0xffff", "no", "no", 0),
    "crc16_modbus": (16, 0x8005, "0xffff", "yes", "yes", 0),
    "crc16_ccitt_algebra": (16, 0x1021, "crc", "no", "no", 0),
    "crc16_update": (16, 0x1021, "*crc", "no", "no", 0),
    "crc16_nibbles": (16, 0x8005, "crc", "yes", "yes", 0),
    "crc24_openpgp": (24, 0x864CFB, "0xb704ce", "no", "no", 0),
    "crc32_fill": (32, 0x04C11DB7, "0x00000000", "yes", "yes", 0),
    "crc32_table": (32, 0x04C11DB7, "crc ^ 0xffffffff", "yes", "yes", 0xFFFFFFFF),
    "crc32_mpeg_lazy": (32, 0x04C11DB7, "0xffffffff", "no", "no", 0),
    "crc32c_by_four": (32, 0x1EDC6F41, "crc ^ 0xffffffff", "yes", "yes", 0xFFFFFFFF),
    "crc32c_by_eight": (32, 0x1EDC6F41, "crc", "yes", "yes", 0),
    "crc64_xz": (64, 0x42F0E1EBA9EA3693, "0xffffffffffffffff", "yes", "yes", (1 << 64) - 1),
    "crc64_ecma_step": (64, 0x42F0E1EBA9EA3693, "crc", "no", "no", 0),
    "crc16_table_fill": (16, 0x1021, "0x0000", "yes", "yes", 0),
    "crc16_range": (16, 0x8005, "0x0000", "no", "no", 0),
    "frame_add": (16, 0x1021, "frame + 4", "yes", "yes", 0),
    "running_add": (16, 0x1021, "the variable running", "no", "no", 0),
    "crc5_usb": (5, 0x05, "0x1f", "yes", "yes", 0x1F),
    "crc7_kept": (7, 0x09, "0x00", "no", "no", 0),
    "crc16_ends": (16, 0x8005, "*crc", "yes", "yes", 0xFFFF),
    "crc32_beside": (32, 0x04C11DB7, "0xffffffff", "yes", "yes", 0xFFFFFFFF),
    "crc32_remembered": (32, 0x04C11DB7, "0xffffffff", "yes", "yes", 0xFFFFFFFF),
    "crc32_continued": (32, 0x04C11DB7, "*bare", "yes", "yes", 0),
    "crc16_byte_beside": (16, 0x1021, "crc", "no", "no", 0),
}
"""CRCs: width, polynomial, initial value, reflection of input and output, and final xor."""

PLACES = {
    "crc16_update": "in *crc",
    "frame_add": "in frame + 4",
    "running_add": "in the variable running",
    "crc7_kept": "in *crc",
    "crc16_ends": "in *crc",
    "crc32_continued": "in *bare",
}
"""For functions that do not return their result, the place in memory that has the result."""


def examined(file: Path, *options: str) -> dict[str, Any]:
    """Run `slowpath insights accelerators` on a file, and return the JSON report."""
    output = remembered("insights", "accelerators", file, "--format", "json", *options)
    read: dict[str, Any] = json.loads(output)
    return read


def expected(file: str) -> dict[str, tuple[str, str]]:
    with (FOLDER / "expected.tsv").open() as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["file"] == file]
    return {row["function"]: (row["kind"], row["algorithm"]) for row in rows}


@pytest.mark.parametrize("name", FILES)
def test_what_is_proved_of_our_own_functions(name: str) -> None:
    report = examined(FOLDER / f"{name}.c")
    expected_findings = expected(f"{name}.c")
    found = {one["function"]: one for one in report["proved"]}
    assert {
        name: (one["kind"], one["algorithm"]) for name, one in found.items()
    } == expected_findings
    assert all(one["inputs"] >= 16 for one in found.values() if one["part_of"] is None)
    lines = (FOLDER / f"{name}.c").read_text().splitlines()
    assert all(
        f" {one['function']}(" in f" {lines[one['line'] - 1]}".replace("*", " ")
        for one in found.values()
    )


def test_parameters_of_crcs_are_recovered() -> None:
    report = examined(FOLDER / "crc.c")
    found = {one["function"]: one["parameters"] for one in report["proved"]}
    for name, (width, polynomial, initial, reflected_in, reflected_out, final) in CRCS.items():
        digits = -(-width // 4)
        assert found[name] == {
            "width": str(width),
            "polynomial": f"0x{polynomial:0{digits}x}",
            "initial": initial,
            "reflected in": reflected_in,
            "reflected out": reflected_out,
            "final xor": f"0x{final:0{digits}x}",
            **({"result": PLACES[name]} if name in PLACES else {}),
        }, name


def test_a_result_that_is_not_what_is_returned_is_told() -> None:
    report = examined(FOLDER / "crc.c")

    def parameters_line(entry: str) -> str:
        proved = [one for one in report["proved"] if one["function"] == entry]
        lines = accelerators_text(report | {"proved": proved})  # type: ignore[arg-type]
        return next(line.text for line in lines if line.text.startswith(f"{entry}: "))

    assert parameters_line("crc32_continued").endswith("final xor 0x00000000, result in *bare")
    assert parameters_line("crc32_beside").endswith("final xor 0xffffffff")


def test_sums_are_those_that_are_returned(tmp_path: Path) -> None:
    file = tmp_path / "both.c"
    file.write_text(
        "#include <stdint.h>\n"
        "static uint16_t folded(const uint16_t *data, int words) {\n"
        "    uint32_t sum = 0;\n"
        "    for (int at = 0; at < words; at++)\n"
        "        sum += data[at];\n"
        "    while (sum >> 16)\n"
        "        sum = (sum & 0xffff) + (sum >> 16);\n"
        "    return (uint16_t)sum;\n"
        "}\n"
        "uint16_t returned(const uint16_t *data, int words, uint16_t *plain) {\n"
        "    *plain = folded(data, words);\n"
        "    return (uint16_t)~*plain;\n"
        "}\n"
        "int left(const uint16_t *data, int words, uint16_t *sum) {\n"
        "    *sum = folded(data, words);\n"
        "    return 0;\n"
        "}\n"
    )
    found = {one["function"]: one["parameters"] for one in examined(file)["proved"]}
    assert (found["returned"]["complement"], found["returned"].get("result")) == ("yes", None)
    assert (found["left"]["complement"], found["left"]["result"]) == ("no", "in *sum")


@pytest.mark.parametrize(("name", "count"), [("negatives", 30), ("negative_table", 2)])
def test_look_alikes_are_not_proved_to_be_anything(name: str, count: int) -> None:
    report = examined(FOLDER / f"{name}.c")
    assert report["functions"] == count
    assert report["proved"] == []


def test_inline_assembly_beside_ends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "assembly.c"
    source = (FOLDER / "sums.c").read_text().partition("uint32_t in_partial")[0]
    file.write_text(source + 'int turn(int x) { __asm__("bswap %0" : "+r"(x)); return x; }\n')
    report = examined(file)
    assert report["functions"] == 2
    assert [one["function"] for one in report["proved"]] == ["in_checksum"]


def test_what_routes_are_added_and_looked_up_with() -> None:
    report = examined(FOLDER / "lpm.c")
    found = {one["function"]: one["parameters"] for one in report["proved"]}
    assert found["tree_match"]["addresses"] == "network order, in memory"
    assert found["line_find"]["addresses"] == "network order"
    assert found["step_find"]["longest prefix"] == "31 bits"
    assert not any("routes added" in one for one in found.values())


def test_tables_that_are_made_once_are_made(tmp_path: Path) -> None:
    file = tmp_path / "once.c"
    file.write_text(
        "#include <pthread.h>\n"
        "static unsigned rows[256];\n"
        "static pthread_once_t once = PTHREAD_ONCE_INIT;\n"
        "static void make(void) {\n"
        "    for (unsigned i = 0; i < 256; i++) {\n"
        "        unsigned value = i;\n"
        "        for (int k = 0; k < 8; k++)\n"
        "            value = value >> 1 ^ (value & 1 ? 0xedb88320 : 0);\n"
        "        rows[i] = value;\n"
        "    }\n"
        "}\n"
        "unsigned check(const unsigned char *data, unsigned len) {\n"
        "    unsigned value = ~0u;\n"
        "    pthread_once(&once, make);\n"
        "    while (len--)\n"
        "        value = value >> 8 ^ rows[(value ^ *data++) & 255];\n"
        "    return ~value;\n"
        "}\n"
    )
    found = {one["function"]: one["algorithm"] for one in examined(file)["proved"]}
    assert found["check"] == "CRC-32 (IEEE 802.3)"


def test_checksums_of_even_lengths_only_say_so() -> None:
    report = examined(FOLDER / "sums.c", "--entry", "in_whole_words")
    assert [one["parameters"]["lengths"] for one in report["proved"]] == ["even ones only"]


def test_an_entry_limits_what_is_examined() -> None:
    report = examined(FOLDER / "sums.c", "--entry", "adler_plain")
    assert report["functions"] == 1
    assert [one["algorithm"] for one in report["proved"]] == ["Adler-32"]


@pytest.mark.parametrize("extension", ["bc", "ll"])
def test_intermediate_language_gives_the_same(tmp_path: Path, extension: str) -> None:
    bitcode = compile_c(str(FOLDER / "sums.c"), Clang(), BITCODE)
    file = tmp_path / f"sums.{extension}"
    text = str(llvm.parse_bitcode(bitcode)) if extension == "ll" else ""
    file.write_bytes(text.encode() or bitcode)
    from_source, from_file = examined(FOLDER / "sums.c"), examined(file)
    assert [(one["function"], one["algorithm"], one["line"]) for one in from_file["proved"]] == [
        (one["function"], one["algorithm"], one["line"]) for one in from_source["proved"]
    ]


def test_text_and_csv(tmp_path: Path) -> None:
    file = tmp_path / "one.c"
    file.write_text((FOLDER / "crc.c").read_text().partition("uint8_t crc8_maxim")[0])
    text = slowpath("insights", "accelerators", file).stdout
    assert "crc8_bits" in text
    assert "223 inputs of 1 to 4096 bytes" in text
    assert "polynomial 0x07" in text
    rows = list(
        csv.DictReader(
            slowpath("insights", "accelerators", file, "--format", "csv").stdout.splitlines()
        )
    )
    assert [(row["function"], row["status"], row["line"]) for row in rows] == [
        ("crc8_bits", "proved", "5")
    ]


WRONG = {
    "broken.c": ("int f(", "broken.c:1:7: error: expected parameter declarator"),
    "assembly.c": (
        'int f(int x) { __asm__("nop"); return x; }',
        "assembly.c:1: f has inline assembly, which is not supported",
    ),
    "recursive.c": (
        "int g(int x);\nint f(int x) { return x ? g(x - 1) * x : 1; }\n"
        "int g(int x) { return f(x) + 1; }",
        "recursive.c:2: the function f is recursive, which the card does not support",
    ),
    "other.c": (
        "int other(int x) { return x; }",
        "the source does not have a function 'f'; it has other",
    ),
    "text.txt": ("hello", "is neither a source in C or C++"),
    "empty.c": ("", "the source does not have a function 'f'; it does not define a function"),
    "wrong.ll": ("define i32 @f( {\n", "cannot read the file"),
    "bpf.ll": (
        'target triple = "bpf"\ndefine i32 @f() {\n  ret i32 0\n}\n',
        "is for bpf, but this machine is",
    ),
    "cut.bc": ("BC\xc0\xde1234", "cannot read this bitcode"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_examined_is_told(tmp_path: Path, name: str) -> None:
    content, expected_error = WRONG[name]
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    run = slowpath("insights", "accelerators", name, "--entry", "f", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (3, "")
    assert expected_error in run.stderr
    assert run.stderr.count("\n") == 1


def test_bitcode_that_llvm_cannot_read_says_who_wrote_it(tmp_path: Path) -> None:
    bitcode = compile_c(str(FOLDER / "sums.c"), Clang(), BITCODE)
    version = modules.producer(bitcode)
    assert version is not None
    assert version.partition(".")[0].isdigit()
    file = tmp_path / "damaged.bc"
    file.write_bytes(bitcode[: len(bitcode) // 2 // 4 * 4])
    run = slowpath("insights", "accelerators", file)
    assert run.returncode == 3
    assert f"cannot read this bitcode of LLVM {version}" in run.stderr


HARMFUL = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

uint32_t writes_file(const uint8_t *data, int len) {
    uint32_t x = 0;
    int file = open("SENTINEL", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < len; i++)
        x = x * 33 ^ data[i];
    close(file);
    return x;
}

int never_ends(const uint8_t *data, int len) {
    volatile int x = 0;
    for (;;)
        x ^= data[0] * len;
}

int out_of_bounds(const int *data, int len) {
    return data[len * 1000003] ^ data[len * -999983];
}

uint8_t takes_memory(const uint8_t *data, size_t len) {
    uint8_t x = 0;
    for (int i = 0; i < 1 << 20; i++) {
        uint8_t *more = malloc(1 << 20);
        more[0] = 1;
        x ^= more[len] ^ data[0];
    }
    return x;
}

int divides(const uint8_t *data, int len) {
    return len / (data[0] ^ data[0]) ^ 3;
}

int calls_nowhere(const uint8_t *data, int len) {
    return ((int (*)(const uint8_t *))(uintptr_t)0x1234567)(data) ^ len;
}

uint16_t good(const uint8_t *data, int len) {
    uint16_t crc = 0;
    for (int i = 0; i < len; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
    }
    return crc;
}
"""


def test_harmful_code_takes_nothing_with_it(tmp_path: Path) -> None:
    sentinel = tmp_path / "written"
    file = tmp_path / "harmful.c"
    file.write_text(HARMFUL.replace("SENTINEL", str(sentinel)))
    report = examined(file)
    assert [one["function"] for one in report["proved"]] == ["good"]
    assert not sentinel.exists()
    assert report["stopped"] is None


def test_a_missing_function_with_a_name_like_the_frameworks_is_told(tmp_path: Path) -> None:
    file = tmp_path / "missing.c"
    file.write_text(
        "#include <stdint.h>\nuint32_t slowpath_setup_tables(uint32_t);\n"
        "uint32_t mixed(const uint8_t *data, int len) {\n"
        "\tuint32_t x = 0;\n\tfor (int i = 0; i < len; i++) {\n\t\tx ^= data[i];\n"
        "\t\tfor (int bit = 0; bit < 8; bit++)\n"
        "\t\t\tx = x & 1 ? x >> 1 ^ slowpath_setup_tables(x << 3) : x >> 1 ^ x << 7;\n"
        "\t}\n\treturn x;\n}\n"
    )
    report = examined(file)
    both = [*report["alike"], *report["unexamined"]]
    assert len(both) == 1
    found = both[0]
    reason = "the function calls slowpath_setup_tables, without a definition in the source"
    assert (found["function"], found["reason"]) == ("mixed", reason)


class _EndsItself:
    """A worker that reports its deadline and ends by itself, before it would be killed."""

    def wait(self, _seconds: float | None, receive: Callable[[Message], None]) -> None:
        receive(("unexamined", {"function": "endless"}))
        receive(("stopped", "deadline"))


def test_a_worker_that_ends_itself_at_the_deadline_is_reported() -> None:
    worker: Any = _EndsItself()
    report = run.examined(Source("a.bc", b"", "bitcode", compiled=False), worker, 1.0)
    assert report["stopped"] == "deadline"


def test_a_deadline_keeps_what_was_proved(tmp_path: Path) -> None:
    """Check that the report contains a proof that was found before the deadline.

    This proof takes less than a second, while each of the endless functions takes more than a
    second of CPU.
    """
    file = tmp_path / "slow.c"
    endless = "".join(
        f"int f{at}(const unsigned char *p, int n) "
        "{ volatile int x = 0; for (;;) x ^= p[0] * n; }\n"
        for at in range(40)
    )
    file.write_text(CRC % "" + endless)
    run = slowpath(
        "insights", "accelerators", file, "--deadline", "12", "--format", "json", timeout=200
    )
    report = json.loads(run.stdout)
    assert run.returncode == 0
    assert report["stopped"] == "deadline"
    assert "stopped (deadline)" in run.stderr
    assert "crc" in {one["function"] for one in report["proved"]}


CRC = (
    "#include <stddef.h>\n#include <stdint.h>\n"
    "static inline __attribute__((always_inline))\n"
    "uint32_t crc(const uint8_t *data, size_t length)\n"
    "{\n\tuint32_t sum = ~0u;\n\tfor (size_t at = 0; at < length; at++) {\n"
    "\t\tsum ^= data[at];\n\t\tfor (int bit = 0; bit < 8; bit++)\n"
    "\t\t\tsum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;\n\t}\n\treturn ~sum;\n}\n"
    "uint64_t seen;\n"
    "int process(const uint8_t *data, size_t length)\n{\n"
    "\tif (length < 20 || length > 1500)\n\t\treturn 0;\n"
    "\tseen += crc(data, length);\n%s\treturn seen & 1;\n}\n"
)
OWN = (
    "\tuint32_t other = 0x1234;\n\tfor (size_t at = 3; at < length; at += 2) {\n"
    "\t\tother ^= (uint32_t)data[at] << 24;\n\t\tfor (int bit = 0; bit < 8; bit++)\n"
    "\t\t\tother = other & 0x80000000 ? other << 1 ^ 0x04c11db7 : other << 1;\n"
    "\t\tseen ^= other;\n\t}\n"
)


@pytest.mark.parametrize(("own", "suspected"), [("", []), (OWN, ["process"])])
def test_a_proved_function_inside_of_its_caller_is_not_suspected_again(
    tmp_path: Path, own: str, suspected: list[str]
) -> None:
    """Check that the caller of a proved CRC function is not reported as similar to a CRC.

    If the caller itself contains a loop like that of a CRC, it is still reported.
    """
    file = tmp_path / "inside.c"
    file.write_text(CRC % own)
    run = slowpath("insights", "accelerators", file, "--format", "json", timeout=300)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert [one["function"] for one in report["proved"]] == ["crc"]
    assert [one["function"] for one in report["alike"]] == suspected


FILLED = """
#include <stdint.h>
static uint32_t table[256], seen[64];
static int done;

static void fill(void) {
    for (uint32_t at = 0; at < 256; at++) {
        uint32_t crc = at;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        table[at] = crc;
    }
}

void once(void) {
    if (done)
        return;
    fill();
    done = 1;
}

uint32_t mark(uint32_t key) {
    uint32_t place = table[key & 255] % 2048;
    uint32_t was = seen[place / 32] >> place % 32 & 1;
    seen[place / 32] |= 1u << place % 32;
    return was;
}

void mend(void) {
    if (table[255] != 0x2d02ef8d)
        table[255] = 0x2d02ef8d;
}
"""


def test_what_another_function_has_filled_is_no_table_of_who_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "filled.c"
    file.write_text(FILLED)
    proved = {one["function"]: one["algorithm"] for one in examined(file)["proved"]}
    assert proved == dict.fromkeys(("fill", "once"), "CRC-32 (IEEE 802.3) table")
