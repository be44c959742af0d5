"""Why something was changed: the facts that it rests on, as far as it does."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import one_line
from slowpath.commands.chain.documents import Dropped, Fact
from slowpath.commands.chain.facts import because, fact_text, maps_text


class Reasons:
    """The facts about the packets of a program."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._bytes, self._others, self._length = dict[int, str](), dict[int, list[str]](), ""
        self._around = list[str]()
        self._assumed = {fact_text(fact) for fact in facts if fact["assumed"]}
        self._assumed_bytes = set[int]()
        for fact in facts:
            match fact["kind"]:
                case "bytes":
                    value, first = fact["value"], fact["offset"]
                    pairs = (value[at : at + 2] for at in range(0, len(value), 2))
                    own = dict(enumerate(pairs, first))
                    self._bytes |= own
                    self._assumed_bytes |= own.keys() if fact["assumed"] else set()
                case "bits":
                    self._others.setdefault(fact["offset"], []).append(fact_text(fact))
                case "length":
                    self._length = fact_text(fact)
                case "headroom" | "metadata":
                    self._around.append(fact_text(fact))
                case "values" | "equal":
                    fields = [fact["offset"]]
                    fields += [fact["other"]] if fact["kind"] == "equal" else []
                    for offset in fields:
                        for byte in range(offset, offset + fact["bytes"]):
                            self._others.setdefault(byte, []).append(fact_text(fact))

    def of(self, dropped: Dropped) -> str:
        """The facts in words: `bytes 12-13 = 86dd; 106 to 3768 bytes`; `-` if there are none."""
        parts = list(dict.fromkeys(self._of_bytes(list(dropped["bytes"]))))
        if dropped["length"]:
            parts.append(self._said(self._length) if self._length else "length")
        if dropped["room"]:
            parts += self._around or ["room"]
        if dropped["maps"]:
            parts.append(one_line(f"{maps_text(dropped['maps'])} as given"))
        return "; ".join(parts) or "-"

    def _of_bytes(self, offsets: list[int]) -> Iterator[str]:
        """What is known of bytes: a fact about several of them comes for each."""
        while offsets:
            first = offsets.pop(0)
            if first not in self._bytes:
                plain: Dropped = {**_NOTHING, "bytes": [first]}
                yield from map(self._said, self._others.get(first) or [because(plain)])
                continue
            value, last = self._bytes[first], first
            is_assumed = first in self._assumed_bytes
            while (
                offsets
                and offsets[0] == last + 1
                and offsets[0] in self._bytes
                and (offsets[0] in self._assumed_bytes) == is_assumed
            ):
                last = offsets.pop(0)
                value += self._bytes[last]
            where = f"byte {first}" if first == last else f"bytes {first}-{last}"
            yield f"{where} = {value}{' (assumed)' if is_assumed else ''}"

    def _said(self, fact: str) -> str:
        return f"{fact} (assumed)" if fact in self._assumed else fact


_NOTHING: Dropped = {
    "slot": 0,
    "instruction": "",
    "line": None,
    "change": "",
    "bytes": [],
    "length": False,
    "room": False,
    "maps": [],
}
