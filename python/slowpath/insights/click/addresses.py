"""Resolves names in configuration strings that other elements of the configuration define.

`AddressInfo` names addresses, and `IPRewriterPatterns` names patterns of rewriters. Both are
visible in the compound element that contains them.
"""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.insights.click.configurations import arguments, pieces
from slowpath.insights.click.graph import Element, Graph

_ETHERNET = re.compile(r"[0-9A-Fa-f]{1,2}(?:[:-][0-9A-Fa-f]{1,2}){5}")
_ADDRESS, _HARDWARE, _PREFIX = 4, 6, 8
"""Sizes of IPv4 addresses, Ethernet addresses, and IPv4 prefixes with masks, in bytes."""
_SUFFIXES = {
    _ADDRESS: ("", ":ip", ":ip4", ":ipaddr"),
    _HARDWARE: ("", ":eth", ":ethaddr", ":ether"),
    _PREFIX: ("", ":ipnet", ":ip4net", ":ipprefix"),
}
"""Suffixes that choose among the addresses of a name, by the size of the address in bytes."""
_PATTERN = re.compile(
    r"(?P<word>pattern\s+)(?P<name>[A-Za-z_][\w/]*)(?P<rest>\s+\d+\s+\d+.*)",
    re.DOTALL | re.IGNORECASE,
)


class NamedAddress(NamedTuple):
    """A name of an address, and its bytes: IPv4 (4), Ethernet (6), or IPv4 prefix and mask (8)."""

    name: str
    value: bytes


def addresses(graph: Graph, element: Element) -> list[NamedAddress]:
    """Return the named addresses that an element sees, those of inner compound elements first."""
    found = list[NamedAddress]()
    for one in _visible(graph, element, "AddressInfo"):
        for text in arguments(one.config):
            name, *words = text.split()
            found += _addresses(name, words)
    return found


def resolved(graph: Graph, element: Element) -> str:
    """Return an element's configuration on one line, without names of patterns."""
    patterns = dict[str, str]()
    if "Rewriter" in element.kind and element.kind != "IPRewriterPatterns":
        for one in _visible(graph, element, "IPRewriterPatterns"):
            for text in arguments(one.config):
                name, _, pattern = _on_one_line(text).partition(" ")
                patterns.setdefault(name, pattern)

    def replaced(text: str) -> str:
        found = _PATTERN.fullmatch(text)
        known = patterns.get(found["name"]) if found else None
        return text if found is None or known is None else found["word"] + known + found["rest"]

    return ", ".join(replaced(_on_one_line(one)) for one in arguments(element.config))


def _visible(graph: Graph, element: Element, kind: str) -> Sequence[Element]:
    """Return the elements of a class around an element, those of inner compound elements first."""
    around = element.name.rpartition("/")[0]
    found = [
        one
        for one in graph.elements
        if one.kind == kind
        and f"{around}/".startswith(f"{one.name.rpartition('/')[0]}/".lstrip("/"))
    ]
    return sorted(found, key=lambda one: -one.name.count("/"))


def _on_one_line(text: str) -> str:
    return "".join(
        re.sub(r"\s+", " ", part) if kind == "plain" else part for kind, part in pieces(text)
    ).strip()


def _addresses(name: str, words: Sequence[str]) -> Iterator[NamedAddress]:
    values = dict[int, bytes]()
    for word in words:
        if _ETHERNET.fullmatch(word):
            values.setdefault(_HARDWARE, bytes(int(part, 16) for part in re.split("[:-]", word)))
            continue
        address, slash, _ = word.partition("/")
        try:
            if slash:
                mask = ipaddress.IPv4Network(word, strict=False).netmask
                values.setdefault(_PREFIX, ipaddress.IPv4Address(address).packed + mask.packed)
            else:
                values[_ADDRESS] = ipaddress.IPv4Address(address).packed
        except ValueError:  # IPv6, or a port: no element of slowpath's headers asks for it
            continue
    if _PREFIX in values:
        values.setdefault(_ADDRESS, values[_PREFIX][:_ADDRESS])
    for size, value in values.items():
        for suffix in _SUFFIXES[size]:
            yield NamedAddress(name + suffix, value)
