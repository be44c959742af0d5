"""Checks a certificate: reads program and certificate, and lets the engine verify the claims."""

import json
from argparse import Namespace
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from slowpath.bounds.certificate import Certificate, read
from slowpath.bounds.flags import cflags
from slowpath.bounds.multi_target import read_requests
from slowpath.bounds.options import DEFAULT_DEADLINE, WrittenOptions, memory_or_share
from slowpath.bounds.plan import Request, Task, make_plan
from slowpath.check.documents import CheckDocument, Proved
from slowpath.core import codes, engine
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.errors import ExitCode, InputError, stopped_code
from slowpath.core.formats import Reporter
from slowpath.core.inputs import write_error, write_text
from slowpath.core.jobs import Message, Stopping, heeding_signals
from slowpath.core.jobs.isolated_job import IsolatedJob
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.terminal import error


def check(args: Namespace, reporter: Reporter) -> ExitCode:
    """Check a certificate and print the result.

    Raises:
        OptionError: if an option is invalid.
        InputError: if a file cannot be read or written, or does not contain the program.
    """
    certificate = read(args.certificate)
    seconds = DEFAULT_DEADLINE if args.deadline is None else args.deadline or None
    memory = memory_or_share(args.memory)
    request = _request(args, certificate)
    task, found = _task(args, request, certificate)
    options = certificate.options._replace(deadline_seconds=seconds, memory_bytes=memory)
    proved, reason, ended = None, None, None
    with heeding_signals() as stopping:
        try:
            proved, ended = _verified(args, task, found, (certificate, options), stopping)
        except InputError as failure:
            if failure.code != codes.CERTIFICATE_REFUSED:
                raise
            reason = failure.reason
    if ended is not None:
        error(stopped_code(ended), args.certificate, f"{ended}: the check is not finished")
        return ExitCode.UNDECIDED
    document: CheckDocument = {
        **engine.head("check", "check"),
        "results": [
            {
                "file": args.file,
                "certificate": args.certificate,
                "made_by": certificate.slowpath,
                "target": certificate.target.name,
                "own_target": certificate.target.text is not None,
                "options": list(_assumed_options(certificate.options)),
                "metric": certificate.options.metric,
                "accepted": proved is not None,
                "reason": reason,
                "proved": proved,
            }
        ],
    }
    reporter.write(document)
    if reason is not None:
        error(codes.CERTIFICATE_REFUSED, args.certificate, f"the certificate is refused: {reason}")
        return ExitCode.FAILED
    return ExitCode.FINE


def _assumed_options(options: analyses.Options) -> Iterator[str]:
    """Yield the options of an analysis that change the guarantee, as on the command line."""
    for name in ("cores", "mtu", "receive", "map_abi"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name.replace('_', '-')} {value}"
    for name, values in (("unroll", options.unroll), ("set", options.set)):
        yield from (f"--{name} {value}" for value in values)
    for name, text in (("assume", options.assume), ("maps", options.maps)):
        if text is not None:
            yield f"--{name} (a file of {len(text.encode())} bytes)"


def _request(args: Namespace, certificate: Certificate) -> Request:
    """Return the request to analyse the programs of a file for the target of a certificate."""
    written = WrittenOptions(btf=args.btf, cflags=cflags(args, [args.file]))
    return read_requests([args.file], written)[0]._replace(
        target=targets.target_of(certificate.target), description=certificate.target
    )


def _task(
    args: Namespace, request: Request, certificate: Certificate
) -> tuple[Task, objects.Object]:
    """Return the program of a certificate, and the parsed file that contains it.

    Raises:
        InputError: if the file has other content than that of the certificate, or no such program.
    """
    wanted = (certificate.section, certificate.program)
    for task in make_plan(request).tasks:
        if task.error is not None:
            raise InputError(task.error.code, task.file, str(task.error))
        program = task.program
        named = (None, None) if program is None else (program.section, program.name)
        if named != wanted or task.object is None or task.data is None:
            continue
        if sha256(task.data).hexdigest() == certificate.sha256:
            return task, task.object
        reason = f"is for another file: {certificate.file} had other content, or clang differs"
        raise InputError(codes.CERTIFICATE_REFUSED, args.certificate, reason)
    reason = "has no program" if wanted[1] is None else f"has no program {wanted[1]}"
    reason += "" if wanted[0] is None else f" in section {wanted[0]}"
    raise InputError(codes.CERTIFICATE_REFUSED, args.file, f"{reason}, which the certificate names")


def _verified(
    args: Namespace,
    task: Task,
    found: objects.Object,
    claimed: tuple[Certificate, analyses.Options],
    stopping: Stopping,
) -> tuple[Proved | None, str | None]:
    """Verify claims in a worker process; return the result, or the reason of an early end.

    `found` is the parsed file of the program, which `task` describes.

    Raises:
        InputError: if the claims do not hold, or a proof cannot be written.
    """
    certificate, options = claimed
    needed = task.program is not None and task.program.needs_kernel
    number = 0 if task.program is None else task.program.number
    btf = KernelBtf(args.btf).for_program(needed=needed)
    subject = objects.Subject(task.file, found, number, btf)
    target, claims = targets.target_of(certificate.target), certificate.claims

    def verify(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        try:
            yield from analyses.checked_certificate(subject, target, options, claims, stopping)
        except TypeError:
            reason = "has an option of a wrong type"
            raise InputError(codes.CERTIFICATE_UNREADABLE, args.certificate, reason) from None
        if args.proofs is not None:
            yield from analyses.exported_proofs(subject, target, options, claims, stopping)

    results = list[Proved]()
    proofs = 0

    def take(message: Message) -> None:
        nonlocal proofs
        match message:
            case ("checked", text):
                results.append(json.loads(text))
            case ("proof", clauses, steps):
                proofs += 1
                _write_proof(args.proofs, proofs, clauses, steps)

    with IsolatedJob(options.memory_bytes, verify) as isolated:
        ended = isolated.run(options.deadline_seconds, stopping, take)
    return (results[0] if results else None), ended


def _write_proof(folder: str, number: int, clauses: str, steps: str) -> None:
    """Write the clauses and the proof of a nogood to a folder, which need not exist.

    Raises:
        InputError: if they cannot be written.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(folder, problem) from None
    write_text(f"{folder}/nogood-{number}.cnf", clauses)
    write_text(f"{folder}/nogood-{number}.lrat", steps)
