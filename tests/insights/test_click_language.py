"""Tests the parser of Click configurations, their flat graphs, and push and pull."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from slowpath.core.errors import InputError
from slowpath.insights.click.configurations import arguments, expanded, without_comments
from slowpath.insights.click.elaboration import graph_of, read_graph
from slowpath.insights.click.graph import Connection, Element, Graph
from slowpath.insights.click.processing import Shape, flows, resolve

Wires = list[tuple[str, int, int, str]]


def wires(graph: Graph) -> Wires:
    """Return the connections by the names of elements: from, output, input, to."""
    names = [one.name for one in graph.elements]
    return [(names[one.start], one.output, one.input, names[one.end]) for one in graph.connections]


def plain(graph: Graph) -> tuple[list[tuple[str, str, str]], Wires]:
    """Return a graph without places."""
    return [(one.name, one.kind, one.config) for one in graph.elements], wires(graph)


def error_of(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        graph_of("a.click", text)
    return caught.value


# Each text has the connections of the second column; anonymous elements are named by Click's rule.
CONNECTED: list[tuple[str, Wires]] = [
    ("a :: A; b :: B(1, 2); a -> b;", [("a", 0, 0, "b")]),
    ("A -> B", [("A@1", 0, 0, "B@2")]),
    ("a :: A -> [1] b :: B [2] -> c :: C", [("a", 0, 1, "b"), ("b", 2, 0, "c")]),
    ("a, b :: A; c :: C; a, b [3] -> [1] c", [("a", 0, 1, "c"), ("b", 3, 1, "c")]),
    ("a :: A; a -> b :: B, c :: C", [("a", 0, 0, "b"), ("a", 0, 0, "c")]),
    ("a :: A; a => B, C, D", [("a", 0, 0, "B@2"), ("a", 1, 0, "C@3"), ("a", 2, 0, "D@4")]),
    ("a :: A; a [0-2] => B, C, D", [("a", 0, 0, "B@2"), ("a", 1, 0, "C@3"), ("a", 2, 0, "D@4")]),
    ("a :: A; b :: B; a [1, 3] => [2, 0] b", [("a", 1, 2, "b"), ("a", 3, 0, "b")]),
    ("a :: A; b :: B; a -> b; a -> b; a [0] -> [0] b", [("a", 0, 0, "b")]),
    (
        "a :: A; b :: B; a -> { input -> X -> output } -> b",
        [("a", 0, 0, "@3/X@1"), ("@3/X@1", 0, 0, "b")],
    ),
    (
        "a :: A; c :: { input -> x :: X -> output; input [1] -> [1] output };"
        "a -> c -> B; a [1] -> [1] c [1] -> D",
        [("a", 0, 0, "c/x"), ("a", 1, 0, "D@4"), ("c/x", 0, 0, "B@3")],
    ),
    ("a :: A; a -> (-> ) -> B", [("a", 0, 0, "B@2")]),
    (
        "a :: A; a => ( [0] -> [0]; [1] -> X -> [0] ) -> B",
        [("a", 0, 0, "B@3"), ("a", 1, 0, "X@2"), ("X@2", 0, 0, "B@3")],
    ),
    (
        "elementclass E { -> X -> } a :: A -> E -> B",
        [("a", 0, 0, "E@2/X@1"), ("E@2/X@1", 0, 0, "B@3")],
    ),
    ("elementclass Q Queue; A -> Q(5) -> B", [("A@1", 0, 0, "Queue@2"), ("Queue@2", 0, 0, "B@3")]),
    (
        "elementclass Queue { input -> Queue -> output } A -> Queue -> B",
        [("A@1", 0, 0, "Queue@2/Queue@1"), ("Queue@2/Queue@1", 0, 0, "B@3")],
    ),
    (
        'A -> // to B\n B /* C -> */ -> D;\n# 3 "x.click"\n',
        [("A@1", 0, 0, "B@2"), ("B@2", 0, 0, "D@3")],
    ),
    ("a :: A; a ~IP> B", [("a", 0, 0, "B@2")]),
]


@pytest.mark.parametrize(("text", "expected"), CONNECTED, ids=[text[:40] for text, _ in CONNECTED])
def test_connections(text: str, expected: Wires) -> None:
    assert sorted(wires(graph_of("a.click", text))) == sorted(expected)


CONFIGS = [
    ("A(1, /* two */ 2) -> B", "1,   2"),
    ("A(\"a)b\", 'c(', (x, y)) -> B", "\"a)b\", 'c(', (x, y)"),
    ("define($x 5, $Y a b) A($x, ${x}1, $Y, '$x', $z, ${z-7}) -> B", "5, 51, a b, '$x', $z, 7"),
    ("A($x) -> B; define($x 5)", "5"),
    ('define($name "p q") A("to $name") -> B', '"to p q"'),
    ("A(\\<00 29 // )\n>) -> B", "\\<00 29 // )\n>"),
]


@pytest.mark.parametrize(("text", "expected"), CONFIGS)
def test_configuration_strings(text: str, expected: str) -> None:
    assert graph_of("a.click", text).elements[0].config == expected


def test_parameters_of_compound_elements() -> None:
    text = """
    define($x out)
    elementclass E { $x, KEY $k, __REST__ $r | input -> X($x, $k, $r, $y) -> output
                  || $x | input -> define($y in) Y($x, $y) -> output }
    A -> E(1, KEY 2, 3, OTHER 4) -> E(5) -> Z($x);
    """
    found = {one.kind: one.config for one in graph_of("a.click", text).elements}
    assert found == {"A": "", "X": "1, 2, 3, OTHER 4, $y", "Y": "5, in", "Z": "out"}


def test_definitions_with_equal_arguments_differ_by_ports() -> None:
    text = (
        "elementclass E { input -> One -> output || input -> Two -> output; Three -> [1] output }"
    )
    kinds = [
        one.kind
        for one in graph_of("a.click", f"{text} A -> E -> B; C -> e :: E -> D; e [1] -> F").elements
    ]
    assert sorted(kinds) == ["A", "B", "C", "D", "F", "One", "Three", "Two"]


def test_an_extended_class_keeps_its_definitions() -> None:
    text = "elementclass Q { $a | input -> X($a) -> output || ... } A -> Q(1) -> Q(1, 2) -> B"
    found = [(one.kind, one.config) for one in graph_of("a.click", text).elements]
    assert found == [("A", ""), ("X", "1"), ("Q", "1, 2"), ("B", "")]


def test_a_library_is_included_once(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/shared.click").write_text(
        "require(package p)\nelementclass E { input -> X -> output }\n"
    )
    text = "require(library lib/shared.click)\nrequire(library lib/shared.click)\nA -> E -> B\n"
    (tmp_path / "a.click").write_text(text)
    graph = read_graph(str(tmp_path / "a.click"))
    assert [one.kind for one in graph.elements] == ["A", "X", "B"]
    assert list(graph.packages) == ["p"]


FAULTS = [
    ("q :: Queue(10;", "a.click:1:11", "not closed", "SP1112"),
    ('A("x) -> B', "a.click:1:3", "not closed", "SP1112"),
    ("A -> B\n  /* never", "a.click:2:3", "not closed", "SP1112"),
    ("a :: A;\na -> ;", "a.click:2:6", "write an element", "SP1112"),
    ("A -> B }", "a.click:1:8", "unexpected '}'", "SP1112"),
    ("A -> { input -> B", "a.click:1:18", "end of the file", "SP1112"),
    ("a :: A % B", "a.click:1:8", "'%'", "SP1112"),
    ("a :: A [x] -> B", "a.click:1:9", "number of a port", "SP1112"),
    ("a :: A [5000] -> B", "a.click:1:9", "number of a port", "SP1112"),
    ("A -> (B(1) ->) (2) -> C", "a.click:1:6", "a group has neither", "SP1112"),
    ("elementclass { }", "a.click:1:14", "needs a name", "SP1112"),
    ("elementclass E { $a, $a | }", "a.click:1:22", "twice", "SP1112"),
    ("elementclass E { A $a, $b | }", "a.click:1:24", "positional", "SP1112"),
    ("define(x 5)", "a.click:1:7", "not a variable", "SP1112"),
    ("# nothing\nA -> B", "a.click:1:1", "line directives", "SP1112"),
    ("A -> b", "a.click:1:6", "not declared", "SP1113"),
    ("b :: A; b :: B", "a.click:1:9", "declared twice", "SP1113"),
    ("b :: A; b(1) -> B", "a.click:1:10", "already declared", "SP1113"),
    ("define($x 1, $x 2)", "a.click:1:7", "already defined", "SP1113"),
    ("require(library none.click)", "a.click:1:8", "none.click is not found", "SP1113"),
    ("elementclass E { input -> b -> output }", "a.click:1:27", "not declared", "SP1113"),
    ("elementclass E { } E :: Queue", "a.click:1:20", "elementclass", "SP1113"),
    ("A -> [1] B [2]", "a.click:1:10", "no effect", "SP1114"),
    ("[1] A -> B", "a.click:1:5", "no effect", "SP1114"),
    ("A -> E :: { input -> X } -> B", "a.click:1:6", "0 outputs, but is used with", "SP1114"),
    ("A -> { output -> X }", "a.click:1:18", "turn the connection", "SP1114"),
    ("A -> { input [1] -> X }", "a.click:1:8", "input [0] is not connected", "SP1114"),
    ("A, B -> C, D", "a.click:1:9", "'=>'", "SP1114"),
    ("A, B => C, D, E", "a.click:1:9", "numbers equal", "SP1114"),
    ("a :: A; b :: B; a [0-] => [0-] b", "a.click:1:32", "open ends", "SP1114"),
    ("A -> { $a | input -> X($a) -> output } -> B", "a.click:1:6", "1 arguments", "SP1114"),
]


@pytest.mark.parametrize(("text", "place", "reason", "code"), FAULTS)
def test_faults_have_a_place_and_a_remedy(text: str, place: str, reason: str, code: str) -> None:
    found = error_of(text)
    assert (found.file, found.code) == (place, code)
    assert reason in found.reason
    assert ";" in found.reason or "write" in found.reason


def test_endless_expansion_ends_with_an_error() -> None:
    text = "elementclass E0 { X -> Y }\n"
    text += "".join(
        f"elementclass E{at + 1} {{ E{at}; E{at}; E{at}; E{at} }}\n" for at in range(12)
    )
    assert "20,000 elements" in error_of(f"{text}E12").reason


def test_deep_nesting_is_an_error() -> None:
    assert "nested" in error_of("A -> " + "{" * 5000).reason
    assert "nested" in error_of("A -> " + "(" * 5000).reason


# --- properties -----------------------------------------------------------------------------------


def _random_text(chance: random.Random) -> str:
    """Return a random configuration without compound elements."""
    names = [f"e{at}" for at in range(chance.randint(1, 4))]
    lines = [f"{name} :: {_random_class(chance)};" for name in names]
    for _ in range(chance.randint(1, 6)):
        chain = [chance.choice(names) for _ in range(chance.randint(2, 4))]
        ports = [(f"[{chance.randint(0, 2)}] ", f" [{chance.randint(0, 2)}]") for _ in chain]
        words = [
            f"{before if at else ''}{name}{after if at < len(chain) - 1 else ''}"
            for at, (name, (before, after)) in enumerate(zip(chain, ports, strict=True))
        ]
        lines.append(f"{' -> '.join(words)};")
    return "\n".join(lines)


def _random_class(chance: random.Random) -> str:
    configs = [
        "",
        "(1, 2)",
        "(\"a, (b\", 'c')",
        "($x, ${y-z})",
        "(\\<0a 0b>, /* c */ d)",
        "(a\tb,\n c)",
    ]
    return f"C{chance.randint(0, 3)}{chance.choice(configs)}"


def _compound(chance: random.Random) -> str:
    """Return a configuration with a compound element whose ports are all used."""
    ports = chance.randint(1, 3)
    inner = [
        f"input [{at}] -> A{at}($p) -> [{chance.randrange(ports)}] output;" for at in range(ports)
    ]
    inner += [f"B -> [{at}] output;" for at in range(ports)]
    outer = [f"S{at} -> [{at}] c; c [{at}] -> T{at};" for at in range(ports)]
    nested = chance.choice(
        ["", "elementclass D { input -> -> output }\n".replace("-> ->", "-> N ->")]
    )
    return f"define($q 'x')\n{nested}c :: {{ $p | {' '.join(inner)} }} ($q);\n{' '.join(outer)}"


@pytest.mark.parametrize("seed", range(150))
def test_a_printed_graph_is_the_same_graph(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    graph = graph_of("a.click", _random_text(chance) + "\n" + _compound(chance))
    again = graph_of("b.click", graph.click())
    assert plain(again) == plain(graph)
    assert again.click() == graph.click()


_SEEDS = [
    *(text for text, _ in CONNECTED),
    *(text for text, _ in CONFIGS),
    "elementclass E { $x, K $k, __REST__ $r | input -> X($x) -> output || ... }\n"
    "A -> E(1, K 2) -> B [1,3-5] => C",
    'require(package a, library b)\ndefine($a 1, $b "x")\n'
    'a, b :: A("\\<00>", \'y\', ${a-b})\n# 5 "x"\na -> (->) -> b',
]


@pytest.mark.parametrize("seed", range(40))
def test_mutated_texts_give_graphs_or_errors(seed: int) -> None:
    """Check that no text raises another exception, and that faults have a line and a column."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(50):
        text = chance.choice(_SEEDS)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text) + 1)
            piece = chance.choice(
                ["", chance.choice("{}()[]|->=:;,.$'\"\\/*#~ \n0aA@"), chance.choice(_SEEDS)[:9]]
            )
            text = text[:at] + piece + text[at + chance.randint(0, 3) :]
        try:
            graph = graph_of("a.click", text)
        except InputError as problem:
            found = problem
        else:
            assert plain(graph_of("b.click", graph.click())) == plain(graph)
            continue
        assert re.fullmatch(r"a\.click:\d+:\d+", found.file), found
        assert found.code in ("SP1112", "SP1113", "SP1114")


def test_texts_of_configurations() -> None:
    assert arguments("a, (b, c), \"d, e\", 'f,', ") == ["a", "(b, c)", '"d, e"', "'f,'"]
    assert arguments("") == []
    assert without_comments("a // b\n, c /* , */") == "a  \n, c"
    assert expanded("$a$b ${c-d} '$a' \"$a\"", {"a": '"q"'}.get) == '"q"$b d \'$a\' "q"'


# --- push and pull --------------------------------------------------------------------------------

SHAPES = {
    "In": Shape("0/1-", "/h", "x/x"),
    "Queue": Shape("1/1", "h/l", "x/x"),
    "Out": Shape("1/0", "l", "x/x"),
    "Any": Shape("1/1", "a", "x/x"),
    "Sink": Shape("1/0", "a", "x/x"),
    "Check": Shape("1/1-2", "a/ah", "x/x"),
    "Tee": Shape("1/1-", "h", "x/x"),
    "Same": Shape("1-/=", "a", "#/#"),
    "Block": Shape("1/1", "a", "x/y"),
}


def directions(text: str) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    graph = graph_of("a.click", text)
    found = resolve(graph, SHAPES)
    return {
        one.name: (each.inputs, each.outputs)
        for one, each in zip(graph.elements, found, strict=True)
    }


def test_agnostic_ports_take_the_direction_of_their_neighbours() -> None:
    found = directions("In -> a :: Any -> q :: Queue -> b :: Any -> Out")
    assert found["a"] == (["push"], ["push"])
    assert found["b"] == (["pull"], ["pull"])


def test_directions_cross_elements_along_the_paths_of_packets() -> None:
    found = directions("In -> s :: Same; q :: Queue -> [1] s; s -> Sink; s [1] -> Out; In -> q")
    assert found["s"] == (["push", "pull"], ["push", "pull"])
    assert directions("In -> b :: Block -> Out")["b"] == (["push"], ["pull"])
    assert directions("a :: Any -> b :: Any -> a")["a"] == (["push"], ["push"])


def test_error_outputs_push_although_the_path_pulls() -> None:
    found = directions("In -> Queue -> c :: Check -> Out; c [1] -> Sink")
    assert found["c"] == (["pull"], ["pull", "push"])


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("In -> Any -> Out", "a.click:1:14", "In@1 pushes, but Out@3 pulls; put a Queue"),
        ("In -> Queue -> Tee -> Sink", "a.click:1:16", "Queue@2 is pulled, but Tee@3 is pushed to"),
        ("i :: In; i -> Sink; i -> Sink", "a.click:1:26", "two connections; put a Tee"),
        (
            "q :: Queue -> o :: Out; In -> q; In -> p :: Queue -> o",
            "a.click:1:54",
            "two connections",
        ),
        ("In -> a :: Any", "a.click:1:7", "output [0] of a is not connected"),
        ("i :: In; i [1] -> Sink", "a.click:1:1", "output [0] of i is not connected"),
        ("In -> s :: Sink; In -> [1] s", "a.click:1:7", "Sink has 1 inputs, but s uses 2"),
        (
            "In -> s :: Same -> Sink; s [1] -> Sink",
            "a.click:1:7",
            "Same has 1 outputs, but s uses 2",
        ),
    ],
)
def test_wrong_connections(text: str, place: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        directions(text)
    assert (caught.value.file, caught.value.code) == (place, "SP1114")
    assert reason in caught.value.reason


def test_flow_codes() -> None:
    assert flows("x/x", 0, 3)
    assert not flows("x/y", 0, 0)
    assert flows("xy/x", 0, 0)
    assert not flows("xy/x", 1, 0)
    assert flows("#/#", 2, 2)
    assert not flows("#/#", 1, 2)
    assert flows("x/[xy]x", 0, 0)
    assert not flows("x/[^x]", 0, 0)


def test_unknown_classes_have_the_ports_that_are_used() -> None:
    graph = Graph(
        "a", [Element("a", "Strange", ""), Element("b", "Sink", "")], [Connection(0, 2, 1, 0)]
    )
    assert [len(one.outputs) for one in resolve(graph, SHAPES)] == [3, 0]
