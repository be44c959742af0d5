"""Tests the protocol of `slowpath lsp`: messages, errors, positions, and the end of the server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from editor import Editor
from slowpath.lsp.messages import Connection, ErrorCode, ProtocolError
from slowpath.lsp.places import Places, units
from slowpath.lsp.server import path_of
from support import slowpath


def message(text: str) -> bytes:
    return b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%b" % (len(text.encode()), text.encode())


def test_messages_are_found_whatever_the_pieces() -> None:
    sent = list[bytes]()
    data = (
        message('{"id":1}') + message('{"id":"é"}') + message("{") + message("[]") + message("{}")
    )
    for size in (1, 2, 7, len(data)):
        sent.clear()
        connection = Connection(sent.append)
        found = [
            one
            for start in range(0, len(data), size)
            for one in connection.feed(data[start : start + size])
        ]
        assert found == [{"id": 1}, {"id": "é"}, {}]
        codes = [json.loads(one.split(b"\r\n\r\n")[1])["error"]["code"] for one in sent]
        assert codes == [ErrorCode.PARSE, ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"Content-Length: x\r\n\r\n", b"x" * 9999]
)
def test_data_without_lengths_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Connection(lambda _: None).feed(data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"hello\n", "ends within a message"),
        (message("{}")[:-1], "ends within a message"),
    ],
)
def test_input_ends_between_messages(data: bytes, reason: str) -> None:
    connection = Connection(lambda _: None)
    assert not list(connection.feed(data))
    with pytest.raises(ProtocolError, match=reason):
        connection.end()


def test_input_that_no_editor_writes_is_named() -> None:
    done = slowpath("lsp", codes=True)
    assert done.returncode == 1
    assert done.stderr == "error: standard input: is empty; editors start this command [SP0207]\n"


def test_input_in_another_protocol_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "slowpath", "lsp"],
        input="GET / HTTP/1.1\r\n\r\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    reason = "is not the protocol of a language server: a header lacks Content-Length [SP0250]"
    assert done.stderr == f"error: standard input: {reason}\n"


def test_requests_have_an_order(tmp_path: Path) -> None:
    with Editor(tmp_path) as editor:
        early = editor.answer(editor.ask("textDocument/codeLens", {}))
        assert early["error"]["code"] == ErrorCode.NOT_INITIALIZED
        result = editor.initialize()
        assert result["capabilities"]["positionEncoding"] == "utf-16"
        unknown = editor.answer(editor.ask("textDocument/hover", {}))
        assert unknown["error"]["code"] == ErrorCode.METHOD_NOT_FOUND
        wrong = editor.answer(editor.ask("textDocument/codeLens", {}))
        assert wrong["error"]["code"] == ErrorCode.INVALID_PARAMS
        editor.notify("textDocument/didOpen", {})  # incomplete, and ignored
        editor.notify("$/setTrace", {"value": "off"})
        assert editor.answer(editor.ask("shutdown"))["result"] is None
        late = editor.answer(editor.ask("textDocument/codeLens", {}))
        assert late["error"]["code"] == ErrorCode.INVALID_REQUEST
        editor.notify("exit", {})
        assert editor.process.wait(60) == 0


def test_the_server_ends_with_its_editor(tmp_path: Path) -> None:
    with Editor(tmp_path) as editor:
        editor.initialize()
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(60) == 1
        assert not list(editor.temporary.iterdir())
    with Editor(tmp_path) as editor:
        editor.initialize()
        editor.notify("exit", {})  # without shutdown
        assert editor.process.wait(60) == 1
    with Editor(tmp_path) as editor:
        editor.write(b"hello\r\n\r\n")
        assert editor.process.wait(60) == 1
    with Editor(tmp_path) as editor:
        editor.initialize()
        assert editor.interrupt() == 130
        assert not list(editor.temporary.iterdir())


def test_a_waiting_request_can_be_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "a.bpf.c"
    file.write_text("int x;\n")
    with Editor(tmp_path, "--delay", "1h") as editor:
        editor.initialize()
        editor.open(file)
        editor.hints(file)
        editor.change(file, "int y;\n")
        asked = editor.ask_hints(file)
        editor.notify("$/cancelRequest", {"id": asked})
        assert editor.answer(asked)["error"]["code"] == ErrorCode.CANCELLED


TEXT = """\
/* int first(void) { */
int first(int x);
const char *text = "int first(int x) {"; // first(x) {
int
first (int x, int (*f)(int))
{
	return first(x); /* 🙂 */ int é;
}
MACRO(second, struct ctx *ctx)
{
}
"""


def test_functions_are_found_at_their_definition() -> None:
    places = Places(TEXT)
    assert places.function("first") == 5
    assert places.function("second") == 9
    assert places.function("third") is None
    assert Places(TEXT.replace("\n", "\r\n")).function("first") == 5


def test_columns_count_utf_16_units() -> None:
    assert units("a🙂é") == 4
    places = Places(TEXT)
    line = "\treturn first(x); /* 🙂 */ int é;"
    assert places.end(7) == {"line": 6, "character": len(line) + 1}
    column = len(line.encode()[: line.encode().index("é".encode())]) + 1
    assert places.whole(7, column)["start"]["character"] == line.index("é") + 1
    assert places.whole(7)["start"]["character"] == 1
    assert places.end(99) is None
    assert places.whole(99)["start"]["line"] == TEXT.count("\n")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.bpf.c", "/a/b c.bpf.c"),
        ("file://host/a/%C3%A9.c", "/a/é.c"),
        ("file:///a/../b.c", "/b.c"),
        ("untitled:Untitled-1", None),
        ("git:/a/b.c", None),
    ],
)
def test_uris_of_files_have_paths(uri: str, path: str | None) -> None:
    assert path_of(uri) == path
