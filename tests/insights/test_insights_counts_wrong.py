"""Tests errors of `insights counts`: invalid sources, options and files, and failing runs."""

from pathlib import Path

import pytest

from insights_counted import EXAMPLES, FOLDER, error_of

pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.usefixtures("with_clang")

TRAFFIC = EXAMPLES / "nat.pcap"
HEAD = "int process(unsigned char *p, int n) "
ELEMENT = (
    "#include <click/args.hh>\n"
    "class A : public Element { public:\n"
    'const char *class_name() const { return "A"; }\n'
    "int configure(Vector<String> &conf, ErrorHandler *errh) {\n"
    'return Args(conf, this, errh).read_mp("N", n).complete(); }\n'
    "Packet *simple_action(Packet *p) {\n"
    "v.push_back(p->length());\n"
    "assert(n != 7);\n"
    "return p; }\n"
    "int n; Vector<int, 8> v; };\n"
)


def error_in(folder: Path, name: str, text: str, *options: str) -> str:
    """Return the error message of `insights counts` for a source with this name and text."""
    file = folder / name
    file.write_text(text)
    error = error_of("insights", "counts", file, "--pcap", TRAFFIC, *options)
    return error.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"int x;\n{HEAD}{{\nwhile (((volatile char *) p)[0] | 1)\nx++;\nreturn n; }}\n",
            "nf.c:3: process: packet 1 of the trace: endless loop: one packet ran more basic "
            "blocks than --blocks allows",
        ),
        (
            f"{HEAD}{{\nint s = 0;\nfor (int i = 0; i <= n; i++)\ns += p[i];\nreturn s; }}\n",
            "nf.c:4: process: packet 1 of the trace: the code accesses memory at an invalid",
        ),
        (
            f"volatile int zero;\n{HEAD}{{\nreturn p[0] / zero; }}\n",
            "nf.c:3: process: packet 1 of the trace: the code divides by zero",
        ),
        (
            f"int getpid(void);\n{HEAD}{{\nreturn p[0] + getpid(); }}\n",
            "nf.c:3: process: packet 1 of the trace: the code calls getpid, which slowpath "
            "does not provide",
        ),
        (
            f"#include <setjmp.h>\nstatic jmp_buf back;\n{HEAD}{{\nif (_setjmp(back))\nreturn n;\n"
            "longjmp(back, 1); }\n",
            "nf.c:4: process: packet 1 of the trace: the code calls _setjmp, which slowpath "
            "does not provide",
        ),
        (
            f"#include <setjmp.h>\nstatic jmp_buf back;\n{HEAD}{{\nlongjmp(back, 1); }}\n",
            "nf.c:4: process: packet 1 of the trace: the code calls longjmp, which slowpath "
            "does not provide",
        ),
        (
            f'{HEAD}{{\n__asm__ volatile("nop");\nreturn p[0]; }}\n',
            "nf.c:2: process has inline assembly, which is not supported",
        ),
        (
            f"volatile int k;\n{HEAD}{{\nreturn n ? process(p, n - 1) * k + 1 : 0; }}\n",
            "nf.c:2: the function process is recursive, which the card does not support",
        ),
        (f"{HEAD}{{\nreturn q; }}\n", "nf.c:2:8: error: use of undeclared identifier 'q'"),
        (
            f"{HEAD}{{ return 1; }}\nint other(unsigned char *p, int n) {{ return 2; }}\n",
            "has several functions without a caller; name the function that receives packets "
            "with --entry: other, process",
        ),
        (
            "int other(void) { return 2; }\n",
            "nf.c:1: the function other does not take a packet; methods of a Click",
        ),
        (
            "int process(double x) { return 2; }\n",
            "nf.c:1: parameter 1 (x) of process is neither a packet nor a length; methods of",
        ),
        (
            "int big;\nint process(unsigned char *data, int length, unsigned short in_port) {\n"
            "if (in_port > 3) big++;\nreturn data[length - 1]; }\n",
            "nf.c:2: parameter 3 (in_port) of process is neither a packet nor a length; methods of",
        ),
        (
            "struct peer { int n; };\nint process(unsigned char *p, int n, struct peer *sender) {\n"
            "return sender->n + p[n - 1]; }\n",
            "nf.c:2: parameter 3 (sender) of process is neither a packet nor a length; methods of",
        ),
        (
            "struct xdp_md { unsigned data, data_end; };\n"
            "int process(struct xdp_md *ctx) { return ctx->data; }\n",
            "nf.c:2: parameter 1 (ctx) of process is neither a packet nor a length; methods of",
        ),
        (
            f"static __thread int n_seen;\n{HEAD}{{ return n_seen += p[0]; }}\n",
            "nf.c: the variable n_seen is thread-local, which the card does not support; declare",
        ),
        ("int x;\n", "does not define a function"),
    ],
)
def test_functions_that_cannot_run(tmp_path: Path, text: str, expected: str) -> None:
    error = error_in(tmp_path, "nf.c", text)
    assert error.startswith("error: nf.c:")
    assert expected in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "A rejects its configuration (none): N"),
        (("--config", "5, 6"), "A rejects its configuration (5, 6): an argument is not"),
        (("--config", "N x"), "A rejects its configuration (N x): N"),
        (("--config", "5"), "packet 9 of the trace: a Vector has no slot left"),
        (
            ("--config", "7"),
            "nf.cc:8: A::simple_action: packet 1 of the trace: an assertion failed",
        ),
        (
            ("--config", "5", "--entry", "A::none"),
            "does not have a function 'A::none'; it has A::A, A::class_name, A::configure, "
            "A::simple_action, A::~A; clang does not compile methods inside a class that nothing "
            "calls",
        ),
    ],
)
def test_elements_that_cannot_run(tmp_path: Path, options: tuple[str, ...], expected: str) -> None:
    assert expected in error_in(tmp_path, "nf.cc", f"{ELEMENT}EXPORT_ELEMENT(A)\n", *options)


def test_a_method_without_an_element(tmp_path: Path) -> None:
    text = ELEMENT.replace(
        "Packet *simple_action(Packet *p) {", "Packet *simple_action(Packet *);\n"
    )
    text = text[: text.index("v.push_back")] + "int n; Vector<int, 8> v; };\n"
    text += "Packet *A::simple_action(Packet *p) { return p; }\n"
    error = error_in(tmp_path, "nf.cc", text, "--entry", "A::simple_action")
    assert (
        "A::simple_action is a method, and the source exports nothing; add EXPORT_ELEMENT(A)"
        in error
    )


def test_files_that_are_not_traces(tmp_path: Path) -> None:
    source = FOLDER / "histogram.c"
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(TRAFFIC.read_bytes()[:24])
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(TRAFFIC.read_bytes()[:1000])
    for file, expected in (
        (source, "the file is not a capture: it starts with 23 69 6e 63"),
        (empty, "contains no packets"),
        (cut, "the capture is cut off"),
        (tmp_path / "none", "no such file"),
        (tmp_path, "is a directory; name a capture in it"),
    ):
        error = error_of("insights", "counts", source, "--pcap", file)
        assert error.startswith(f"error: {file}: ")
        assert expected in error


def test_inputs_are_not_overwritten(tmp_path: Path) -> None:
    words = ("insights", "counts", FOLDER / "histogram.c", "--pcap", TRAFFIC)
    for option in ("--placement-out", "--coalescing-out"):
        assert "would overwrite" in error_of(*words, option, TRAFFIC, code=2)
    out = tmp_path / "out.json"
    error = error_of(*words, "--placement-out", out, "--coalescing-out", out, code=2)
    assert f"{out} is also the output of --placement-out" in error
    assert not out.exists()
