"""Counts source patterns in the generated programs of experiments.

Each repeated part of a component has to occur as often as its parameters say. Test beds run most
programs: `test_experiment_programs.py`, `..._entries.py`, `..._swx.py` and `..._testbeds.py`. The
counts need no kernel and no DPDK. P4 programs are tested only here.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from slowpath.calibrate.experiments.specification import (
    Experiment,
    settings_at,
    shipped_experiment,
    shipped_names,
    swept_values,
    with_range,
)
from slowpath.calibrate.testbeds.dpdk_programs import dpdk_program
from slowpath.calibrate.testbeds.generation import address_of, key_offset
from slowpath.calibrate.testbeds.p4 import p4_program
from slowpath.calibrate.testbeds.swx_programs import swx_driver, swx_pipelines
from slowpath.calibrate.testbeds.xdp_programs import xdp_program
from support import GOLDEN, check_golden


class Parameters(dict[str, Any]):
    """Parameters of a component, readable as attributes; a missing parameter is 0."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name, 0)


Counts = dict[str, int | tuple[int, int]]
"""For each regular expression, its expected number of matches.

A pair has the number of matches and the number of different captured groups.
"""


def xdp_counts(p: Parameters) -> dict[str, Counts]:
    """Return regular expressions for XDP source with their expected counts, for each component.

    The expressions match source that the component adds to the program.
    """
    words, others, looks = p.header_bytes // 4, p.key_bytes // 4 - 1, p.tables * p.repeats
    size = 2 * p.entries + 1024 if "lru" in str(p.map) else p.entries
    looked_up: Counts = {
        r"lookup\(&table(\d+), ": (looks, p.tables),
        r"\} table(\d+) SEC": (p.tables, p.tables),
        rf"max_entries, {size}\)": p.tables,
    }
    found = {
        r"if \(!value\)": looks if p.hit == "yes" else 0,
        r"if \(value\)": looks if p.hit == "no" else 0,
    }
    turns, compared = (
        (p.entries, r"differs \|= \(key\.word\[1 \+ (\d+)\] & rule->mask\[1 \+ \1\]\)")
        if p.method == "linear"
        else (p.masks, r"masked\.value\[1 \+ (\d+)\] = key\.word\[1 \+ \1\]")
    )
    return {
        "parser": {
            r"type = field\[0\];": p.headers,
            rf"\(void \*\)field \+ {p.header_bytes}[; ]": 2 * p.headers,
            r"if \(type == 1 \+ (\d+)\)": (p.headers * p.branches, p.branches),
            r"sum \+= field\[1 \+ (\d+)\];": (p.headers * p.fields, p.fields),
        },
        "table-exact": looked_up | found,
        "table-lpm": looked_up | found,
        "table-ternary": looked_up | {
            rf"i < {turns}; i\+\+": looks,
            compared: (looks * others, others),
        },
        "arithmetic": {
            r'asm volatile\("%0 [^"]+" : "\+r"\(value(\d)\)': (
                p.count,
                1 if p.dependent == "yes" and p.operation != "move" else min(p.count, 4),
            )
        },
        "branches": {r"if \(bit\)": 1},
        "tail-calls": {
            r"int step(\d+)\(struct xdp_md \*ctx\)\n\{": (p.calls, p.calls),
            r"\[(\d+)\] = \(void \*\)&step\1,": (p.calls, p.calls),
            rf"if \((\d+) \+ 1 < {p.calls}\)": (p.calls, p.calls),
            r"\ttail_call\(ctx, &chain, (\d+) \+ 1\);": (p.calls, p.calls),
            rf"max_entries, {p.calls}\)": 1,
        },
        "push": {
            rf"adjust_head\(ctx, -{p.header_bytes}\)": p.headers,
            r"\(volatile __u32 \*\)data\)\[(\d+)\]": (p.headers * words, words),
        },
        "pop": {rf"adjust_head\(ctx, {p.header_bytes}\)": p.headers},
        "state": {r"value->word\[(\d+)\]": (p.accesses, p.accesses)},
        "calls": {r"value = step\(value\);": p.calls + 1},
        "table-array": {
            r"lookup\(&table, &key\)": p.repeats,
            rf"max_entries, {p.entries}\)": 1,
        },
        "field-writes": {r"\tfield\[(\d+)\] = value;": (p.writes, p.writes)},
        "copy": {r"value->word\[(\d+)\] = word\[\1\];": (p.bytes // 8, p.bytes // 8)},
        "checksum": {
            r"\(void \*\)word, (\d+), 0\)": 1 if p.method == "helper" else 0,
            r"sum \+= word\[(\d+)\];": p.bytes // 4 if p.method == "loop" else 0,
            r"~word\[(\d+)\]": p.bytes // 4 if p.method == "update" else 0,
        },
        "loops": {
            rf"i < {p.turns}; i\+\+": 1 if p.method == "loop" else 0,
            rf"\tloop\({p.turns}, step, &sum, 0\);": 0 if p.method == "loop" else 1,
        },
        "forward": {r"mac\[(\d+)\] = mac\[3 \+ \1\];": (3, 3)},
        "digest": {
            r"output\(&records, record, ": p.digests,
        },
        "hash": {
            r"sum \+= hash\(&key\);": p.hashes,
            r"c \+= key->word\[3 \* (\d+) \+ 2\]": (
                (others // 3, others // 3) if p.method == "jhash" else 0
            ),
            r"crc \^ byte\[(\d+)\]": p.key_bytes if p.method == "crc32" else 0,
        },
        "helper": {},  # the specification names helper and arguments
        "mixture": {},  # random instructions
    }  # fmt: skip


def p4_counts(p: Parameters) -> dict[str, Counts]:
    """Return regular expressions for P4 source with their expected counts, for each component.

    The expressions match source that the component adds to the program.
    """
    read, write = p.operation != "write", p.operation != "read"

    def tables(match: str, key: str) -> Counts:
        return {
            rf"table table(\d+) \{{\s+key = \{{ {key}: {match}; \}}": (p.tables, p.tables),
            r"table(\d+)\.apply\(\);": (p.tables, p.tables),
            rf"size = {p.entries};": p.tables,
            rf"action hit\(bit<{8 * p.value_bytes}> data\)": 1,
        }

    return {
        "arithmetic": {r"meta\.sum = meta\.sum [+^*<]": p.count},
        "field-writes": {r"(?:h\.own\[|meta\.field)(\d+).* = value;": (p.writes, p.writes)},
        "parser": {
            r"state own(\d+) \{": (p.headers, p.headers),
            r"packet\.extract\(h\.own\[(\d+)\]\);": (p.headers, p.headers),
            r"0x1000 \+ (\d+): reject;": (p.headers * p.branches, p.branches),
            r"0x0010: own(\d+)_end;\s+default: reject;": (p.headers, p.headers),
            r"\(bit<64>\)h\.own\[\d+\]\.field(\d+);": (p.headers * p.fields, p.fields),
            r"\(bit<64>\)h\.own\[(\d+)\]": (p.headers * p.fields, p.headers if p.fields else 0),
        },
        "push": {
            r"h\.own\[(\d+)\]\.setValid\(\);\s+h\.own\[\1\]\.type = \1;": (p.headers, p.headers)
        },
        "state": {
            rf"register<bit<64>>\({p.entries}\) state(\d+);": (p.accesses, p.accesses),
            r"state(\d+)\.read\(value, at\)": (p.accesses * read, p.accesses * read),
            r"state(\d+)\.write\(at, value": (p.accesses * write, p.accesses * write),
        },
        "clone": {r"clone\(CloneType\.I2E, 32w(\d+)\);": (p.clones, p.clones)},
        "digest": {
            r"digest<record_t>\(1, record\);": p.digests,
        },
        "hash": {r"hash\(value, HashAlgorithm\.crc32, ": p.hashes},
        "meter": {
            rf"meter<bit<32>>\({p.entries}, MeterType\.bytes\) meter(\d+);": (p.meters, p.meters),
            r"meter(\d+)\.execute_meter\(at, color\);": (p.meters, p.meters),
        },
        "recirculate": {rf"meta\.passes < {p.passes}\)": 1},
        "forward": {r"h\.ethernet0\.source = h\.ethernet0\.destination;": 1},
        "table-exact": tables("exact", r"h\.key\.bits"),
        "table-lpm": tables("lpm", "address"),
        "table-ternary": tables("ternary", r"h\.key\.bits"),
    }


def swx_counts(p: Parameters) -> dict[str, Counts]:
    """Return regular expressions for SWX source with their expected counts, for each component.

    The expressions match source that the component adds to the pipeline.
    """
    tables: Counts = {
        r"^table table(\d+) \{": (p.tables, p.tables),
        r"^\ttable table(\d+)$": (p.tables * p.repeats, p.tables),
        rf"size {p.entries}$": p.tables,
        r"bit<64> data(\d+)": (p.value_bytes // 8, p.value_bytes // 8),
    }
    return {
        "arithmetic": {
            r"\t(?:(?:add|xor) m\.sum\d? m\.operand|shl m\.sum\d? 1|mov m\.sum\d? [1-9])": p.count
        },
        "branches": {
            r"P(\d+) : jmplt": (p.count // 2, p.count // 2),
            r"Q(\d+) : jmplt": (p.count // 2, p.count // 2),
        },
        "checksum": {
            "cksub h.ethernet0.type (?:h.words)": p.bytes // 4 if p.method == "update" else 0,
        },
        "field-writes": {r"mov (?:h\.own0|m)\.field(\d+) m\.value": (p.writes, p.writes)},
        "parser": {
            r"extract h\.own(\d+)$": (p.headers, p.headers),
            r"jmpeq OWN(\d+)_END h\.own\1\.type 16": (p.headers, p.headers),
            r"jmpeq REJECT h\.own\d+\.type (\d+)": (p.headers * p.branches, p.branches),
            r"add m\.sum h\.own\d+\.field(\d+)": (p.headers * p.fields, p.fields),
        },
        "push": {
            r"validate h\.own(\d+)\n\tmov h\.own\1\.type \1": (p.headers, p.headers),
            r"emit h\.own(\d+)": (p.headers, p.headers),
        },
        "pop": {r"extract h\.own(\d+)": (p.headers, p.headers)},
        "clone": {r"mov m\.slot (\d+)\n\tmov m\.session 0\n\tmirror ": (p.clones, p.clones)},
        "hash": {rf"hash {p.method} m\.value h\.key\.bits h\.key\.bits$": p.hashes},
        "meter": {
            rf"^metarray meter(\d+) size {p.entries}$": (p.meters, p.meters),
            r"\tmeter meter(\d+) m\.at m\.length m\.color m\.value$": (p.meters, p.meters),
        },
        "forward": {r"mov h\.ethernet0\.source h\.ethernet0\.destination": 1},
        "recirculate": {rf"jmpeq LEAVE m\.sum {p.passes}$": 1},
        "state": {
            rf"regarray state(\d+) size {p.entries} ": (p.accesses, p.accesses),
            r"\treg(?:rd m\.value|wr|add) state(\d+) ": (p.accesses, p.accesses),
        },
        "table-exact": tables,
        "table-lpm": tables,
        "table-ternary": tables,
    }


def _xdp(experiment: Experiment, value: int, component: bool) -> str:
    return xdp_program(experiment, value, component=component).text


def _p4(experiment: Experiment, value: int, component: bool) -> str:
    return p4_program(experiment, value, component=component).text


def _swx(experiment: Experiment, value: int, component: bool) -> str:
    found = swx_pipelines(experiment, value)
    return (found.component if component else found.baseline).text


BEDS: dict[str, tuple[Callable[..., str], Callable[[Parameters], dict[str, Counts]]]] = {
    "linux-xdp": (_xdp, xdp_counts),
    "p4": (_p4, p4_counts),
    "dpdk-swx": (_swx, swx_counts),
}


def shipped(bed: str) -> list[str]:
    """Return the names of the built-in experiments that run on a test bed."""
    return [name for name in shipped_names() if bed in shipped_experiment(name)["testbeds"]]


EACH = [(bed, name) for bed in BEDS for name in shipped(bed)]


@pytest.mark.parametrize(("bed", "name"), EACH)
def test_components_are_repeated_as_often_as_parameters_say(bed: str, name: str) -> None:
    experiment, (expanded, counts) = shipped_experiment(name), BEDS[bed]
    kind = experiment["component"]["kind"]
    values = [value for value in swept_values(experiment) if value <= 3000]
    for value in {*values[:2], values[-1]}:
        p = Parameters(settings_at(experiment, value))
        text, baseline = (expanded(experiment, value, component) for component in (True, False))
        for pattern, expected in counts(p)[kind].items():
            times, different = expected if isinstance(expected, tuple) else (expected, None)
            found = re.findall(pattern, text, re.MULTILINE)
            assert len(found) == times, (value, pattern)
            if different is not None:
                numbers = {int(one) for one in found}
                assert len(numbers) == different
            assert kind == "calls" or not re.search(pattern, baseline, re.MULTILINE), pattern
        if bed == "linux-xdp" and p.key_bytes:
            read = r"key->word\[(?:1 \+ )?(\d+)\] = (?:from\[(?:1 \+ )?\1\]|draw\(\));"
            assert (
                len(re.findall(read, text)) == len(re.findall(read, baseline)) == p.key_bytes // 4
            )


@pytest.mark.parametrize(("bed", "name"), EACH)
def test_programs_of_a_sweep_consist_of_the_same_lines(bed: str, name: str) -> None:
    """Check that two programs of a sweep differ only in numbers and in repetitions of lines.

    The first and last programs are not compared, because they may lack some lines.
    """
    if name.startswith(("mixture", "helper-trace")):
        return  # random lines, or lines whose length depends on the value
    experiment, (expanded, _) = shipped_experiment(name), BEDS[bed]
    values = swept_values(experiment)
    one, other = (
        {re.sub(r"\d+", "#", line) for line in expanded(experiment, value, True).splitlines()}
        for value in values[len(values) // 2 - 1 :][:2]
    )
    assert one == other


@pytest.mark.parametrize(
    ("bed", "name"), [(bed, name) for bed in ("dpdk", "dpdk-swx") for name in shipped(bed)]
)
def test_programs_that_time_themselves_differ_in_their_values_only(bed: str, name: str) -> None:
    experiment, expand = shipped_experiment(name), dpdk_program if bed == "dpdk" else swx_driver
    swept, values = experiment["component"]["sweep"]["parameter"], swept_values(experiment)
    one, other = (expand(with_range(experiment, at, at, 1)) for at in (values[0], values[-1]))
    declared = "static const long values[] = {{ {} }};".format
    assert one.replace(declared(values[0]), declared(values[-1])) == other
    assert one.count(f"static long {swept};") == 1
    constants = re.findall(r"^enum \{ (.*) \};$", one, re.MULTILINE)
    for parameter, value in settings_at(experiment, values[0]).items():
        if isinstance(value, int) and parameter not in ("size", swept):
            assert f"{parameter} = {value}" in constants[0].split(", ")
    assert f"KEY_OFFSET = {key_offset(experiment)}," in one
    for sent in re.findall(r"packet_bytes\[\] = \{ (.*) \};", one):
        assert len(sent.split(", ")) == experiment["traffic"]["size"]
    if bed == "dpdk" and experiment["component"]["kind"] == "table-ternary":
        assert ".value.u32 = last ? 0 : 1U << 31 | number * " in one
        assert ".mask_range.u32 = last ? 1U << 31 : ~0U << number % 8;" in one
    if bed == "dpdk" and experiment["component"]["kind"].startswith("table-"):
        assert len(re.findall(r"again = 0; (component && )?again < repeats; again\+\+", one)) == 1
        tabled = "tables" in settings_at(experiment, values[0])
        assert one.count("component && t < tables; t++") == tabled


# --- entries --------------------------------------------------------------------------------------


def matching(entries: list[str], key: bytes) -> list[int]:
    """Return the indices of the table entries that match a key; entries have the syntax of P4."""
    found, width = [], 8 * len(key)
    for number, entry in enumerate(entries):
        value, _, prefix, mask = re.fullmatch(
            r"0x(\w+)(/(\d+)|&&&0x(\w+))? => 1(?: \d+)?", entry
        ).groups()  # type: ignore[union-attr]
        assert len(value) == 2 * len(key)
        kept = int(mask, 16) if mask else -1 << width - int(prefix or width)
        assert not int(value, 16) & ~kept, "a value has no bits outside of its mask"
        if not (int(value, 16) ^ int.from_bytes(key, "big")) & kept:
            found.append(number)
    return found


@pytest.mark.parametrize("name", [one for one in shipped("p4") if one.startswith("table-")])
def test_packets_find_the_entry_of_p4_tables_that_is_meant(name: str) -> None:
    experiment, at = shipped_experiment(name), key_offset(shipped_experiment(name))
    kind = experiment["component"]["kind"]
    for value in swept_values(experiment)[:2]:
        p = Parameters(settings_at(experiment, value))
        program = p4_program(experiment, value, component=True)
        assert f"header key_t {{\n    bit<{8 * p.key_bytes}> bits;\n}}" in program.text
        key = program.packet[at : at + p.key_bytes]
        if kind == "table-lpm":  # the program computes entries, see below
            key = address_of(0, p.prefix_bits, key[4:])
        if p.hit == "no":
            (bit,) = re.findall(r"(?:bits|address)\[(\d+):\1\] = 1;", program.text)
            key = (int.from_bytes(key, "big") | 1 << int(bit)).to_bytes(len(key), "big")
            assert key[0 if kind == "table-lpm" else 3] & 0x80, "as on other test beds"
        meant = [p.entries - 1 if kind == "table-ternary" else 0] if p.hit != "no" else []
        commands = program.entries.splitlines()
        assert len({*commands}) == len(commands) == p.tables * p.entries
        for table in range(p.tables):
            front = f"table_add Ingress.table{table} Ingress.hit "
            entries = [one.removeprefix(front) for one in commands if one.startswith(front)]
            assert len(entries) == p.entries
            assert matching(entries, key) == meant
        assert p4_program(experiment, value, component=False).entries == ""


@pytest.mark.parametrize(
    "name", ["table-lpm-entries", "table-lpm-ipv6-prefix-bits", "recirculation"]
)
def test_stages_in_p4_that_compute(name: str) -> None:
    """Compare generated P4 programs with stored files, because no test can run P4."""
    program = p4_program(shipped_experiment(name), 48 if "ipv6" in name else 3, component=True)
    ingress = program.text[program.text.index("control Ingress") : program.text.index("control V")]
    check_golden(GOLDEN / f"experiments/p4/{name}.p4", ingress)
