"""The command line of `slowpath contention place`."""

from argparse import Namespace

from slowpath.analysis.flags import WHERE
from slowpath.cli.command import Command, argument, option, within
from slowpath.commands.contention.command import CODES, FORMAT, NEEDS
from slowpath.commands.contention.place.defaults import LENGTH, POLICIES, POLICY

ARRIVALS = "Arrivals"
PLACING = "How to place"
KNOWN = "What was measured"
MEASURED = option(
    KNOWN,
    "--measured",
    metavar="FILE",
    help="Table of mixes that were measured (`mix`, `function`, `throughput`), with several rows "
    "where they were repeated: taken instead of predictions.",
)
NOISE = option(
    KNOWN,
    "--noise",
    metavar="SHARE",
    type=within(float, 0, 1),
    help="By how much one such measurement scatters (0.01: a standard deviation of 1 %%; default: "
    "learnt from those that were repeated).",
)


def _place(given: Namespace) -> int:
    from slowpath.commands.contention.place.run import run

    return run(given)


PLACE = Command(
    (
        "Place functions that arrive at a fleet of NICs, and tell which promises are broken.",
        "FLEET describes NICs and functions, with models and promises (shares of the throughput "
        "alone); docs/contention.md has its keys. Wastage is how many NICs more are in use than "
        "the best plan takes that knows all arrivals beforehand.",
        f"{NEEDS} --scheduler needs the extra `fleet`.",
        CODES,
    ),
    (
        argument("FLEET", "A description of a fleet, in YAML."),
        option(
            ARRIVALS,
            "--arrivals",
            metavar="FILE",
            help="Table of arrivals, in their order: `function`, and `sla` where it is not that "
            "of the fleet.",
        ),
        option(
            ARRIVALS,
            "--sequences",
            metavar="N",
            type=within(int, 1, 100_000),
            help="So many random sequences of arrivals rather than a table.",
        ),
        option(
            ARRIVALS,
            "--length",
            metavar="N",
            type=within(int, 1, 1_000_000),
            help=f"Arrivals of a random sequence (default: {LENGTH}).",
        ),
        option(
            ARRIVALS,
            "--expect",
            metavar="N",
            type=within(int, 1, 1_000_000),
            help="So many arrivals are expected in all: bid-price plans for those still to come "
            "(default: nobody knows).",
        ),
        option(
            ARRIVALS,
            "--seed",
            metavar="N",
            type=within(int, 0),
            help="Other random sequences (default: 0).",
        ),
        option(
            PLACING,
            "--policy",
            metavar="NAME",
            choices=POLICIES,
            action="append",
            help=f"{', '.join(POLICIES)}; may be given several times (default: {POLICY}).",
        ),
        option(
            PLACING,
            "--sure",
            metavar="SHARE",
            type=within(float, 0.51, 0.999),
            help="Count on what functions keep with this probability (0.9), rather than on what "
            "is predicted or measured, of which they keep less in half of all cases.",
        ),
        MEASURED,
        NOISE,
        option(
            PLACING,
            "--truth",
            metavar="FILE",
            help="Table of measured or simulated throughput of mixes (`mix`, `function`, "
            "`throughput`) that says which promises are broken (default: the models say it).",
        ),
        option(
            PLACING,
            "--no-reference",
            action="store_true",
            help="Do not look for the best plan, which wastage is by.",
        ),
        option(
            WHERE,
            "--jobs",
            metavar="N",
            type=within(int, 1, 1024),
            help="Processes of this machine (default: one for each CPU).",
        ),
        option(
            WHERE,
            "--scheduler",
            metavar="ADDRESS",
            help="Compute on the cluster of this Dask scheduler, such as tcp://host:8786, with the "
            "same results.",
        ),
        FORMAT,
    ),
    _place,
)
