"""Declares the options of `slowpath contention train`, `predict`, `diagnose` and `evaluate`."""

from slowpath.core.command import Command, Example, Group, Heading, argument, output_file, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.quantities import percentage

PROFILES = Heading("Profiles")
MODEL = Heading("Model")
_TRAIN = Formats(
    "slowpath.contention.report", table="model_text", json="model_json", csv="model_csv"
)
_PREDICT = Formats(
    "slowpath.contention.report",
    table="predictions_text",
    json="predictions_json",
    csv="predictions_csv",
)
_DIAGNOSE = Formats(
    "slowpath.contention.report_diagnosis", table="diagnosis_text", json=JSON, csv="diagnosis_csv"
)
_EVALUATE = Formats(
    "slowpath.contention.report_evaluation",
    table="evaluation_text",
    json="evaluation_json",
    csv="evaluation_csv",
)
CODES = "Exit codes: 0 success, 2 wrong usage, 3 a file cannot be read, used or written."
NEEDS = needs("contention")


_MEMORY = PROFILES.option(
    "--memory-table FILE",
    "Read throughput beside competitors for memory from FILE",
    "Competitors for memory use caches and memory, but no accelerator. Repeat the option for "
    "further tables of the same function.",
    common=False,
    action="append",
)
_ACCELERATOR = PROFILES.option(
    "--accelerator-table FILE",
    "Read times of requests to the accelerator from FILE",
    "The table contains the time of a request for several match ratios (matches per MB of "
    "payload).",
    common=False,
)
_RECIPE = MODEL.option(
    "--recipe NAME",
    "Predict memory contention by this model [default: the most precise one]",
    "`slowpath contention evaluate` lists all models. The default is the model with the "
    "smallest error on held-out rows.",
    common=False,
)
_PATTERN = MODEL.option(
    "--pattern",
    "Set how a packet uses resources [default: detected]",
    "pipeline: in stages, the slowest of which limits the throughput. run-to-completion: one "
    "after the other, so that their times add up. slowpath detects the default from mixes with "
    "competitors for several resources. Without such mixes, the default is the pattern in the "
    "record of the profile, else pipeline.",
    common=False,
    choices=("pipeline", "run-to-completion"),
)
_QUEUES = MODEL.option(
    "--queues N",
    "Set the number of queues from the function to the accelerator [default: 1]",
    common=False,
    type=within(int, 1, 4096),
)
_METHOD = MODEL.option(
    "--method",
    "Predict by this method: ours (slowpath), or a published baseline",
    "Baselines have no intervals. `sum` adds up the throughput drops of all resources. `min` "
    "takes the largest drop of a resource. `slomo` predicts contention for memory only "
    "(SLOMO, SIGCOMM 2020).",
    common=False,
    choices=("slowpath", "sum", "min", "slomo"),
    default="slowpath",
)
_ALONE = MODEL.option(
    "--alone RATE",
    "Start from this measured throughput of the function alone",
    "Measure RATE under --traffic and in the unit of the profile. Predictions then match the "
    "current state of the machine. With --query, use a column `alone` of the query instead.",
    common=False,
    type=within(float, 1e-13, 1e13),
)
CONFIDENCE = MODEL.option(
    "--confidence PERCENT",
    "Set the share of measurements that intervals contain",
    common=False,
    type=percentage(50, 99),
    default="90%",
)
WITH = PROFILES.option(
    "--with MODEL,...",
    "Predict the function beside the functions of these models",
    dest="beside",
)
TRAFFIC = PROFILES.option(
    "--traffic NAME=VALUE,...",
    "Set the traffic: flows=N,size=BYTES,mtbr=N (matches per MB)",
    "The traffic applies to all functions. mtbr is the number of matches of regular "
    "expressions per MB of payload; functions without an accelerator need none.",
)

TRAIN = Command(
    (
        "Train a model of a function's throughput beside other functions",
        f"Reads tables of measurements of the function, alone and beside competitors. {NEEDS}",
        (
            "The columns of a table determine its kind. `throughput` with counters of "
            "competitors: contention for memory. `inverse_throughput` with match ratios: times "
            "of accelerator requests. Columns of an accelerator client: mixes. Only counters: "
            "the contention that the function causes for others. Training chooses the memory "
            "model with the smallest error on held-out rows."
        ),
        CODES,
    ),
    (
        argument(
            "TABLE",
            "Tables of measurements of one function, or the folder of a profile",
            "+",
            "Tables are CSV, JSON or Parquet files. `slowpath contention profile` writes the "
            "folder of a profile.",
        ),
        _RECIPE,
        _PATTERN,
        _QUEUES,
        OUTPUT.option(
            "-o, --output FILE",
            "Write the model to FILE (JSON)",
            "FILE contains the measured rows and the name of the chosen model, but no "
            "executable code. If FILE is `-`, the command prints the model instead of the "
            "report.",
        ),
        _TRAIN.option(),
    ),
    _TRAIN.call("slowpath.contention.train:train"),
    (
        Example("slowpath contention train ids -o ids.json", "Train from the folder of a profile"),
        Example(
            "slowpath contention train memory.csv regex.csv -o ids.json",
            "Train from tables of measurements",
        ),
    ),
)

PREDICT = Command(
    (
        "Predict the throughput of a function beside other functions",
        f"Also names the bottleneck, and states the share of solo throughput. {NEEDS}",
        (
            "Takes either a saved model and models of its competitors (--with), or a query with "
            "a row for each prediction. Warnings name predictions outside the measured range, "
            "which are guesses. Their intervals are as wide as the errors of held-out rows at "
            "the ends of the range."
        ),
        CODES,
    ),
    (
        argument("MODEL", "Model of the function, from slowpath contention train", "?"),
        _MEMORY,
        _ACCELERATOR,
        PROFILES.option(
            "--query FILE",
            "Predict the throughput for each row of this table",
            "Its columns are the traffic, and the sums of the counters of all competitors.",
        ),
        WITH,
        TRAFFIC,
        _RECIPE,
        _PATTERN,
        _QUEUES,
        _METHOD,
        _ALONE,
        CONFIDENCE,
        OUTPUT.option(
            "-o, --output FILE",
            "Write the predictions to FILE (.csv, .json, .parquet)",
            "Parquet files (.parquet) need the extra `parquet`.",
            type=output_file,
        ),
        _PREDICT.option(),
    ),
    _PREDICT.call("slowpath.contention.predict:predict"),
    (
        Example(
            "slowpath contention predict a.json --with b.json --traffic flows=16000,size=64",
            "Predict one function beside another",
        ),
        Example(
            "slowpath contention predict ids.json --query mixes.csv -o predicted.csv",
            "Predict each row of a table",
        ),
    ),
)

CONTENTION = Group(
    (
        "Predict the throughput of functions that share a machine",
        "Functions that share a machine contend for caches, memory and accelerators.",
    ),
    (),
    {
        "profile": "slowpath.contention.fleet_cli:PROFILE",
        "train": "slowpath.contention.cli:TRAIN",
        "predict": "slowpath.contention.cli:PREDICT",
        "evaluate": "slowpath.contention.cli:EVALUATE",
        "diagnose": "slowpath.contention.cli:DIAGNOSE",
        "place": "slowpath.contention.fleet_cli:PLACE",
        "suggest": "slowpath.contention.fleet_cli:SUGGEST",
    },
    examples=(
        Example("slowpath contention train ids -o ids.json", "Train a model of a function"),
        Example(
            "slowpath contention predict a.json --with b.json --traffic flows=16000,size=64",
            "Predict its throughput beside another function",
        ),
    ),
)


DIAGNOSE = Command(
    (
        "Find the bottleneck of a function, and where it changes",
        (
            "Also prints the margin: the speedup without the bottleneck, up to the limit of the "
            f"next resource. {NEEDS}"
        ),
        CODES,
    ),
    (
        argument("MODEL", "Model of the function, from slowpath contention train"),
        WITH,
        TRAFFIC,
        MODEL.option(
            "--sweep NAME=FIRST..LAST[/N]",
            "Sweep flows, size or mtbr over a range at N values [default: 101 values]",
            "The report locates each value at which the bottleneck changes.",
        ),
        MODEL.option(
            "--what-if CHANGE",
            "Predict the effect of a change: 'regex queues x2'",
            "Other changes are 'regex time x0.5', 'flows x10', 'mtbr =300' and 'without "
            "fw.model.json'. The option is repeatable.",
            dest="what_if",
            action="append",
        ),
        CONFIDENCE,
        OUTPUT.option(
            "--plot FILE",
            "Plot throughput over the sweep, coloured by bottleneck (.svg, .png)",
            needs("plots"),
        ),
        OUTPUT.option(
            "--html FILE", "Write an HTML page with the diagnosis and the curve of the sweep"
        ),
        _DIAGNOSE.option(),
    ),
    _DIAGNOSE.call("slowpath.contention.diagnose:run"),
    (
        Example(
            "slowpath contention diagnose ids.json --traffic flows=16000,size=1500",
            "Find the bottleneck of a function that runs alone",
        ),
        Example(
            "slowpath contention diagnose a.json --traffic flows=9,size=64 --with b.json",
            "Find the bottleneck beside another function",
        ),
    ),
)


EVALUATE = Command(
    (
        "Measure the error of memory models on rows held out from training",
        f"Compares all memory models by nested cross-validation. {NEEDS}",
        (
            "Rows with equal contention are held out together. Each model is trained without "
            "them. `chosen` excludes these rows from its choice, too."
        ),
        CODES,
    ),
    (
        argument("TABLE", "Tables of throughput beside competitors for memory", "+"),
        MODEL.option(
            "--recipe NAME", "Evaluate only this memory model; repeatable", action="append"
        ),
        MODEL.option(
            "--repetitions N",
            "Repeat the cross-validation N times",
            type=within(int, 1, 100),
            default=1,
        ),
        CONFIDENCE,
        OUTPUT.option(
            "--plot FILE",
            "Plot predicted against measured throughput (.svg, .png)",
            "The plot shows intervals of the chosen model, or of the models that --recipe "
            f"names. {needs('plots')}",
        ),
        OUTPUT.option("--html FILE", "Write an HTML page with the table of errors and figures"),
        _EVALUATE.option(),
    ),
    _EVALUATE.call("slowpath.contention.predict:run"),
    (
        Example(
            "slowpath contention evaluate memory.csv", "Compare the errors of all memory models"
        ),
        Example(
            "slowpath contention evaluate memory.csv --recipe slomo --plot errors.svg",
            "Plot predictions of one model",
        ),
    ),
)
