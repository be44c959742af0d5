"""Tests that each kind of disturbance of a measurement is reported if, and only if, it exists."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from slowpath.measure import disturbances, environment
from slowpath.measure.environment import Environment
from slowpath.measure.machine import Files

CALM_TIME = {
    "user": 0.1,
    "system": 0.9,
    "interrupts": 0.0,
    "deferred": 0.0,
    "stolen": 0.0,
    "idle": 0.0,
}


def _calm() -> Any:
    """Return the record of a made-up machine on which nothing disturbs measurements."""
    record: Any = environment.begin(3, files=Files(Path("/nowhere"))).end()
    record["kernel"]["clock_source"] = "tsc"
    record["kernel"]["bpf"] |= {"jit_enable": 1, "jit_harden": 0, "stats_enabled": 0}
    record["kernel"]["bpf"] |= {"perfmon": True}
    record["processor"] |= {"online": [0, 1, 2, 3], "isolated": [3]}
    record["processor"]["frequency"] |= {"governor": "performance", "boost": False}
    record["run"] |= {"seconds": 10.0, "time": deepcopy(CALM_TIME), "waited_ns": 1000}
    record["run"] |= {"load_start": [1.0, 1.0, 1.0], "load_end": [1.0, 1.0, 1.0]}
    record["run"] |= {"frequency_start_hz": 2_000_000_000, "frequency_end_hz": 2_010_000_000}
    record["kernel"]["architecture"] = "x86_64"
    record["pace"] = {"clock_hz": 2_000_000_000, "instructions_per_cycle": 3.9}
    return record


def _with(place: str, value: object) -> Environment:
    """Return the record of an undisturbed machine with one value replaced.

    `place` is the path of the value, such as `run.throttled`.
    """
    record: Any = _calm()
    *folders, key = place.split(".")
    at = record
    for folder in folders:
        at = at[folder]
    assert key in at, place
    at[key] = value
    checked: Environment = record
    return checked


def test_a_calm_machine_has_no_disturbance() -> None:
    assert disturbances.of(_calm()) == []


def test_an_unknown_machine_has_no_disturbance() -> None:
    nothing = environment.begin(0, files=Files(Path("/nowhere"))).end()
    assert disturbances.of(nothing) == []


MITIGATED = [
    {"name": "spectre_v2", "text": "Mitigation: Retpolines; STIBP: disabled"},
    {"name": "spec_rstack_overflow", "text": "Vulnerable: Safe RET, no microcode"},
    {"name": "meltdown", "text": "Mitigation: PTI"},
]
WARNINGS: list[tuple[str, object, str, str, str]] = [
    ("kernel.bpf.jit_enable", 0, "jit-off", "interpreted", "sysctl net.core.bpf_jit_enable=1"),
    ("kernel.bpf.jit_harden", 2, "jit-hardened", "blinded", "sysctl net.core.bpf_jit_harden=0"),
    ("kernel.bpf.stats_enabled", 1, "bpf-stats", "twice", "sysctl kernel.bpf_stats_enabled=0"),
    ("kernel.bpf.perfmon", False, "speculation-guards", "CAP_PERFMON", "as root"),
    ("kernel.debugging", ["KASAN", "DEBUG_VM"], "debug-kernel", "KASAN, DEBUG_VM", "kernel"),
    ("kernel.clock_source", "hpet", "slow-clock", "hpet", "clocksource=tsc"),
    ("processor.frequency.governor", "powersave", "governor", "powersave", "cpupower -c 3 freq"),
    ("processor.frequency.boost", True, "boost", "turbo", "echo 0 > /sys/devices/system/cpu/cpu"),
    ("run.frequency_end_hz", 1_500_000_000, "frequency-changed", "1.50 GHz", "-u 1.50GHz"),
    ("pace.instructions_per_cycle", 2.4, "core-shared", "2.4 additions", "smt/control"),
    ("processor.frequency.most_hz", 3_000_000_000, "below-frequency", "2.00 GHz", "turbostat"),
    ("run.throttled", 1, "throttled", "CPU 3 once", "cool down"),
    ("run.siblings", [{"cpu": 1, "busy": 0.25}], "sibling-busy", "CPU 1 shares", "echo off > /sys"),
    ("run.load_start", [4.5, 1.0, 1.0], "load", "4.50, with 4 CPUs", "top"),
    ("run.waited_ns", 10**9, "cpu-shared", "10.0 % of the time", "isolcpus=3"),
    ("run.quota_stops", 3, "quota", "3 times", "--cpus"),
    ("run.time.stolen", 0.006, "stolen", "0.6 % of the time of CPU 3", "not shared"),
    ("run.time.deferred", 0.02, "interrupted", "2.0 %", "smp_affinity_list"),
]
NOTES: list[tuple[str, object, str, str, str]] = [
    ("kernel.lockdown", "integrity", "lockdown", "integrity", "lockdown=none"),
    (
        "kernel.mitigations",
        MITIGATED,
        "mitigations",
        "(spectre_v2: Retpolines; spec_rstack_overflow: Safe RET, no microcode)",
        "mitigations=off",
    ),
    ("run.others_busy", 0.5, "others-busy", "50.0 %", "top"),
    ("host.virtual", True, "virtual", "virtual machine", "Measure on the machine"),
    ("processor.isolated", [0, 1], "not-isolated", "isolates 0-1", "isolcpus=3 nohz_full=3"),
]


@pytest.mark.parametrize(("place", "value", "code", "what", "advice"), [*WARNINGS, *NOTES])
def test_a_disturbance_is_named_with_its_figure_and_what_to_do(
    place: str, value: object, code: str, what: str, advice: str
) -> None:
    (found,) = disturbances.of(_with(place, value))
    noted = code in {case[2] for case in NOTES}
    assert (found["code"], found["severity"]) == (code, "note" if noted else "warning")
    assert what in found["what"]
    assert advice in found["advice"]
    for sentence in (found["what"], found["advice"]):
        assert sentence.endswith(".")
        assert "\n" not in sentence


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("kernel.bpf.jit_harden", 1),  # only for processes without CAP_BPF
        ("kernel.lockdown", "none"),
        ("kernel.clock_source", "arch_sys_counter"),
        ("kernel.clock_source", "kvm-clock"),
        ("kernel.mitigations", [{"name": "spectre_v2", "text": "Mitigation: Enhanced IBRS"}]),
        ("run.siblings", [{"cpu": 1, "busy": 0.01}]),
        ("run.time.stolen", 0.005),
        ("run.time", None),
        ("run.seconds", 0.0),
        ("host.virtual", False),
        ("run.interrupts", 10**6),
    ],
)
def test_harmless_values_are_not_reported(place: str, value: object) -> None:
    assert disturbances.of(_with(place, value)) == []


def test_turbo_is_switched_off_where_the_driver_has_its_switch() -> None:
    record: Any = _with("processor.frequency.boost", True)
    record["processor"]["frequency"]["driver"] = "intel_pstate"
    (found,) = disturbances.of(record)
    assert "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo" in found["advice"]


def test_without_mitigations_nothing_guards_against_speculation() -> None:
    record: Any = _with("kernel.bpf.perfmon", False)
    record["kernel"]["parameters"] = ["mitigations=off"]
    assert disturbances.of(record) == []


def test_warnings_come_before_notes() -> None:
    record: Any = _with("host.virtual", True)
    record["run"]["throttled"] = 2
    record["kernel"]["lockdown"] = "integrity"
    found = [each["severity"] for each in disturbances.of(record)]
    assert found == ["warning", "note", "note"]


def test_cores_that_are_not_known_to_be_wide_are_not_said_to_be_shared() -> None:
    record: Any = _with("pace.instructions_per_cycle", 2.0)
    record["kernel"]["architecture"] = "aarch64"
    assert disturbances.of(record) == []


def test_a_frequency_that_may_change_is_not_said_to_be_too_low() -> None:
    record: Any = _with("processor.frequency.most_hz", 3_000_000_000)
    record["processor"]["frequency"]["boost"] = True
    assert {each["code"] for each in disturbances.of(record)} == {"boost"}
