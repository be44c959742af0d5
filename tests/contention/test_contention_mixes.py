"""Tests that predictions for many mixes depend neither on their order nor on batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contention_models import FLOWS, MTBR, SIZE, kind, model
from slowpath.contention.mixes import predict_mixes
from slowpath.contention.prediction import predict, query_with_competitors
from slowpath.core.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = (
    model(0, 2e-4),
    model(1),
    model(2, 6e-4, queues=2),
    model(3, 3e-4, pattern="run-to-completion"),
)
KINDS = tuple(kind(one, f"m{at}") for at, one in enumerate(MODELS))
MIXES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple), max_size=6)


@settings(max_examples=25)
@given(MIXES)
def test_mixes_are_what_queries_of_single_functions_say(mixes: list[tuple[int, ...]]) -> None:
    found = predict_mixes(KINDS, mixes, 0.9)
    assert len(found.mix) == sum(len(set(mix)) for mix in mixes)
    for row, (mix, target) in enumerate(zip(found.mix, found.kind, strict=True)):
        others = list(mixes[mix])
        others.remove(target)
        query = query_with_competitors(
            (f"m{target}", MODELS[target]),
            [(f"m{at}", MODELS[at]) for at in others],
            (FLOWS, SIZE, MTBR),
        )
        alone = predict(MODELS[target], query, 0.9)
        for name in ("throughput", "low", "high", "memory"):
            assert getattr(found, name)[row] == pytest.approx(getattr(alone, name)[0], rel=1e-9)
        assert found.outside[row] == alone.outside[0]


@settings(max_examples=20)
@given(st.permutations([0, 0, 1, 2, 3]))
def test_the_order_of_functions_does_not_matter(order: list[int]) -> None:
    one, two = (predict_mixes(KINDS, [mix], 0.9) for mix in ((0, 0, 1, 2, 3), tuple(order)))
    first = dict(zip(one.kind, one.throughput, strict=True))
    for at, value in zip(two.kind, two.throughput, strict=True):
        assert value == pytest.approx(first[at], rel=1e-12)


def test_each_function_has_its_own_traffic() -> None:
    """Check that more flows slow down only the function with these flows, not its neighbours."""
    busy = KINDS[1]._replace(flows=100 * FLOWS)
    before = predict_mixes(KINDS, [(1, 3)], 0.9)
    after = predict_mixes((KINDS[0], busy, *KINDS[2:]), [(1, 3)], 0.9)
    assert after.throughput[0] < before.throughput[0]
    assert after.throughput[1] == before.throughput[1]


def test_models_that_do_not_go_together_are_named() -> None:
    other = MODELS[1].memory.origin._replace(device="another")
    stranger = MODELS[1]._replace(memory=MODELS[1].memory._replace(origin=other))
    with pytest.raises(
        InputError,
        match="strange: the model is of the device 'another', but m0 is of the device 'device'",
    ):
        predict_mixes((KINDS[0], kind(stranger, "strange")), [(0, 1)], 0.9)
    silent = kind(MODELS[1]._replace(contention=None), "silent")
    with pytest.raises(
        InputError, match="silent: the model lacks the contention that the function causes"
    ):
        predict_mixes((KINDS[0], silent), [(0, 1)], 0.9)
    assert np.isfinite(predict_mixes((KINDS[0], silent), [(1,)], 0.9).throughput).all()


def test_what_a_function_does_to_others_has_the_columns_of_its_rows() -> None:
    contention = MODELS[1].contention
    assert contention is not None
    less = {name: values for name, values in contention.columns.items() if name != "wss_mb"}
    lacking = kind(MODELS[1]._replace(contention=contention._replace(columns=less)), "lacking")
    with pytest.raises(InputError, match=r"lacking: the model lacks a part of .*: wss_mb"):
        predict_mixes((KINDS[0], lacking), [(0, 1)], 0.9)
