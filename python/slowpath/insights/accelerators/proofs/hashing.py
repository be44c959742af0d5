"""Holds a function against hash functions that are no cryptography."""

from collections.abc import Callable, Iterable
from typing import Any

from slowpath.insights.accelerators.harness.oracles import Oracle
from slowpath.insights.accelerators.proofs.inputs import Sample, answered, finding, samples
from slowpath.insights.accelerators.references.hashes import SIMPLE, Hash
from slowpath.insights.accelerators.references.mixers import MIXERS

_LEAST = 4
"""Bytes of messages that all have one length: hashes of fewer are what other functions are, too."""
_COMMON = (0, 1, 0x9747B28C, 0xDEADBEEF, 0x12345678, 0xBC9F1D34, 42, 31, 17, 0xEE6B27EB, 97, 0x1234)
"""Seeds that programs have."""


def prove_hash(oracle: Oracle, constants: Iterable[int]) -> dict[str, Any] | None:
    """The hash function that an oracle is; `constants` are numbers of the program, maybe seeds."""
    if oracle.fixed is not None and oracle.fixed < _LEAST:
        return None
    inputs = list(samples(oracle))
    longer = [one for one in inputs if len(one.data) > 2]  # noqa: PLR2004 - they tell more
    few = longer[:: max(1, len(longer) // 4)][:4] or inputs[:4]
    if not few:
        return None
    seeds = tuple(dict.fromkeys((*_COMMON, *constants)))
    values = [answered(oracle, one._replace(seed=0)) for one in few]
    for one in (*SIMPLE, *MIXERS):
        if one.bits > oracle.bits:
            continue
        found = _seeded(oracle, one, few, inputs)
        if found is None:
            found = _constant(oracle, one, few, values, inputs, seeds)
        if found is not None:
            return found
    return None


def _seeded(
    oracle: Oracle, one: Hash, few: list[Sample], inputs: list[Sample]
) -> dict[str, Any] | None:
    """With its seed as an argument."""
    if oracle.seed_bits < one.bits:
        return None
    mask = (1 << one.bits) - 1

    def expected(sample: Sample) -> int:
        return one.of(sample.data, sample.seed & mask)

    return _compared(oracle, one, few, inputs, expected, oracle.seed_name)


def _constant(  # noqa: PLR0913, PLR0917 - what is known already
    oracle: Oracle,
    one: Hash,
    few: list[Sample],
    values: list[int],
    inputs: list[Sample],
    seeds: tuple[int, ...],
) -> dict[str, Any] | None:
    """With a seed of the program; an argument that may be one does not matter."""
    starts = (one.start, *seeds) if one.start is not None else seeds
    if one.stepwise and oracle.fixed is None:
        starts = (*starts, oracle.value(b""))  # nothing hashed: the seed
    for seed in starts:
        seed &= (1 << one.bits) - 1  # noqa: PLW2901
        if one.of(few[0].data, seed) != values[0]:
            continue

        def expected(sample: Sample, seed: int = seed) -> int:
            return one.of(sample.data, seed)

        found = _compared(oracle, one, few, inputs, expected, hex(seed))
        if found is not None:
            return found
    return None


def _compared(  # noqa: PLR0913, PLR0917 - what is compared with what
    oracle: Oracle,
    one: Hash,
    few: list[Sample],
    inputs: list[Sample],
    expected: Callable[[Sample], int],
    seed: str,
) -> dict[str, Any] | None:
    constant = seed != oracle.seed_name

    def agrees(sample: Sample) -> bool:
        asked = sample._replace(seed=0) if constant else sample
        return answered(oracle, asked) == expected(sample)

    if not all(map(agrees, few)):
        return None
    checked = list[Sample]()
    for sample in inputs:
        if not agrees(sample):
            break
        checked.append(sample)
    if len(checked) < min(len(inputs), 120):
        return None
    lengths = [len(sample.data) for sample in checked]
    said = {"bits": str(one.bits), "seed": seed}
    return finding("hash", one.name, said, len(checked), lengths)
