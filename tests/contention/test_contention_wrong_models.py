"""Tests that `slowpath contention` rejects wrong models, descriptions and options in one line.

The exit code is 3 for files, and 2 for options.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from contention_tables import profile
from contention_wrong import FAST, FLEET, PLACED, error_of, folder_of_good_files
from slowpath.contention import saved
from slowpath.contention.bottleneck import ChangeError, read_change
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.model import FunctionModel, ModelChoice, Profiles, learn
from slowpath.core.errors import InputError
from support import ROOT
from test_schema import check

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_good_files(tmp_path_factory.mktemp("good"))


@pytest.fixture
def folder(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAFFIC = "--traffic flows=10000,size=1500,mtbr=400"
ALONE = f"predict nf.json {TRAFFIC}"
DIAGNOSED = f"diagnose nf.json {TRAFFIC}"


def changed(path: Path, place: str, value: object) -> None:
    """Set the value at a path, such as `a.0.b`, in a JSON file; delete it if `value` is `...`."""
    document = json.loads(path.read_text())
    *keys, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    inside = document
    for step in keys:
        inside = inside[step]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    path.write_text(json.dumps(document))


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("memory.columns.ipc", ..., "memory: the part lacks the column ipc"),
        ("memory.columns.iipc", [1.0] * 24, "memory: the part has an unknown column iipc"),
        ("memory.columns.l2crd.3", -1.0, "memory, row m3, column l2crd: -1 is negative (reads"),
        (
            "memory.columns.flow_count.3",
            0.0,
            "memory, row m3, column flow_count: the value must not be zero (number",
        ),
        (
            "memory.columns.wss_mb.1",
            6e6,
            "column wss_mb: 6e+06 is above 100000 MB, the largest",
        ),
        (
            "memory.columns.throughput.0",
            0,
            "memory, row m0, column throughput: the value must not be zero",
        ),
        (
            "memory.columns.throughput.0",
            1e308,
            "columns.throughput[0]: is not a finite number",
        ),
        ("memory.columns.throughput.0", "9", "columns.throughput[0]: should be a number"),
        ("memory.columns.throughput.0", None, "columns.throughput[0]: should be a number"),
        ("memory.rows.0", ..., "memory.columns.flow_count has 24 values for 23 rows"),
        ("memory.origin.cache_mb", -6.0, "memory.origin.cache_mb: -6 is negative"),
        ("memory.origin.cache_mb", 6291456, "memory.origin.cache_mb: 6.29146e+06 is above"),
        ("memory.origin.mtbr", -1, "memory.origin.mtbr: -1 is negative"),
        (
            "memory.origin.device",
            "another",
            "accelerator is for the device 'nic', but memory is for 'another'",
        ),
        (
            "accelerator.origin.unit",
            "pps",
            "accelerator is for the unit 'pps', but memory is for 'kpps'",
        ),
        ("accelerator.columns.mtbr", [300.0, 300.0], "accelerator has 1 different values of mtbr"),
        ("accelerator.columns.inverse_throughput.1", 1e-9, "request times fall as the match"),
        ("contention.rows", [], "contention.columns.flow_count has 4 values for 0 rows"),
        ("contention.columns.irt", ..., "contention: the part lacks the column irt"),
        ("contention.columns.memrd.2", -3, "contention, row q2, column memrd: -3 is negative"),
        ("pattern", "run-to-completion", "run-to-completion model needs memory.origin.mtbr"),
        ("pattern", "both", "document.pattern: should be pipeline or run-to-completion"),
        ("queues", 0, "queues, 0, is not between 1 and 4,096"),
        ("queues", 10**9, "queues, 1000000000, is not between"),
        ("end_errors", [-2.0], "end_errors has a negative value"),
        ("checks", [], "the list checks is empty, so"),
        ("checks.0.row", -1, "checks names row -1, which does not exist"),
        ("scores", ..., "document: lacks 'scores'"),
        ("scores.0.recipe", 3, "document.scores[0].recipe: should be text"),
    ],
)
def test_models(folder: Path, place: str, value: object, reason: str) -> None:
    changed(folder / "nf.json", place, value)
    message = error_of(ALONE, 3)
    assert message.startswith("error: nf.json: the file is not a model")
    assert reason in message
    assert error_of(DIAGNOSED, 3) == message
    assert error_of(f"predict nat.json {TRAFFIC} --with nf.json", 3) == message
    placed = error_of(PLACED, 3)
    assert placed == message.replace("nf.json", "fleet.yaml:5: functions.ids.model: nf.json", 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is not JSON"),
        (b"[]", "is not a model of slowpath contention train: document: should be an object"),
        (b'{"version": 1}', "is not a model of slowpath contention train: document: lacks"),
        (b'{"version": NaN}', "NaN is not a number of JSON"),
        ("{}".encode("utf-16"), "is not UTF-8 text"),
        (b"row,ipc\n", "the file is not JSON"),
    ],
)
def test_what_is_no_model(folder: Path, data: bytes, reason: str) -> None:
    (folder / "nf.json").write_bytes(data)
    for words in (ALONE, DIAGNOSED, f"predict nat.json {TRAFFIC} --with nat.json,nf.json"):
        message = error_of(words, 3)
        assert message.startswith("error: nf.json: ")
        assert reason in message


def test_keys_that_nobody_knows_do_no_harm(folder: Path) -> None:
    changed(folder / "nf.json", "scores.0.colour", "red")
    changed(folder / "nf.json", "colour", "red")
    assert "internal" not in error_of(ALONE, 0)


@pytest.mark.parametrize(
    "reason",
    [
        "silent.json: the model lacks the contention that the function causes; train it with a "
        "table of the function's counters",
        "none.json: no such file",
        "memory.csv: the file is not JSON",
    ],
)
@pytest.mark.parametrize("words", [ALONE, DIAGNOSED])
@pytest.mark.usefixtures("folder")
def test_functions_without_a_profile(words: str, reason: str) -> None:
    message = error_of(f"{words} --with nat.json,{reason.partition(':')[0]}", 3)
    assert message.startswith(f"error: {reason}")


def of_all(path: Path, key: str, value: str) -> None:
    for part in ("memory", "accelerator", "contention"):
        if json.loads(path.read_text())[part] is not None:
            changed(path, f"{part}.origin.{key}", value)


@pytest.mark.parametrize("words", [ALONE, DIAGNOSED])
def test_models_of_something_else(folder: Path, words: str) -> None:
    shutil.copy(folder / "nf.json", folder / "other.json")
    of_all(folder / "other.json", "unit", "pps")
    message = error_of(f"{words} --with other.json", 3)
    reason = "the model has throughput in 'pps', but nf.json in 'kpps'; train both in one unit"
    assert message == f"error: other.json: {reason}\n"
    of_all(folder / "nat.json", "device", "another")
    message = error_of(f"{words} --with nat.json", 3)
    assert message == (
        "error: nat.json: the model is of the device 'another', but nf.json "
        "is of the device 'nic'\n"
    )
    rows = [f"{at},100,64,{at / 9},{99 - at}" for at in range(12)]
    header = "row,flow_count,packet_size_bytes,score"
    (folder / "score.csv").write_text("\n".join([f"{header},throughput", *rows]))
    (folder / "own-score.csv").write_text(f"{header}\no,100,64,1\n")
    error_of(f"train score.csv own-score.csv {FAST} -o score.json", 0)
    message = error_of(f"{words} --with score.json", 3)
    assert message.startswith(
        "error: score.json: this model and nf.json use different contention columns: ipc,"
    )


# --- descriptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores: 8", "cores: -8", "fleet.yaml:1: nics.cores: '-8' is not a number from 1 to 1024"),
        ("cores: 8", "cores: eight", "fleet.yaml:1: nics.cores: 'eight' is not a number"),
        ("cores: 8", "cores: nan", "fleet.yaml:1: nics.cores: 'nan' is not a number"),
        ("cores: 8", "count: 3", "fleet.yaml:1: nics: lacks cores"),
        ("cores: 8}", "cores: 8, cores: 4}", "fleet.yaml:1: nics.cores: is defined twice"),
        ("nics:", "nic:", "fleet.yaml:1: nic: is unknown; choose one of nics, functions"),
        (
            "device: nic",
            "device: card",
            "functions.nat: the model nat.json is of the device 'nic', but the NICs are",
        ),
        ("flows: 16000", "flows: 1e300", "3: functions.nat.traffic.flows: '1e300' is not a number"),
        ("flows: 16000", "flow: 16000", "functions.nat.traffic.flow: is unknown; choose"),
        (
            "size: 1500",
            "size: 1.5e6",
            "3: functions.nat.traffic.size: '1.5e6' is not a number from",
        ),
        ("mtbr: 400", "mtbr: -1", "7: functions.ids.traffic.mtbr: '-1' is not a number from 0 to"),
        ("sla: 0.9", "sla: 90", "functions.nat.sla: '90' is not a number from 1e-06 to 1"),
        ("sla: 0.9", "sla: inf", "functions.nat.sla: 'inf' is not a number"),
        (
            "solo: 900",
            "solo: 900000",
            "3: functions.nat.solo: the throughput 900000 is far from the measurements of the",
        ),
        ("solo: 900", "solo: 0.0009", "0.0009 is far from the measurements of the model, "),
        ("solo: 900", "solo: -1", "functions.nat.solo: '-1' is not a number"),
        ("model: nf.json", "model: none.json", "5: functions.ids.model: none.json: no such file"),
        (
            "model: nf.json",
            "model: memory.csv",
            "functions.ids.model: memory.csv: the file is not JSON",
        ),
        (
            "model: nf.json",
            "model: silent.json",
            "fleet.yaml:5: functions.ids: silent.json: the model lacks the",
        ),
        ("    model: nf.json\n", "", "fleet.yaml:5: functions.ids: lacks model"),
        (
            ", mtbr: 400",
            "",
            "traffic lacks mtbr (matches per MB), because the model nf.json has an accelerator",
        ),
        (FLEET, "", "fleet.yaml:1: is empty; it must be a table of keys"),
        (FLEET, "[1, 2", "is not YAML"),
        (FLEET, "\ud800", "is not UTF-8 text"),
        (FLEET, "[" * 1500, "is not readable YAML: it is nested too deeply"),
        (
            FLEET,
            "nics: {cores: 8}\nfunctions: {}\n",
            "fleet.yaml:2: functions: the list of functions is empty",
        ),
    ],
)
def test_fleets(folder: Path, old: str, new: str, message: str) -> None:
    text = FLEET.replace(old, new, 1)
    assert text != FLEET
    (folder / "fleet.yaml").write_text(text, errors="surrogatepass")
    found = error_of(PLACED, 3)
    assert found.startswith("error: fleet.yaml:")
    assert message in found


DESCRIPTION = (ROOT / "tests/contention/contention_tiny.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("traffic:", "trafic:", "trafic: is unknown; choose one of schema"),
        ("flow_count: [100, 1000], ", "", "t.yaml:5: traffic: lacks flow_count"),
        (
            "[100, 1000]",
            "[1000, 100]",
            "5: traffic.flow_count: the value is not a range; write one number",
        ),
        ("[100, 1000]", "-3", "5: traffic.flow_count: '-3' is not a whole number"),
        ("[100, 1000]", "nan", "traffic.flow_count: 'nan' is not a whole number"),
        ("[128, 512]", "[128, 512000]", "5: traffic.packet_size_bytes[2]: 512000 is not between"),
        ("[128, 512]", "1.5 KB", "traffic.packet_size_bytes: '1.5 KB' is not a whole number"),
        ("[10_000, 1_000_000]", "4", "memory.working_set_bytes: 4 is not between 4,096 and"),
        ("pairs: 1", "pairs: 0", "9: effort.pairs: 0 is not between 1 and 1,000"),
        ("pairs: 1", "pair: 1", "9: effort.pair: is unknown; choose one of mixes, pairs"),
        ("[nat]", "[firewall]", "4: function.stages[1]: 'firewall' is not one of flow-statistics"),
        ("schema: 1", "schema: 2", "2: schema: 2 is not between 1 and 1"),
        (
            "effort:",
            "cpus: [0, 0]\neffort:",
            "9: cpus: the list has a CPU twice; each thread needs",
        ),
        ("name: tiny", "name: ../tiny", "3: name: '../tiny' is not a name"),
        ("name: tiny", "name: tiny\nname: tiny", "4: name: is defined twice"),
        (DESCRIPTION, "", "t.yaml:1: the description is empty; docs/reference/contention-files.md"),
        (DESCRIPTION, "\0", "is not YAML"),
    ],
)
def test_what_is_to_be_profiled(folder: Path, old: str, new: str, message: str) -> None:
    text = DESCRIPTION.replace(old, new, 1)
    assert text != DESCRIPTION
    (folder / "t.yaml").write_text(text)
    found = error_of("profile t.yaml -o p", 3)
    assert found.startswith("error: t.yaml:")
    assert message in found
    assert not (folder / "p").exists()


def test_a_file_where_the_folder_of_a_profile_should_be(folder: Path) -> None:
    (folder / "t.yaml").write_text(DESCRIPTION)
    message = error_of("profile t.yaml -o memory.csv", 3)
    assert (
        message
        == "error: memory.csv: the path is a file; name a folder for the tables of the profile\n"
    )


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["predict", "diagnose"])
@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ("", "'' is not traffic; write flows=N, size=BYTES or mtbr=N"),
        ("flows=1,size=64,", "'' is not traffic; write flows=N"),
        ("flows=-1,size=64", "the value '-1' of flows is not a number from 1 to 1e+12 flows"),
        ("flows=1e13,size=64", "the value '1e13' of flows is not a number from 1 to 1e+12 flows"),
        ("flows=1,size=65537", "the value '65537' of size is not a number from 1 to 65536 bytes"),
        ("flows=1,size=1500B", "the value '1500B' of size is not a number"),
        (
            "flows=1,size=64,mtbr=-1",
            "the value '-1' of mtbr is not a number from 0 to 1e+06 matches/MB",
        ),
        ("flows=1,size=64,mtbr=inf", "the value 'inf' of mtbr is not a number"),
        ("flow=1,size=64", "'flow=1' is not traffic"),
        ("flows=1,flows=2,size=64", "flows is given twice"),
        ("flows=1,mtbr=3", "flows and size are required"),
        ("flows=1,size=64", "mtbr is needed, because the model nf.json has an accelerator"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_traffic(command: str, traffic: str, message: str) -> None:
    found = error_of(f"{command} nf.json --traffic={traffic}", 2)
    assert f"'--traffic': {message}" in found.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "option", "message"),
    [
        (f"{ALONE} --with=", "--with", "'' has an empty name beside a comma"),
        (f"{ALONE} --with nat.json,,nf.json", "--with", "has an empty name beside a comma"),
        (f"{DIAGNOSED} --with nat.json,", "--with", "has an empty name beside a comma"),
        (
            f"{DIAGNOSED} --sweep mtbr=0:1:2:3",
            "--sweep",
            "'0:1:2:3' is not a range; write FIRST..LAST",
        ),
        (
            f"{DIAGNOSED} --sweep mtbr=-1..9",
            "--sweep",
            "from FIRST to LAST, between 0 and 1e+06",
        ),
        (
            f"{DIAGNOSED} --sweep size=64..70000",
            "--sweep",
            "from FIRST to LAST, between 1 and 65536",
        ),
        (f"{DIAGNOSED} --sweep flows=nan..9", "--sweep", "is not a range; write FIRST..LAST or"),
        (f"{DIAGNOSED} --sweep flows=1..9/2.5", "--sweep", "N must be a whole number from 2 to"),
        (
            f"{DIAGNOSED} --sweep flow=1..9",
            "--sweep",
            "'flow=1..9' is not a sweep; write flows=, size= or mtbr=",
        ),
        (
            f"{DIAGNOSED} --what-if flowsx1e300",
            "--what-if",
            "1e+304, which is not from 1 to 1e+12 flows",
        ),
        (
            f"{DIAGNOSED} --what-if sizex100",
            "--what-if",
            "150000, which is not from 1 to 65536 bytes",
        ),
        (
            f"{DIAGNOSED} --what-if flowsx1e-9",
            "--what-if",
            "1e-05, which is not from 1 to 1e+12 flows",
        ),
        (f"{DIAGNOSED} --what-if mtbr=1e300", "--what-if", "1e+300, which is not from 0 to 1e+06"),
        (
            f"{DIAGNOSED} --what-if flowsxnan",
            "--what-if",
            "is not a change; write 'regex queues xN",
        ),
        (
            f"{DIAGNOSED} --what-if flowsx-2",
            "--what-if",
            "the value '-2' in 'flowsx-2' is not a number above zero",
        ),
        (f"{DIAGNOSED} --plot a.svg", "--plot", "shows the curve of a sweep; add --sweep"),
        (f"{DIAGNOSED} --sweep mtbr=0..9 --plot a.pdf", "--plot", "name must end in .svg or .png"),
        ("evaluate memory.csv --plot a.pdf", "--plot", "name must end in .svg or .png"),
        ("evaluate memory.csv --html a.svg", "--html", "name must end in .html"),
        ("train memory.csv -o memory.csv", "--output", "memory.csv would overwrite an input"),
        (f"{ALONE} -o nf.json", "--output", "nf.json would overwrite an input"),
        ("train memory.csv --queues 0", "--queues", "0 is not allowed; write 1 to 4096"),
        (f"{ALONE} --confidence nan", "--confidence", "nan is not allowed"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options(words: str, option: str, message: str) -> None:
    found = " ".join(error_of(words, 2).split())
    assert option in found
    assert message in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("regex time x1e9", "1e+09 in 'regex time x1e9' is not from 1e-06 to 1e+06"),
        ("without", "is not a change; write 'regex"),
    ],
)
def test_changes_of_several_words(change: str, message: str) -> None:
    with pytest.raises(ChangeError) as wrong:
        read_change(change)
    assert message in str(wrong.value)


def test_queries_that_say_more_than_a_model_knows(folder: Path) -> None:
    message = error_of("predict nat.json --query query.csv", 0)
    reason = "the column inverse_throughput_sum is ignored, because the model has no accelerator"
    assert f"warning: query.csv: {reason}" in message
    text = (folder / "query.csv").read_text().replace(",0.0002,", ",0,")
    (folder / "query.csv").write_text(text)
    assert "is left out" not in error_of("predict nat.json --query query.csv", 0)


@pytest.fixture(scope="module")
def process() -> FunctionModel:
    """Return the model of a made-up function whose memory model is a Gaussian process."""
    memory = profile(16, 3)
    recipe = RECIPES["process-plain"]
    return learn(Profiles(memory), ModelChoice(recipe, (), np.array([0.1])))


def test_models_are_read_without_searching_kernels_again(
    process: FunctionModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nf.json"
    file.write_text(saved.written(process))
    check("contention", file.read_text())

    def searched(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(GaussianProcessRegressor, "_constrained_optimization", searched)
    again = saved.read(str(file))
    for one, other in zip(
        (process.stage, *process.intervals.stages),
        (again.stage, *again.intervals.stages),
        strict=True,
    ):
        expected = pytest.approx(one.log_throughput(process.memory.columns), rel=1e-9)
        assert other.log_throughput(process.memory.columns) == expected
    assert saved.written(again) == file.read_text()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "kernels"),
        ([[None]] * 3, "kernels"),
        ([[[0.0]]] * 11, "kernels: 1 kernel parameters for "),
        ([[[1e9]]] * 11, "kernels has a logarithm larger than 100"),
    ],
)
def test_kernels_of_something_else(
    process: FunctionModel, tmp_path: Path, value: object, message: str
) -> None:
    document = json.loads(saved.written(process)) | {"kernels": value}
    file = tmp_path / "nf.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        saved.read(str(file))
