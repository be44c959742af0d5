"""Why something was changed: the facts that it rests on, as far as it does."""

from collections.abc import Sequence

from slowpath.commands.chain.documents import Dropped, Fact
from slowpath.commands.chain.facts import because, fact_text


class Reasons:
    """The facts about the packets of a program."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._bytes, self._others, self._length = dict[int, str](), dict[int, str](), ""
        for fact in facts:
            match fact["kind"]:
                case "bytes":
                    value, first = fact["value"], fact["offset"]
                    pairs = (value[at : at + 2] for at in range(0, len(value), 2))
                    self._bytes |= dict(enumerate(pairs, first))
                case "bits":
                    self._others[fact["offset"]] = fact_text(fact)
                case "length":
                    self._length = fact_text(fact)
                case _:
                    pass

    def of(self, dropped: Dropped) -> str:
        """The facts in words: `bytes 12-13 = 86dd; 106 to 3768 bytes`; `-` if there are none."""
        parts = list[str]()
        offsets = list(dropped["bytes"])
        while offsets:
            first = offsets.pop(0)
            if first not in self._bytes:
                plain: Dropped = {**dropped, "bytes": [first], "length": False}
                parts.append(self._others.get(first) or because(plain))
                continue
            value, last = self._bytes[first], first
            while offsets and offsets[0] == last + 1 and offsets[0] in self._bytes:
                last = offsets.pop(0)
                value += self._bytes[last]
            where = f"byte {first}" if first == last else f"bytes {first}-{last}"
            parts.append(f"{where} = {value}")
        if dropped["length"]:
            parts.append(self._length or "length")
        return "; ".join(parts) or "-"
