"""Functions of numbers that are linear modulo 65535: RFC 1624, sums of headers' fields.

An internet checksum that is corrected is the old one, minus what was there, plus what is there now,
all modulo 65535; so a coefficient of 1, -1, 256 or -256 belongs to each argument.
"""

from typing import Any

from slowpath.insights.accelerators.harness.bench import Bench, Bound, Memory
from slowpath.insights.accelerators.harness.noise import noise_of
from slowpath.insights.accelerators.harness.oracles import Place, name_of, result_name
from slowpath.insights.accelerators.harness.slots import Slot

_WORD = 0xFFFF
_COEFFICIENTS = (1, -1, 256, -256)
_TRIALS = 256


def prove_update(bench: Bench, name: str) -> dict[str, Any] | None:
    """The sum or correction that a function of numbers computes."""
    function = bench.functions[name]
    numbers = [at for at, one in enumerate(function.parameters) if one.kind == "integer"]
    if not 1 <= len(numbers) <= 6:  # noqa: PLR2004 - of a header
        return None
    binding = tuple(
        Slot("number") if one.kind == "integer" else Slot("memory" if one.writes else "key")
        for one in function.parameters
    )
    bound = Bound(bench, name, binding)
    for memory in (None, *(one for one in bound.memories if one.parameter is not None)):
        if memory is None and function.result not in ("i16", "i32"):
            continue
        found = _linear(bound, numbers, memory)
        if found is not None:
            return found
    return None


def _linear(bound: Bound, numbers: list[int], memory: Memory | None) -> dict[str, Any] | None:
    from slowpath.insights.accelerators.harness.bench import Given

    noise = noise_of(73)
    widths = [bound.function.parameters[at].bits for at in numbers]
    counted = len(numbers) + (memory is not None)

    def outcome(values: list[int]) -> int:
        given = []
        if memory is not None:
            given = [Given(memory, 0, values[-1].to_bytes(2, "little"))]
        result = bound.call(numbers=dict(zip(numbers, values, strict=False)), given=given)
        if memory is None:
            return result
        return int.from_bytes(memory.read(2), "little")

    start = outcome([0] * counted)
    if start > _WORD:
        return None
    factors = []
    for at in range(counted):
        factor = (outcome([0] * at + [1] + [0] * (counted - at - 1)) - start) % _WORD
        found = next((one for one in _COEFFICIENTS if one % _WORD == factor), 0)
        if not found and factor:
            return None
        factors.append(found)
    used = [at for at, factor in enumerate(factors) if factor]
    folds = len(used) == 1 and used[0] < len(widths) and widths[used[0]] >= 32  # noqa: PLR2004
    if len(used) < 2 and not folds:  # noqa: PLR2004 - a sum has two parts
        return None
    overflowing = 0
    for _ in range(_TRIALS):
        values = [
            noise.choice((noise.getrandbits(bits), _WORD & (1 << bits) - 1)) for bits in widths
        ]
        values += [noise.getrandbits(16)] * (memory is not None)
        got = outcome(values)
        total = sum(one * factor for one, factor in zip(values, factors, strict=True))
        if got > _WORD or (got - start - total) % _WORD:
            return None
        overflowing += total > _WORD or total < 0
    if not overflowing:
        return None
    names = [name_of(bound, at) for at in numbers]
    if memory is not None and memory.parameter is not None:
        names.append(f"*{name_of(bound, memory.parameter)}")
    plus = [one for one, factor in zip(names, factors, strict=True) if factor > 0]
    minus = [one for one, factor in zip(names, factors, strict=True) if factor < 0]
    corrected = bool(plus and minus)
    said = {
        "sum of": " ".join(plus),
        "less": " ".join(minus),
        "result": result_name(bound, Place(16, memory)),
    }
    name = (
        "internet checksum, corrected (RFC 1624)"
        if corrected
        else "internet checksum, folded (RFC 1071)"
        if folds
        else "internet checksum of fields (RFC 1071)"
    )
    return {
        "kind": "checksum",
        "algorithm": name,
        "parameters": {key: value for key, value in said.items() if value},
        "inputs": _TRIALS,
        "lengths": [sum(widths) // 8, sum(widths) // 8],
    }
