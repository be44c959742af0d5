"""Random numbers that are the same in every run: the same input, the same output."""

import random

Noise = random.Random


def noise_of(seed: int) -> Noise:
    """Numbers of their own for each place that draws some."""
    return random.Random(seed)  # noqa: S311 - nothing is secret
