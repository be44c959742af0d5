"""Declares the arguments and options of `slowpath demo`."""

from argparse import Namespace

from slowpath.core.command import Command, Example


def _demo(_args: Namespace) -> int:
    from slowpath.demo.run import demo

    return demo()


DEMO = Command(
    (
        "Analyse an example that comes with slowpath",
        "The example is an XDP firewall for TCP and UDP over IPv4 and IPv6. Prints the report "
        "of slowpath bound, then hints for further steps.",
    ),
    (),
    _demo,
    (
        Example(
            "slowpath demo", "Print the guarantee of a firewall, and the packet that proves it"
        ),
        Example("slowpath demo -o report.txt", "Write the report to a file"),
    ),
)
