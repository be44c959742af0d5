"""Suggests names for mistyped ones, and replaces deprecated names of options.

Commands accept a deprecated spelling for one release, with a warning on standard error. Entries are
removed with the release that `_REMOVED` names.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import with_code
from slowpath.core.terminal import note

_REMOVED = "0.3"
"""First version without the deprecated spellings below."""


def _percent_of_share(share: str) -> str:
    """Convert a fraction such as `0.9` to a percentage, `90%`; return any other text unchanged."""
    try:
        return f"{100 * float(share):g}%"
    except ValueError:
        return share


def _budget(seconds: str) -> str:
    """Convert a deprecated time budget in seconds to a deadline.

    A budget of 0 becomes a tiny deadline, because a deadline of 0 means no limit.
    """
    return "1e-9" if seconds.strip("0.") == "" else seconds


class Renamed(NamedTuple):
    """An option that was renamed in some commands."""

    old: str
    new: str
    commands: tuple[str, ...]  # without `slowpath`
    value: Callable[[str], str] | None = None  # converts the value; None: it stays


_KEEPING = ("bound", "annotate", "diff", "sweep", "show", "compile", "chain plan")
"""Commands that cache results, and therefore have options for the cache."""
RENAMED = (
    Renamed("--pcap", "--pcap-out", ("bound", "chain bound")),
    Renamed("--traffic", "--pcap", ("insights counts", "insights", "insights graph")),
    Renamed("--traffic", "--emem-cache", ("insights cores",)),
    Renamed("--assume", "--fact", ("chain facts", "chain optimize", "chain verify")),
    Renamed("--budget", "--deadline", ("chain plan",), _budget),
    Renamed("--cache", "--cache-dir", ("chain plan",)),
    Renamed("--no-cache", "--no-cache-dir", _KEEPING),
    Renamed("--seconds", "--total-seconds", ("sweep",)),
    Renamed("--memory", "--memory-table", ("contention predict",)),
    Renamed("--accelerator", "--accelerator-table", ("contention predict",)),
    Renamed(
        "--sure", "--confidence", ("contention place", "contention suggest"), _percent_of_share
    ),
    Renamed("--metric", "--error-metric", ("fit",)),
    Renamed("--predict", "--query", ("fit",)),
)
"""All options with a deprecated name."""


def new_names(command: str) -> dict[str, str]:
    """Return the present name for each deprecated option name of a command."""
    return {one.old: one.new for one in RENAMED if command in one.commands}


def deprecated(old: str, new: str) -> None:
    """Print the warning that the spelling `old` is deprecated in favour of `new`."""
    text = f"{old} is deprecated; write {new} (version {_REMOVED} removes the old spelling)"
    note(with_code(f"warning: {text}", codes.DEPRECATED_SPELLING))


def respelled(command: str, words: Sequence[str]) -> list[str]:
    """Replace deprecated option names in the arguments of a command, with a warning for each.

    `words` ends before `--`; values that can begin with a dash are already joined to their option.
    """
    known = {one.old: one for one in RENAMED if command in one.commands}
    found, used = list[str](), dict[str, Renamed]()
    convert: Callable[[str], str] | None = None
    for word in words:
        name, sign, value = word.partition("=")
        renamed = known.get(name)
        if convert is not None:
            found.append(convert(word))
            convert = None
        elif renamed is None:
            found.append(word)
        elif sign:
            found.append(f"{renamed.new}={renamed.value(value) if renamed.value else value}")
        else:
            found.append(renamed.new)
            convert = renamed.value
        if renamed is not None:
            used[name] = renamed
    for name, renamed in used.items():
        deprecated(name, renamed.new)
    return found


_SIMILAR = 0.6
"""Least similarity of two names, from 0 to 1 (`difflib.SequenceMatcher.ratio`)."""
_SURE = 0.8
"""Least similarity of two names whose first letters differ."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to a mistyped word; None if none is similar.

    Upper and lower case count as equal. A name of at least three letters that begins with the word,
    or the other way round, counts as similar.
    """
    from difflib import get_close_matches  # slow to import, and needed only for errors

    known = {name.lower(): name for name in names}
    typed = word.lower()
    alike = get_close_matches(typed, known, cutoff=_SIMILAR)
    sure = set(get_close_matches(typed, known, cutoff=_SURE))
    found = next((name for name in alike if name in sure or _begin_alike(name, typed)), None)
    if found is None:
        least = 3
        longer = (name for name in known if typed and name.startswith(typed))
        shorter = (name for name in known if len(name) >= least and typed.startswith(name))
        found = next(longer, None) or next(shorter, None)
    return None if found is None else known[found]


def _begin_alike(one: str, other: str) -> bool:
    """Return true if two names have the same first letter; leading dashes do not count."""
    return one.lstrip("-")[:1] == other.lstrip("-")[:1]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the hint `; did you mean 'NAME'?` with the most similar name; empty without one."""
    name = nearest(word, names)
    return "" if name is None or name == word else f"; did you mean {name!r}?"


def with_common_words(name: str, names: Iterable[str]) -> str:
    """Return the hint `; similar: NAME, NAME` with names that share words; empty without one.

    Names that share most words come first. Hyphens separate words. Words of at most three letters,
    such as `the` and `not`, do not count.
    """
    words = {word for word in name.split("-") if len(word) > 3}  # noqa: PLR2004 - as said above
    alike = [one for one in names if words & {*one.split("-")}]
    alike.sort(key=lambda one: -len(words & {*one.split("-")}))
    return f"; similar: {', '.join(alike[:5])}" if alike else ""


def unknown(kind: str, word: str, names: Iterable[str]) -> str:
    """Return the error text for an unknown name.

    It suggests the nearest name, else lists all names. `kind` is a noun: `no command 'bund'; did
    you mean 'bound'?`.
    """
    known = list(names)
    hint = did_you_mean(word, known)
    if not hint and known:
        separator = "; " if any("," in name for name in known) else ", "
        hint = f"; choose one of {separator.join(known)}"
    return f"no {kind} {word!r}{hint}"
