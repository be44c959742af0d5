"""The paper's model: a recurrent network (LSTM) over the words of a block, then two layers, in numpy.

Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); Kingma and Ba, Adam (2015).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_LONGEST = 96
"""Words of a block that are looked at, from its start."""


class Lstm:
    """Words in, one number out, which is divided by what a word takes on average."""

    def __init__(self, words: int, hidden: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._hidden = hidden

        def made(*shape: int) -> Numbers:
            return rng.normal(0, 1 / np.sqrt(shape[0]), shape)

        self.parts = {
            "embed": rng.normal(0, 0.3, (words, 4 * hidden)),
            "again": made(hidden, 4 * hidden),
            "bias": np.zeros(4 * hidden),
            "first": made(hidden, hidden),
            "first bias": np.zeros(hidden),
            "last": made(hidden, 1),
            "last bias": np.zeros(1),
        }
        self.parts["bias"][hidden : 2 * hidden] = 1.0

    def run(
        self, batch: NDArray[np.int64], mask: Numbers
    ) -> tuple[Numbers, list[tuple[Numbers, ...]]]:
        """The answers for a batch (blocks by words), and what the way back needs."""
        size, hidden, part = len(batch), self._hidden, self.parts
        state, cell = np.zeros((size, hidden)), np.zeros((size, hidden))
        steps: list[tuple[Numbers, ...]] = []
        for at in range(batch.shape[1]):
            gates = part["embed"][batch[:, at]] + state @ part["again"] + part["bias"]
            inward, keep, out = (
                1 / (1 + np.exp(-gates[:, k * hidden : (k + 1) * hidden])) for k in range(3)
            )
            new = np.tanh(gates[:, 3 * hidden :])
            there = mask[:, at : at + 1]
            after = keep * cell + inward * new
            shown = np.tanh(after)
            steps.append((state, cell, inward, keep, out, new, shown, there))
            cell = there * after + (1 - there) * cell
            state = there * out * shown + (1 - there) * state
        middle = np.maximum(0, state @ part["first"] + part["first bias"])
        steps.append((state, middle))
        return (middle @ part["last"] + part["last bias"])[:, 0], steps

    def back(
        self, batch: NDArray[np.int64], steps: list[tuple[Numbers, ...]], slope: Numbers
    ) -> dict[str, Numbers]:
        """Slopes of all parts, from that of the loss by the answers."""
        part = self.parts
        found = {name: np.zeros_like(value) for name, value in part.items()}
        state, middle = steps[-1]
        found["last"] = middle.T @ slope[:, None]
        found["last bias"] = slope.sum(keepdims=True)
        inner = (slope[:, None] @ part["last"].T) * (middle > 0)
        found["first"], found["first bias"] = state.T @ inner, inner.sum(0)
        by_state = inner @ part["first"].T
        by_cell = np.zeros_like(by_state)
        for at in range(batch.shape[1] - 1, -1, -1):
            before, cell, inward, keep, out, new, shown, there = steps[at]
            now = by_state * there
            inside = by_cell * there + now * out * (1 - shown**2)
            gates = np.concatenate(
                (
                    inside * new * inward * (1 - inward),
                    inside * cell * keep * (1 - keep),
                    now * shown * out * (1 - out),
                    inside * inward * (1 - new**2),
                ),
                axis=1,
            )
            np.add.at(found["embed"], batch[:, at], gates)
            found["again"] += before.T @ gates
            found["bias"] += gates.sum(0)
            by_state = gates @ part["again"].T + by_state * (1 - there)
            by_cell = inside * keep + by_cell * (1 - there)
        return found


def learn(
    blocks: Sequence[Sequence[int]], targets: Numbers, words: int, epochs: int, seed: int = 1
) -> Lstm:
    """A network that has learnt blocks, by the absolute error."""
    net, rng = Lstm(words, 64, seed), np.random.default_rng(seed)
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
            guess, steps = net.run(batch, mask)
            slope = np.tanh((guess - targets[chosen]) * 2) / len(chosen)
            step += 1
            for name, value in net.back(batch, steps, slope).items():
                value = np.clip(value, -1, 1)  # noqa: PLW2901
                first[name] = 0.9 * first[name] + 0.1 * value
                second[name] = 0.999 * second[name] + 0.001 * value**2
                change = (first[name] / (1 - 0.9**step)) / (
                    np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8
                )
                net.parts[name] -= rate * change
    return net


def padded(blocks: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], Numbers]:
    """Blocks of one length, and where there are words."""
    longest = max(1, min(_LONGEST, max(map(len, blocks))))
    batch = np.zeros((len(blocks), longest), dtype=np.int64)
    mask = np.zeros((len(blocks), longest))
    for row, block in enumerate(blocks):
        count = min(len(block), longest)
        batch[row, :count] = block[:count]
        mask[row, :count] = 1
    return batch, mask


def guesses(net: Lstm, blocks: Sequence[Sequence[int]]) -> Numbers:
    """What a network says of blocks."""
    groups = [blocks[at : at + 256] for at in range(0, len(blocks), 256)]
    return np.concatenate([net.run(*padded(group))[0] for group in groups])
