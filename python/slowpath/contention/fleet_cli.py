"""The command line of `slowpath contention place`, `suggest` and `profile`."""

from slowpath.bounds.flags import WHERE
from slowpath.contention.cli import CODES, FORMAT_HELP, NEEDS
from slowpath.contention.options import LENGTH, MIXES, POLICIES, POLICY, SURE
from slowpath.contention.profiling.setup import PLANS
from slowpath.core.command import Command, argument, option, within
from slowpath.core.formats import JSON, OUTPUT, Formats

ARRIVALS = "Arrivals"
PLACING = "How to place"
KNOWN = "What was measured"
_PLACE = Formats(
    "slowpath.contention.placement.report", table="placement_text", json=JSON, csv="placement_csv"
)
_SUGGEST = Formats(
    "slowpath.contention.placement.report", table="suggestion_text", json=JSON, csv="suggestion_csv"
)
_PROFILE = Formats("slowpath.contention.profiling.run", table="profile_text", json=JSON)
MEASURED = option(
    KNOWN,
    "--measured",
    metavar="FILE",
    help="Use measured mixes from this table (`mix`, `function`, `throughput`) instead of "
    "predictions; repeated measurements have several rows.",
)
NOISE = option(
    KNOWN,
    "--noise",
    metavar="SHARE",
    type=within(float, 0, 1),
    help="Set the standard deviation of one such measurement (0.01: 1 %%; default: learnt from "
    "repeated measurements).",
)


PLACE = Command(
    (
        "Place arriving functions on a fleet of NICs, and report broken promises.",
        "FLEET describes NICs and functions, with models and promises (shares of the solo "
        "throughput); docs/contention.md has its keys. Wastage is the number of NICs in use beyond "
        "those of the best plan, which knows all arrivals beforehand, as a share of the latter.",
        f"{NEEDS} --scheduler needs the extra `fleet`.",
        CODES,
    ),
    (
        argument("FLEET", "A description of a fleet, in YAML."),
        option(
            ARRIVALS,
            "--arrivals",
            metavar="FILE",
            help="Read the arrivals in order from this table: `function`, and `sla` unless the "
            "fleet's applies.",
        ),
        option(
            ARRIVALS,
            "--sequences",
            metavar="N",
            type=within(int, 1, 100_000),
            help="Place N random sequences of arrivals instead of a table.",
        ),
        option(
            ARRIVALS,
            "--length",
            metavar="N",
            type=within(int, 1, 1_000_000),
            help=f"Set the number of arrivals in a random sequence (default: {LENGTH}).",
        ),
        option(
            ARRIVALS,
            "--expect",
            metavar="N",
            type=within(int, 1, 1_000_000),
            help="Set the expected number of arrivals; bid-price plans for those still to come "
            "(default: unknown).",
        ),
        option(
            ARRIVALS,
            "--seed",
            metavar="N",
            type=within(int, 0),
            help="Seed the random sequences (default: 0).",
        ),
        option(
            PLACING,
            "--policy",
            metavar="NAME",
            choices=POLICIES,
            action="append",
            help=f"Use this policy: {', '.join(POLICIES)}; may be repeated (default: {POLICY}).",
        ),
        option(
            PLACING,
            "--sure",
            metavar="SHARE",
            type=within(float, 0.51, 0.999),
            help="Keep promises with this probability (such as 0.9); without it, placement uses "
            "predicted or measured values, which functions miss in half of all cases.",
        ),
        MEASURED,
        NOISE,
        option(
            PLACING,
            "--truth",
            metavar="FILE",
            help="Judge promises by the measured or simulated throughput of mixes in this table "
            "(`mix`, `function`, `throughput`; default: judge by the models).",
        ),
        option(
            PLACING,
            "--no-reference",
            action="store_true",
            help="Skip the search for the best plan; wastage is then unknown.",
        ),
        option(
            WHERE,
            "--jobs",
            metavar="N",
            type=within(int, 1, 1024),
            help="Use N processes on this machine (default: one for each CPU).",
        ),
        option(
            WHERE,
            "--scheduler",
            metavar="ADDRESS",
            help="Compute on the cluster of this Dask scheduler, such as tcp://host:8786; results "
            "are the same.",
        ),
        _PLACE.option(FORMAT_HELP),
    ),
    _PLACE.call("slowpath.contention.placement.run:run_place"),
)


SUGGESTING = "What to measure"


SUGGEST = Command(
    (
        "Suggest mixes to measure before a fleet places functions in them.",
        "FLEET is that of `slowpath contention place`, which relies on measurements up to their "
        "noise, and on predictions up to their uncertainty. The suggested mixes are those that the "
        "fleet would use if predictions were true, ordered by their number of NICs. With "
        "--format csv, the output is a table for --measured, with empty throughputs to fill in.",
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
            help="Suggest at most N mixes (default: %(default)s).",
        ),
        MEASURED,
        NOISE,
        option(
            SUGGESTING,
            "--sure",
            metavar="SHARE",
            type=within(float, 0.51, 0.999),
            default=SURE,
            help="Set the probability with which later placements have to keep promises "
            "(default: %(default)s).",
        ),
        _SUGGEST.option(FORMAT_HELP),
    ),
    _SUGGEST.call("slowpath.contention.placement.run:run_suggest"),
)


_MEASURING = "Measuring"


PROFILE = Command(
    (
        "Measure the throughput of a function beside competitors on this machine.",
        "A YAML file describes the function, its traffic, its competitors, and the effort of "
        "measuring (docs/contention.md). Each runs on a CPU of its own, alternately alone and "
        "beside the others; blocks in which another program used the CPU are repeated. The folder "
        "then has tables for `slowpath contention train`, and a record of the machine and noise.",
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
            help="Measure N mixes of traffic and competitors (default: as in the file).",
        ),
        option(
            _MEASURING,
            "--plan",
            choices=PLANS,
            help="Choose mixes at random, on a grid, adaptively where traffic makes a difference "
            "(the paper's Algorithm 1), or where a model is least sure (default: as in the file).",
        ),
        option(
            _MEASURING,
            "--deadline",
            metavar="SECONDS",
            type=within(float, 0),
            help="Stop after this time, and keep the measurements made by then.",
        ),
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FOLDER",
            required=True,
            help="Write the tables and the record to this folder.",
        ),
        _PROFILE.option("Select the format of standard output; json is the record"),
    ),
    _PROFILE.call("slowpath.contention.profiling.run:run"),
)
