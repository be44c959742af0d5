"""Declares the commands `slowpath contention train`, `predict`, `diagnose` and `evaluate`."""

from slowpath.core.command import Command, Example, Group, Heading, argument, output_file, within
from slowpath.core.extras import needs
from slowpath.core.formats import JSON, OUTPUT, Formats
from slowpath.core.values import percentage

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
    "Read throughput beside competitors for memory from this table",
    "Covers caches and memory. Repeat for more rows of the same function.",
    common=False,
    action="append",
)
_ACCELERATOR = PROFILES.option(
    "--accelerator-table FILE",
    "Read request times at the accelerator from this table",
    "The table has request times by match ratio.",
    common=False,
)
_RECIPE = MODEL.option(
    "--recipe NAME",
    "Use this memory model [default: the most precise one]",
    "`slowpath contention evaluate` lists all. The default has the least error on held-out rows.",
    common=False,
)
_PATTERN = MODEL.option(
    "--pattern",
    "Set the execution pattern [default: detected]",
    "pipeline: stages, limited by the slowest one. run-to-completion: a packet uses resources one "
    "after the other, so times add up. The default is detected from mixes with competitors for "
    "several resources, else from the record of the profile, else pipeline.",
    common=False,
    choices=("pipeline", "run-to-completion"),
)
_QUEUES = MODEL.option(
    "--queues N",
    "Set the function's number of accelerator queues [default: 1]",
    common=False,
    type=within(int, 1, 4096),
)
_METHOD = MODEL.option(
    "--method",
    "Predict by this method",
    "The baselines have no intervals: `sum` adds up the throughput drops of all resources, `min` "
    "takes the largest drop, SLOMO models memory only.",
    common=False,
    choices=("slowpath", "sum", "min", "slomo"),
    default="slowpath",
)
_ALONE = MODEL.option(
    "--alone RATE",
    "Start from this measured solo throughput",
    "RATE is that under --traffic, so that predictions fit the present state of the machine. A "
    "query has a column `alone` instead.",
    common=False,
    type=within(float, 1e-13, 1e13),
)
CONFIDENCE = MODEL.option(
    "--confidence PERCENT",
    "Set the share of measurements that intervals cover",
    common=False,
    type=percentage(50, 99),
    default="90%",
)
WITH = PROFILES.option(
    "--with MODEL,...",
    "Predict beside the functions of these models",
    dest="beside",
)
TRAFFIC = PROFILES.option(
    "--traffic NAME=VALUE,...",
    "Set the traffic: flows=N,size=BYTES,mtbr=N",
    "It applies to all functions. mtbr is matches per MB.",
)

TRAIN = Command(
    (
        "Train a model of a function's throughput beside others",
        f"Reads tables of measurements. {NEEDS}",
        "The columns of a table show its kind: `throughput` beside counters of competitors, "
        "`inverse_throughput` by match ratio, mixes with clients of the accelerator, or only "
        "counters: the contention that the function causes. The memory model with the least error "
        "on held-out rows is chosen.",
        CODES,
    ),
    (
        argument(
            "TABLE",
            "Measurements of one function, or the folder of a profile",
            "+",
            "Tables are CSV, JSON or Parquet files.",
        ),
        _RECIPE,
        _PATTERN,
        _QUEUES,
        OUTPUT.option(
            "-o, --output FILE",
            "Write the model to FILE (JSON)",
            "FILE contains the rows and the chosen model, but no executable code. `-` prints the "
            "model instead of the report.",
        ),
        _TRAIN.option(),
    ),
    _TRAIN.call("slowpath.contention.train:train"),
    (
        Example("slowpath contention train ids -o ids.json", "Train from a profile's folder"),
        Example("slowpath contention train memory.csv regex.csv -o ids.json", "Train from tables"),
    ),
)

PREDICT = Command(
    (
        "Predict the throughput of a function beside others",
        "Also names the bottleneck. Takes either a model and models of its competitors, or tables "
        f"and a query with a row for each prediction. {NEEDS}",
        "Names rows outside the measured range. Their predictions are guesses, with intervals as "
        "wide as the errors of held-out rows at the ends of the range.",
        CODES,
    ),
    (
        argument("MODEL", "Model from slowpath contention train", "?"),
        _MEMORY,
        _ACCELERATOR,
        PROFILES.option(
            "--query FILE",
            "Predict the rows of this table",
            "Its columns are traffic, and total counters of all competitors.",
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
            ".parquet needs the extra `parquet`.",
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
        "Functions contend for caches, memory and accelerators.",
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
        "Also shows its margin: the speedup of the function without the bottleneck, up to the "
        f"limit of the next resource. {NEEDS}",
        CODES,
    ),
    (
        argument("MODEL", "Model from slowpath contention train"),
        WITH,
        TRAFFIC,
        MODEL.option(
            "--sweep NAME=FIRST..LAST[/N]",
            "Sweep flows, size or mtbr at N values [default: 101 values]",
            "Locates the changes of the bottleneck between the values.",
        ),
        MODEL.option(
            "--what-if CHANGE",
            "Predict the effect of a change: 'regex queues x2'",
            "Others are 'regex time x0.5', 'flows x10', 'mtbr =300', 'without fw.model.json'. "
            "Repeatable.",
            dest="what_if",
            action="append",
        ),
        CONFIDENCE,
        OUTPUT.option(
            "--plot FILE",
            "Plot the sweep, coloured by bottleneck (.svg, .png)",
            needs("plots"),
        ),
        OUTPUT.option("--html FILE", "Write an HTML page with the curve of the sweep"),
        _DIAGNOSE.option(),
    ),
    _DIAGNOSE.call("slowpath.contention.diagnose:run"),
    (
        Example(
            "slowpath contention diagnose ids.json --traffic flows=16000,size=1500",
            "Find the bottleneck of a function alone",
        ),
        Example(
            "slowpath contention diagnose a.json --traffic flows=9,size=64 --with b.json",
            "Find it beside another function",
        ),
    ),
)


EVALUATE = Command(
    (
        "Measure the error of memory models on unseen rows",
        f"Compares all models by nested cross-validation. {NEEDS}",
        "Rows with equal contention are held out together, and each fold trains without them, "
        "including the choice among models (`chosen`).",
        CODES,
    ),
    (
        argument("TABLE", "Tables of throughput beside competitors", "+"),
        MODEL.option("--recipe NAME", "Evaluate only this model; repeatable", action="append"),
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
            f"Shows intervals, of the chosen model or of those named by --recipe. {needs('plots')}",
        ),
        OUTPUT.option("--html FILE", "Write an HTML page with the table and the figures"),
        _EVALUATE.option(),
    ),
    _EVALUATE.call("slowpath.contention.predict:run"),
    (
        Example("slowpath contention evaluate memory.csv", "Compare the errors of all models"),
        Example(
            "slowpath contention evaluate memory.csv --recipe slomo --plot errors.svg",
            "Plot predictions of one model",
        ),
    ),
)
