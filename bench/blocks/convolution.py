"""A small convolutional network in NumPy, which predicts instruction counts.

It predicts the number of machine instructions of a basic block from its tokens.
"""

import numpy as np

from blocks.networks import Batch, Numbers

_NUMBERS = 24
"""Length of the vector that represents a token (embedding)."""
_WIDE = 3
"""Number of neighbouring tokens that a pattern (filter) covers."""
_PATTERNS = 64


class Convolution:
    """Convolutional network that predicts a basic block's number of machine instructions.

    The prediction is a sum over patterns of neighbouring tokens. It grows with the length of the
    block, as the number of instructions does; the state of a recurrent network does not.
    """

    def __init__(self, words: int, rng: np.random.Generator) -> None:
        inputs = _WIDE * _NUMBERS
        self.parts = {
            "embed": rng.normal(0, 0.3, (words, _NUMBERS)),
            "patterns": rng.normal(0, 1 / np.sqrt(inputs), (inputs, _PATTERNS)),
            "bias": np.zeros(_PATTERNS),
            "last": rng.normal(0, 0.1 / np.sqrt(_PATTERNS), (_PATTERNS, 1)),
            "word": np.full((words, 1), 0.05),
        }

    def run(self, batch: Batch, mask: Numbers) -> tuple[Numbers, tuple[Numbers, Numbers, Numbers]]:
        """Return the predictions for a batch of blocks, and intermediate values for `back`.

        `batch` has token numbers by block and position; `mask` is 0 for padding.
        """
        part, length = self.parts, batch.shape[1]
        beside = np.zeros((len(batch), length + _WIDE - 1, _NUMBERS))
        half = _WIDE // 2
        beside[:, half : half + length] = part["embed"][batch] * mask[:, :, None]
        windows = np.concatenate([beside[:, at : at + length] for at in range(_WIDE)], axis=2)
        seen = np.maximum(0, windows @ part["patterns"] + part["bias"]) * mask[:, :, None]
        own = part["word"][batch, 0] * mask
        return (seen.sum(1) @ part["last"])[:, 0] + own.sum(1), (windows, seen, mask)

    def back(
        self, batch: Batch, kept: tuple[Numbers, Numbers, Numbers], slope: Numbers
    ) -> dict[str, Numbers]:
        """Return the gradients of all weights.

        `kept` are the values that `run` returned; `slope` is the gradient of the loss with respect
        to the predictions.
        """
        part, length = self.parts, batch.shape[1]
        windows, seen, mask = kept
        found = {name: np.zeros_like(value) for name, value in part.items()}
        found["last"] = seen.sum(1).T @ slope[:, None]
        np.add.at(found["word"], (batch, 0), slope[:, None] * mask)
        inner = (slope[:, None, None] * part["last"][:, 0]) * (seen > 0)
        found["patterns"] = np.tensordot(windows, inner, ((0, 1), (0, 1)))
        found["bias"] = inner.sum((0, 1))
        by_window = inner @ part["patterns"].T
        beside = np.zeros((len(batch), length + _WIDE - 1, _NUMBERS))
        for at in range(_WIDE):
            beside[:, at : at + length] += by_window[:, :, at * _NUMBERS : (at + 1) * _NUMBERS]
        half = _WIDE // 2
        np.add.at(found["embed"], batch, beside[:, half : half + length] * mask[:, :, None])
        return found
