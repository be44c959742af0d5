"""Declares the commands `slowpath contention place`, `suggest` and `profile`."""

from slowpath.bounds.flags import WHERE
from slowpath.contention.cli import CODES, NEEDS
from slowpath.contention.options import LENGTH, MIXES, POLICIES, POLICY, SURE
from slowpath.contention.profiling.setup import PLANS
from slowpath.core.command import Command, Example, Heading, argument, output_folder, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration
from slowpath.core.values import percentage, share_of_percentage

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
    "Use measured mixes from this table instead of predictions",
    "Columns are `mix`, `function` and `throughput`; repeated measurements have several rows.",
)
NOISE = KNOWN.option(
    "--noise PERCENT",
    "Set the standard deviation of a measurement [default: learnt]",
    "PERCENT is such as 1%. The default is learnt from repeated measurements.",
    common=False,
    type=share_of_percentage("--noise"),
)


PLACE = Command(
    (
        "Place arriving functions on a fleet of NICs",
        "Reports broken promises and wasted NICs. FLEET describes NICs and functions, with models "
        f"and promises (shares of the solo throughput). {NEEDS}",
        "docs/reference/contention-files.md has the keys of FLEET. Wastage is the number of NICs "
        "beyond those of the best plan, as a share of the latter. The best plan knows all arrivals "
        "in advance.",
        CODES,
    ),
    (
        argument("FLEET", "Description of a fleet (YAML)"),
        ARRIVALS.option(
            "--arrivals FILE",
            "Read the arrivals in order from this table",
            "Columns are `function`, and `sla` unless the fleet's applies.",
        ),
        ARRIVALS.option(
            "--sequences N",
            "Place N random sequences of arrivals instead of a table",
            type=within(int, 1, 100_000),
        ),
        ARRIVALS.option(
            "--length N",
            f"Set the arrivals in a random sequence [default: {LENGTH}]",
            type=within(int, 1, 1_000_000),
        ),
        ARRIVALS.option(
            "--expect N",
            "Set the expected number of arrivals [default: unknown]",
            "bid-price plans for those still to come.",
            common=False,
            type=within(int, 1, 1_000_000),
        ),
        ARRIVALS.option(
            "--seed N",
            "Seed the random sequences [default: 0]",
            common=False,
            type=within(int, 0),
        ),
        PLACING.option(
            "--policy NAME",
            f"Use this policy; repeatable [default: {POLICY}]",
            f"{', '.join(POLICIES[:-1])} or {POLICIES[-1]}.",
            choices=POLICIES,
            action="append",
        ),
        PLACING.option(
            "--confidence PERCENT",
            "Keep promises with this probability, such as 90%",
            "Without it, placement uses predicted or measured values, which functions miss in half "
            "of all cases.",
            type=percentage(51, 99.9),
        ),
        MEASURED,
        NOISE,
        PLACING.option(
            "--truth FILE",
            "Judge promises by this table [default: by the models]",
            "It has the measured or simulated throughput of mixes: `mix`, `function`, "
            "`throughput`.",
            common=False,
        ),
        PLACING.flag(
            "--no-reference",
            "Skip the search for the best plan",
            "Wastage is then unknown.",
            common=False,
        ),
        WHERE.option(
            "--jobs N",
            "Use N processes [default: one for each CPU]",
            common=False,
            type=within(int, 1, 1024),
        ),
        WHERE.option(
            "--scheduler ADDRESS",
            "Compute on the cluster of a Dask scheduler",
            "ADDRESS is such as tcp://host:8786. Results are the same. Needs the extra `fleet`.",
            common=False,
        ),
        _PLACE.option(),
    ),
    _PLACE.call("slowpath.contention.placement.run:run_place"),
    (
        Example(
            "slowpath contention place fleet.yaml --arrivals arrivals.csv",
            "Place the arrivals of a table",
        ),
        Example(
            "slowpath contention place fleet.yaml --sequences 10 --policy greedy",
            "Place random arrivals by another policy",
        ),
    ),
)


SUGGESTING = Heading("What to measure")


SUGGEST = Command(
    (
        "Suggest mixes of functions to measure",
        "Lists the mixes that a fleet would use if predictions were true, ordered by their number "
        f"of NICs. {NEEDS}",
        "FLEET is as for slowpath contention place. Placement allows for the noise of measurements "
        "and the uncertainty of predictions. With --format csv, the output is a table for "
        "--measured, with empty throughputs to fill in.",
        CODES,
    ),
    (
        argument("FLEET", "Description of a fleet (YAML)"),
        SUGGESTING.option(
            "--mixes N",
            "Suggest at most N mixes",
            type=within(int, 1, 10_000),
            default=MIXES,
        ),
        MEASURED,
        NOISE,
        SUGGESTING.option(
            "--confidence PERCENT",
            "Set the probability with which promises are kept later",
            type=percentage(51, 99.9),
            default=f"{100 * SURE:g}%",
        ),
        _SUGGEST.option(),
    ),
    _SUGGEST.call("slowpath.contention.placement.run:run_suggest"),
    (
        Example("slowpath contention suggest fleet.yaml", "List the mixes that matter most"),
        Example(
            "slowpath contention suggest fleet.yaml --format csv -o mixes.csv",
            "Write a table to fill in with measurements",
        ),
    ),
)


_MEASURING = Heading("Measuring")


PROFILE = Command(
    (
        "Measure the throughput of a function beside competitors",
        "A YAML file describes the function, its traffic, its competitors, and the effort of "
        f"measuring (docs/reference/contention-files.md). {NEEDS}",
        "Each function runs on its own CPU, alternately alone and beside the others. Blocks of "
        "time "
        "in which another program used the CPU are repeated. The folder then has tables for "
        "slowpath contention train, and a record of the machine and noise.",
        "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be used, or this machine lacks "
        "something, 4 stopped before all was measured.",
    ),
    (
        argument("FILE", "Description of the function and its competitors (YAML)"),
        _MEASURING.option(
            "--mixes N",
            "Measure N mixes of traffic and competitors [default: as in FILE]",
            type=within(int, 1, 100_000),
        ),
        _MEASURING.option(
            "--plan",
            "Choose mixes by this plan [default: as in FILE]",
            "random, grid, adaptive: where traffic makes a difference (the paper's Algorithm 1), "
            "active: where a model is least sure.",
            choices=PLANS,
        ),
        _MEASURING.option(
            "--deadline TIME",
            "Stop after TIME and keep the measurements [default: no limit]",
            type=within(duration, 0),
        ),
        OUTPUT.option(
            "-o, --output DIR",
            "Write the tables and the record to DIR",
            required=True,
            type=output_folder,
        ),
        _PROFILE.option("json is the record."),
    ),
    _PROFILE.call("slowpath.contention.profiling.run:run"),
    (
        Example(
            "slowpath contention profile monitor.yaml -o monitor",
            "Measure all mixes of a description",
        ),
        Example(
            "slowpath contention profile monitor.yaml -o quick --mixes 20 --deadline 10m",
            "Measure twenty mixes for at most ten minutes",
        ),
    ),
)
