"""Meanings of the options that several commands have with different help texts.

An option has the same meaning in all commands. Help texts may add facts about the command, such as
its default. `test_option_meanings.py` compares all commands with this table.
"""

from typing import NamedTuple


class Meaning(NamedTuple):
    """The meaning of an option, common to all commands that have it."""

    text: str
    values: tuple[str, ...] = ()
    """Names of the value in help texts, the most general one last; empty for flags and choices."""
    default: str = ""
    """Rule for the default value, if it differs between commands."""


MEANINGS = {
    "--cflags": Meaning("Flags for clang, which compiles C and P4 sources.", ("FLAGS",)),
    "--confidence": Meaning(
        "Confidence level of intervals, or probability with which placements keep promises.",
        ("PERCENT",),
    ),
    "--deadline": Meaning(
        "Time limit for one input (program, chain, network, source). After it, the work stops "
        "with the results so far.",
        ("TIME",),
    ),
    "--entry": Meaning("Function at which the analysed code starts.", ("FUNCTION",)),
    "--fact": Meaning("Fact about every packet that arrives at the first program.", ("FACT",)),
    "--fail-on": Meaning("Condition under which the exit code is 1.", ("EXPR",)),
    "--format": Meaning("Format of the report on standard output.", ("FORMAT",)),
    "--html": Meaning("File for the report as a web page.", ("FILE",)),
    "--jobs": Meaning("Number of processes on this machine.", ("N",)),
    "--map-abi": Meaning(
        "Interface of compiled programs to maps.",
        default=(
            "The default is the interface of the firmware with published costs. To count "
            "blocks, the default is the interface to maps of all types."
        ),
    ),
    "--list": Meaning("List the items that the command knows, without running them."),
    "--maps": Meaning("File with content of maps.", ("FILE",)),
    "--memory": Meaning("Memory limit for one input (program, chain, network, source).", ("SIZE",)),
    "--metric": Meaning("Metric to guarantee.", ("NAME",)),
    "--mixes": Meaning("Number of mixes of functions that share a device.", ("N",)),
    "--output": Meaning("Place to which the result is written.", ("FILE", "DIR")),
    "--packets": Meaning("Number of packets to run.", ("N",)),
    "--paths": Meaning("Number of paths, from the slowest one.", ("K", "K|all")),
    "--pcap": Meaning("Capture file (pcap or pcapng) with the packets to run.", ("FILE",)),
    "--plot": Meaning("File for a figure; it ends in .svg or .png.", ("FILE",)),
    "--precision": Meaning(
        "Half of the width of the 95 % interval of a time, relative to the time.", ("PERCENT",)
    ),
    "--query": Meaning("Table with a row for each prediction.", ("FILE",)),
    "--receive": Meaning("Environment in which packets arrive.", ("ENVIRONMENT",)),
    "--recipe": Meaning("Memory model.", ("NAME",)),
    "--require": Meaning(
        "Rate or count to guarantee; otherwise, the exit code is 1.", ("RATE|'<=COUNT'",)
    ),
    "--scheduler": Meaning("Dask scheduler of the cluster that runs the analyses.", ("ADDRESS",)),
    "--seconds": Meaning(
        "Time for the measurement of one program or experiment.",
        ("TIME",),
    ),
    "--seed": Meaning("Seed of random numbers.", ("N",)),
    "--target": Meaning(
        "Device to analyse for, a built-in one or a description; several where the value ends in "
        "`,...`.",
        ("NAME", "NAME|FILE.toml", "NAME|FILE.toml,..."),
    ),
    "--train": Meaning("Table of measurements to train on.", ("FILE",)),
    "--trust": Meaning("Rewritten programs without checks at the entry."),
    "--verbose": Meaning("Report with more details."),
}
"""Meaning of each option that several commands have with different help texts."""
