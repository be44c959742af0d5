"""Which findings on functions are worth advice of their own, and which are said of another one.

None of this changes what is proved or suspected: `slowpath insights accelerators` has all of it.
"""

from slowpath.insights.accelerators.documents import Accelerated, Alike
from slowpath.insights.advising.engines.parts import at_line, of_function
from slowpath.insights.advising.evidence import Evidence
from slowpath.insights.preparation.calls import led_to, only_through

_TABLE = " table"


def is_table(one: Accelerated) -> bool:
    """Whether it is a table that a function fills, and nothing that it computes of data."""
    return one["algorithm"].endswith(_TABLE)


def has_of_another(evidence: Evidence, one: Accelerated) -> bool:
    """Whether what a function leaves in memory is what another one has made, which is proved, too.

    It calls that one, or that one ran before it; an engine does not do it for that.
    """
    if not is_table(one) and "result" not in one["parameters"]:
        return False
    statics = evidence.statics
    inside = led_to(statics.calls, [one["symbol"]]) - {one["symbol"]}
    return any(
        (other["symbol"] in inside or other["function"] in one["together"])
        and other["symbol"] != one["symbol"]
        and (other["algorithm"], other["parameters"]) == (one["algorithm"], one["parameters"])
        for other in evidence.accelerators["proved"]
    )


def is_slight(evidence: Evidence, one: Alike) -> bool:
    """Whether a suspicion is not worth a look.

    So it is where the function, with all that it leads to, works only in what is proved already: a
    dozen operations on bits, or some in a loop, are work. On a trace, where at least half of what
    it takes is proved to be something else.
    """
    statics, symbol = evidence.statics, one["symbol"]
    if symbol not in statics.calls:
        return False
    proved = [each for each in evidence.accelerators["proved"] if each["symbol"] != symbol]
    known = {each["symbol"] for each in proved}
    around = {name: [] if name in known else calls for name, calls in statics.calls.items()}
    inside = led_to(around, [symbol])
    if not (inside - known) & set(statics.toiling):
        return True
    part = of_function(evidence, symbol, one["line"])
    if part is None or not part.instructions:
        return False
    alone = only_through(statics.calls, symbol)
    taken = 0.0
    for each in proved:
        if each["part_of"] is not None:
            continue
        lines = {
            (use.file, use.line)
            for use in statics.uses
            if use.caller in alone and each["symbol"] in use.symbols
        }
        theirs = [at_line(evidence, each["symbol"], *line) for line in lines]
        if each["symbol"] in alone and not each["calls"]:
            theirs.append(of_function(evidence, each["symbol"], each["line"]))
        taken += sum(one.instructions for one in theirs if one is not None)
    return 2 * taken >= part.instructions
