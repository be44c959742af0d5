"""Lists of things with names in files, told apart by them in what is said of the files."""

from slowpath.described.marked import Marked, called
from slowpath.described.values import items, text, words_of


def named(found: Marked, kind: str, above: str = "") -> list[Marked]:
    """A list of tables with names; from here on, their places are called by these.

    Raises:
        InputError: when it is none, or two have the same name.
    """
    known = dict[str, Marked]()
    for one in items(found):
        name = words_of(one).get("name")
        if name is None:
            one.place.refuse("lacks name")
        said = text(name)
        if said in known:
            name.place.refuse(f"there is {said!r} already")
        known[said] = called(one, f"{above}{kind} {said}")
    return [*known.values()]
