"""Trains neural networks over the words (tokens) of basic blocks, and computes predictions.

Source: Kingma and Ba, Adam: A Method for Stochastic Optimization (2015).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Batch = NDArray[np.int64]
"""A batch of blocks as rows of word numbers, `[block, word]`; short blocks are padded with 0."""
Kept = TypeVar("Kept")
_LONGEST = 96
"""Maximum number of words of a block that a network reads; later words are ignored."""


class Network(Protocol[Kept]):
    """A network that predicts a block's number of machine instructions from its words.

    Predictions are ratios to the mean number of instructions of a block.
    """

    parts: dict[str, Numbers]

    def run(self, batch: Batch, mask: Numbers) -> tuple[Numbers, Kept]:
        """Return the predictions for a batch of blocks, and intermediate values for `back`.

        `mask` is 1 for words and 0 for padding.
        """

    def back(self, batch: Batch, kept: Kept, slope: Numbers) -> dict[str, Numbers]:
        """Return the gradients of all weights.

        `kept` has the values that `run` returned for `back`. `slope` is the gradient of the loss
        with respect to the predictions.
        """


def learn(
    make: Callable[[int, np.random.Generator], Network[Kept]],
    blocks: Sequence[Sequence[int]],
    targets: Numbers,
    words: int,
    epochs: int,
) -> Network[Kept]:
    """Train a network on blocks.

    Training minimises a smooth variant of the absolute error. `make` creates the network for a
    number of different words, `words`.
    """
    rng = np.random.default_rng(1)
    net = make(words, rng)
    first = {name: np.zeros_like(value) for name, value in net.parts.items()}
    second = {name: np.zeros_like(value) for name, value in net.parts.items()}
    step = 0
    order = sorted(range(len(blocks)), key=lambda at: min(len(blocks[at]), _LONGEST))
    for epoch in range(epochs):
        rate = 4e-3 * (1 - epoch / epochs) + 1e-4
        batches = [order[at : at + 64] for at in range(0, len(order), 64)]
        rng.shuffle(batches)
        for chosen in batches:
            batch, mask = padded([blocks[at] for at in chosen])
            guess, kept = net.run(batch, mask)
            slope = np.tanh((guess - targets[chosen]) * 2) / len(chosen)
            step += 1
            for name, value in net.back(batch, kept, slope).items():
                value = np.clip(value, -1, 1)  # noqa: PLW2901
                first[name] = 0.9 * first[name] + 0.1 * value
                second[name] = 0.999 * second[name] + 0.001 * value**2
                change = (first[name] / (1 - 0.9**step)) / (
                    np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8
                )
                net.parts[name] -= rate * change
    return net


def padded(blocks: Sequence[Sequence[int]]) -> tuple[Batch, Numbers]:
    """Return the blocks padded to one length, and a mask that is 1 for words, 0 for padding."""
    longest = max(1, min(_LONGEST, max(map(len, blocks))))
    batch = np.zeros((len(blocks), longest), dtype=np.int64)
    mask = np.zeros((len(blocks), longest))
    for row, block in enumerate(blocks):
        count = min(len(block), longest)
        batch[row, :count] = block[:count]
        mask[row, :count] = 1
    return batch, mask


def guesses(net: Network[Any], blocks: Sequence[Sequence[int]]) -> Numbers:
    """Return the number of instructions that a network predicts for each block."""
    groups = [blocks[at : at + 256] for at in range(0, len(blocks), 256)]
    return np.concatenate([net.run(*padded(group))[0] for group in groups])
