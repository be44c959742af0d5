"""Which programs are compared with each other."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.schema.results import Result
from slowpath.schema.wording import program_label


class Pair(NamedTuple):
    """A program before and after a change; None where a side does not have it."""

    old: Result | None
    new: Result | None

    @property
    def present(self) -> Result:
        """The newer one of those that there are."""
        result = self.old if self.new is None else self.new
        if result is None:
            raise ValueError("a pair has a program")
        return result

    @property
    def measured(self) -> Result:
        """The newer one of those with a guarantee, if there is any."""
        known = (result for result in (self.new, self.old) if result is not None)
        return next((result for result in known if result["guarantee"] is not None), self.present)

    @property
    def same_machine(self) -> bool:
        """Whether both sides were estimated alike, so that a difference is the programs' own.

        A target of the same name may be of another machine: what `slowpath calibrate` keeps.
        """
        old, new = (None if side is None else side["estimate"] for side in self)
        if old is None or new is None:
            return False
        return all(old[key] == new[key] for key in ("machine", "date", "entries"))

    @property
    def names(self) -> list[str]:
        """What the program is called: one name, or the old and the new one."""
        return list(dict.fromkeys(result["program"] for result in self if result is not None))

    @property
    def name(self) -> str:
        """The program's name, or both where they differ."""
        return " -> ".join(self.names)

    @property
    def label(self) -> str:
        """The program for messages, with its file if it has one name."""
        return program_label(self.present) if len(self.names) == 1 else self.name


def match_programs(old: Sequence[Result], new: Sequence[Result]) -> list[Pair]:
    """Pairs of the same file and program name, then of the same program name.

    What is left has no partner. If either side is one program, these are a pair whatever they are
    called. In the order of `old`, then those that only `new` has.

    Raises:
        InputError: when a pair was not analysed for the same target, metric and cores.
    """
    partners = dict[int, int]()
    if len(old) == len(new) == 1:
        partners[0] = 0
    for key in (_file_and_program, _section_and_program, _program):
        _match(old, new, key, partners)
    pairs = [
        Pair(result, new[partners[at]] if at in partners else None) for at, result in enumerate(old)
    ]
    taken = set(partners.values())
    pairs += [Pair(None, result) for at, result in enumerate(new) if at not in taken]
    for pair in pairs:
        _check_comparable(pair)
    return pairs


def _match(
    old: Sequence[Result],
    new: Sequence[Result],
    key: Callable[[Result], Hashable],
    partners: dict[int, int],
) -> None:
    """Pairs those without a partner whose key only one on each side has."""
    taken = set(partners.values())
    left = {at: key(result) for at, result in enumerate(old) if at not in partners}
    right = {at: key(result) for at, result in enumerate(new) if at not in taken}
    times = Counter(left.values()), Counter(right.values())
    places = {name: at for at, name in right.items()}
    for at, name in left.items():
        if times[0][name] == times[1][name] == 1:
            partners[at] = places[name]


def _file_and_program(result: Result) -> Hashable:
    return PurePath(result["file"]).name, result["section"], result["program"]


def _section_and_program(result: Result) -> Hashable:
    return result["section"], result["program"]


def _program(result: Result) -> Hashable:
    return result["program"]


def _check_comparable(pair: Pair) -> None:
    old, new = pair
    if old is None or new is None or old["guarantee"] is None or new["guarantee"] is None:
        return
    settings = [(_setting(old), old), (_setting(new), new)]
    if settings[0][0] != settings[1][0]:
        raise InputError(
            new["file"],
            f"{pair.name}: analysed for {settings[1][0]}, the old one for {settings[0][0]}; "
            "analyse both with the same --target, --metric and --cores",
        )


def _setting(result: Result) -> str:
    cores = "" if result["cores"] is None else f", {result['cores']} cores"
    return f"target {result['target']}, metric {result['metric']}{cores}"
