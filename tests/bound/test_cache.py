"""Tests the cache: cached results equal new ones, and only complete results are cached."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slowpath as package
from slowpath import _core
from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.caching import KeptOutcomes
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.bounds.plan import Request, Task
from slowpath.core import codes
from slowpath.core.engine import analyses
from slowpath.core.engine.cache import Cache, default_folder
from slowpath.core.engine.targets import Description
from slowpath.core.errors import Coded
from slowpath.core.jobs import Stopping
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.selection import Selection
from support import ROOT, commands, slowpath

EXAMPLES = ROOT / "examples"
OBJECT = EXAMPLES / "count_min.4.bpf.o"
OTHER = EXAMPLES / "count_min.8.bpf.o"
LISTING = EXAMPLES / "two_protocols.asm"
LOOP = EXAMPLES / "path_explosion.bpf.o"
"""A program with so many paths that its analysis never ends."""


def refuse(text: str) -> None:
    pytest.fail(text)


def opened(folder: Path) -> Cache:
    return Cache(str(folder), refuse)


def requested(cache: Cache | None, *files: Path, **options: Any) -> Request:
    written = WrittenOptions(**{"target": "ebpf", **options})
    return read_request([str(file) for file in files], written)._replace(cache=cache)


def limited(request: Request, **limits: float) -> Request:
    return request._replace(options=request.options._replace(**limits))  # type: ignore[arg-type]


def analysed(request: Request) -> list[str]:
    """Analyse the programs of a request, and return the results as JSON texts."""
    return [one.text for one in Session(request).analyse(RunContext(Stopping()))]


def entries(folder: Path) -> list[Path]:
    """Return the files of cached results, without the file that caches the engine's digest."""
    files = list(folder.glob("??/*"))
    assert not [file for file in files if file.suffix == ".new"]
    return [file for file in files if not _DIGEST.search(file.read_bytes())]


_DIGEST = re.compile(rb"\n[0-9a-f]{64}\Z")


@pytest.fixture
def engine_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the file of each analysis that the engine runs in this process.

    Single small programs are analysed in this process, others in a worker process.
    """
    calls = list[str]()
    original = analyses.messages

    def counted(subject: Any, *rest: Any) -> Iterator[analyses.Message]:
        calls.append(subject.file)
        return original(subject, *rest)

    monkeypatch.setattr(analyses, "messages", counted)
    return calls


# --- the same output ------------------------------------------------------------------------------

FORMATS = [(), ("--format", "json"), ("--format", "csv"), ("--verbose",), ("--paths", "3")]


@pytest.mark.parametrize("words", FORMATS)
def test_the_second_run_has_the_bytes_of_the_first(tmp_path: Path, words: tuple[str, ...]) -> None:
    truncated = tmp_path / "truncated.bpf.o"
    truncated.write_bytes(OBJECT.read_bytes()[:700])
    chosen = (OBJECT, OTHER, LISTING, truncated, "--target", "linux-xdp,agilio-cx-2x40")
    cached = ("--cache-dir", tmp_path / "cache")
    first = slowpath("bound", *chosen, *words, *cached)
    second = slowpath("bound", *chosen, *words, *cached)
    assert (second.stdout, second.stderr) == (first.stdout, first.stderr)
    assert second.returncode == first.returncode == 3
    assert len(entries(tmp_path / "cache")) >= 5
    pooled = slowpath("bound", *chosen, *words, *cached, "--jobs", "2")
    assert (pooled.stdout, pooled.stderr) == (first.stdout, first.stderr)


COMMANDS = {
    "annotate": ("annotate", OBJECT),
    "annotate instructions": ("annotate", LISTING, "--instructions"),
    "diff": ("diff", OBJECT, OTHER, "--target", "agilio-cx-2x40"),
    "diff failed": ("diff", OBJECT, OTHER, "--fail-on", "instructions_pct>1", "--target", "ebpf"),
    "show": ("show", OBJECT, EXAMPLES / "firewall.bpf.o"),
    "show listing": ("show", OBJECT, "--listing", "--format", "json"),
    "compile": ("compile", OBJECT),
    "verify": ("compile", OBJECT, "--verify", "--format", "json"),
    "require": ("bound", OTHER, "--require", "<=10 instructions"),
    "unmatched": ("bound", OBJECT, "--unroll", "3@nowhere.c:4"),
}


_SECONDS = re.compile(r'"seconds": [0-9.e-]+')


@pytest.mark.parametrize("name", COMMANDS)
def test_other_commands_have_the_same_output_and_code(tmp_path: Path, name: str) -> None:
    runs = [slowpath(*COMMANDS[name], "--cache-dir", tmp_path) for _ in range(2)]
    assert entries(tmp_path)
    runs.append(slowpath(*COMMANDS[name], "--no-cache-dir"))
    first, *others = ((_SECONDS.sub("", run.stdout), run.stderr, run.returncode) for run in runs)
    assert others == [first, first]
    assert runs[0].stdout == runs[1].stdout


def test_a_pool_keeps_its_results(tmp_path: Path) -> None:
    words = ("--target", "ebpf", "--format", "json", "--cache-dir", tmp_path)
    pooled = slowpath("bound", OBJECT, OTHER, "--jobs", "2", *words)
    assert len(entries(tmp_path)) == 2
    assert slowpath("bound", OBJECT, OTHER, *words).stdout == pooled.stdout


def test_kept_results_need_no_analysis(tmp_path: Path, engine_calls: list[str]) -> None:
    request = requested(opened(tmp_path), OBJECT)
    first = analysed(request)
    assert analysed(request) == first
    assert engine_calls == [str(OBJECT)]
    assert analysed(request._replace(cache=None)) != first  # its times differ
    assert engine_calls == [str(OBJECT)] * 2


def test_results_belong_to_the_content_not_to_the_name(
    tmp_path: Path, engine_calls: list[str]
) -> None:
    copy = tmp_path / 'a "copy".o'
    shutil.copy(OBJECT, copy)
    cache = opened(tmp_path / "cache")
    (first,) = analysed(requested(cache, OBJECT))
    (second,) = analysed(requested(cache, copy))
    assert json.loads(second) == json.loads(first) | {"file": str(copy)}
    assert engine_calls == [str(OBJECT)]
    named = tmp_path / "other.asm"  # names the program
    shutil.copy(LISTING, named)
    for file in (LISTING, named):
        (text,) = analysed(requested(cache, file, target="agilio-cx-2x40"))
        assert json.loads(text)["program"] == file.stem


def test_the_python_function_uses_the_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first, second = (package.bound(OBJECT, target="ebpf", cache_dir=folder) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert str(first) == str(second)
    (kept,) = entries(folder)
    kept.unlink()
    package.bound(OBJECT, target="ebpf", no_cache_dir=True)
    package.bound(OBJECT, target="ebpf")  # the variable of these tests turns it off
    assert not entries(folder)
    with pytest.raises(package.OptionError, match="--no-cache-dir: conflicts with --cache-dir"):
        package.bound(OBJECT, cache_dir=folder, no_cache_dir=True)


# --- keys -----------------------------------------------------------------------------------------


def key_of(
    cache: Cache,
    task: Task,
    target: Description | None = None,
    options: analyses.Options | None = None,
    btf: KernelBtf | None = None,
) -> str:
    kept = KeptOutcomes(
        cache,
        target or Description("ebpf", None),
        options or analyses.Options(),
        btf or KernelBtf(None),
    )
    key = kept._key(task)
    assert key is not None
    return key


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return opened(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def task() -> Task:
    (one,) = Session(requested(None, OBJECT)).plan.tasks
    return one


LIMITS = {"deadline_seconds", "memory_bytes"}
HINTS = get_type_hints(analyses.Options)


@given(st.data())
def test_each_option_of_the_engine_is_in_the_key(cache: Cache, task: Task, data: Any) -> None:
    """Check that the cache key depends on each engine option except limits and the metric.

    The test changes one field of `Options` to a random value of its type, so it covers new fields,
    too.
    """
    one = analyses.Options()
    name = data.draw(st.sampled_from(analyses.Options._fields))
    plain = st.from_type(HINTS[name])
    values = plain.filter(lambda value: not isinstance(value, float) or math.isfinite(value))
    other = one._replace(**{name: data.draw(values)})
    same = key_of(cache, task, options=one) == key_of(cache, task, options=other)
    # The key has the metric of the task in place of that of the options.
    assert same == (name in {*LIMITS, "metric"} or getattr(other, name) == getattr(one, name))


def _files(folder: Path) -> dict[str, str]:
    """Write one file for each option that names a file; return the paths by option."""
    header = bytes.fromhex("9feb0100 18000000 00000000 00000000 00000000 01000000 00")
    files = {"btf": header, "assume": b"[prices]\n", "maps": b"{}", "target": b""}
    files["target"] = (_core.target_text("ebpf") or "").encode() + b"# changed\n"
    for name, content in files.items():
        (folder / f"{name}.toml").write_bytes(content)
    return {name: str(folder / f"{name}.toml") for name in files}


CHANGED: dict[str, Any] = {
    "metric": "memory-accesses",
    "cores": 3,
    "unroll": "7",
    "paths": "all",
    "mtu": 1000,
    "entries": 100,
    "set": ("nothing=1",),
    "map_abi": "call",
    "receive": "veth",
    "target": None,
    "assume": None,
    "maps": None,
    "btf": None,
}
"""Another value for each option that can change a result.

None stands for a file, which `_files` writes.
"""
UNCHANGED: dict[str, Any] = {
    "selection": Selection(("xdp*",), ()),  # chooses programs
    "deadline": 7.0,  # complete results do not depend on limits
    "total_deadline": 7.0,
    "memory": "3G",
    "cflags": ("-DHASHES=3",),  # change the object
    "require": "<=1 instructions",  # judges a result
    "accept_assumptions": True,
}
"""Another value for each option that cannot change the result of an object."""


def test_each_written_option_is_known_here() -> None:
    assert CHANGED.keys() | UNCHANGED.keys() == set(WrittenOptions._fields)
    assert not CHANGED.keys() & UNCHANGED.keys()


@pytest.mark.parametrize("name", [*CHANGED, *UNCHANGED])
def test_options_that_change_results_change_the_key(
    cache: Cache, task: Task, tmp_path: Path, name: str
) -> None:
    def key(**options: Any) -> str:
        request = requested(cache, OBJECT, **options)
        changed = task._replace(target=request.target.name, metric=request.metric)
        kept = KeptOutcomes(cache, request.description, request.options, KernelBtf(request.btf))
        found = kept._key(changed)
        assert found is not None
        return found

    value = (CHANGED | UNCHANGED)[name]
    if value is None:
        value = _files(tmp_path)[name]
    changed = {name: value}
    if name == "accept_assumptions":
        changed |= {"require": UNCHANGED["require"]}
    assert (key(**changed) != key()) == (name in CHANGED)


def test_all_other_inputs_are_in_the_key(
    cache: Cache, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert task.program is not None
    needy = task._replace(program=task.program._replace(needs_kernel=True))
    types = Path(_files(tmp_path)["btf"])
    file = tmp_path / "running"
    monkeypatch.setattr("slowpath.core.programs.loading._RUNNING", str(file))
    keys = [
        key_of(cache, task),
        key_of(cache, task._replace(data=OTHER.read_bytes())),
        key_of(cache, task._replace(program=task.program._replace(number=1))),
        key_of(cache, task._replace(metric="memory-accesses")),
        key_of(cache, task, Description("ebpf", "text")),
        key_of(cache, task, Description("other", None)),
        key_of(cache, task, btf=KernelBtf(str(types))),
    ]
    assert key_of(cache, needy) == keys[0]  # there are no types
    file.write_bytes(types.read_bytes())
    assert key_of(cache, task) == keys[0]
    assert key_of(cache, needy) == keys[-1]
    file.write_bytes(types.read_bytes() + b"\0")  # another kernel
    keys.append(key_of(cache, needy))
    assert len(set(keys)) == len(keys)
    for unknown in (
        task._replace(data=None),
        task._replace(error=Coded(codes.FILE_UNREADABLE, "cannot be read")),
    ):
        kept = KeptOutcomes(cache, Description("ebpf", None), analyses.Options(), KernelBtf(None))
        assert kept._key(unknown) is None


def test_another_engine_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine_calls: list[str]
) -> None:
    engine = tmp_path / "engine.so"
    engine.write_bytes(b"first")
    monkeypatch.setattr(_core, "__file__", str(engine))
    folder = tmp_path / "cache"

    def calls() -> int:
        analysed(requested(opened(folder), OBJECT))
        return len(engine_calls)

    assert [calls(), calls()] == [1, 1]
    identity = opened(folder).engine
    os.utime(engine, ns=(1, 1))  # installed again
    assert opened(folder).engine == identity
    assert calls() == 1
    about = engine.stat()
    engine.write_bytes(b"other")
    os.utime(engine, ns=(about.st_atime_ns, about.st_mtime_ns))  # as a copy of a build does
    assert opened(folder).engine != identity
    assert [calls(), calls()] == [2, 2]
    monkeypatch.setattr(_core, "version", lambda: "9.9.9")
    assert [calls(), calls()] == [3, 3]


# --- complete results only ------------------------------------------------------------------------


def test_results_that_ended_early_are_not_kept(tmp_path: Path, engine_calls: list[str]) -> None:
    for limits in ({"deadline_seconds": 1e-9}, {"memory_bytes": 1}, {"deadline_seconds": 0.2}):
        file = LOOP if limits == {"deadline_seconds": 0.2} else OBJECT
        (text,) = analysed(limited(requested(opened(tmp_path), file, paths="all"), **limits))
        result = json.loads(text)
        assert result["guarantee"] is None or result["guarantee"]["stopped"] is not None
        assert not entries(tmp_path)
    (text,) = analysed(requested(opened(tmp_path), OBJECT))
    assert json.loads(text)["guarantee"]["verdict"] == "exact"
    assert len(entries(tmp_path)) == 1
    # A complete result holds for any limits.
    count = len(engine_calls)
    for limits in ({"deadline_seconds": 1e-9}, {"memory_bytes": 1}, {"deadline_seconds": 1e3}):
        assert analysed(limited(requested(opened(tmp_path), OBJECT), **limits)) == [text]
    assert len(engine_calls) == count


def test_interrupted_results_are_not_kept(tmp_path: Path) -> None:
    stopping = Stopping()
    stopping.ask()
    request = requested(opened(tmp_path), OBJECT)
    list(Session(request).analyse(RunContext(stopping)))
    assert not entries(tmp_path)


def test_the_engine_says_whether_a_limit_took_effect() -> None:
    def complete(seconds: float | None, *, stop: bool = False) -> bool:
        analysis = _core.Analysis(
            "a",
            _core.Object(OBJECT.read_bytes()),
            0,
            None,
            _core.Target("ebpf"),
            {"deadline_seconds": seconds},
        )
        if stop:
            analysis.stop()
        *_, last = (event for event in analysis if event is not None)
        assert isinstance(last, _core.Result)
        return last.complete

    assert complete(None)
    assert complete(1000.0)
    assert not complete(0.0)
    assert not complete(None, stop=True)


def test_shown_objects_are_kept_unless_time_was_short(tmp_path: Path) -> None:
    file = ROOT / "crates/slowpath/tests/objects/loops.bpf.o"
    words = ("show", file, "--cache-dir", tmp_path)
    short = slowpath(*words, "--deadline", "1e-9")
    assert not entries(tmp_path)
    assert slowpath(*words).stdout != short.stdout
    assert len(entries(tmp_path)) == 1


def test_only_proofs_of_compiled_programs_are_kept(tmp_path: Path) -> None:
    words = ("compile", OTHER, "--verify", "--cache-dir", tmp_path)
    short = slowpath(*words, "--deadline", "0.01")
    assert short.returncode == 4, short.stderr
    slowpath(*words)
    kept = entries(tmp_path)
    assert len(kept) == 2
    assert sum(b'"proved":true' in file.read_bytes() for file in kept) == 1


def test_defects_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "messages", lambda *_: iter([("failed", "of some kind")]))
    (text,) = analysed(requested(opened(tmp_path), OBJECT))
    assert "internal error" in json.loads(text)["error"]
    assert not entries(tmp_path)


# --- the folder -----------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "swapped", "unreadable"])
def test_damaged_entries_are_ignored_and_replaced(
    tmp_path: Path, damage: str, engine_calls: list[str]
) -> None:
    (first,) = analysed(requested(opened(tmp_path), OBJECT))
    (file,) = entries(tmp_path)
    good = file.read_bytes()
    if damage == "swapped":  # a complete entry, of another key
        analysed(requested(opened(tmp_path), OTHER))
        (other,) = (one for one in entries(tmp_path) if one != file)
        file.write_bytes(other.read_bytes())
    elif damage == "unreadable":
        file.unlink()
        file.mkdir()
    else:
        flipped = good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]
        file.write_bytes({"truncated": good[:-9], "empty": b"", "flipped": flipped}[damage])
    engine_calls.clear()
    warnings = list[str]()
    (second,) = analysed(requested(Cache(str(tmp_path), warnings.append), OBJECT))
    assert len(warnings) == (damage == "unreadable")
    assert engine_calls == [str(OBJECT)]
    without = [{**json.loads(text), "stats": None} for text in (first, second)]
    assert without[0] == without[1]
    if damage != "unreadable":
        assert analysed(requested(opened(tmp_path), OBJECT)) == [second]
        assert engine_calls == [str(OBJECT)]


def test_entries_of_another_format_are_ignored(tmp_path: Path, engine_calls: list[str]) -> None:
    folder = opened(tmp_path)
    request = requested(folder, OBJECT)
    session = Session(request)
    kept = session.kept(request.options)
    (task,) = session.plan.tasks
    key = kept._key(task)
    assert key is not None
    for texts in (["one"], ["not", "JSON"], ["a", "b", "c"]):
        folder.keep(key, texts)
        assert kept.find(task) is None
    assert analysed(request) == analysed(request)
    assert engine_calls == [str(OBJECT)]


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    words = ("bound", OBJECT, OTHER, "--target", "ebpf", "--format", "csv")
    fine, run = slowpath(*words), slowpath(*words, "--cache-dir", file / "cache")
    assert run.returncode == 0
    assert run.stderr == f"warning: {file}/cache: results cannot be kept: Not a directory\n"
    assert run.stdout.count("exact") == fine.stdout.count("exact") > 0


def test_a_full_disk_is_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings = list[str]()
    folder = Cache(str(tmp_path), warnings.append)

    class Full:
        """A fake cache whose disk has no room for results."""

        def read(self, _key: str) -> None:
            return None

        def write(self, _key: str, _data: bytes) -> None:
            raise OSError(28, "No space left on device")

        def prune(self) -> None:
            pass

    monkeypatch.setattr(folder, "_kept", Full())
    assert len(analysed(requested(folder, OBJECT, OTHER))) == 2
    assert warnings == [f"{tmp_path}: results cannot be kept: No space left on device"]


def test_processes_share_a_folder(tmp_path: Path) -> None:
    files = sorted(map(str, EXAMPLES.glob("count_min.*.bpf.o")))
    words = [sys.executable, "-m", "slowpath", "bound", *files, "--target", "ebpf"]
    words += ["--format", "csv", "--cache-dir", str(tmp_path)]
    running = [subprocess.Popen(words, stdout=-1, stderr=-1, text=True) for _ in range(8)]
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 8
    assert {errors for _, errors in outputs} == {""}

    def rows(text: str) -> list[str]:
        *_, heads = [text.splitlines()[0].split(",")]
        at = heads.index("seconds")
        return [",".join((*row[:at], *row[at + 1 :])) for row in map(_cells, text.splitlines())]

    assert len({tuple(rows(text)) for text, _ in outputs}) == 1
    assert len(entries(tmp_path)) == len(files)
    last = [subprocess.run(words, capture_output=True, text=True, check=True) for _ in range(2)]
    assert last[0].stdout == last[1].stdout


def _cells(row: str) -> list[str]:
    return row.split(",")


def test_only_the_user_can_read_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "caches/slowpath"
    analysed(requested(opened(folder), OBJECT))
    (file,) = entries(folder)
    assert [one.stat().st_mode & 0o777 for one in (folder, file.parent)] == [0o700] * 2


def test_the_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() is None  # turned off
    monkeypatch.delenv("SLOWPATH_NO_CACHE")
    monkeypatch.setenv("SLOWPATH_CACHE_DIR", str(tmp_path))
    assert default_folder() == str(tmp_path)
    monkeypatch.delenv("SLOWPATH_CACHE_DIR")
    assert default_folder() == "/home/user/.cache/slowpath"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == str(tmp_path / "slowpath")


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWPATH_NO_CACHE")
    monkeypatch.setenv("SLOWPATH_CACHE_DIR", str(tmp_path))
    assert slowpath("bound", OBJECT, "--no-cache-dir").returncode == 0
    assert not entries(tmp_path)
    assert slowpath("bound", OBJECT).returncode == 0
    assert len(entries(tmp_path)) == 1


def test_measurements_are_never_kept() -> None:
    names = {
        name
        for name, command in commands()
        if any("--no-cache-dir" in option.names for option in command.options)
    }
    assert names == {"bound", "annotate", "diff", "sweep", "show", "compile", "chain plan"}
    assert requested(None, OBJECT).cache is None
