"""Tests suggestions for mistyped commands, options, values and names."""

import pytest

from slowpath.core.spelling import did_you_mean, nearest, unknown
from support import slowpath

OBJECT = "examples/firewall.bpf.o"
TABLE = "examples/contention.csv"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["bund"], "no command 'bund'; did you mean 'bound'?"),
        (["chain", "optimise"], "no command 'optimise'; did you mean 'optimize'?"),
        (["contention", "pred"], "no command 'pred'; did you mean 'predict'?"),
        (["bound", OBJECT, "--targt", "ebpf"], "no option '--targt'; did you mean '--target'?"),
        (["diff", "a", "b", "--failon=x"], "no option '--failon'; did you mean '--fail-on'?"),
        (["bound", OBJECT, "--format", "jsn"], "--format: no value 'jsn'; did you mean 'json'?"),
        (
            ["chain", "plan", "a.yaml", "--budgt=9"],
            "no option '--budgt'; did you mean '--deadline'?",
        ),
        (["bound", OBJECT, "--colour"], "no option '--colour'; did you mean '--color'?"),
        (
            ["bound", OBJECT, "-n", "firewal"],
            "invalid value for '--prog-name': no program matches --prog-name 'firewal'"
            "; did you mean 'firewall'?",
        ),
        (
            ["show", OBJECT, "-s", "xpd"],
            "invalid value for '--section': no program matches --section 'xpd'"
            "; did you mean 'xdp'?",
        ),
        (
            ["bound", OBJECT, "--target", "linux-xpd"],
            "invalid value for '--target': 'linux-xpd' is not a target; did you mean 'linux-xdp'?",
        ),
        (
            ["bound", OBJECT, "--metric", "instruction"],
            "invalid value for '--metric': 'instruction' is not a metric of target linux-xdp"
            "; did you mean 'instructions'?",
        ),
        (
            ["targets", "show", "ebfp"],
            "invalid value for 'NAME': 'ebfp' is not a target; did you mean 'ebpf'?",
        ),
        (
            ["calibrate", "--component", "table-exact-entires"],
            "invalid value for '--component': 'table-exact-entires' is not an experiment"
            "; did you mean 'table-exact-entries'?",
        ),
        (
            ["contention", "evaluate", TABLE, "--recipe", "ridge-presure"],
            "invalid value for '--recipe': no memory model 'ridge-presure'"
            "; did you mean 'ridge-pressure'?",
        ),
        (
            ["contention", "train", TABLE, "--recipe", "averag"],
            "invalid value for '--recipe': no memory model 'averag'; did you mean 'average'?",
        ),
        (
            ["schema", "mesure"],
            "invalid value for 'COMMAND': no schema is named 'mesure'; did you mean 'measure'?",
        ),
    ],
    ids=lambda one: one[-1] if isinstance(one, list) else "",
)
def test_typos_have_suggestions(words: list[str], error: str) -> None:
    run = slowpath(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"error: {error}" in run.stderr.splitlines()


def test_words_unlike_all_names_have_none() -> None:
    assert did_you_mean("zzz", ["bound", "show"]) == ""
    assert nearest("", ["bound"]) is None
    assert (
        unknown("command", "zzz", ["bound", "show"])
        == "no command 'zzz'; choose one of bound, show"
    )


def test_case_and_beginnings_count() -> None:
    assert nearest("BOUND", ["show", "bound"]) == "bound"
    assert nearest("col", ["cores", "colocation"]) == "colocation"
    assert nearest("bound-all", ["bound"]) == "bound"
