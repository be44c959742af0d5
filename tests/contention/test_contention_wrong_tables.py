"""Tests damaged tables of single commands of `slowpath contention`, and unusual valid tables.

`test_contention_wrong.py` tests damage that is possible in all tables.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from contention_wrong import FAST, PLACED, PREDICTED, TRAINED, error_of, folder_of_good_files
from slowpath.contention.reading import reciprocal

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

WORDS = {
    "train": TRAINED,
    "train, own": TRAINED,
    "train, second": "train memory.csv more.csv",
    "predict, query": PREDICTED,
    "place": PLACED,
    "place, truth": f"{PLACED} --truth truth.csv",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_good_files(tmp_path_factory.mktemp("good"))


@pytest.fixture
def folder(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


WRONG: Sequence[tuple[str, str, Callable[[str], str], str]] = (
    (
        "train",
        "memory.csv",
        replaced("wss_mb", "wss_kb"),
        "a column 'wss_kb'; convert and rename it to 'wss_mb'",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "row,dma_gb,"),
        "'dma_gb'; convert and rename it to 'dma_mb'",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "row,score,"),
        "has the column 'score'",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "# cache mb: 6291456\nrow,"),
        "line 5, cache mb: '6291456' is not a number from 0.001 to 100000",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "# cache kb: 6144\nrow,"),
        "line 5, cache kb: the size of the cache must be in MB; write `cache mb: N`",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "# mtbr: -1\nrow,"),
        "mtbr: '-1' is not a number from 0",
    ),
    (
        "train",
        "memory.csv",
        replaced("row,", "# unit wss_bm: KB\nrow,"),
        "line 5, unit wss_bm: the table lacks this column",
    ),
    (
        "train",
        "regex.csv",
        replaced("put\n", "put,packet_size\n"),
        "'packet_size'; convert and rename it to",
    ),
    (
        "train",
        "regex.csv",
        replaced("row,", "# unit inverse_throughput: s\nrow,"),
        "unit inverse_throughput: the unit of request times is s, but it must be the reciprocal of",
    ),
    ("train", "regex.csv", replaced("0.0014", "0.0001"), "request times fall as the match"),
    ("train", "regex.csv", replaced("0.0014", "1e-320"), "is below 1e-13"),
    ("train", "own.csv", replaced("ipc", "ipc_"), "lacks the column 'ipc'"),
    (
        "train, own",
        "own.csv",
        lambda _: "row,flow_count,packet_size_bytes,score\no,1,64,1\n",
        "lacks columns of memory.csv: ipc, irt, l2crd, l2cwr, memrd, memwr, wss_mb",
    ),
    (
        "train, second",
        "more.csv",
        replaced("kpps", "Mpps"),
        "is for the unit 'Mpps', but memory.csv is for",
    ),
    (
        "predict, query",
        "query.csv",
        replaced("row,", "# function: x\nrow,"),
        "is for the function 'x'",
    ),
    (
        "predict, query",
        "query.csv",
        replaced("row,", "# unit throughput: pps\nrow,"),
        "is for the unit 'pps', but memory.csv is for 'kpps'",
    ),
    (
        "place",
        "arrivals.csv",
        replaced("nat", "naat"),
        "column function: 'naat' is not a function of",
    ),
    ("place", "arrivals.csv", replaced(",nat,", ",,"), "column function: the cell is empty"),
    ("place", "arrivals.csv", replaced("0.9", "90"), "90 is above 1, the largest valid value"),
    (
        "place, truth",
        "truth.csv",
        replaced("nat+ids", "nat+"),
        "column mix: '' is not a function of",
    ),
    (
        "place, truth",
        "truth.csv",
        replaced("kpps", "pps"),
        "unit throughput: the unit is 'pps', but the models",
    ),
    (
        "place, truth",
        "truth.csv",
        replaced("b,ids,ids,500\n", ""),
        "lacks a row for 'ids' alone",
    ),
)


@pytest.mark.parametrize(("name", "file", "damage", "reason"), WRONG)
def test_single_tables(
    folder: Path, name: str, file: str, damage: Callable[[str], str], reason: str
) -> None:
    path = folder / file
    changed = damage(path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    message = error_of(WORDS[name], 3)
    assert message.startswith(f"error: {file}: ")
    assert reason in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train memory.csv memory.csv", "memory.csv: the file is named twice"),
        ("train regex.csv own.csv", "regex.csv: no table has a column 'throughput' with comp"),
        ("train memory.csv regex.csv nf.json", 'nf.json: the document lacks the key "rows"'),
        (
            "train memory.csv arrivals.csv",
            "arrivals.csv: the table is not a profile: it needs a column",
        ),
        ("train empty", "empty: the folder lacks the tables of a profile"),
        ("evaluate .", ".: is a directory; name the files in it"),
        ("evaluate regex.csv", "regex.csv: the table lacks the column 'flow_count'"),
        (
            "predict --memory-table own.csv --query query.csv",
            "own.csv: the table lacks the column 'throughput'",
        ),
        (
            "predict --memory-table memory.csv --query own.csv --accelerator-table regex.csv",
            "own.csv: the table lacks",
        ),
        ("predict memory.csv --query query.csv", "memory.csv: the file is not JSON"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_one_table_for_another(words: str, message: str) -> None:
    assert error_of(words, 3).startswith(f"error: {message}")


@pytest.mark.parametrize(("key", "one", "other"), [("cache mb", 6, 8), ("mtbr", 0, 600)])
def test_tables_of_other_caches_and_matches(folder: Path, key: str, one: int, other: int) -> None:
    for file, number in (("memory.csv", one), ("more.csv", other)):
        path = folder / file
        path.write_text(f"# {key}: {number}\n{path.read_text()}")
    message = error_of("train memory.csv more.csv", 3)
    assert (
        f"more.csv: the table is for the {key} {other:.1f}, but memory.csv is for {one:.1f}"
        in message
    )


@pytest.mark.parametrize(
    ("unit", "time", "same"),
    [
        ("packets/s", "s/packet", True),
        ("packets/s", "s", True),
        ("kpkt/s", "s/kpkt", True),
        ("Mpps", "1/Mpps", True),
        ("packets/s", "1 / (packets/s)", True),
        ("kpkt/s", "s", False),
        ("packets/s", "us", False),
        ("packets/s", "packets/s", False),
        ("Mpps", "", False),
    ],
)
def test_units_of_times(unit: str, time: str, same: bool) -> None:
    assert reciprocal(unit, time) == same


def test_rows_at_an_accelerator_are_no_memory_profile(folder: Path) -> None:
    path = folder / "memory.csv"
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("row,"))
    lines[at] += ",inverse_throughput_sum"
    for number in range(at + 1, len(lines)):
        lines[number] += ",0.5" if number == at + 2 else ",0"
    path.write_text("\n".join(lines))
    message = error_of("train memory.csv", 3)
    assert (
        f"line {at + 3} (m1), column inverse_throughput_sum: the value is above zero, but"
        in message
    )


def test_what_is_right_is_read(folder: Path) -> None:
    """Check that unusual but valid tables are read.

    They have other line ends, a byte order mark, other separators, repeated comments, or JSON
    numbers.
    """
    text = (folder / "memory.csv").read_text()
    for other in (
        text.replace("\n", "\r\n"),
        text.replace("\n", "\r"),
        "\ufeff" + text,
        text.replace(",", ";"),
        text.replace(
            "# unit throughput: kpps", "# note: one\n# note: two\n# unit throughput: kpps"
        ),
    ):
        (folder / "memory.csv").write_bytes(other.encode())
        assert error_of(f"{TRAINED} {FAST} --pattern pipeline", 0) == ""
    rows = [
        {"row": name, "flow_count": 9, "packet_size_bytes": 64, "score": at, "throughput": 9 - at}
        for at, name in enumerate("abcdefgh")
    ]
    rows += [{**rows[0], "row": "i"}, {**rows[1], "row": 9, "flow_count": "11"}]
    document = {"cache mb": 6, "device": "nic", "mtbr": None, "rows": rows}
    (folder / "memory.json").write_text(json.dumps(document))
    assert error_of(f"train memory.json {FAST}", 0) == ""
