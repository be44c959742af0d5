"""Tests `slowpath lsp` with a scripted editor, which edits, saves, and requests results."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from editor import Editor
from slowpath.lsp.messages import ErrorCode
from slowpath.lsp.places import Places
from slowpath.lsp.server import Buffer
from support import ROOT, slowpath, wait_until

pytestmark = pytest.mark.usefixtures("with_clang")
EXAMPLES = ROOT / "examples"
SOURCE = """\
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "verdict.h"

SEC("xdp")
int filter(struct xdp_md *ctx)
{
	return VERDICT;
}
"""
RETURN = SOURCE.splitlines().index("\treturn VERDICT;") + 1
REFUSED = SOURCE.replace("\treturn", "\tbpf_get_current_pid_tgid();\n\treturn")
ENDLESS = SOURCE.replace(
    "\treturn VERDICT;",
    """\
	__u32 *at = (void *)(long)ctx->data, found = 0;
	if ((void *)(at + 64) > (void *)(long)ctx->data_end)
		return XDP_DROP;
#pragma unroll
	for (int step = 0; step < 400; step++) {
		__u32 word = at[step % 64] * 0x9E3779B1u;
		word = (word ^ (word >> 15)) * 0x85EBCA6Bu;
		if (word == step * 77 + 5)
			found++;
	}
	return found ? VERDICT : XDP_DROP;""",
)
"""A program whose analysis would take hours."""
COUNT = ("--target", "ebpf")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a program and a header that it includes."""
    (tmp_path / "filter.bpf.c").write_text(SOURCE)
    (tmp_path / "verdict.h").write_text("#define VERDICT XDP_PASS\n")
    return tmp_path


@pytest.fixture
def editor(project: Path) -> Iterator[Editor]:
    """Yield an initialised editor that the server cannot ask to request hints again."""
    with Editor(project, *COUNT, "--deadline", "0") as started:
        started.initialize()
        yield started


def problems(editor: Editor, file: Path) -> list[dict[str, Any]]:
    """Wait for the analysis of a file's last text; return the problems that the editor shows."""
    editor.hints(file)
    published = [
        message["params"]
        for message in editor.received
        if message.get("method") == "textDocument/publishDiagnostics"
        and message["params"]["uri"] == file.as_uri()
    ]
    found: list[dict[str, Any]] = published[-1]["diagnostics"] if published else []
    return found


def below(text: str, lines: int) -> str:
    """Return the text below a number of empty lines."""
    return "\n" * lines + text


def test_bounds_and_costs_are_those_of_the_commands(tmp_path: Path) -> None:
    """Check that the editor shows the bounds and costs that `bound` and `annotate` print.

    This is tested for examples.
    """
    for name in ("firewall", "header_parser", "tunnel", "quic_lb"):
        shutil.copy(EXAMPLES / f"{name}.bpf.c", tmp_path)
    for header in EXAMPLES.glob("*.h"):
        shutil.copy(header, tmp_path)
    for target in ("ebpf", "linux-xdp"):
        with Editor(tmp_path, "--target", target) as editor:
            editor.initialize()
            for file in sorted(tmp_path.glob("*.bpf.c")):
                editor.open(file)
                hints, lenses = editor.hints(file), editor.lenses(file)
                run = slowpath("annotate", file, "--target", target, "--format", "json")
                (program,) = json.loads(run.stdout)["results"]
                expected = {
                    line["line"]: line["share"]
                    for line in program["lines"]
                    if line["file"].endswith(f"/{file.name}") and line["share"] >= 0.005
                }
                assert hints.keys() == expected.keys()
                assert len(hints) > 3
                for line, text in hints.items():
                    cost, share = text.split(" · ")
                    assert float(share.removesuffix(" %")) == pytest.approx(
                        100 * expected[line], rel=0.06, abs=0.06
                    )
                    assert cost.endswith(" ns") is (target == "linux-xdp")
                (line, text), *others = lenses.items()
                assert not others
                assert f"int {program['program']}(" in file.read_text().splitlines()[line - 1]
                most = json.loads(
                    slowpath("bound", file, "--target", target, "--format", "json").stdout
                )["results"][0]["guarantee"]["counts"]["instructions"]
                assert text.startswith(f"at most {most:,} instructions (exact")
            editor.end()


def test_a_file_that_was_never_saved_is_analysed(editor: Editor, project: Path) -> None:
    new = project / "new.bpf.c"
    editor.open(new, SOURCE)
    assert editor.hints(new).keys() == {RETURN}
    assert problems(editor, new) == []
    editor.change(new, below(REFUSED.replace("bpf_get", "bpf_got"), 1))
    (problem,) = problems(editor, new)
    assert problem["code"] == "SP0222"
    assert not new.exists()
    absent = project / "absent" / "new.bpf.c"  # its folder does not exist either
    editor.open(absent, SOURCE.replace('"verdict.h"', '"../verdict.h"'))
    assert editor.hints(absent).keys() == {RETURN}
    unnamed = {"uri": "untitled:Untitled-1", "languageId": "c", "version": 1, "text": SOURCE}
    editor.notify("textDocument/didOpen", {"textDocument": unnamed})
    asked = editor.ask("textDocument/codeLens", {"textDocument": {"uri": unnamed["uri"]}})
    assert editor.answer(asked)["result"] == []


def test_only_the_last_of_fifty_edits_is_shown(editor: Editor, project: Path) -> None:
    """Check that only hints of the last of fifty edits are shown.

    Each edit moves the program by a line, so that hints of other versions are recognised.
    """
    file = project / "filter.bpf.c"
    editor.open(file)
    assert editor.hints(file).keys() == {RETURN}
    asked = dict[int, int]()
    memory = dict[int, int]()
    for edit in range(1, 51):
        editor.change(file, below(SOURCE, edit))
        asked[editor.ask_hints(file)] = edit
        if edit in {10, 50}:
            editor.save(file, below(SOURCE, edit))
            assert editor.hints(file).keys() == {RETURN + edit}
            assert len(editor.children()) <= 2
            memory[edit] = editor.memory()
        elif edit % 5 == 0:  # analyse some of them
            assert editor.hints(file).keys() == {RETURN + edit}
    shown = dict[int, int]()
    for number, edit in asked.items():
        answer = editor.answer(number)
        if "error" in answer:
            assert answer["error"]["code"] == ErrorCode.CONTENT_MODIFIED
            continue
        (hint,) = answer["result"]
        shown[edit] = hint["position"]["line"] + 1 - RETURN
    assert shown == {edit: edit for edit in shown}
    assert 50 in shown
    assert len(shown) < 50
    assert memory[50] < 1.5 * memory[10] + (64 << 20)
    editor.end()


def test_a_newer_text_ends_a_long_analysis(editor: Editor, project: Path) -> None:
    file = project / "filter.bpf.c"
    (project / "long.bpf.c").write_text(ENDLESS)
    editor.open(file)
    editor.open(project / "long.bpf.c")
    editor.hints(file)
    long = editor.ask_hints(project / "long.bpf.c")
    editor.change(project / "long.bpf.c", ENDLESS + "\n")  # as long; then nothing to do
    assert editor.answer(long)["error"]["code"] == ErrorCode.CONTENT_MODIFIED
    editor.change(project / "long.bpf.c", SOURCE)
    assert editor.hints(project / "long.bpf.c").keys() == {RETURN}
    assert len(editor.children()) <= 2
    editor.end()


def test_unsaved_texts_of_headers_count(editor: Editor, project: Path) -> None:
    file, header = project / "filter.bpf.c", project / "verdict.h"
    editor.open(file)
    first = editor.lenses(file)
    editor.open(header)
    editor.change(header, "#define VERDICT (ctx->ingress_ifindex > 7 ? XDP_PASS : XDP_TX)\n")
    second = editor.lenses(file)
    assert first.keys() == second.keys() == {RETURN - 2}
    assert first != second
    assert editor.hints(header) == {}
    editor.close(header)  # the saved text counts again
    assert editor.lenses(file) == first
    header.write_text("#define VERDICT (ctx->ingress_ifindex > 7 ? XDP_PASS : XDP_TX)\n")
    changes = [{"uri": header.as_uri(), "type": 2}]
    editor.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert editor.lenses(file) == second
    editor.end()


def test_errors_of_clang_are_problems_of_their_version(editor: Editor, project: Path) -> None:
    file = project / "filter.bpf.c"
    editor.open(file)
    assert problems(editor, file) == []
    editor.change(file, SOURCE.replace("return VERDICT;", 'return "é" + verdict;'))
    (problem,) = problems(editor, file)
    start = {"line": RETURN - 1, "character": len('\treturn "é" + ')}
    assert problem["range"]["start"] == start
    assert problem["severity"] == 1
    assert "verdict" in problem["message"]
    assert editor.hints(file) == {}
    assert editor.lenses(file) == {}
    editor.change(file, SOURCE.replace("verdict.h", "missing.h"))
    (problem,) = problems(editor, file)
    assert problem["message"] == "'missing.h' file not found"
    assert problem["range"]["start"]["line"] == 2
    editor.open(project / "verdict.h")
    editor.change(project / "verdict.h", "#define VERDICT XDP_PASS\noops;\n")
    editor.change(file, SOURCE)
    (problem,) = problems(editor, file)
    (related,) = problem["relatedInformation"]
    assert related["location"]["uri"] == (project / "verdict.h").as_uri()
    assert related["location"]["range"]["start"]["line"] == 1
    editor.change(project / "verdict.h", "#define VERDICT XDP_PASS\n")
    assert problems(editor, file) == []
    assert editor.hints(file).keys() == {RETURN}
    editor.end()


@pytest.mark.parametrize("target", ["ebpf", "linux-xdp", "agilio-cx-2x40"])
def test_refusals_stand_at_the_line_that_the_engine_names(project: Path, target: str) -> None:
    file = project / "filter.bpf.c"
    file.write_text(REFUSED)
    with Editor(project, "--target", target) as editor:
        editor.initialize()
        editor.open(file)
        (problem,) = problems(editor, file)
        assert problem["range"]["start"] == {"line": RETURN - 1, "character": 1}
        assert "bpf_get_current_pid_tgid" in problem["message"]
        assert problem["code"] == "SP0301"
        assert editor.lenses(file) == {}
        editor.close(file)
        editor.open(file, SOURCE)
        assert problems(editor, file) == []
        editor.end()


def test_all_refusals_of_a_card_are_problems(project: Path) -> None:
    file = project / "filter.bpf.c"
    lines = "\tchar text[1] = {};\n\tbpf_trace_printk(text, 1);\n\tbpf_get_smp_processor_id();\n"
    file.write_text(SOURCE.replace("\treturn", f"{lines}\treturn"))
    run = slowpath("bound", file, "--target", "agilio-cx-2x40", "--format", "json")
    (result,) = json.loads(run.stdout)["results"]
    with Editor(project, "--target", "agilio-cx-2x40") as editor:
        editor.initialize()
        editor.open(file)
        found = problems(editor, file)
        assert len(found) == max(len(result["refusals"]), 1)
        for problem, refusal in zip(found, result["refusals"], strict=bool(result["refusals"])):
            assert refusal["reason"] in problem["message"]
        editor.end()


def test_failed_requirements_of_settings_are_problems(project: Path) -> None:
    file, settings = project / "filter.bpf.c", project / "slowpath.toml"
    settings.write_text('target = "ebpf"\n[require]\nfilter = "<=1 instructions"\n')
    with Editor(project) as editor:
        editor.initialize()
        editor.open(file)
        (problem,) = problems(editor, file)
        assert problem["range"]["start"]["line"] == RETURN - 3
        assert problem["message"] == (
            "filter: at most 2 instructions guaranteed, at most 1 instructions required "
            "('<=1 instructions' of slowpath.toml:3)"
        )
        settings.write_text('target = "ebpf"\nrequired = 1\n')
        changes = {"changes": [{"uri": settings.as_uri(), "type": 2}]}
        editor.notify("workspace/didChangeWatchedFiles", changes)
        (problem,) = problems(editor, file)
        assert problem["message"].startswith("slowpath.toml:2: unknown key 'required'")
        settings.write_text('target = "ebpf"\n[require]\nfilter = "<=2 instructions"\n')
        editor.notify("workspace/didChangeWatchedFiles", changes)
        assert problems(editor, file) == []
        editor.end()


def test_an_editor_that_can_ask_again_never_waits(project: Path) -> None:
    file = project / "filter.bpf.c"
    with Editor(project, *COUNT, refreshes=True) as editor:
        editor.initialize()
        editor.open(file)
        first = editor.ask_hints(file)
        editor.wait(lambda one: one.get("method") == "workspace/inlayHint/refresh")
        editor.wait(lambda one: one.get("method") == "workspace/codeLens/refresh")
        assert editor.hints(file).keys() == {RETURN}
        assert editor.lenses(file).keys() == {RETURN - 2}
        at = len(editor.received)
        editor.change(file, below(SOURCE, 3))
        assert editor.hints(file) == {}
        editor.wait(lambda one: one.get("method") == "workspace/inlayHint/refresh", at)
        assert editor.hints(file).keys() == {RETURN + 3}
        assert editor.answer(first)["result"] == []
        editor.end()


def test_with_on_save_edits_have_no_costs_until_they_are_saved(project: Path) -> None:
    file = project / "filter.bpf.c"
    with Editor(project, *COUNT, "--on-save") as editor:
        editor.initialize()
        editor.open(file)
        assert editor.hints(file).keys() == {RETURN}
        editor.change(file, below(SOURCE, 2))
        assert editor.hints(file) == {}
        editor.save(file, below(SOURCE, 2))
        assert editor.hints(file).keys() == {RETURN + 2}
        editor.end()


def test_other_texts_are_left_alone(editor: Editor, project: Path) -> None:
    plain, other = project / "plain.c", project / "socket.bpf.c"
    plain.write_text("int main(void) { return undeclared; }\n")
    other.write_text(SOURCE.replace('SEC("xdp")', 'SEC("lwt")').replace("xdp_md", "__sk_buff"))
    editor.open(plain)
    assert problems(editor, plain) == []
    editor.open(other)
    (problem,) = problems(editor, other)
    assert problem["severity"] == 3
    assert "no XDP, tc, cgroup_skb or socket program in the object" in problem["message"]
    editor.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": "untitled:1", "languageId": "c", "version": 1, "text": SOURCE}},
    )
    unnamed = {"textDocument": {"uri": "untitled:1"}}
    assert editor.answer(editor.ask("textDocument/codeLens", unnamed))["result"] == []
    editor.end()


def test_a_worker_that_dies_is_a_problem_and_is_replaced(editor: Editor, project: Path) -> None:
    file = project / "filter.bpf.c"
    file.write_text(ENDLESS)
    editor.open(file)
    asked = editor.ask_hints(file)
    wait_until(lambda: bool(editor.children()))
    for process in editor.children():
        with suppress(ProcessLookupError):  # clang may have ended
            os.kill(process, signal.SIGSEGV)
    assert editor.answer(asked)["result"] == []
    (problem,) = problems(editor, file)
    assert "please report it" in problem["message"]
    editor.change(file, SOURCE)
    assert editor.hints(file).keys() == {RETURN}
    (worker,) = editor.children()
    os.kill(worker, signal.SIGKILL)  # while it is idle
    wait_until(lambda: worker not in editor.children())
    editor.change(file, below(SOURCE, 1))
    assert editor.hints(file).keys() == {RETURN + 1}
    assert problems(editor, file) == []
    editor.end()


def test_several_targets_have_a_line_each(project: Path) -> None:
    file = project / "filter.bpf.c"
    with Editor(project, "--target", "ebpf,agilio-cx-2x40") as editor:
        editor.initialize()
        editor.open(file)
        found = editor.answer(
            editor.ask("textDocument/codeLens", {"textDocument": {"uri": file.as_uri()}})
        )["result"]
        titles = [lens["command"]["title"] for lens in found]
        assert [title.rpartition(" on ")[2] for title in titles] == ["ebpf", "agilio-cx-2x40"]
        editor.end()


def test_p4_programs_have_costs_and_problems_of_unsaved_texts(
    editor: Editor, tmp_path: Path
) -> None:
    file = tmp_path / "router.p4"
    text = (EXAMPLES / "p4/router.p4").read_text()
    file.write_text(text)
    editor.open(file)
    lines = text.splitlines()
    costs = editor.hints(file)
    assert "packet.extract(headers.ipv4);" in {lines[line - 1].strip() for line in costs}
    (line, lens), *others = editor.lenses(file).items()
    assert not others
    assert "main;" in lines[line - 1]
    assert lens.startswith("at most ")
    wrong = below(text.replace("ttl - 1;", "ttl - true;"), 3)
    editor.change(file, wrong)
    (problem,) = problems(editor, file)
    assert problem["code"] == "SP0283"
    at = next(n for n, one in enumerate(wrong.splitlines()) if "ttl - true" in one)
    assert problem["range"]["start"]["line"] == at
    editor.change(file, text)
    assert problems(editor, file) == []
    assert editor.hints(file) == costs


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (") main;", 2),
        (") // the package\nmain /* of all */ ;", 3),
        (") main", 2),
        (") main END", 2),
        ("); // Switch(P()) main;", None),
        (") mainly;", None),
    ],
)
def test_a_p4_program_has_a_package(end: str, line: int | None) -> None:
    text = f"control C() {{}}\nSwitch(P(){end}\n"
    assert Places(text).package() == line
    assert Buffer("file:///a.p4", "/a.p4", 1, text).has_programs == (line is not None)


def test_a_problem_of_p4_has_the_range_of_its_words(editor: Editor, tmp_path: Path) -> None:
    file, header = tmp_path / "router.p4", tmp_path / "headers.p4"
    text = (EXAMPLES / "p4/router.p4").read_text()
    file.write_text(text)
    editor.open(file)

    def marked(text: str) -> list[str]:
        """Return the parts of a source text that the editor marks as problems."""
        lines = text.splitlines()
        ranges = [problem["range"] for problem in problems(editor, file)]
        assert all(one["start"]["line"] == one["end"]["line"] for one in ranges)
        return [
            lines[one["start"]["line"]]
            .encode("utf-16-le")[2 * one["start"]["character"] : 2 * one["end"]["character"]]
            .decode("utf-16-le")
            for one in ranges
        ]

    # Editors count the character in the comment as two units; UTF-8 encodes it as four bytes.
    sign = "/* \N{GLOBE WITH MERIDIANS} */"
    wrong = text.replace("ttl - 1;", f"ttl + {sign} (1 - true); // wrong")
    editor.change(file, wrong)
    assert marked(wrong) == ["true"]
    header.write_text("header Tag {\n    bit<16> kind\n}\n")
    including = text.replace("header ", '#include "headers.p4"\n\nheader ', 1)
    editor.change(file, including)
    assert marked(including) == ['#include "headers.p4"']
    (problem,) = problems(editor, file)
    (related,) = problem["relatedInformation"]
    assert related["location"] == {
        "uri": header.as_uri(),
        "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 1}},
    }
