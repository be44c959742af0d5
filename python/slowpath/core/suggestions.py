"""Suggests the intended name for a mistyped one."""

from collections.abc import Iterable

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
    """Return true if two names have the same first letter; dashes of options do not count."""
    return one.lstrip("-")[:1] == other.lstrip("-")[:1]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return `; did you mean 'NAME'?` for the most similar name, or an empty text."""
    name = nearest(word, names)
    return "" if name is None or name == word else f"; did you mean {name!r}?"


def with_common_words(name: str, names: Iterable[str]) -> str:
    """Return `; similar: NAME, NAME` for names that share words, or an empty text.

    Names that share most words come first. Hyphens separate words. Words of at most three letters,
    such as `the` and `not`, do not count.
    """
    words = {word for word in name.split("-") if len(word) > 3}  # noqa: PLR2004 - as said above
    alike = [one for one in names if words & {*one.split("-")}]
    alike.sort(key=lambda one: -len(words & {*one.split("-")}))
    return f"; similar: {', '.join(alike[:5])}" if alike else ""


def unknown(kind: str, word: str, names: Iterable[str]) -> str:
    """Return the error for an unknown name: the nearest name, else all names.

    `kind` is a noun: `no command 'bund'; did you mean 'bound'?`.
    """
    known = list(names)
    hint = did_you_mean(word, known)
    if not hint and known:
        separator = "; " if any("," in name for name in known) else ", "
        hint = f"; choose one of {separator.join(known)}"
    return f"no {kind} {word!r}{hint}"
