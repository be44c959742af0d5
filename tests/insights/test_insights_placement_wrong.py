"""Tests the errors about wrong placement files: one line names file, line, case and structure."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from insights_files import refusal, small, write
from slowpath.insights.placement.reading import read_cases
from slowpath.insights.placement.run import Rules, advise
from support import slowpath

Found = dict[str, Any]


def structure(found: Found, at: int = 0) -> Found:
    one: Found = found["cases"][0]["structures"][at]
    return one


WRONG: dict[str, tuple[Callable[[Found], object], str]] = {
    "negative size": (
        lambda found: structure(found).update(size_bytes=-5),
        "in.json:34: case small, structure a.size_bytes: '-5' is not a number from 0",
    ),
    "half a byte": (
        lambda found: structure(found).update(size_bytes=1.5),
        "case small, structure a.size_bytes: 1.5 is not a whole number of bytes",
    ),
    "too large": (
        lambda found: structure(found, 1).update(size_bytes=5000),
        "case small, structure b.size_bytes: 5,000 bytes do not fit into any memory level; "
        "the largest memory "
        "level of scope one, far, has 4,096",
    ),
    "too large together": (
        lambda found: [structure(found, at).update(size_bytes=4000) for at in (0, 1)],
        "case small: the structures, 8,000 bytes in all, do not fit into memory levels "
        "with prices, which have 4,160 ",
    ),
    "copied to nobody": (
        lambda found: structure(found)["accesses"][1].update(to="c"),
        "case small, structure a.accesses[2].to: 'c' is not a structure of this case, "
        "which has a, b",
    ),
    "copied without an end": (
        lambda found: structure(found)["accesses"][1].pop("to"),
        "case small, structure a.accesses[2]: the operation lacks the key to, with the "
        "structure that memcpy writes",
    ),
    "read to an end": (
        lambda found: structure(found)["accesses"][0].update(to="b"),
        "case small, structure a.accesses[1].to: only the operation memcpy can have the key to",
    ),
    "two of a name": (
        lambda found: structure(found, 1).update(name="a"),
        "in.json:48: case small.structures[2].name: the name 'a' is already defined; rename one",
    ),
    "two cases of a name": (
        lambda found: found["cases"].append(found["cases"][0]),
        "cases[2].name: the name 'small' is already defined; rename one",
    ),
    "unknown operation": (
        lambda found: structure(found)["accesses"][0].update(operation="peek"),
        "structure a.accesses[1].operation: 'peek' is not one of read, memcpy",
    ),
    "unknown level": (
        lambda found: found["access_cost"]["read"].update(nearest=1),
        "access_cost.read.nearest: is unknown; choose one of near, far",
    ),
    "level without capacity": (
        lambda found: found["capacity_bytes"]["one"].pop("far"),
        "capacity_bytes.one: lacks far",
    ),
    "unknown scope": (
        lambda found: found["cases"][0].update(scope="two"),
        "case small.scope: 'two' is not one of one",
    ),
    "published elsewhere": (
        lambda found: found["cases"][0].update(published={"placement": {"a": "near", "b": "x"}}),
        "case small.published.placement.b: 'x' is not one of near, far",
    ),
    "parts that copy": (
        lambda found: structure(found).update(parts=2),
        "case small, structure a.parts: a structure with the operation memcpy cannot have parts",
    ),
    "no price": (
        lambda found: found["access_cost"].update(read={}),
        "case small: the structure a does not fit into a memory level with prices for its "
        "operations (no "
        "price: near read; far read); --unpriced free makes these operations free",
    ),
    "cores without a clock": (
        lambda found: found["cases"][0].update(cores=4),
        "case small: the case has cores, so the file needs clock_hz",
    ),
    "threads without cores": (
        lambda found: found["cases"][0].update(threads=4),
        "case small.threads: the case needs the key cores, too, as both",
    ),
    "no bandwidth for copies": (
        lambda found: (
            found.update(clock_hz=1e9, bandwidth={"far": {"read": 1e8}}),
            found["cases"][0].update(cores=1),
        ),
        "case small: the structure uses memcpy, which bandwidth.far lacks",
    ),
    "unknown key": (
        lambda found: structure(found).update(bytes=3),
        "case small, structure a.bytes: is unknown; choose one of name, size_bytes",
    ),
    "infinite count": (
        lambda found: structure(found)["accesses"][0].update(count=1e300),
        "accesses[1].count: '1e+300' is not a number from 0 to 1e+18",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_named_with_case_and_structure(tmp_path: Path, name: str) -> None:
    change, expected = WRONG[name]
    found = small()
    change(found)
    file = write(tmp_path, found)
    reason = refusal(placed, file)
    assert reason.startswith(str(file))
    assert expected in reason
    assert "\n" not in reason


def placed(file: str) -> None:
    for one in read_cases(file):
        advise(file, one, Rules())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "in.json:1: is not JSON: Expecting value, in column 1"),
        ("{\n 'levels': 1}", "in.json:2: is not JSON: Expecting property name"),
        ('{"levels": NaN}', "in.json:1: is not JSON: NaN is not a number of JSON"),
        ("[" * 100_000, "in.json:1: is not readable JSON: it is nested too deeply"),
        ("[]", "in.json:1: is not a table with the keys levels"),
        ('{"levels": [],\n "levels": []}', "in.json:2: levels: is defined twice"),
        ('{"cases": []}', "in.json:1: lacks levels, capacity_bytes, access_cost"),
    ],
)
def test_files_that_are_no_placements_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "in.json"
    file.write_text(text)
    assert expected in refusal(placed, file)


def test_throughput_of_a_case_without_cores_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, small())
    run = slowpath("insights", "placement", file, "--objective", "throughput")
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr == (
        f"error: {file}: case small: the case lacks the key cores, which --objective "
        "throughput needs\n"
    )
