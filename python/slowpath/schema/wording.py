"""How texts word what results have: names of programs, metrics and costs, conditions, refusals."""

from slowpath.schema.instructions import Refusal
from slowpath.schema.rates import as_metric
from slowpath.schema.results import Result


def program_label(result: Result) -> str:
    """The file, and the program where a file can have several: an object, or a chain on devices."""
    several = result["section"] is not None or "@" in result["program"]
    return f"{result['file']}:{result['program']}" if several else result["file"]


def condition(sentence: str) -> str:
    """An assumption as it follows the word `if`."""
    return sentence.removesuffix(".")


def metric_words(metric: str) -> str:
    """What a metric of a target that counts is called in texts."""
    return metric.replace("-", " ")


def cost_words(component: str, metric: str) -> str:
    """What costs on a component are called in texts: `dram cycles`, or the name of a count."""
    return component if as_metric(metric) is None else f"{component} cycles"


def refusal_text(refusal: Refusal) -> str:
    """A refusal in words."""
    more = refusal["times"] - 1
    others = f" and {more} more instruction{'s'[: more > 1]}" if more else ""
    place = f"{refusal['place']}{others}: " if refusal["place"] else ""
    return place + "; ".join(filter(None, (refusal["reason"], refusal["hint"])))
