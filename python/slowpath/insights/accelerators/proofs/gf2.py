"""Linear equations over GF(2)."""

from collections.abc import Iterator, Sequence

_MOST_FREE = 8
"""Unknowns that may stay free: all of their values are tried."""


def kernel_and_solution(images: Sequence[int], wanted: int) -> list[int] | None:
    """All sets of images (as bits) whose sum is a value; None when there is none, or too many."""
    basis = dict[int, tuple[int, int]]()  # by highest bit: a sum, and what it is the sum of
    kernel = list[int]()
    for at, image in enumerate(images):
        value, of = _reduced(image, 1 << at, basis)
        if value:
            basis[value.bit_length()] = (value, of)
        else:
            kernel.append(of)
    rest, solution = _reduced(wanted, 0, basis)
    if rest or len(kernel) > _MOST_FREE:
        return None
    return [solution ^ one for one in _sums(kernel)]


def _reduced(value: int, of: int, basis: dict[int, tuple[int, int]]) -> tuple[int, int]:
    while value and value.bit_length() in basis:
        other, what = basis[value.bit_length()]
        value, of = value ^ other, of ^ what
    return value, of


def _sums(parts: Sequence[int]) -> Iterator[int]:
    for chosen in range(1 << len(parts)):
        total = 0
        for at, part in enumerate(parts):
            total ^= part if chosen >> at & 1 else 0
        yield total
