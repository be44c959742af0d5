"""A function of bytes as one of pairs of bytes, for what it does with an odd one is left out."""

from slowpath.insights.accelerators.harness.oracles import Oracle


class Pairs:
    """An oracle whose data has whole words only."""

    fixed: int | None = None
    unit = 2

    def __init__(self, oracle: Oracle) -> None:
        """Of an oracle that takes data of any length."""
        self._oracle = oracle
        self.bits, self.most, self.text = oracle.bits, oracle.most, oracle.text
        self.seed_bits, self.seed_name = oracle.seed_bits, oracle.seed_name
        self.words, self.result = oracle.words, oracle.result
        self.shift = 0

    def value(self, data: bytes, seed: int = 0) -> int:
        """What comes out."""
        self._oracle.shift = self.shift
        return self._oracle.value(data, seed)
