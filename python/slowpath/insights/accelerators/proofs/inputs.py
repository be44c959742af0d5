"""Generates inputs on which functions are compared with known algorithms, and describes results."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from slowpath.insights.accelerators.harness.bench import Noise, noise_of
from slowpath.insights.accelerators.harness.oracles import Oracle

_SEED = 4116
_SHORT, _MIDDLE = 40, 300
_LONG = (511, 512, 1000, 1024, 2047, 4096)
_FIXED = 256
"""Number of inputs for a function whose data has one fixed length."""
_SHORT_REPETITIONS = 3


class Sample(NamedTuple):
    """An input for a function: data, seed, and distance by which the data is moved in memory."""

    data: bytes
    seed: int
    shift: int


def samples(oracle: Oracle, *, seeds: bool = True) -> Iterator[Sample]:
    """Yield random inputs for a function, short inputs first; with `seeds`, also random seeds."""
    noise = noise_of(_SEED)
    sizes = [oracle.fixed] * _FIXED if oracle.fixed is not None else _sizes(oracle, noise)
    for size in sizes:
        seed = noise.getrandbits(oracle.seed_bits) if seeds and oracle.seed_bits else 0
        step = oracle.words
        shift = noise.randrange(8) * step if noise.randrange(2) else 0
        yield Sample(some_data(noise, size, text=oracle.text), seed, shift)


def evaluate(oracle: Oracle, sample: Sample) -> int:
    """Return the result of a function for an input."""
    oracle.shift = sample.shift
    return oracle.value(sample.data, sample.seed)


def finding(
    kind: str, name: str, parameters: dict[str, str], count: int, lengths: Collection[int]
) -> dict[str, Any]:
    """Return the description of an algorithm with which a function agreed on `count` inputs.

    `lengths` are the lengths of these inputs in bytes.
    """
    return {
        "kind": kind,
        "algorithm": name,
        "parameters": parameters,
        "inputs": count,
        "lengths": [min(lengths), max(lengths)],
    }


def some_data(noise: Noise, size: int, *, text: bool) -> bytes:
    """Return random data. Sometimes all bits are 0, or all are 1, so that sums overflow.

    With `text`, no byte is zero.
    """
    kind = noise.randrange(16)
    if kind == 0 and not text:
        return bytes(size)
    if kind == 1:
        return b"\xff" * size
    data = noise.randbytes(size)
    return data.replace(b"\0", b"\x80") if text else data


def swap_words(text: bytes, size: int = 4) -> bytes:
    """Reverse the bytes in each word of `size` bytes."""
    if size == 1:
        return text
    return b"".join(text[at : at + size][::-1] for at in range(0, len(text), size))


def _sizes(oracle: Oracle, noise: Noise) -> list[int]:
    unit = oracle.unit
    short = [size * unit for size in range(1, _SHORT)] * _SHORT_REPETITIONS
    middle = sorted(noise.randrange(_SHORT, _MIDDLE) * unit for _ in range(100))
    long = [size // unit * unit for size in _LONG]
    return [size for size in (*short, *middle, *long) if size <= oracle.most]
