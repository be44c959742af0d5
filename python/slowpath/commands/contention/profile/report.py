"""What was measured, for people."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.contention.host.documents import PlanRecord, ProfileRecord
from slowpath.report.grid import grid

_OFTEN = 0.01


def profile_text(record: ProfileRecord, files: Sequence[str]) -> Iterator[Line]:
    """The probe, the noise floor, and where the tables are."""
    cpus = ", ".join(str(cpu) for cpu in record["cpus"])
    yield Line(one_line(f"{record['function']} on {record['device']}, CPUs {cpus}"), "bold")
    wanted = "" if record["mixes"] == record["wanted"] else f" of {record['wanted']}"
    yield Line(f"{record['mixes']}{wanted} mixes; {_noise(record)}")
    yield from _plan(record["plan"])
    if record["disturbed_blocks"]:
        yield Line(
            f"{record['disturbed_blocks']} blocks were disturbed: a thread waited for its CPU, or "
            "others were on the processor."
        )
    if record["elsewhere"] >= _OFTEN:
        yield Line(
            f"In {100 * record['elsewhere']:.0f} % of looks the CPUs were on one core, or behind "
            "different caches: there competitors do something else to a function."
        )
    if record["counters"] is not None:
        yield Line(one_line(f"Scores by a probe instead of counters: {record['counters']}."))
    yield Line("")
    rows = [
        (f"{one['megabytes']:.2f}", f"{one['slowdown']:.2f}") for one in record["probe"]["measured"]
    ]
    yield from grid(
        ("bubble, MB", "probe slower by"), rows, right=("bubble, MB", "probe slower by")
    )
    yield Line("")
    shift = 100 * record["probe"]["largest_shift"]
    yield Line(f"The probe alone was at most {shift:.1f} % from its median.")
    for file in files:
        yield Line(one_line(file))


def _plan(record: PlanRecord) -> Iterator[Line]:
    """What an adaptive plan went by."""
    if record["relevant"] is None or record["threshold"] is None:
        return
    on = " and ".join(record["relevant"]) or "nothing of the traffic"
    least = f"{100 * record['threshold']:.1f} %"
    yield Line(f"Throughput alone depends on {on}, by {least} or more; mixes go by that.")


def _noise(record: ProfileRecord) -> str:
    noise = record["noise"]
    within = f"{100 * noise['within']:.1f} % between medians of one run"
    if noise["spread"] is None:
        return f"the same again: {within}"
    return f"the same again: {100 * noise['spread']:.1f} % (standard deviation), {within}"
