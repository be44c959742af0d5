"""The model of Clara (SOSP 2021) in NumPy: an LSTM over the words of a block, then two layers.

A word is a token of the block. Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997).
"""

import numpy as np

from blocks.networks import Batch, Numbers

_HIDDEN = 64


class Lstm:
    """Recurrent network: each word updates a state; the last state gives the prediction."""

    def __init__(self, words: int, rng: np.random.Generator) -> None:
        hidden = _HIDDEN

        def weights(*shape: int) -> Numbers:
            return rng.normal(0, 1 / np.sqrt(shape[0]), shape)

        self.parts = {
            "embed": rng.normal(0, 0.3, (words, 4 * hidden)),
            "again": weights(hidden, 4 * hidden),
            "bias": np.zeros(4 * hidden),
            "first": weights(hidden, hidden),
            "first bias": np.zeros(hidden),
            "last": weights(hidden, 1),
            "last bias": np.zeros(1),
        }
        self.parts["bias"][hidden : 2 * hidden] = 1.0

    def run(self, batch: Batch, mask: Numbers) -> tuple[Numbers, list[tuple[Numbers, ...]]]:
        """Return the predictions for a batch of blocks, and intermediate values for `back`.

        `batch` has word numbers by block and position; `mask` is 0 for padding.
        """
        size, hidden, part = len(batch), _HIDDEN, self.parts
        state, cell = np.zeros((size, hidden)), np.zeros((size, hidden))
        steps: list[tuple[Numbers, ...]] = []
        for at in range(batch.shape[1]):
            gates = part["embed"][batch[:, at]] + state @ part["again"] + part["bias"]
            inward, keep, out = (
                1 / (1 + np.exp(-gates[:, k * hidden : (k + 1) * hidden])) for k in range(3)
            )
            new = np.tanh(gates[:, 3 * hidden :])
            present = mask[:, at : at + 1]
            after = keep * cell + inward * new
            shown = np.tanh(after)
            steps.append((state, cell, inward, keep, out, new, shown, present))
            cell = present * after + (1 - present) * cell
            state = present * out * shown + (1 - present) * state
        middle = np.maximum(0, state @ part["first"] + part["first bias"])
        steps.append((state, middle))
        return (middle @ part["last"] + part["last bias"])[:, 0], steps

    def back(
        self, batch: Batch, steps: list[tuple[Numbers, ...]], slope: Numbers
    ) -> dict[str, Numbers]:
        """Return the gradients of all weights.

        `steps` are the values that `run` returned; `slope` is the gradient of the loss with respect
        to the predictions.
        """
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
            before, cell, inward, keep, out, new, shown, present = steps[at]
            now = by_state * present
            inside = by_cell * present + now * out * (1 - shown**2)
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
            by_state = gates @ part["again"].T + by_state * (1 - present)
            by_cell = inside * keep + by_cell * (1 - present)
        return found
