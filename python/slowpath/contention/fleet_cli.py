"""Declares the commands `slowpath contention place`, `suggest` and `profile`."""

from slowpath.bounds.flags import WHERE
from slowpath.contention.cli import CODES, FORMAT_HELP, NEEDS
from slowpath.contention.options import LENGTH, MIXES, POLICIES, POLICY, SURE
from slowpath.contention.profiling.setup import PLANS
from slowpath.core.command import Command, Heading, argument, within
from slowpath.core.formats import JSON, OUTPUT, Formats

ARRIVALS = Heading("Arrivals")
PLACING = Heading("How to place")
KNOWN = Heading("What was measured")
_PLACE = Formats(
    "slowpath.contention.placement.report", table="placement_text", json=JSON, csv="placement_csv"
)
_SUGGEST = Formats(
    "slowpath.contention.placement.report", table="suggestion_text", json=JSON, csv="suggestion_csv"
)
_PROFILE = Formats("slowpath.contention.profiling.run", table="profile_text", json=JSON)
MEASURED = KNOWN.option(
    "--measured FILE",
    "Use measured mixes from this table (`mix`, `function`, `throughput`) instead of "
    "predictions; repeated measurements have several rows.",
)
NOISE = KNOWN.option(
    "--noise SHARE",
    "Set the standard deviation of one such measurement (0.01: 1 %%; default: learnt from "
    "repeated measurements).",
    type=within(float, 0, 1),
)


PLACE = Command(
    (
        "Place arriving functions on a fleet of NICs, and report broken promises.",
        "FLEET describes NICs and functions, with models and promises (shares of the solo "
        "throughput); docs/reference/contention-files.md has its keys. Wastage is the number of "
        "NICs in use beyond those of the best plan, which knows all arrivals beforehand, as a "
        "share of the latter.",
        f"{NEEDS} --scheduler needs the extra `fleet`.",
        CODES,
    ),
    (
        argument("FLEET", "A description of a fleet, in YAML."),
        ARRIVALS.option(
            "--arrivals FILE",
            "Read the arrivals in order from this table: `function`, and `sla` unless the "
            "fleet's applies.",
        ),
        ARRIVALS.option(
            "--sequences N",
            "Place N random sequences of arrivals instead of a table.",
            type=within(int, 1, 100_000),
        ),
        ARRIVALS.option(
            "--length N",
            f"Set the number of arrivals in a random sequence (default: {LENGTH}).",
            type=within(int, 1, 1_000_000),
        ),
        ARRIVALS.option(
            "--expect N",
            "Set the expected number of arrivals; bid-price plans for those still to come "
            "(default: unknown).",
            type=within(int, 1, 1_000_000),
        ),
        ARRIVALS.option("--seed N", "Seed the random sequences (default: 0).", type=within(int, 0)),
        PLACING.option(
            "--policy NAME",
            f"Use this policy: {', '.join(POLICIES)}; may be repeated (default: {POLICY}).",
            choices=POLICIES,
            action="append",
        ),
        PLACING.option(
            "--sure SHARE",
            "Keep promises with this probability (such as 0.9); without it, placement uses "
            "predicted or measured values, which functions miss in half of all cases.",
            type=within(float, 0.51, 0.999),
        ),
        MEASURED,
        NOISE,
        PLACING.option(
            "--truth FILE",
            "Judge promises by the measured or simulated throughput of mixes in this table "
            "(`mix`, `function`, `throughput`; default: judge by the models).",
        ),
        PLACING.flag(
            "--no-reference", "Skip the search for the best plan; wastage is then unknown."
        ),
        WHERE.option(
            "--jobs N",
            "Use N processes on this machine (default: one for each CPU).",
            type=within(int, 1, 1024),
        ),
        WHERE.option(
            "--scheduler ADDRESS",
            "Compute on the cluster of this Dask scheduler, such as tcp://host:8786; results "
            "are the same.",
        ),
        _PLACE.option(FORMAT_HELP),
    ),
    _PLACE.call("slowpath.contention.placement.run:run_place"),
)


SUGGESTING = Heading("What to measure")


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
        SUGGESTING.option(
            "--mixes N",
            "Suggest at most N mixes (default: %(default)s).",
            type=within(int, 1, 10_000),
            default=MIXES,
        ),
        MEASURED,
        NOISE,
        SUGGESTING.option(
            "--sure SHARE",
            "Set the probability with which later placements have to keep promises "
            "(default: %(default)s).",
            type=within(float, 0.51, 0.999),
            default=SURE,
        ),
        _SUGGEST.option(FORMAT_HELP),
    ),
    _SUGGEST.call("slowpath.contention.placement.run:run_suggest"),
)


_MEASURING = Heading("Measuring")


PROFILE = Command(
    (
        "Measure the throughput of a function beside competitors on this machine.",
        "A YAML file describes the function, its traffic, its competitors, and the effort of "
        "measuring (docs/reference/contention-files.md). Each runs on a CPU of its own, "
        "alternately alone and beside the others; blocks in which another program used the CPU are "
        "repeated. The folder then has tables for `slowpath contention train`, and a record of the "
        "machine and noise.",
        NEEDS,
        "Exit codes: 0 fine, 2 wrong usage, 3 a file cannot be used, or this machine lacks "
        "something, 4 stopped before all was measured.",
    ),
    (
        argument("FILE", "The description, such as examples/contention/flow-monitor.yaml."),
        _MEASURING.option(
            "--mixes N",
            "Measure N mixes of traffic and competitors (default: as in the file).",
            type=within(int, 1, 100_000),
        ),
        _MEASURING.option(
            "--plan",
            "Choose mixes at random, on a grid, adaptively where traffic makes a difference "
            "(the paper's Algorithm 1), or where a model is least sure (default: as in the file).",
            choices=PLANS,
        ),
        _MEASURING.option(
            "--deadline SECONDS",
            "Stop after this time, and keep the measurements made by then.",
            type=within(float, 0),
        ),
        OUTPUT.option(
            "-o, --output FOLDER", "Write the tables and the record to this folder.", required=True
        ),
        _PROFILE.option("Select the format of standard output; json is the record"),
    ),
    _PROFILE.call("slowpath.contention.profiling.run:run"),
)
