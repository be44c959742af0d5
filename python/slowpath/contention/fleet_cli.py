"""The command line of `slowpath contention place`, `suggest` and `profile`."""

from argparse import Namespace

from slowpath.bound.flags import WHERE
from slowpath.contention.cli import CODES, FORMAT, NEEDS, OUTPUT
from slowpath.contention.options import LENGTH, MIXES, POLICIES, POLICY, SURE
from slowpath.contention.profiling.setup import PLANS
from slowpath.core.command import Command, argument, option, within

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
    from slowpath.contention.placement.run import run_place

    return run_place(given)


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


SUGGESTING = "What to measure"


def _suggest(given: Namespace) -> int:
    from slowpath.contention.placement.run import run_suggest

    return run_suggest(given)


SUGGEST = Command(
    (
        "Tell which mixes a fleet should measure before it places functions in them.",
        "FLEET is that of `slowpath contention place`, which counts on what was measured to within "
        "its noise, and on predictions as far as it has to be sure of them. Suggested are mixes "
        "that the fleet would use if predictions were true, those first that are on most NICs. "
        "With --format csv, the answer is the table that --measured takes, its throughputs left "
        "open.",
        NEEDS,
        CODES,
    ),
    (
        argument("FLEET", "A description of a fleet, in YAML."),
        option(
            SUGGESTING,
            "--mixes",
            metavar="N",
            type=within(int, 1, 10_000),
            default=MIXES,
            help="At most so many (default: %(default)s).",
        ),
        MEASURED,
        NOISE,
        option(
            SUGGESTING,
            "--sure",
            metavar="SHARE",
            type=within(float, 0.51, 0.999),
            default=SURE,
            help="That of placements later on: with which probability promises have to be kept "
            "(default: %(default)s).",
        ),
        FORMAT,
    ),
    _suggest,
)


_MEASURING = "Measuring"


def _profile(given: Namespace) -> int:
    from slowpath.contention.profiling.run import run

    return run(given)


PROFILE = Command(
    (
        "Measure how fast a function is beside competitors on this machine.",
        "A YAML file describes the function, its traffic, its competitors, and how much is to be "
        "measured (docs/contention.md). Each runs on a CPU of its own, alone and beside the others "
        "in turns; blocks in which something else had the CPU are made again. The folder then has "
        "tables for `slowpath contention train`, and a record of the machine and of the noise.",
        NEEDS,
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be used, or this machine lacks "
        "something, 4 stopped before all was measured.",
    ),
    (
        argument("FILE", "The description, such as examples/contention/flow-monitor.yaml."),
        option(
            _MEASURING,
            "--mixes",
            metavar="N",
            type=within(int, 1, 100_000),
            help="Measure so many mixes of traffic and competitors (default: what the file says).",
        ),
        option(
            _MEASURING,
            "--plan",
            choices=PLANS,
            help="How these are chosen: at random, on a grid, adaptively where traffic makes a "
            "difference (the paper's Algorithm 1), or where a model is least sure (default: what "
            "the file says).",
        ),
        option(
            _MEASURING,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            help="End after this time, with what was measured by then.",
        ),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FOLDER",
            required=True,
            help="Where to write the tables and the record.",
        ),
        option(
            OUTPUT,
            "--format",
            choices=("table", "json"),
            default="table",
            help="How to write to standard output; json is the record (default: %(default)s).",
        ),
    ),
    _profile,
)
