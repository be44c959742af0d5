"""Declares the options of `slowpath contention place`, `suggest` and `profile`."""

from slowpath.bounds.flags import WHERE
from slowpath.contention.cli import CODES, NEEDS
from slowpath.contention.options import LENGTH, MIXES, POLICIES, POLICY, SURE
from slowpath.contention.profiling.setup import PLANS
from slowpath.core.command import Command, Example, Heading, argument, output_folder, within
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import duration, percentage, share_of_percentage

ARRIVALS = Heading("Arrivals")
PLACING = Heading("How to place functions")
KNOWN = Heading("Measurements of mixes")
_PLACE = Formats(
    "slowpath.contention.placement.report", table="placement_text", json=JSON, csv="placement_csv"
)
_SUGGEST = Formats(
    "slowpath.contention.placement.report", table="suggestion_text", json=JSON, csv="suggestion_csv"
)
_PROFILE = Formats("slowpath.contention.profiling.run", table="profile_text", json=JSON)
MEASURED = KNOWN.option(
    "--measured FILE",
    "Use measured throughputs of mixes from FILE instead of predictions",
    "A mix is a set of functions on one NIC. Columns of the table are `mix`, `function` and "
    "`throughput`. Each repeated measurement has its own row.",
)
NOISE = KNOWN.option(
    "--noise PERCENT",
    "Set the standard deviation of one measurement [default: learnt]",
    "PERCENT is a share of the measured value, such as 1%. By default, slowpath derives the "
    "noise from repeated measurements.",
    common=False,
    type=share_of_percentage("--noise"),
)


PLACE = Command(
    (
        "Place arriving functions on a fleet of NICs",
        (
            "Reports the functions that keep their promised share of solo throughput (SLA), and "
            f"the number of NICs in use. {NEEDS}"
        ),
        (
            "FLEET describes NICs and functions, with their models and promises; "
            "docs/reference/contention-files.md lists its keys. Wastage is the percentage of "
            "NICs beyond the best plan, which knows all arrivals in advance."
        ),
        CODES,
    ),
    (
        argument("FLEET", "Description of NICs and functions (YAML)"),
        ARRIVALS.option(
            "--arrivals FILE",
            "Read the arriving functions in order from FILE",
            "Columns of the table are `function`, and `sla` (the promised share: 0.9 or 90%) "
            "if it differs from FLEET.",
        ),
        ARRIVALS.option(
            "--sequences N",
            "Place N random sequences of arrivals instead of those in a table",
            type=within(int, 1, 100_000),
        ),
        ARRIVALS.option(
            "--length N",
            f"Set the number of arrivals in a random sequence [default: {LENGTH}]",
            type=within(int, 1, 1_000_000),
        ),
        ARRIVALS.option(
            "--expect N",
            "Set the number of arrivals that policies expect [default: unknown]",
            "Only the policy bid-price uses it, to plan for arrivals still to come.",
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
            f"Place by this policy; repeatable [default: {POLICY}]",
            f"{', '.join(POLICIES[:-1])} or {POLICIES[-1]}.",
            choices=POLICIES,
            action="append",
        ),
        PLACING.option(
            "--confidence PERCENT",
            "Keep promises with this probability: 90% [default: likely values]",
            "Without the option, placement uses likely throughputs. Functions then miss a "
            "tight promise in half of all cases.",
            type=percentage(51, 99.9),
        ),
        MEASURED,
        NOISE,
        PLACING.option(
            "--truth FILE",
            "Judge promises by the throughputs in FILE [default: by the models]",
            "The table contains measured or simulated throughputs of mixes, in the columns "
            "`mix`, `function` and `throughput`.",
            common=False,
        ),
        PLACING.flag(
            "--no-reference",
            "Skip the search for the best plan",
            "The report then does not show the wastage, which is relative to the best plan.",
            common=False,
        ),
        WHERE.option(
            "--jobs N",
            "Compute in N processes [default: one for each CPU]",
            common=False,
            type=within(int, 1, 1024),
        ),
        WHERE.option(
            "--scheduler ADDRESS",
            "Compute on the cluster of a Dask scheduler",
            "ADDRESS is the address of the scheduler, such as tcp://host:8786. Results are the "
            "same as on this machine. The option needs the extra `fleet`.",
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


SUGGESTING = Heading("Choice of measurements")


SUGGEST = Command(
    (
        "Suggest mixes of functions to measure",
        (
            "Lists the mixes that a fleet would use most if predictions were true. A mix is a set "
            f"of functions on one NIC. {NEEDS}"
        ),
        (
            "FLEET has the same format as for slowpath contention place. Plans consider the "
            "noise of measurements and the uncertainty of predictions. With --format csv, the "
            "output is a table for --measured with empty throughputs; fill them in."
        ),
        CODES,
    ),
    (
        argument("FLEET", "Description of NICs and functions (YAML)"),
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
            "Set the probability with which placements keep promises",
            type=percentage(51, 99.9),
            default=f"{100 * SURE:g}%",
        ),
        _SUGGEST.option(),
    ),
    _SUGGEST.call("slowpath.contention.placement.run:run_suggest"),
    (
        Example(
            "slowpath contention suggest fleet.yaml",
            "List the mixes whose measurement would save the most NICs",
        ),
        Example(
            "slowpath contention suggest fleet.yaml --format csv -o mixes.csv",
            "Write a table of mixes to fill in with measurements",
        ),
    ),
)


_MEASURING = Heading("Measuring")


PROFILE = Command(
    (
        "Measure the throughput of a function beside competitors",
        (
            "FILE describes the function, its traffic, its competitors, and the number of "
            f"measurements. {NEEDS}"
        ),
        (
            "docs/reference/contention-files.md lists the keys of FILE. Each function runs on "
            "its own CPU, alternately alone and beside the others. If another program uses the "
            "CPU during a block of time, slowpath repeats the block. DIR then contains tables "
            "for slowpath contention train, and a record of the machine and the noise."
        ),
        (
            "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be used or this machine lacks "
            "a requirement, 4 stopped before all mixes were measured."
        ),
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
            "Choose the measured mixes by this plan [default: as in FILE]",
            "random chooses mixes at random, and grid chooses them evenly. adaptive measures "
            "more mixes where traffic makes a difference (Algorithm 1 of the Tomur paper). "
            "active measures mixes for which a model is most uncertain.",
            choices=PLANS,
        ),
        _MEASURING.option(
            "--deadline TIME",
            "Stop after TIME and keep the measurements [default: no limit]",
            type=within(duration, 0),
        ),
        OUTPUT.option(
            "-o, --output DIR",
            "Write the tables and the record of the profile to DIR",
            required=True,
            type=output_folder,
        ),
        _PROFILE.option("With json, the command prints the record of the profile."),
    ),
    _PROFILE.call("slowpath.contention.profiling.run:run"),
    (
        Example(
            "slowpath contention profile monitor.yaml -o monitor",
            "Measure all mixes in a description",
        ),
        Example(
            "slowpath contention profile monitor.yaml -o quick --mixes 20 --deadline 10m",
            "Measure twenty mixes for at most ten minutes",
        ),
    ),
)
