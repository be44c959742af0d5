"""Resolves names, expands compound elements, and returns the flat graph of a configuration.

The source of the rules is the manual page click(5), sections COMPOUND ELEMENTS and CONFIGURATION
STRINGS. A name without a declaration is a class, if it begins with a capital letter, has a
configuration, or is the name of an `elementclass`; else it is an error.
"""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.inputs import read_text
from slowpath.insights.click.configurations import arguments, expanded, without_comments
from slowpath.insights.click.graph import Connection, Element, Graph
from slowpath.insights.click.syntax import (
    INPUT,
    OUTPUT,
    REST,
    Chain,
    ClassDefinition,
    Compound,
    Definition,
    Group,
    Library,
    Node,
    Overload,
    Parsed,
    Ports,
    Statement,
    parse,
)
from slowpath.insights.click.tokens import ClickText

_MAX_ELEMENTS = 20_000
_MAX_CONNECTIONS = 100_000
_LIBRARIES = ("", "conf", "..")
"""Folders, relative to a configuration or a folder above it, in which libraries are searched."""


class _Class(NamedTuple):
    """A class that a configuration uses: of a source, or a compound element."""

    name: str
    compound: Compound | None = None
    scope: "_Scope | None" = None  # of the definition
    extended: "_Class | None" = None  # class that `|| ...` extends


class _Scope:
    """Classes and variables that are visible in a part of a configuration."""

    def __init__(self, above: "_Scope | None" = None) -> None:
        self._above = above
        self._classes: dict[str, _Class] = {} if above is None else dict(above._classes)
        self.variables = dict[str, str]()

    def find_class(self, name: str) -> _Class | None:
        """Return the compound element or synonym of a name; None for classes of sources."""
        return self._classes.get(name)

    def define_class(self, name: str, found: _Class) -> None:
        """Define a class from here on; a snapshot of the scope keeps the old one."""
        self._classes = {**self._classes, name: found}

    def snapshot(self) -> "_Scope":
        """Return a scope with the classes of now, and the variables of this scope."""
        return _Scope(self)

    def variable(self, name: str) -> str | None:
        """Return the value of a variable; None if no enclosing scope defines it."""
        if name in self.variables:
            return self.variables[name]
        return None if self._above is None else self._above.variable(name)


class _Part(NamedTuple):
    """An element of a body before expansion."""

    name: str
    kind: _Class | None  # None: ports of the enclosing element, or of a group
    config: str
    source: ClickText
    offset: int


class _Body:
    """The elements and connections of a file or a compound element, before expansion."""

    def __init__(self, source: ClickText) -> None:
        self.source = source
        self.parts = list[_Part]()
        self.names = dict[str, int]()
        self.connections = list[tuple[int, int, int, int, int]]()  # from, port, to, port, offset
        self.groups = list[tuple[int, int]]()  # inner ends of groups

    def add(self, part: _Part) -> int:
        self.parts.append(part)
        return len(self.parts) - 1


class _Ends(NamedTuple):
    """The indices of the parts `input` and `output`; None outside of compound elements."""

    input: int | None
    output: int | None


def elaborate(parsed: Parsed) -> Graph:
    """Return the flat graph of a parsed configuration.

    Raises:
        InputError: when a name, a library, or a number of ports or arguments is wrong.
    """
    return _Elaboration(parsed).graph()


def read_graph(file: str) -> Graph:
    """Read a configuration file, and return its flat graph.

    Raises:
        InputError: when the file cannot be read, or has a fault.
    """
    return graph_of(file, read_text(file))


def graph_of(file: str, text: str) -> Graph:
    """Return the flat graph of a configuration's text; `file` is its name.

    Raises:
        InputError: when the text has a fault.
    """
    return elaborate(parse(ClickText(file, text)))


class _Elaboration:
    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._packages = list(parsed.packages)
        self._read = set[Path]()
        self._elements = list[Element]()
        self._joints = list[int]()  # numbers of ends of compound elements, below zero
        self._wires = dict[tuple[int, int, int, int], Connection]()
        self._next_joint = count(-1, -1)

    def graph(self) -> Graph:
        body = _Body(self._parsed.source)
        scope = _Scope()
        self._statements(body, self._parsed.statements, scope, _Ends(None, None))
        self._expand(body, scope, "", None, None)
        return self._joined()

    # --- names ------------------------------------------------------------------------------------

    def _statements(
        self, body: _Body, statements: Sequence[Statement], scope: _Scope, ends: _Ends
    ) -> None:
        for one in statements:
            match one:
                case Definition():
                    if one.name in scope.variables:
                        reason = f"the variable ${one.name} is already defined; rename one"
                        body.source.refuse(one.offset, reason, codes.CLICK_NAME)
                    scope.variables[one.name] = one.value
                case ClassDefinition():
                    self._define(one, scope)
                case Library():
                    self._library(body, one, scope)
                case Chain():
                    self._chain(body, one, scope, ends)

    def _define(self, one: ClassDefinition, scope: _Scope) -> None:
        if isinstance(one.body, str):
            other = scope.find_class(one.body) or _Class(one.body)
            scope.define_class(one.name, other)
            return
        before = scope.find_class(one.name) or _Class(one.name)
        extended = before if one.body.extends else None
        made = _Class(one.name, one.body, scope.snapshot(), extended)
        for overload in one.body.overloads:  # find faults of definitions without a use
            self._body(made, one.body.source, overload, {})
        scope.define_class(one.name, made)

    def _library(self, body: _Body, one: Library, scope: _Scope) -> None:
        """Include a configuration file, unless it was already included."""
        start = Path(body.source.file).resolve().parent
        folders = [above / folder for above in (start, *start.parents) for folder in _LIBRARIES]
        found = next((path for at in folders if (path := at / one.name).is_file()), None)
        if found is None:
            reason = f"the library {one.name} is not found; copy it beside the configuration"
            body.source.refuse(one.offset, reason, codes.CLICK_NAME)
        if found.resolve() in self._read:
            return
        self._read.add(found.resolve())
        source = ClickText(str(found), read_text(str(found)))
        parsed = parse(source)
        self._packages += parsed.packages
        outer, body.source = body.source, source
        self._statements(body, parsed.statements, scope, _Ends(None, None))
        body.source = outer

    def _class(self, named: str | Compound, scope: _Scope) -> _Class:
        if isinstance(named, str):
            return scope.find_class(named) or _Class(named)
        return _Class("", named, scope.snapshot())

    # --- connections ------------------------------------------------------------------------------

    def _chain(self, body: _Body, chain: Chain, scope: _Scope, ends: _Ends) -> None:
        before: list[tuple[int, int, Node]] = []
        for at, nodes in enumerate(chain.lists):
            here = [(*self._node(body, one, scope, ends), one) for one in nodes]
            if at:
                self._connect(body, before, here, chain.connectors[at - 1])
            else:
                self._check_unused(body, here, outputs=False)
            before = here
        self._check_unused(body, before, outputs=True)

    @staticmethod
    def _check_unused(body: _Body, here: Sequence[tuple[int, int, Node]], *, outputs: bool) -> None:
        for _, _, node in here:
            ports = node.outputs if outputs else node.inputs
            if ports.numbers:
                side, where = ("output", "end") if outputs else ("input", "start")
                reason = f"{side} ports at the {where} of a chain have no effect; connect them"
                body.source.refuse(node.offset, reason, codes.CLICK_CONNECTION)

    def _node(self, body: _Body, node: Node, scope: _Scope, ends: _Ends) -> tuple[int, int]:
        """Return the indices of a use of an element: for its inputs, and for its outputs."""
        if isinstance(node.body, Group):
            return self._group(body, node, node.body, scope)
        config = node.config
        if node.body is not None:
            at = self._add(body, "", self._class(node.body, scope), node)
            return at, at
        if node.name in (INPUT, OUTPUT) and node.declared is None:
            found = ends.input if node.name == INPUT else ends.output
            if found is not None:
                return found, found
        if node.declared is not None:
            if node.name in body.names:
                reason = f"the element {node.name} is declared twice; rename one"
                body.source.refuse(node.offset, reason, codes.CLICK_NAME)
            if scope.find_class(node.name) is not None:
                reason = f"{node.name} is the name of an elementclass; rename the element"
                body.source.refuse(node.offset, reason, codes.CLICK_NAME)
            at = self._add(body, node.name, self._class(node.declared, scope), node)
            return at, at
        if node.name in body.names:
            if config is not None:
                reason = f"{node.name} is already declared; remove its configuration"
                body.source.refuse(node.config_offset, reason, codes.CLICK_NAME)
            at = body.names[node.name]
            return at, at
        known = scope.find_class(node.name)
        if known is None and config is None and not node.name[:1].isupper():
            reason = f"the element {node.name} is not declared; write '{node.name} :: Class' before"
            body.source.refuse(node.offset, reason, codes.CLICK_NAME)
        at = self._add(body, "", known or _Class(node.name), node)
        return at, at

    def _add(self, body: _Body, name: str, kind: _Class, node: Node) -> int:
        if not name:
            number = 1 + sum(one.kind is not None for one in body.parts)
            while f"{kind.name}@{number}" in body.names:
                number += 1
            name = f"{kind.name}@{number}"
        at = body.add(_Part(name, kind, node.config or "", body.source, node.offset))
        body.names[name] = at
        return at

    def _group(self, body: _Body, node: Node, group: Group, scope: _Scope) -> tuple[int, int]:
        """Add the statements of a group to the body; return the indices of its outer ends."""
        if node.declared is not None or node.config is not None:
            reason = (
                "a group has neither a class nor a configuration; use { } for a compound element"
            )
            body.source.refuse(node.offset, reason)
        made = [
            body.add(_Part(f"@{len(body.parts) + 1}", None, "", body.source, node.offset))
            for _ in range(2)
        ]
        first = len(body.connections)
        self._statements(body, group.statements, scope, _Ends(*made))
        inner = body.connections[first:]
        self._check_ends(body, node.offset, made[0], made[1], inner)
        return made[0], made[1]

    @staticmethod
    def _check_ends(
        body: _Body,
        offset: int,
        entry: int,
        leave: int,
        inner: Sequence[tuple[int, int, int, int, int]],
    ) -> None:
        """Check the connections of `input` and `output` in a compound element or a group."""
        for start, _, end, _, where in inner:
            if end == entry or start == leave:
                reason = "packets leave `input` and enter `output`; turn the connection round"
                body.source.refuse(where, reason, codes.CLICK_CONNECTION)
        for what, used in (
            ("input", {port for start, port, *_ in inner if start == entry}),
            ("output", {port for _, _, end, port, _ in inner if end == leave}),
        ):
            missing = set(range(len(used))) - used
            if missing:
                reason = f"{what} [{min(missing)}] is not connected, but later ones are; connect it"
                body.source.refuse(offset, reason, codes.CLICK_CONNECTION)

    def _connect(
        self,
        body: _Body,
        outputs: Sequence[tuple[int, int, Node]],
        inputs: Sequence[tuple[int, int, Node]],
        connector: str,
    ) -> None:
        """Connect two lists of elements: one to one, one to many, or many to one."""
        left = _Side(
            [
                (leave, self._group_ports(body, leave, node, outputs=True))
                for _, leave, node in outputs
            ]
        )
        right = _Side(
            [
                (entry, self._group_ports(body, entry, node, outputs=False))
                for entry, _, node in inputs
            ]
        )
        offset = inputs[0][2].offset
        if left.expands + right.expands > 1:
            body.source.refuse(
                offset,
                "two lists of ports have open ends; write the numbers",
                codes.CLICK_CONNECTION,
            )
        if connector == "=>":
            for one, other in ((left, right), (right, left)):
                if one.least == 1 and other.least > 1 and one.bare:
                    one.expands = 1
        steps = [one.least > 1 or one.expands > 0 for one in (left, right)]
        if all(steps):
            wrong = (not left.expands and left.least < right.least) or (
                not right.expands and right.least < left.least
            )
            if connector != "=>":
                body.source.refuse(
                    offset,
                    "several outputs meet several inputs; write '=>' for '->'",
                    codes.CLICK_CONNECTION,
                )
            if wrong or (not left.expands and not right.expands and left.least != right.least):
                reason = f"{left.least} outputs meet {right.least} inputs; make the numbers equal"
                body.source.refuse(offset, reason, codes.CLICK_CONNECTION)
        size = max(left.least, right.least)
        if len(body.connections) + size > _MAX_CONNECTIONS:
            body.source.refuse(
                offset,
                f"more than {_MAX_CONNECTIONS:,} connections; split the configuration",
                codes.CLICK_CONNECTION,
            )
        sources, targets = left.ports(size), right.ports(size)
        for at in range(size):
            start = sources[at if steps[0] else 0]
            end = targets[at if steps[1] else 0]
            body.connections.append((*start, *end, offset))

    @staticmethod
    def _group_ports(body: _Body, at: int, node: Node, *, outputs: bool) -> Ports:
        """Return the ports of a use of an element; a group without ports has all of its ports."""
        ports = node.outputs if outputs else node.inputs
        if ports.numbers or not isinstance(node.body, Group):
            return ports
        used = (
            {port for _, _, end, port, _ in body.connections if end == at}
            if outputs
            else {port for start, port, *_ in body.connections if start == at}
        )
        return Ports(tuple(sorted(used)))

    # --- expansion --------------------------------------------------------------------------------

    def _expand(
        self, body: _Body, scope: _Scope, prefix: str, entry: int | None, leave: int | None
    ) -> None:
        """Add the elements and connections of a body to the graph.

        `entry` and `leave` are the numbers of the body's `input` and `output`.
        """
        numbers = list[int | tuple[int, int]]()
        for at, part in enumerate(body.parts):
            if part.kind is None:
                given = (entry, leave)[at] if entry is not None and at in (0, 1) else None
                numbers.append(next(self._next_joint) if given is None else given)
            else:
                numbers.append(self._instance(body, at, part.kind, scope, prefix))
        for start, port, end, to, offset in body.connections:
            first, second = numbers[start], numbers[end]
            first = first[1] if isinstance(first, tuple) else first
            second = second[0] if isinstance(second, tuple) else second
            line, column = body.source.place(offset)
            key = (first, port, second, to)
            self._wires.setdefault(
                key, Connection(first, port, second, to, line, column, body.source.file)
            )

    def _instance(
        self, body: _Body, at: int, kind: _Class, scope: _Scope, prefix: str
    ) -> int | tuple[int, int]:
        """Add an element to the graph; return its number, or those of its two ends."""
        part = body.parts[at]
        if len(self._elements) >= _MAX_ELEMENTS:
            reason = (
                f"more than {_MAX_ELEMENTS:,} elements after expansion; split the configuration"
            )
            part.source.refuse(part.offset, reason)
        config = without_comments(expanded(without_comments(part.config), scope.variable))
        name = prefix + part.name
        while kind.compound is not None:
            inputs = 1 + max((one[3] for one in body.connections if one[2] == at), default=-1)
            outputs = 1 + max((one[1] for one in body.connections if one[0] == at), default=-1)
            made = self._overload(kind, kind.compound, config, (inputs, outputs))
            if made is not None:
                inner, within = made
                ends = next(self._next_joint), next(self._next_joint)
                self._expand(inner, within, f"{name}/", *ends)
                return ends
            if kind.extended is None:
                self._refuse_overloads(kind, kind.compound, part, config, (inputs, outputs))
            kind = kind.extended
        line, column = part.source.place(part.offset)
        self._elements.append(Element(name, kind.name, config, line, column, part.source.file))
        return len(self._elements) - 1

    def _overload(
        self, kind: _Class, compound: Compound, config: str, used: tuple[int, int]
    ) -> tuple[_Body, _Scope] | None:
        """Return the first definition that fits arguments and ports, with its scope."""
        for one in compound.overloads:
            values = _bound(one, arguments(config))
            if values is None:
                continue
            body, scope = self._body(kind, compound.source, one, values)
            if _used_ends(body) == used:
                return body, scope
        return None

    def _body(
        self, kind: _Class, source: ClickText, one: Overload, values: dict[str, str]
    ) -> tuple[_Body, _Scope]:
        """Return the elements and connections of a definition, with the values of parameters."""
        scope = _Scope(kind.scope)
        scope.variables.update(values)
        body = _Body(source)
        entry = body.add(_Part(INPUT, None, "", source, one.offset))
        leave = body.add(_Part(OUTPUT, None, "", source, one.offset))
        self._statements(body, one.statements, scope, _Ends(entry, leave))
        self._check_ends(body, one.offset, entry, leave, body.connections)
        return body, scope

    def _refuse_overloads(
        self, kind: _Class, compound: Compound, part: _Part, config: str, used: tuple[int, int]
    ) -> NoReturn:
        """Report that no definition fits the arguments and ports.

        Raises:
            InputError: always.
        """
        has = list[str]()
        for one in compound.overloads:
            values = _bound(one, arguments(config)) or {each.name: "" for each in one.parameters}
            ends = _used_ends(self._body(kind, compound.source, one, values)[0])
            has.append(f"{len(one.parameters)} arguments, {ends[0]} inputs and {ends[1]} outputs")
        given = f"{len(arguments(config))} arguments, {used[0]} inputs and {used[1]} outputs"
        name = kind.name or "the compound element"
        reason = f"{name} has {'; or '.join(has)}, but is used with {given}; make them equal"
        part.source.refuse(part.offset, reason, codes.CLICK_CONNECTION)

    def _joined(self) -> Graph:
        """Return the graph without the ends of compound elements and groups."""
        leaving = dict[tuple[int, int], list[Connection]]()
        for one in self._wires.values():
            leaving.setdefault((one.start, one.output), []).append(one)
        found = dict[tuple[int, int, int, int], Connection]()
        for one in self._wires.values():
            if one.start < 0:
                continue
            seen, left = set[tuple[int, int]](), [(one.end, one.input)]
            while left:
                end, port = left.pop()
                if (end, port) in seen:
                    continue
                seen.add((end, port))
                if end >= 0:
                    key = (one.start, one.output, end, port)
                    found.setdefault(key, one._replace(end=end, input=port))
                    continue
                left += [(next_.end, next_.input) for next_ in leaving.get((end, port), ())]
            if len(found) > _MAX_CONNECTIONS:
                reason = f"more than {_MAX_CONNECTIONS:,} connections; split the configuration"
                self._parsed.source.refuse(0, reason, codes.CLICK_CONNECTION)
        connections = sorted(found.values(), key=lambda one: one[:4])
        return Graph(
            self._parsed.source.file,
            self._elements,
            connections,
            tuple(dict.fromkeys(self._packages)),
        )


def _used_ends(body: _Body) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a compound element's body."""
    return (
        len({port for start, port, *_ in body.connections if start == 0}),
        len({port for _, _, end, port, _ in body.connections if end == 1}),
    )


def _bound(one: Overload, given: Sequence[str]) -> dict[str, str] | None:
    """Return the value of each parameter of a definition; None if the arguments do not fit."""
    left, values = list(given), dict[str, str]()
    for parameter in one.parameters:
        if parameter.keyword == REST:
            values[parameter.name] = ", ".join(left)
            return values
        if parameter.keyword:
            found = next((text for text in left if text.split()[:1] == [parameter.keyword]), None)
            if found is None:
                return None
            left.remove(found)
            values[parameter.name] = found.partition(" ")[2].strip()
        elif not left:
            return None
        else:
            values[parameter.name] = left.pop(0)
    return None if left else values


class _Side:
    """The ports on one side of a connection."""

    def __init__(self, uses: Sequence[tuple[int, Ports]]) -> None:
        self._uses = uses
        self.least = sum(max(1, len(ports.numbers)) for _, ports in uses)
        self.expands = sum(ports.expands for _, ports in uses)
        self.bare = not uses[0][1].numbers

    def ports(self, size: int) -> list[tuple[int, int]]:
        """Return element and port of each end; an open list grows until there are `size` ends."""
        more = size - self.least if self.expands else 0
        found = list[tuple[int, int]]()
        for at, ports in self._uses:
            numbers = list(ports.numbers or (0,))
            if ports.expands or (self.expands and self.bare and len(self._uses) == 1):
                numbers += range(numbers[-1] + 1, numbers[-1] + 1 + more)
            found += [(at, number) for number in numbers]
        return found
