"""Formats the result of checking a certificate as text."""

from collections.abc import Iterator

from slowpath.check.documents import CheckDocument, Proved
from slowpath.core.schema.derived import cost_words
from slowpath.core.terminal import Line


def certificate_text(document: CheckDocument) -> Iterator[Line]:
    """Yield the proved guarantee, its conditions, and the parts that the check trusts."""
    for one in document["results"]:
        proved = one["proved"]
        if proved is None:
            yield Line(f"{one['certificate']}: refused", "red")
            continue
        yield Line(f"{one['file']}:{proved['program']} on {one['target']}: proved", "green")
        if one["own_target"]:
            yield Line("  with the costs that the certificate states for this target", "yellow")
        yield Line(f"  no packet causes more than {_work(proved, proved['bound'], one['metric'])}")
        if proved["exact"]:
            yield Line("  a packet reaches this bound, so it is exact")
        elif proved["reached"] is not None:
            yield Line(f"  a packet causes {_work(proved, proved['reached'], one['metric'])}")
        else:
            yield Line("  the certificate has no packet")
        yield from _listed("with", one["options"])
        yield from _listed("if", proved["assumptions"])
        yield from _listed("trusted", proved["trusted"])
        counts = f"{proved['nogoods']} nogoods, {proved['steps']} proof steps"
        yield Line(f"verified: {counts}; made by slowpath {one['made_by']}")


def _listed(title: str, sentences: list[str]) -> Iterator[Line]:
    for number, sentence in enumerate(sentences):
        yield Line(f"{f'{title}:' if number == 0 else '':<9}{sentence}")


def _work(proved: Proved, amount: float, metric: str | None) -> str:
    """Return an amount of work with its unit."""
    unit = cost_words(proved["component"], metric or proved["component"])
    return f"{amount:,.10g} {unit}"
