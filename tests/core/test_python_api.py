"""Tests that the functions of `slowpath.api` return the results that their commands print."""

import doctest
import html.parser
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, assert_type, get_args, get_origin

import pytest

from api_options import LEFT_OUT, class_name, covered, keywords
from compiler import needs_clang
from running_kernel import needs_kernel
from slowpath import InputError, OptionError, api
from slowpath.annotate.documents import AnnotatedLine
from slowpath.api import options as option_types
from slowpath.contention.documents import EvaluatedModel, EvaluationDocument, PredictedRow
from slowpath.core import codes
from slowpath.core.calls import default_of, is_for_terminals, parameters
from slowpath.core.command import ARGUMENTS, Command
from slowpath.core.errors import ExitCode, StoppedError, UnavailableError
from slowpath.core.extras import not_installed
from slowpath.core.parser import Parser, read
from slowpath.core.results import Result, Table, csv_rows, flat
from slowpath.core.schema.results import PathResult
from slowpath.diff.documents import ComparedProgram, DiffDocument, StoppedProgram
from successful_calls import FRESH, LISTING, OBJECT, every_command, formats
from support import ROOT, check_golden, commands, remembered, slowpath
from test_schema import check

COMMANDS = dict(covered())
MEASURED = {"measure", "contention profile"}
"""Commands whose results differ from run to run; only the keys of their documents are compared."""
TIMES = {"seconds", "engine_seconds", "date", "stats"}
"""Keys of values that contain times, which differ from run to run."""
SECONDS = re.compile(r"\d+(?:\.\d+)? s\b")


def function_of(name: str) -> Callable[..., Any]:
    """Return the Python function of a command, such as `api.chain.facts` for `chain facts`."""
    found: Any = api
    for word in (name if name != "insights" else "insights advise").split():
        found = getattr(found, word)
    function: Callable[..., Any] = found
    return function


def calls() -> Iterator[tuple[str, ...]]:
    """Yield the arguments of a successful run of each command, without `--format`."""
    known = set[tuple[str, ...]]()
    for words in every_command():
        bare = words[: words.index("--format")] if "--format" in words else words
        name = next((one for one in _prefixes(bare) if one in COMMANDS), None)
        if name is not None and bare not in known:
            known.add(bare)
            yield name, *bare[len(name.split()) :]


def _prefixes(words: tuple[str, ...]) -> Iterator[str]:
    yield from (" ".join(words[:count]) for count in (2, 1))


CALLS = {name: words for name, *words in calls()}


def call(name: str, words: list[str]) -> Any:
    """Call the Python function of a command with the arguments of a command line."""
    command = COMMANDS[name]
    args = read(Parser(f"slowpath {name}", command), words)
    positional, named = [], {}
    for key, option in parameters(command).items():
        value = getattr(args, option.settings.get("dest", key))
        if option.group == ARGUMENTS:
            positional += value if isinstance(value, list) else [value]
        elif value != default_of(option):
            named[key] = value
    return function_of(name)(*(one for one in positional if one is not None), **named)


def timeless(value: Any) -> Any:
    """Remove times, which differ between runs, from a part of a document."""
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def keys(value: Any) -> Any:
    """Return the keys of a document at all depths, without its values."""
    if isinstance(value, dict):
        return {key: keys(one) for key, one in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value else None


class _Checker(html.parser.HTMLParser):
    """Checks that all elements of an HTML text are closed in the right order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def in_fresh_folder(tmp_path: Path) -> Callable[[list[str]], list[str]]:
    """Return a function that replaces `FRESH` in arguments by an unused folder."""
    number = iter(range(9))
    return lambda words: [
        str(tmp_path / str(next(number))) if word == FRESH else word for word in words
    ]


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_every_command_has_a_function_or_a_reason() -> None:
    names = {name for name, _ in commands()}
    assert set(LEFT_OUT) <= names
    assert set(CALLS) == names - set(LEFT_OUT)
    for name in CALLS:
        assert inspect.getdoc(function_of(name))


@pytest.mark.parametrize("name", CALLS)
def test_a_function_returns_what_its_command_prints(
    name: str,
    in_fresh_folder: Callable[[list[str]], list[str]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = in_fresh_folder(CALLS[name])
    printed = {
        form: slowpath(*name.split(), *in_fresh_folder(CALLS[name]), *form_words)
        for form, form_words in _formats(COMMANDS[name])
    }
    run = next(iter(printed.values()))
    if run.returncode == ExitCode.INPUT and "this machine" in run.stderr:
        with pytest.raises(UnavailableError):
            call(name, words)
        pytest.skip(run.stderr)
    result = call(name, words)
    assert capfd.readouterr() == ("", "")
    if isinstance(result, Table):
        assert _Checker(result._repr_html_()).texts
        assert result.rows
        assert f"slowpath {name}" in repr(result) or not isinstance(result, Result)
        if find_spec("pandas") is not None:
            assert len(result.to_dataframe()) == len(result.rows)
    if name not in MEASURED | {"calibrate"}:
        text = next(iter(printed.values())).stdout.removesuffix("\n")
        assert SECONDS.sub("", str(result)) == SECONDS.sub("", text)
    if "json" not in printed:
        return
    document = json.loads(printed["json"].stdout)
    found = json.loads(result.to_json())
    if isinstance(result, Result):
        assert result.document == found
        assert result.exit_code == printed["json"].returncode
    if name in MEASURED:
        assert keys(found).keys() == keys(document).keys()
    elif isinstance(result, api.Results):
        assert timeless(found["results"]) == timeless(document["results"])
    else:
        assert _in(words, timeless(found)) == _in(words, timeless(document))


def _formats(command: Command) -> Iterator[tuple[str, list[str]]]:
    """Yield the formats of a command to test (the first one and JSON), with their options."""
    known = formats(command)
    yield (known[0] if known else "text"), []
    if "json" in known:
        yield "json", ["--format", "json"]


def _in(words: list[str], document: Any) -> Any:
    """Remove the names of output folders from a document, because they differ between runs."""
    return {
        key: one
        for key, one in document.items()
        if key not in ({"directory", "results"} if "calls" in words else ())
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_parameter_or_a_reason_for_every_option(name: str) -> None:
    command = COMMANDS[name]
    typed = getattr(option_types, class_name(name), None)
    stated = set() if typed is None else set(typed.__annotations__)
    assert stated == set(keywords(command))
    signature = inspect.signature(function_of(name))
    options = {key: one for key, one in signature.parameters.items() if key in stated}
    assert set(options) == stated
    for key, option in keywords(command).items():
        if not option.settings.get("required"):
            assert options[key].default == default_of(option)
    left = {names for one in command.options if is_for_terminals(one) for names in one.names[-1:]}
    assert left <= {"--format", "--report", "--verbose", "--pcap-out", "--output", "--to"}
    positional = [key for key in parameters(command) if key not in stated]
    assert len(positional) == len(set(signature.parameters) - stated)


PAGE = ROOT / "docs/how-to/python-commands.md"
NEEDED = re.compile(r"<!-- needs: (.+) -->")
HEADER = "<!-- functions -->\n| function | command | result |\n|---|---|---|\n"


def test_the_page_lists_all_functions() -> None:
    text = PAGE.read_text()
    start = text.index(HEADER) + len(HEADER)
    end = text.index("\n\n", start - 1) + 1
    check_golden(PAGE, text[:start] + "".join(_listed()) + text[end:])


def _listed() -> Iterator[str]:
    """Yield a row of the documented table of functions for each command."""
    for name in CALLS:
        function = function_of(name)
        place = function.__module__.removeprefix("slowpath.").removesuffix(".api")
        result = inspect.signature(function).return_annotation.__name__
        shown = "insights FILE" if name == "insights" else name
        yield f"| `{place}.{function.__name__}` | `{shown}` | `{result}` |\n"
    for function, shown in (
        (api.list_experiments, "calibrate --list"),
        (api.list_figures, "reproduce --list"),
        (api.show_calibrations, "show FILE.toml"),
        (api.show_pipelines, "show FILE.spec"),
    ):
        result = inspect.signature(function).return_annotation.__name__
        yield f"| `api.{function.__name__}` | `{shown}` | `{result}` |\n"


SECTIONS = dict(text.split("\n", 1) for text in PAGE.read_text().split("\n## ")[1:])


@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_the_page_work(title: str) -> None:
    section = SECTIONS[title]
    needed = NEEDED.search(section)
    for requirement in needed[1].split(", ") if needed is not None else ():
        match requirement:
            case "clang":
                needs_clang()
            case "kernel":
                needs_kernel()
            case _:
                pytest.importorskip(requirement)
    examples = doctest.DocTestParser().get_doctest(section, {}, title, str(PAGE), 0)
    assert examples.examples or ">>>" not in section
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed == 0


def test_a_script_needs_no_guard_of_its_main_module(tmp_path: Path) -> None:
    """Check that a script can use parallel jobs without `if __name__ == "__main__"`.

    Worker processes must not run the script again.
    """
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "from slowpath import api\n"
        "old, new = 'examples/firewall.bpf.o', 'examples/tunnel.bpf.o'\n"
        "found = api.diff(old, new, target='ebpf', jobs=2)\n"
        "print(found.errors, found.rows[0]['instructions_b'], __file__)\n"
        "import os, sys\n"
        "sys.path.append('tests/core')\n"
        "from fleet_work import variable\n"
        "from slowpath.core.jobs.local_pool import LocalPool\n"
        "names = ['OMP_NUM_THREADS', 'MKL_NUM_THREADS']\n"
        "os.environ.pop(names[0], None)\n"
        "os.environ[names[1]] = '3'\n"
        "print(list(LocalPool(2).each(variable, None, names)), names[0] in os.environ)\n"
    )
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.stdout, run.stderr) == (
        f"once\n() 148 {script}\n['1', '3'] False\n",
        "",
    )


def test_results_have_precise_types() -> None:
    """Check the static types of results with mypy; at run time, `assert_type` does nothing."""
    change = api.diff(LISTING, LISTING, lines=3)
    assert_type(change, api.Comparison)
    assert_type(change.document, DiffDocument)
    assert_type(change.programs, list[ComparedProgram])
    assert_type(change.document["failures"], list[StoppedProgram])
    assert_type(change.warnings, tuple[str, ...])
    assert_type(api.annotate(LISTING).programs[0]["lines"], list[AnnotatedLine])
    assert_type(api.bound(LISTING)[0].paths, list[PathResult])
    with pytest.raises(OptionError):
        api.annotate(LISTING, map_abi="stack")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        api.diff(LISTING)  # type: ignore[call-arg]


def test_predictions_and_evaluations_have_precise_types() -> None:
    pytest.importorskip("sklearn")
    memory = "examples/contention.csv"
    found = api.contention.evaluate(memory, recipe=["constant"])
    assert_type(found.document, EvaluationDocument)
    assert_type(found.models, list[EvaluatedModel])
    assert_type(found.models[0]["errors"]["mape"], float)
    check("evaluation", found.to_json())
    assert [one["recipe"] for one in found.models] == ["constant"]
    model, traffic = "examples/fleet/nat.model.json", "flows=16000,size=1500"
    predicted = api.contention.predict(model, traffic=traffic, beside=[model])
    assert_type(predicted.predictions, list[PredictedRow])
    check("predictions", predicted.to_json())
    assert predicted.predictions[0]["throughput"] > 0


def test_no_document_is_a_dictionary_of_any_values() -> None:
    modules = (api, api.chain, api.config, api.contention, api.insights, api.targets)
    results = {
        one
        for module in modules
        for one in vars(module).values()
        if inspect.isclass(one) and issubclass(one, Result) and one is not Result
    }
    assert len(results) > 10
    for one in results:
        parts = [part for base in vars(one).get("__orig_bases__", ()) for part in get_args(base)]
        assert all(get_origin(part) is not dict for part in parts), one


def test_results_have_short_names() -> None:
    listed = api.targets.list()
    for one, name in (
        (listed, f"slowpath.api.targets.BuiltInTargets of {len(listed.rows)} rows"),
        (api.targets.show("ebpf"), "slowpath.api.targets.Description of ebpf"),
        (api.targets.check("targets/ebpf.toml"), "slowpath.api.targets.TargetChecks of 1 row"),
    ):
        assert repr(one) == f"<{name}>"


def test_rows_become_a_data_frame() -> None:
    pytest.importorskip("pandas")
    result = api.diff(LISTING, LISTING)
    frame = result.to_dataframe()
    assert list(frame.columns) == list(result.rows[0])
    assert frame["bitrate_a"][0] == result.programs[0]["values"]["bitrate_a"]
    for table in (api.bound(LISTING), api.annotate(LISTING), api.targets.list()):
        assert len(table.to_dataframe()) == len(table.rows) > 0


def test_notebooks_show_parts_of_pages(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    change = api.diff(OBJECT, "examples/count_min.4.bpf.o", html=page)
    view = change._repr_html_()
    assert "lines whose cost rose" in view
    assert view in page.read_text()
    pytest.importorskip("sklearn")
    model, traffic = "examples/fleet/nat.model.json", "flows=16000,size=1500"
    diagnosis = api.contention.diagnose(
        model, traffic=traffic, beside=model, what_if=["size=800"], html=page
    )
    assert "Hypothetical changes" in diagnosis._repr_html_()
    assert diagnosis._view() in page.read_text()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnavailableError) as wrong:
        api.bound(LISTING).to_dataframe()
    assert wrong.value.reason == not_installed(["pandas"], "pandas")


def test_cells_of_csv_become_values() -> None:
    lines = ["a,b,c,d", "1,true,N/A,'=x", "2.5,false,,N/A"]
    assert csv_rows(lines) == [
        {"a": 1.0, "b": True, "c": None, "d": "=x"},
        {"a": 2.5, "b": False, "c": None, "d": None},
    ]
    assert csv_rows(["a,b"]) == []


def test_records_become_rows() -> None:
    record = {"a": 1, "b": {"c": None, "d": ["x", "y"]}, "e": [{"f": 1}], "g": []}
    assert flat(record) == {"a": 1, "b_c": None, "b_d": "x, y", "g": None}


def test_unknown_options_are_type_errors() -> None:
    with pytest.raises(TypeError, match="slowpath diff has no option 'sectoin'; did you mean"):
        api.diff(LISTING, LISTING, sectoin="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no option 'format'"):
        api.diff(LISTING, LISTING, format="csv")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="slowpath insights cores needs a value of 'query'"):
        api.insights.cores()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="slowpath annotate needs a value of 'file'"):
        api.annotate()


def test_wrong_values_name_the_option() -> None:
    for values, message in (
        ({"deadline": "soon"}, r"--deadline: "),
        ({"deadline": -1}, r"--deadline: "),
        ({"deadline": True}, r"--deadline: True is not a value of this option"),
        ({"cores": "x"}, r"--cores: 'x' is not a whole number"),
        ({"map_abi": "stack"}, r"--map-abi: no value 'stack'"),
        ({"instructions": "yes"}, r"--instructions: 'yes' is not True or False"),
        ({"target": "none"}, r"--target: 'none' is not a target"),
    ):
        with pytest.raises(OptionError, match=message):
            api.annotate(LISTING, **values)
    with pytest.raises(OptionError, match="--output: - is standard output"):
        api.contention.train("examples/contention.csv", output="-")


def test_wrong_files_are_errors(tmp_path: Path) -> None:
    missing = tmp_path / "none.bpf.o"
    with pytest.raises(InputError, match=r"none\.bpf\.o: no such file"):
        api.compile(missing)
    with pytest.raises(InputError, match=r"none\.bpf\.o"):
        api.chain.verify(missing, OBJECT)
    result = api.show(missing, OBJECT)
    assert result.exit_code == ExitCode.INPUT
    assert result.errors == (f"{missing}: no such file",)
    assert len(result.programs if hasattr(result, "programs") else result.rows) == 1
    with pytest.raises(OptionError, match="show_calibrations"):
        api.show("targets/ebpf.toml")
    with pytest.raises(InputError, match="without the table"):
        api.show_calibrations("targets/ebpf.toml")


def test_functions_for_other_uses_of_a_command() -> None:
    (file,) = (ROOT / "targets").glob("*zen3*.toml")
    found = api.show_calibrations(file)
    assert json.loads(found.to_json()) == json.loads(remembered("show", file, "--format", "json"))
    assert found.rows[0]["file"] == str(file)
    pytest.importorskip("yaml")
    listed = api.list_experiments()
    assert str(listed) == remembered("calibrate", "--list").removesuffix("\n")
    assert len(listed.rows) == len(listed.document["experiments"])
    with pytest.raises(OptionError, match="call list_experiments"):
        api.calibrate(list=True)


def test_figures_are_listed() -> None:
    listed = api.list_figures()
    assert str(listed) == remembered("reproduce", "--list").removesuffix("\n")
    assert {"paper", "figure", "address"} <= set(listed.rows[0])
    with pytest.raises(OptionError, match="call list_figures"):
        api.reproduce("insights", "figure-15", list=True)


def test_work_without_a_result_is_an_error() -> None:
    with pytest.raises(StoppedError, match=rf"{OBJECT}: deadline.* yet$") as stopped:
        api.compile(OBJECT, deadline=0.001, no_cache_dir=True)
    assert stopped.value.code == codes.STOPPED_AT_DEADLINE


def test_failed_gates_are_in_the_result() -> None:
    result = api.diff(LISTING, LISTING, fail_on=["bitrate_b > 1"])
    assert result.exit_code == ExitCode.FAILED
    assert result.failures[0]["program"] == "two_protocols"
    assert result.errors


def test_values_of_python_equal_the_text_of_the_command_line(tmp_path: Path) -> None:
    one = api.diff(Path(LISTING), LISTING, unroll=3, deadline=5, target=["agilio-cx-2x40"])
    other = api.diff(LISTING, LISTING, unroll="3", deadline="5s", target="agilio-cx-2x40")
    assert timeless(one.document) == timeless(other.document)
    page = tmp_path / "page.html"
    api.annotate(LISTING, html=page)
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "imports",
    [
        "import slowpath.measure.statistics; from slowpath import api",
        "from slowpath import api; import slowpath.measure.statistics",
        "import slowpath; slowpath.api; import slowpath.chain.run",
        "import slowpath.chain.run, slowpath.insights.cores.run, slowpath; slowpath.api",
    ],
)
def test_functions_and_packages_of_the_same_name_coexist(imports: str) -> None:
    script = (
        f"{imports}\n"
        "import slowpath, types\n"
        "api = slowpath.api\n"
        "assert isinstance(api.measure, types.FunctionType)\n"
        "assert isinstance(api.chain, types.ModuleType)\n"
        "import slowpath.measure.statistics, slowpath.chain.run, slowpath.insights.cores.run\n"
        "assert isinstance(slowpath.measure, types.ModuleType)\n"
        "assert isinstance(api.measure, types.FunctionType)\n"
        "assert slowpath.chain is not api.chain\n"
        "assert slowpath.bound is api.bound and slowpath.fit is api.fit\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_import_loads_no_package_of_an_extra() -> None:
    script = "import slowpath.api, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True
    )
    modules = set(run.stdout.split())
    assert "slowpath.api.chain" in modules
    assert not modules & {"numpy", "scipy", "pandas", "matplotlib", "yaml", "sklearn", "llvmlite"}
