"""Tests `slowpath bound --certificate` and `slowpath check`."""

import gzip
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slowpath.api import check as api_check
from support import GOLDEN, ROOT, check_golden, slowpath

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECT = "examples/count_min.1.bpf.o"
CERTIFICATE = ROOT / "tests/check/count_min.cert"
"""Certificate of `OBJECT` on the target `ebpf`, which tests of all commands use."""
FIREWALL = "examples/firewall.bpf.o"


def write(certificate: Path, *words: str | Path) -> Path:
    """Write the certificate of a program with `slowpath bound`; return the name of the file."""
    run = slowpath("bound", *words, "--certificate", certificate)
    assert run.returncode == 0, run.stderr
    return certificate


def content(certificate: Path) -> dict[str, Any]:
    """Return the JSON document of a certificate."""
    found = json.loads(gzip.decompress(certificate.read_bytes()))
    assert isinstance(found, dict)
    return found


def store(certificate: Path, document: dict[str, Any]) -> Path:
    """Write a certificate with this JSON document."""
    certificate.write_bytes(gzip.compress(json.dumps(document).encode()))
    return certificate


def checked(*words: str | Path) -> dict[str, Any]:
    """Return the result of `slowpath check`, whatever it is."""
    (one,) = json.loads(slowpath("check", *words, "--format", "json").stdout)["results"]
    assert isinstance(one, dict)
    return one


def refused(reason: str, *words: str | Path, status: int = 1) -> None:
    """Check that `slowpath check` refuses a certificate, with a reason and an exit code."""
    run = slowpath("check", *words)
    assert run.returncode == status, run.stderr
    assert reason in run.stderr


def test_certificate_of_the_tests_is_current(tmp_path: Path) -> None:
    new = write(tmp_path / "new.cert", OBJECT, "--target", "ebpf")
    text = json.dumps(content(new), indent=1)
    check_golden(GOLDEN / "check/count_min.json", text + "\n")
    if content(CERTIFICATE) != content(new):
        shutil.copy(new, CERTIFICATE)  # `make bless`, which has renewed the golden file
    assert content(CERTIFICATE) == content(new)


def test_the_same_certificate_has_the_same_bytes(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, FIREWALL).read_bytes() for name in ("one", "other"))
    assert one == other


def test_report() -> None:
    run = slowpath("check", OBJECT, CERTIFICATE)
    assert (run.returncode, run.stderr) == (0, "")
    check_golden(GOLDEN / "check/count_min.txt", run.stdout)


def test_results_are_those_of_the_analysis(tmp_path: Path) -> None:
    for name, target in (("firewall", "linux-xdp"), ("count_min.8", "agilio-cx-2x40")):
        file = f"examples/{name}.bpf.o"
        certificate = write(tmp_path / f"{name}.cert", file, "--target", target)
        run = slowpath("bound", file, "--target", target, "--format", "json")
        (bound,) = json.loads(run.stdout)["results"]
        one = checked(file, certificate)
        assert (one["accepted"], one["reason"], one["metric"]) == (True, None, bound["metric"])
        proved = one["proved"]
        assert proved["exact"]
        assert proved["reached"] == proved["bound"]
        counts = bound["guarantee"]["counts"] or bound["profile"]["cost"]
        assert counts[proved["component"]] == proved["bound"]


def test_c_source_and_listing(tmp_path: Path) -> None:
    for file in ("examples/count_min.bpf.c", "examples/two_protocols.asm"):
        certificate = write(tmp_path / "new.cert", file)
        assert checked(file, certificate)["accepted"]


def test_options_of_the_analysis_are_used_again(tmp_path: Path) -> None:
    certificate = write(tmp_path / "new.cert", FIREWALL, "--mtu", "64", "--receive", "veth")
    options = content(certificate)["options"]
    assert (options["mtu"], options["receive"]) == (64, "veth")
    one = checked(FIREWALL, certificate)
    assert (one["accepted"], one["options"]) == (True, ["--mtu 64", "--receive veth"])
    # The packet of the certificate is longer than 60 bytes.
    shorter = content(certificate)
    shorter["options"]["mtu"] = 60
    refused("the witness: ", FIREWALL, store(tmp_path / "short.cert", shorter))


def test_python_function() -> None:
    result = api_check(OBJECT, CERTIFICATE)
    assert result.accepted
    assert result.certificate["proved"] is not None
    assert result.rows[0]["certificate"] == str(CERTIFICATE)


def test_proofs_for_other_checkers(tmp_path: Path) -> None:
    certificate = write(tmp_path / "new.cert", FIREWALL)
    run = slowpath("check", FIREWALL, certificate, "--proofs", tmp_path / "deep/proofs")
    assert run.returncode == 0, run.stderr
    clauses = (tmp_path / "deep/proofs/nogood-1.cnf").read_text()
    steps = (tmp_path / "deep/proofs/nogood-1.lrat").read_text()
    count = int(clauses.split()[3])
    assert len(clauses.splitlines()) == count + 1
    assert steps.split()[:2] == [str(count + 1), "0"]  # one step: the empty clause


# --- what is refused ------------------------------------------------------------------------------


def test_another_file_is_refused(tmp_path: Path) -> None:
    certificate = write(tmp_path / "new.cert", FIREWALL)
    refused("has no program", "examples/tunnel.bpf.o", certificate, status=3)
    changed = tmp_path / "firewall.bpf.o"
    changed.write_bytes((ROOT / FIREWALL).read_bytes() + b"\0")
    refused("is for another file", changed, certificate, status=3)


def test_false_claims_are_refused(tmp_path: Path) -> None:
    certificate = write(tmp_path / "new.cert", FIREWALL)
    changes: list[tuple[Callable[[Any], object], str]] = [
        (lambda claims: claims["nogoods"].clear(), "contains no nogood"),
        (lambda claims: claims["witness"]["path"].pop(), "does not leave the program"),
        (lambda claims: claims["nogoods"][0]["proof"].clear(), "not the empty clause"),
        (lambda claims: claims.pop("witness"), "neither a bound nor a witness"),
    ]
    for change, reason in changes:
        document = content(certificate)
        change(document["claims"])
        forged = store(tmp_path / "forged.cert", document)
        refused(reason, FIREWALL, forged)
        one = checked(FIREWALL, forged)
        assert (one["accepted"], one["proved"]) == (False, None)
        assert reason in one["reason"]


def test_other_options_are_refused(tmp_path: Path) -> None:
    """Check that a certificate with changed options does not prove more than it says."""
    certificate = write(tmp_path / "new.cert", FIREWALL, "--target", "ebpf")
    document = content(certificate)
    document["options"]["metric"] = "memory-accesses"
    run = slowpath("check", FIREWALL, store(tmp_path / "forged.cert", document))
    assert run.returncode == 1 or "memory accesses" in run.stdout
    document["options"]["mtu"] = "long"
    refused("wrong type", FIREWALL, store(tmp_path / "f", document), status=3)
    document["options"]["speed"] = 3
    refused("lacks a part", FIREWALL, store(tmp_path / "f", document), status=3)


def test_described_targets_are_named(tmp_path: Path) -> None:
    target = tmp_path / "card.toml"
    shutil.copy(ROOT / "targets/agilio-cx-2x40.toml", target)
    certificate = write(tmp_path / "new.cert", OBJECT, "--target", target)
    run = slowpath("check", OBJECT, certificate)
    assert run.returncode == 0, run.stderr
    assert "with the costs that the certificate states for this target" in run.stdout
    # No other description may have the name of a built-in target.
    document = content(certificate)
    document["target"]["name"] = "agilio-cx-2x40"
    refused("lacks a part", OBJECT, store(tmp_path / "forged.cert", document), status=3)


def test_damaged_files_are_refused_or_still_true(tmp_path: Path) -> None:
    data = gzip.decompress(CERTIFICATE.read_bytes())
    draw = random.Random(1)  # noqa: S311 - not for security
    original = checked(OBJECT, CERTIFICATE)["proved"]
    outcomes = set[int]()
    for _ in range(12):
        at, value = draw.randrange(len(data)), draw.randrange(32, 127)
        damaged = tmp_path / "damaged.cert"
        damaged.write_bytes(gzip.compress(data[:at] + bytes([value]) + data[at + 1 :]))
        run = slowpath("check", OBJECT, damaged, "--format", "json")
        assert run.returncode in (0, 1, 2, 3), run.stderr
        outcomes.add(run.returncode)
        if run.returncode == 0:
            proved = json.loads(run.stdout)["results"][0]["proved"]
            assert proved["bound"] >= original["bound"]
    assert len(outcomes) > 1


DATA = CERTIFICATE.read_bytes()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (DATA[:-9], "ends too early"),
        (b"", "ends too early"),
        (DATA[:30] + b"\0\0\0\0" + DATA[34:], "damaged"),
        (b"\x7fELF" + DATA, "is not a certificate, or is damaged"),
        (gzip.compress(b"[]"), "is not a certificate of slowpath"),
        (gzip.compress(b'{"format":"slowpath certificate","version":9}'), "version 9"),
        (gzip.compress(b'{"format":"slowpath certificate","version":1}'), "lacks"),
        (gzip.compress(b"[" * 100_000), "is not a certificate, or is damaged"),
        (gzip.compress(bytes(300 << 20), 1), "has more than 256 MiB"),
    ],
    ids=range(9),
)
def test_foreign_files_are_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "foreign.cert"
    file.write_bytes(data)
    refused(reason, OBJECT, file, status=3)


# --- what cannot have a certificate ---------------------------------------------------------------


def test_several_programs_or_targets_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "new.cert"
    run = slowpath("bound", FIREWALL, OBJECT, "--certificate", out)
    assert (run.returncode, "one program" in run.stderr) == (2, True)
    run = slowpath("bound", FIREWALL, "--target", "ebpf,linux-xdp", "--certificate", out)
    assert (run.returncode, "one target" in run.stderr) == (2, True)
    assert not out.exists()


def test_programs_are_not_overwritten(tmp_path: Path) -> None:
    program = tmp_path / "firewall.bpf.o"
    shutil.copy(ROOT / FIREWALL, program)
    run = slowpath("bound", program, "--certificate", program)
    assert run.returncode == 2
    assert program.read_bytes() == (ROOT / FIREWALL).read_bytes()


def test_a_program_without_a_certificate_has_a_reason(tmp_path: Path) -> None:
    out = tmp_path / "new.cert"
    run = slowpath("bound", "examples/dns_cache.bpf.o", "--deadline", "5ms", "--certificate", out)
    assert run.returncode == 4
    assert not out.exists()


def test_a_closed_pipe_does_not_lose_the_certificate(tmp_path: Path) -> None:
    out = tmp_path / "new.cert"
    command = [sys.executable, "-m", "slowpath", "bound", FIREWALL, "--certificate", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.close()
    assert content(out)["program"] == "firewall"
