"""Parses the Click language to a tree of statements; names are resolved later (`elaboration.py`).

The source of the grammar is the manual page click(5).
"""

from typing import Literal, NamedTuple, Union

from slowpath.insights.click.configurations import arguments
from slowpath.insights.click.tokens import ClickText, Token, Tokens

_DEEPEST = 100
"""Maximum depth of nested compound elements and groups."""
_LARGEST_PORT = 4095
INPUT, OUTPUT = "input", "output"
"""Names of the ports of the enclosing compound element or group."""
REST = "__REST__"
"""Keyword of the parameter that gets all further arguments."""
_INSIDE = (",", "::", "|", "...", "-", "(", "]")
"""Marks that cannot follow a statement."""


class Ports(NamedTuple):
    """The port numbers in brackets beside an element."""

    numbers: tuple[int, ...] = ()
    expands: bool = False  # a list with an open end: `[1-]`


class Node(NamedTuple):
    """A use of an element in a connection or declaration."""

    offset: int
    name: str  # empty for compound elements and groups without a name
    inputs: Ports
    outputs: Ports
    body: Union["Compound", "Group", None] = None  # in place of a name
    declared: Union[str, "Compound", None] = None  # class behind `::`
    config: str | None = None  # with comments; None without parentheses
    config_offset: int = 0
    implicit: bool = False  # `input` or `output` that is not written


class Chain(NamedTuple):
    """Lists of elements, and the connectors between two lists."""

    offset: int
    lists: tuple[tuple[Node, ...], ...]
    connectors: tuple[Literal["->", "=>"], ...]


class ClassDefinition(NamedTuple):
    """An `elementclass` statement: a compound element, or another name of a class."""

    offset: int
    name: str
    body: Union["Compound", str]


class Definition(NamedTuple):
    """A variable of a `define` statement, with its value."""

    offset: int
    name: str
    value: str


class Library(NamedTuple):
    """A configuration file that a `require` statement names."""

    offset: int
    name: str


Statement = Chain | ClassDefinition | Definition | Library


class Parameter(NamedTuple):
    """A parameter of a compound element: `$name`, `KEYWORD $name` or `__REST__ $name`."""

    name: str
    keyword: str


class Overload(NamedTuple):
    """One of the definitions of a compound element that `||` separates."""

    offset: int
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]


class Compound(NamedTuple):
    """A compound element; `extends` is true if it ends with `|| ...`."""

    offset: int
    overloads: tuple[Overload, ...]
    extends: bool
    source: ClickText


class Group(NamedTuple):
    """Statements in parentheses, in place of an element."""

    offset: int
    statements: tuple[Statement, ...]


class Parsed(NamedTuple):
    """The statements of a file, and the packages that it requires."""

    source: ClickText
    statements: tuple[Statement, ...]
    packages: tuple[str, ...]


def parse(source: ClickText) -> Parsed:
    """Parse a configuration file.

    Raises:
        InputError: at a fault; its file has the line and the column appended.
    """
    parser = _Parser(source)
    statements = parser.statements((), 0)
    return Parsed(source, statements, tuple(parser.packages))


class _Parser:
    def __init__(self, source: ClickText) -> None:
        self._source, self._tokens = source, Tokens(source)
        self.packages = list[str]()

    def statements(self, ends: tuple[str, ...], depth: int) -> tuple[Statement, ...]:
        """Parse statements up to one of the marks `ends`, which stays; without `ends`, the file."""
        if depth > _DEEPEST:
            self._tokens.unexpected(
                f"elements may be nested {_DEEPEST} deep; name inner ones with elementclass"
            )
        found = list[Statement]()
        while True:
            token = self._tokens.peek()
            if token.kind == "end":
                if ends:
                    self._tokens.unexpected(f"write {ends[0]!r} at the end of the element")
                return tuple(found)
            if token.kind == "mark" and token.text in ends:
                return tuple(found)
            if self._tokens.accept(";"):
                continue
            if token.kind == "keyword":
                found += self._keyword(depth)
            else:
                found.append(self._chain(depth))

    def _keyword(self, depth: int) -> list[Statement]:
        token = self._tokens.next()
        if token.text == "elementclass":
            return [self._class(depth)]
        opening = self._tokens.expect("(", f"after {token.text}")
        words = [(one, opening.offset) for one in arguments(self._tokens.config(opening))]
        if token.text == "define":
            return [self._definition(*one) for one in words]
        return self._requirements(token, words, depth)

    def _class(self, depth: int) -> ClassDefinition:
        name = self._tokens.next()
        if name.kind != "name":
            self._source.refuse(
                name.offset, "elementclass needs a name; write 'elementclass Name { ... }'"
            )
        if self._tokens.accept("{"):
            return ClassDefinition(name.offset, name.text, self._compound(name, depth))
        other = self._tokens.peek()
        if other.kind != "name":
            self._tokens.unexpected("write '{' or the name of another class")
        self._tokens.next()
        return ClassDefinition(name.offset, name.text, other.text)

    def _definition(self, text: str, offset: int) -> Definition:
        name, _, value = text.replace("\t", " ").replace("\n", " ").partition(" ")
        if not name.startswith("$") or not name[1:].replace("_", "a").isalnum():
            self._source.refuse(
                offset, f"{name[:40]!r} is not a variable; write 'define($NAME value)'"
            )
        return Definition(offset, name[1:], value.strip())

    def _requirements(
        self, token: Token, words: list[tuple[str, int]], depth: int
    ) -> list[Statement]:
        found = list[Statement]()
        for text, offset in words:
            kind, _, name = text.partition(" ")
            if kind == "library" and token.text == "require":
                if depth:
                    self._source.refuse(
                        offset,
                        "a library is required inside of an element; move the statement to the top",
                    )
                found.append(Library(offset, name.strip().strip("\"'")))
            else:
                self.packages.append(name.strip() or kind)
        return found

    # --- connections and declarations -------------------------------------------------------------

    def _chain(self, depth: int) -> Chain:
        start = self._tokens.peek().offset
        lists, connectors = list[tuple[Node, ...]](), list[Literal["->", "=>"]]()
        while True:
            nodes = self._list(depth, first=not lists)
            if not nodes:
                self._tokens.unexpected("write an element, such as 'name :: Class(...)'")
            lists.append(nodes)
            token = self._tokens.peek()
            if token.kind == "mark" and token.text in ("->", "=>"):
                if any(one.implicit for one in nodes) and len(lists) > 1:
                    reason = "an element is missing between two arrows; name it"
                    self._source.refuse(token.offset, reason)
                self._tokens.next()
                connectors.append("->" if token.text == "->" else "=>")
                continue
            if token.kind == "variable" or token.text in _INSIDE:
                self._tokens.unexpected("end the statement with ';'")
            return Chain(start, _spread(lists), tuple(connectors))

    def _list(self, depth: int, *, first: bool) -> tuple[Node, ...]:
        found = list[Node]()
        while True:
            node = self._node(depth, first=first, alone=not found)
            if node is None:
                return tuple(found)
            found.append(node)
            if not self._tokens.accept(","):
                return tuple(found)

    def _node(self, depth: int, *, first: bool, alone: bool) -> Node | None:
        """Parse an element; None if there is none.

        `first` is true at the start of a chain, and `alone` at the start of a list.
        """
        start = self._tokens.peek().offset
        inputs = self._ports()
        token = self._tokens.peek()
        body: Compound | Group | None = None
        name = ""
        if token.kind == "name":
            name = self._tokens.next().text
        elif self._tokens.accept("{"):
            body = self._compound(token, depth)
        elif self._tokens.accept("("):
            body = Group(token.offset, self.statements((")",), depth + 1))
            self._tokens.expect(")", "at the end of the group")
        else:
            return self._implicit(start, inputs, depth, first=first, alone=alone)
        declared: str | Compound | None = None
        if self._tokens.accept("::"):
            kind = self._tokens.peek()
            if kind.kind == "name":
                declared = self._tokens.next().text
            elif self._tokens.accept("{"):
                declared = self._compound(kind, depth)
            else:
                self._tokens.unexpected("write a class behind '::'")
            if not name:
                self._source.refuse(
                    start, "a compound element cannot be declared by '::'; write a name before '::'"
                )
        config, opening = None, self._tokens.peek()
        if opening.kind == "mark" and opening.text == "(":
            self._tokens.next()
            config = self._tokens.config(opening)
        return Node(
            token.offset,
            name,
            inputs or Ports(),
            self._ports() or Ports(),
            body,
            declared,
            config,
            opening.offset,
        )

    def _implicit(
        self, start: int, ports: Ports | None, depth: int, *, first: bool, alone: bool
    ) -> Node | None:
        """Return `input` or `output` where a compound element leaves out its name, else None."""
        token = self._tokens.peek()
        text = token.text if token.kind == "mark" else ""
        if text in ("->", "=>"):
            implied = first and (ports is not None or alone)
        elif text == ",":
            implied = ports is not None
        else:
            implied = text != "::" and not first and (ports is not None or alone)
        if not depth or not implied:
            if ports is not None:
                self._source.refuse(start, "ports without an element; name the element")
            return None
        none = Ports()
        if first:
            return Node(start, INPUT, none, ports or none, implicit=True)
        return Node(start, OUTPUT, ports or none, none, implicit=True)

    def _ports(self) -> Ports | None:
        """Parse port numbers in brackets; None without brackets."""
        if not self._tokens.accept("["):
            return None
        found = list[int]()
        ranged = False
        while True:
            if self._tokens.accept("]"):
                return Ports(tuple(found or [0]), expands=True)
            number = self._number()
            found += range(found[-1] + 1, number + 1) if ranged else [number]
            if self._tokens.accept("]"):
                return Ports(tuple(found))
            ranged = not ranged and self._tokens.accept("-") is not None
            if not ranged:
                self._tokens.expect(",", "between two ports, or ']' behind the last one")

    def _number(self) -> int:
        token = self._tokens.peek()
        try:
            number = int(token.text, 0) if token.kind == "name" else -1
        except ValueError:
            number = -1
        if not 0 <= number <= _LARGEST_PORT:
            self._tokens.unexpected(f"write the number of a port, at most {_LARGEST_PORT:,}")
        self._tokens.next()
        return number

    # --- compound elements ------------------------------------------------------------------------

    def _compound(self, opening: Token, depth: int) -> Compound:
        """Parse a compound element behind its opening brace."""
        overloads = list[Overload]()
        while True:
            offset = self._tokens.peek().offset
            if overloads and self._tokens.accept("..."):
                self._tokens.expect("}", "behind '...'")
                return Compound(opening.offset, tuple(overloads), extends=True, source=self._source)
            parameters = self._parameters()
            statements = self.statements(("}", "||"), depth + 1)
            overloads.append(Overload(offset, parameters, statements))
            if not self._tokens.accept("||"):
                self._tokens.expect("}", "at the end of the compound element")
                return Compound(
                    opening.offset, tuple(overloads), extends=False, source=self._source
                )

    def _parameters(self) -> tuple[Parameter, ...]:
        """Parse the parameters of a compound element, up to and including `|`; often none."""
        found, start = list[Parameter](), self._tokens.position()
        while not self._tokens.accept("|"):
            keyword = ""
            if self._tokens.peek().kind == "name":
                keyword = self._tokens.next().text
            token = self._tokens.peek()
            if token.kind != "variable":
                if found:
                    self._tokens.unexpected("write a parameter, such as $name, or '|'")
                self._tokens.go_back(start)
                return ()
            self._tokens.next()
            if token.text in (one.name for one in found):
                self._source.refuse(
                    token.offset, f"the parameter ${token.text} occurs twice; rename one"
                )
            if found and (found[-1].keyword == REST or (found[-1].keyword and not keyword)):
                reason = f"positional parameters come first, and {REST} last; move ${token.text}"
                self._source.refuse(token.offset, reason)
            found.append(Parameter(token.text, keyword))
            if not self._tokens.accept(","):
                self._tokens.expect("|", "behind the parameters")
                break
        return tuple(found)


def _spread(lists: list[tuple[Node, ...]]) -> tuple[tuple[Node, ...], ...]:
    """Return the lists of a chain; `a, b :: Class` alone declares all its names."""
    last = lists[0][-1]
    *names, _ = lists[0]
    bare = all(
        one.declared is None and one.config is None and one.body is None and not one.implicit
        for one in names
    )
    ported = any(one.inputs.numbers or one.outputs.numbers for one in lists[0])
    if len(lists) > 1 or last.declared is None or not bare or ported:
        return tuple(lists)
    declared = [one._replace(declared=last.declared, config=last.config) for one in names]
    return ((*declared, last),)
