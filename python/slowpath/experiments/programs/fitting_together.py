"""Parameters of an experiment that do not fit together, found before anything is made."""

from typing import NoReturn

from slowpath.cli.errors import InputError
from slowpath.experiments.programs.entries import drawn_values, prefix_shape
from slowpath.experiments.programs.packet import headers_end, key_offset
from slowpath.experiments.specification.components import SIZE, YES
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import Settings, number_of

_HEADROOM = 192
"""Bytes in front of a packet in the kernel's test runs that programs can use."""
_PRINTED = 3
"""Numbers that `bpf_trace_printk` prints."""
_CSUM_DIFF = 512
"""Bytes that `bpf_csum_diff` sums up (MAX_BPF_STACK)."""


def check_together(experiment: Experiment, settings: Settings) -> None:
    """Finds parameters that do not fit together.

    Raises:
        InputError: naming the experiment, and why.
    """
    kind, size, payload = experiment["component"]["kind"], settings[SIZE], headers_end(experiment)
    headers, each = number_of(settings, "headers"), number_of(settings, "header_bytes")
    where = key_offset(experiment)
    needed = {
        "forward": 14,
        "parser": payload + headers * each,
        "pop": headers * each + 14,
        "push": each,
        "table-exact": where + number_of(settings, "key_bytes"),
        "table-lpm": where + number_of(settings, "key_bytes"),
        "table-ternary": where + number_of(settings, "key_bytes"),
        "field-writes": payload + 2 * number_of(settings, "writes")
        if settings.get("where") == "header"
        else 2,
        "memory": 0,
        "checksum": payload + number_of(settings, "bytes"),
        "copy": payload + number_of(settings, "bytes"),
        "helper": payload + 4,
        "mixture": payload + 256,
    }.get(kind, where + 4)
    if needed > int(size):
        refuse(experiment, f"packets of {size} bytes are too short, {needed} are needed")
    if kind == "push" and headers * each > _HEADROOM:
        refuse(experiment, f"{headers * each} bytes are too many before a packet; {_HEADROOM} fit")
    if kind == "parser" and 2 + 2 * number_of(settings, "fields") > each:
        refuse(experiment, f"{settings['fields']} fields do not fit into headers of {each} bytes")
    summed = number_of(settings, "bytes")
    if kind == "checksum" and settings["method"] == "helper" and summed > _CSUM_DIFF:
        refuse(experiment, f"the helper sums up to {_CSUM_DIFF} bytes, not {summed}")
    entries, bits = number_of(settings, "entries") or 1, number_of(settings, "prefix_bits")
    width = 8 * number_of(settings, "key_bytes")
    if kind == "table-lpm" and bits > width:
        refuse(experiment, f"addresses of {width} bits have no prefixes of {bits} bits")
    if kind == "table-lpm" and entries > 1 << (prefix_shape(bits).bits - 1):
        refuse(experiment, f"there are no {entries:,} prefixes of {bits} bits")
    if settings.get("helper") == "trace_printk" and number_of(settings, "arguments") > _PRINTED:
        refuse(experiment, f"trace_printk prints {_PRINTED} numbers at most; trace_vprintk more")
    drawn = drawn_values(experiment, settings)
    if kind != "table-ternary" and settings.get("hit", YES) == YES and drawn > entries:
        refuse(experiment, f"{drawn:,} values vary, and there are {entries:,} entries to find")
    if kind == "table-ternary" and experiment["traffic"]["vary"]:
        refuse(experiment, "the last entry is looked for; nothing can vary")


def refuse(experiment: Experiment, why: str) -> NoReturn:
    """Says why an experiment cannot be made.

    Raises:
        InputError: always.
    """
    raise InputError(experiment["name"], why)
