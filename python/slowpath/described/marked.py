"""YAML as plain text, lists and tables that know their lines; PyYAML reads it.

Scalars stay text: what they are, whoever reads them knows. So `yes` is a word, and `1e6` a number.
"""

from typing import Any, NamedTuple, NoReturn

from slowpath.cli.errors import InputError, UnavailableError


class Place(NamedTuple):
    """Where something stands."""

    file: str
    line: int
    key: str  # from the outermost one on, with dots; empty for the whole file

    def refuse(self, why: str) -> NoReturn:
        """Says what is wrong here.

        Raises:
            InputError: always.
        """
        raise InputError(f"{self.file}:{self.line}", f"{self.key}: {why}" if self.key else why)


class Marked(NamedTuple):
    """A value and its place."""

    place: Place
    value: "str | list[Marked] | dict[str, Marked]"


def called(found: Marked, key: str) -> Marked:
    """The value, and all that is in it, under another key: a name says more than a number."""
    return _renamed(found, len(found.place.key), key)


def _renamed(found: Marked, length: int, key: str) -> Marked:
    place = found.place._replace(key=key + found.place.key[length:])
    if isinstance(found.value, list):
        return Marked(place, [_renamed(one, length, key) for one in found.value])
    if isinstance(found.value, dict):
        renamed = {name: _renamed(one, length, key) for name, one in found.value.items()}
        return Marked(place, renamed)
    return Marked(place, found.value)


def read_marked(file: str, text: str) -> Marked:
    """The one document of a YAML file.

    Raises:
        InputError: when it is not valid YAML, or has what no description needs.
        UnavailableError: when PyYAML is not installed.
    """
    yaml = _yaml()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = 1 if mark is None else mark.line + 1
        Place(file, line, "").refuse(f"is not YAML: {problem.problem or problem.context}")
    except yaml.YAMLError as problem:
        Place(file, 1, "").refuse(f"is not YAML: {str(problem).splitlines()[0]}")
    except RecursionError:
        Place(file, 1, "").refuse("is not YAML that can be read: it is nested too deeply")
    if node is None:
        Place(file, 1, "").refuse("is empty; it has to be a table of keys")
    return _marked(node, file, "", set())


def _yaml() -> Any:  # noqa: ANN401 - a module
    try:
        import yaml
    except ImportError:
        reason = "PyYAML is not installed; pip install slowpath[models]"
        raise UnavailableError(reason) from None
    return yaml


def _marked(node: Any, file: str, key: str, above: set[int]) -> Marked:  # noqa: ANN401 - PyYAML's
    place = Place(file, node.start_mark.line + 1, key)
    if id(node) in above:
        place.refuse("contains itself")
    within = above | {id(node)}
    if node.id == "scalar":
        return Marked(place, _whole(place, str(node.value)))
    if node.id == "sequence":
        parts = enumerate(node.value, 1)
        return Marked(place, [_marked(one, file, f"{key}[{at}]", within) for at, one in parts])
    table = dict[str, Marked]()
    for name, one in node.value:
        there = Place(file, name.start_mark.line + 1, key)
        if name.id != "scalar":
            there.refuse("has a key that is no word")
        inner = f"{key}.{name.value}" if key else str(name.value)
        if name.value in table:
            there._replace(key=inner).refuse("stands here twice")
        _whole(there, str(name.value))
        table[name.value] = _marked(one, file, inner, within)
    return Marked(place, table)


def _whole(place: Place, text: str) -> str:
    """A text whose letters are whole: escapes as JSON has them write some as two halves."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        place.refuse("has half of a character, an escape from \\ud800 to \\udfff by itself")


def yaml_text(document: object) -> str:
    """A document as YAML, its keys in their order.

    Raises:
        UnavailableError: when PyYAML is not installed.
    """
    return str(_yaml().safe_dump(document, sort_keys=False, width=100))
