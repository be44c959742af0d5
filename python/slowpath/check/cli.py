"""Declares the arguments and options of `slowpath check`."""

from slowpath.bounds.flags import BTF, CFLAGS
from slowpath.core.command import Command, Example, Heading, argument
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats
from slowpath.core.quantities import duration

_LIMITS = Heading("Limits")
_FORMATS = Formats("slowpath.check.report", text="certificate_text", json=JSON)

CHECK = Command(
    (
        "Check the certificate of a guarantee",
        "Verifies the file that slowpath bound --certificate wrote, without a search or a solver: "
        "a packet takes the path of the certificate, and no other path is slower. Uses the target "
        "and the options of the certificate, and prints the parts of slowpath that it trusts.",
        "Exit codes: 0 accepted, 1 refused, 2 wrong usage, 3 a file cannot be read, 4 stopped.",
    ),
    (
        argument("FILE", "Program of the certificate: the same file as for slowpath bound"),
        argument("CERTIFICATE", "File that slowpath bound --certificate wrote"),
        CFLAGS,
        BTF,
        _LIMITS.option(
            "--deadline TIME",
            "Stop the check after TIME [default: 60s]",
            "0 means no limit.",
            type=duration,
        ),
        _LIMITS.option(
            "--memory SIZE",
            "Stop if memory exceeds SIZE [default: half of the free memory]",
            "SIZE is for example 512MiB or 2G.",
            common=False,
        ),
        OUTPUT.option(
            "--proofs DIR",
            "Write clauses (DIMACS) and proofs (LRAT) to DIR, for other checkers",
            "DIR gets a file nogood-N.cnf and a file nogood-N.lrat for each nogood. If DIR does "
            "not exist, slowpath creates it.",
            common=False,
        ),
        _FORMATS.option(STABLE),
    ),
    _FORMATS.call("slowpath.check.run:check"),
    (
        Example("slowpath check filter.bpf.o filter.cert", "Check the certificate of a guarantee"),
        Example(
            "slowpath check filter.bpf.o filter.cert --proofs proofs",
            "Also write the proofs for other checkers",
        ),
    ),
)
