"""Recognises functions that compute a checksum, or that update a checksum for changed data.

Updates of the internet checksum are linear: the new checksum is the old one, minus the old content,
plus the new content, modulo 65535. So each argument has a coefficient of 1, -1, 256 or -256.
"""

from collections.abc import Callable, Iterator
from typing import Any

from slowpath.insights.accelerators.proofs.harness import (
    Bench,
    BoundFunction,
    InitialBytes,
    Memory,
    Slot,
    noise_of,
)
from slowpath.insights.accelerators.proofs.oracles import (
    Oracle,
    ResultLocation,
    Sample,
    WholeWordOracle,
    evaluate,
    finding,
    name_of,
    result_name,
    samples,
)
from slowpath.insights.accelerators.proofs.reference_sums import (
    ADLER,
    FLETCHERS,
    WORD,
    Fletcher,
    adler32,
    ones_complement_sum,
)

_FEW = 6
_LEAST = 4
"""Minimum message length in bytes; the sum of a single word is the word itself."""


def prove_sum(oracle: Oracle) -> dict[str, Any] | None:
    """Return a description of the checksum that a function computes; None if it computes none.

    `oracle` calls the function.
    """
    for prove in (_internet, _adler, _fletcher, _even_internet):
        found = prove(oracle)
        if found is not None:
            return found
    return None


def _internet(oracle: Oracle) -> dict[str, Any] | None:
    """Test whether a function computes the internet checksum (RFC 1071).

    Return a description of the checksum, or None if the results differ. Results are compared modulo
    65535, so 0 equals 65535.
    """
    if oracle.bits < 16 or oracle.text or (oracle.fixed or _LEAST) < _LEAST:  # noqa: PLR2004
        return None
    few = _few(oracle)
    for order, sign in (("big", 1), ("big", -1), ("little", 1), ("little", -1)):

        def rest(sample: Sample, order: str = order, sign: int = sign) -> int:
            value = evaluate(oracle, sample)
            return (value - sign * (ones_complement_sum(sample.data, order))) % WORD

        plain = [one._replace(seed=0) for one in few]
        constants = {rest(one) for one in plain}
        if len(constants) != 1:
            continue
        start = constants.pop()
        factor = _seed_factor(oracle, few, start, rest)
        if factor is None:
            continue

        def agrees(
            sample: Sample,
            start: int = start,
            factor: int = factor,
            rest: Callable[[Sample], int] = rest,
        ) -> bool:
            return rest(sample) == (start + factor * sample.seed) % WORD

        checked = list(_agreeing(oracle, agrees))
        if len(checked) < _required(oracle):
            continue
        folded = all(evaluate(oracle, one) <= WORD for one in checked)
        # Without end-around carries it is an ordinary sum, unless the length is in bytes.
        if not folded and (oracle.unit > 1 or oracle.fixed is not None):
            return None
        return _finding(
            "internet checksum (RFC 1071)",
            checked,
            _parameters(oracle, order, sign, start, factor, folded=folded),
        )
    return None


def _even_internet(oracle: Oracle) -> dict[str, Any] | None:
    """Test whether a function computes the internet checksum, but only for even lengths.

    Many functions treat an odd last byte in their own way. Return a description of the checksum, or
    None if the results differ.
    """
    if oracle.unit > 1 or oracle.fixed is not None:
        return None
    found = _internet(WholeWordOracle(oracle))
    if found is not None:
        found["parameters"]["lengths"] = "even ones only"
    return found


def _parameters(  # noqa: PLR0913 - properties of a checksum
    oracle: Oracle, order: str, sign: int, start: int, factor: int, *, folded: bool
) -> dict[str, str]:
    parameters = {
        "complement": "yes" if sign < 0 else "no",
        "word order": "network" if order == "big" else "little endian",
        "folded": "yes" if folded else "no, a partial sum",
    }
    if factor:
        parameters["initial"] = oracle.seed_name
    elif start:
        parameters["initial"] = f"0x{sign * start % WORD:04x}"
    return parameters


def _seed_factor(
    oracle: Oracle, few: list[Sample], start: int, rest: Callable[[Sample], int]
) -> int | None:
    """Return the factor by which a function multiplies its seed before adding it to the sum.

    `rest` gives the part of the result for an input that the data does not explain; `start` is this
    part for seed 0. Return 0 if the function has no seed, and None if no factor explains the
    results for the inputs `few`.
    """
    if not oracle.seed_bits:
        return 0
    for factor in (0, 1, -1, 256, -256):
        if all(rest(one) == (start + factor * one.seed) % WORD for one in few):
            return factor
    return None


def _adler(oracle: Oracle) -> dict[str, Any] | None:
    if oracle.bits < 32 or oracle.text:  # noqa: PLR2004 - width of the checksum
        return None
    for seeded in (True, False) if oracle.seed_bits else (False,):
        starts = (0,) if seeded else (1, 0)
        for start in starts:

            def reduced(sample: Sample, seeded: bool = seeded) -> Sample:
                low, high = sample.seed & WORD, sample.seed >> 16 & WORD
                seed = high % ADLER << 16 | low % ADLER if seeded else 0
                return sample._replace(seed=seed)

            def agrees(sample: Sample, seeded: bool = seeded, start: int = start) -> bool:
                one = reduced(sample, seeded)
                expected = adler32(one.data, one.seed if seeded else start)
                return evaluate(oracle, one) == expected

            if not all(map(agrees, _few(oracle))):
                continue
            checked = list(_agreeing(oracle, agrees))
            if len(checked) >= _required(oracle):
                initial = oracle.seed_name if seeded else str(start)
                return _finding("Adler-32", checked, {"initial": initial})
    return None


def _fletcher(oracle: Oracle) -> dict[str, Any] | None:
    if oracle.text or oracle.seed_bits:
        return None
    few = [one for one in _few(oracle) if len(one.data) > 2]  # noqa: PLR2004 - more than a word
    for fletcher in FLETCHERS:
        bits = fletcher.bits
        if oracle.bits < 2 * bits:
            continue
        for swapped in (False, True):

            def agrees(
                sample: Sample,
                swapped: bool = swapped,
                fletcher: Fletcher = fletcher,
                bits: int = bits,
            ) -> bool:
                value = evaluate(oracle, sample)
                if value >> 2 * bits:
                    return False
                pair = (value & ((1 << bits) - 1), value >> bits)
                low, high = pair[::-1] if swapped else pair
                expected = fletcher.of(sample.data)
                modulus = fletcher.modulus
                return (low % modulus, high % modulus) == expected

            if not few or not all(map(agrees, few)):
                continue
            checked = list(_agreeing(oracle, agrees))
            if len(checked) < _required(oracle):
                continue
            parameters = {
                "modulus": str(fletcher.modulus),
                "initial": str(fletcher.start % fletcher.modulus),
            }
            if bits > 8:  # noqa: PLR2004 - a byte has no order
                parameters["word order"] = "network" if fletcher.order == "big" else "little endian"
            return _finding(f"Fletcher-{2 * bits}", checked, parameters)
    return None


def _few(oracle: Oracle) -> list[Sample]:
    """Return a few of the longer inputs, for a first comparison with a reference.

    Most functions that compute something else already differ on them.
    """
    found = [one for one in samples(oracle) if len(one.data) >= min(8, oracle.fixed or 8)]
    return found[:: max(1, len(found) // _FEW)]


def _agreeing(oracle: Oracle, agrees: Callable[[Sample], bool]) -> Iterator[Sample]:
    """Yield the inputs before the first one on which a function and a reference disagree.

    `agrees` compares the two for one input.
    """
    for sample in samples(oracle):
        if not agrees(sample):
            return
        yield sample


def _required(oracle: Oracle) -> int:
    """Return the number of inputs on which function and reference must agree.

    These are all inputs for a function that takes data of one length only. For others, at most 120
    are required, because the function may limit the length of its data.
    """
    every = sum(1 for _ in samples(oracle))
    return every if oracle.fixed is not None else min(every, 120)


def _finding(name: str, checked: list[Sample], parameters: dict[str, str]) -> dict[str, Any]:
    lengths = [len(one.data) for one in checked]
    return finding("checksum", name, parameters, len(checked), lengths)


_COEFFICIENTS = (1, -1, 256, -256)
_TRIALS = 256


def prove_update(bench: Bench, name: str) -> dict[str, Any] | None:
    """Test whether a function sums fields to a checksum, or corrects a checksum for a change.

    Return a description of the sum or correction, or None if the function does neither.
    """
    function = bench.functions[name]
    numbers = [at for at, one in enumerate(function.parameters) if one.kind == "integer"]
    if not 1 <= len(numbers) <= 6:  # noqa: PLR2004 - words of a header
        return None
    binding = tuple(
        Slot("number") if one.kind == "integer" else Slot("memory" if one.writes else "key")
        for one in function.parameters
    )
    bound = BoundFunction(bench, name, binding)
    for memory in (None, *(one for one in bound.memories if one.parameter is not None)):
        if memory is None and function.result not in ("i16", "i32"):
            continue
        found = _linear(bound, numbers, memory)
        if found is not None:
            return found
    return None


def _linear(
    bound: BoundFunction, numbers: list[int], memory: Memory | None
) -> dict[str, Any] | None:
    noise = noise_of(73)
    widths = [bound.function.parameters[at].bits for at in numbers]
    counted = len(numbers) + (memory is not None)

    def outcome(values: list[int]) -> int:
        given = []
        if memory is not None:
            given = [InitialBytes(memory, 0, values[-1].to_bytes(2, "little"))]
        result = bound.call(numbers=dict(zip(numbers, values, strict=False)), given=given)
        if memory is None:
            return result
        return int.from_bytes(memory.read(2), "little")

    start = outcome([0] * counted)
    if start > WORD:
        return None
    factors = []
    for at in range(counted):
        factor = (outcome([0] * at + [1] + [0] * (counted - at - 1)) - start) % WORD
        found = next((one for one in _COEFFICIENTS if one % WORD == factor), 0)
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
            noise.choice((noise.getrandbits(bits), WORD & (1 << bits) - 1)) for bits in widths
        ]
        values += [noise.getrandbits(16)] * (memory is not None)
        value = outcome(values)
        total = sum(one * factor for one, factor in zip(values, factors, strict=True))
        if value > WORD or (value - start - total) % WORD:
            return None
        overflowing += total > WORD or total < 0
    if not overflowing:
        return None
    names = [name_of(bound, at) for at in numbers]
    if memory is not None and memory.parameter is not None:
        names.append(f"*{name_of(bound, memory.parameter)}")
    added = [one for one, factor in zip(names, factors, strict=True) if factor > 0]
    subtracted = [one for one, factor in zip(names, factors, strict=True) if factor < 0]
    corrected = bool(added and subtracted)
    described = {
        "sum of": " ".join(added),
        "less": " ".join(subtracted),
        "result": result_name(bound, ResultLocation(16, memory)),
    }
    name = (
        "internet checksum, corrected (RFC 1624)"
        if corrected
        else "internet checksum, folded (RFC 1071)"
        if folds
        else "internet checksum of fields (RFC 1071)"
    )
    parameters = {key: value for key, value in described.items() if value}
    return finding("checksum", name, parameters, _TRIALS, [sum(widths) // 8])
