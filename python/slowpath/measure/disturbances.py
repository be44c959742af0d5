"""Finds conditions of a machine that disturb measurements, and suggests remedies for the report.

A warning is about a condition that makes times wrong or variable between runs, and that can be
corrected. A note describes a property of the machine.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypedDict

from slowpath.core import codes
from slowpath.core.errors import Coded, with_code
from slowpath.core.terminal import note
from slowpath.measure.environment import Environment
from slowpath.measure.machine import show_cpus

_HARDENED_FOR_ALL = 2
_STOLEN = _WAITED = 0.005
_INTERRUPTED = 0.01
_BUSY_SIBLING = 0.02
_BUSY_OTHERS = 0.25
_FREQUENCY = 0.02
_SLOW_CLOCK = 0.1
"""Thresholds, as shares of the time or the frequency, above which a disturbance is reported."""
_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource", "arch_sys_counter", "riscv_clocksource", "xen")
"""Prefixes of clock sources that a CPU reads fast. Reading any other clock source takes about a
microsecond.
"""
_WHOLE_CORE = {"x86_64": 3.0, "AMD64": 3.0}
"""Minimum additions per cycle on a core that one CPU uses alone, by architecture. Cores of servers
do 4 since Haswell and Zen; two CPUs that share a core get about half each. Absent for architectures
with one CPU per core, such as arm64."""
_SLOWS_CALLS = {
    "spectre_v2": ("Retpoline", "LFENCE"),
    "retbleed": ("Mitigation",),
    "spec_rstack_overflow": ("Safe RET", "IBPB"),
    "indirect_target_selection": ("Mitigation",),
}
"""Mitigations that slow down calls, indirect calls or returns of programs. A mitigation is active
if the kernel's text about it contains one of the words.
"""


class Disturbance(TypedDict):
    """A disturbance of a measurement, or a fact that readers of the times must know."""

    code: str
    """Machine-readable name, stable across versions."""
    severity: Literal["warning", "note"]
    """`warning`: times are wrong or differ from run to run; `note`: a property of the machine."""
    what: str
    """Description in a sentence."""
    advice: str
    """Remedy in a sentence."""


def of(record: Environment) -> list[Disturbance]:
    """Return the disturbances in a record of the environment: warnings first, then notes."""
    found = [each for check in _CHECKS for each in check(record)]
    return sorted(found, key=lambda each: each["severity"] == "note")


_CODES = {
    "jit-off": codes.JIT_OFF,
    "jit-hardened": codes.JIT_HARDENED,
    "bpf-stats": codes.BPF_STATS,
    "speculation-guards": codes.SPECULATION_GUARDS,
    "debug-kernel": codes.DEBUG_KERNEL,
    "slow-clock": codes.SLOW_CLOCK,
    "lockdown": codes.LOCKDOWN,
    "mitigations": codes.MITIGATIONS,
    "governor": codes.GOVERNOR,
    "boost": codes.BOOST,
    "frequency-changed": codes.FREQUENCY_CHANGED,
    "throttled": codes.THROTTLED,
    "core-shared": codes.CORE_SHARED,
    "below-frequency": codes.BELOW_FREQUENCY,
    "sibling-busy": codes.SIBLING_BUSY,
    "load": codes.LOAD,
    "cpu-shared": codes.CPU_SHARED,
    "quota": codes.QUOTA,
    "others-busy": codes.OTHERS_BUSY,
    "stolen": codes.STOLEN,
    "interrupted": codes.INTERRUPTS,
    "virtual": codes.VIRTUAL,
    "not-isolated": codes.NOT_ISOLATED,
}
"""Error code of each kind of disturbance, which `slowpath explain` describes."""


def warnings(found: Sequence[Disturbance]) -> list[Coded]:
    """Return the disturbances that are warnings, as texts with error codes for reports."""
    return [_coded(each) for each in found if each["severity"] == "warning"]


def _coded(each: Disturbance) -> Coded:
    return Coded(_CODES[each["code"]], f"{each['what']} {each['advice']}")


def code_of(each: Disturbance) -> codes.Code | None:
    """Return the error code of a disturbance.

    None if this version of slowpath does not know its kind.
    """
    return _CODES.get(each["code"])


def print_notes(found: Sequence[Disturbance]) -> None:
    """Print the disturbances that are notes to standard error."""
    for each in found:
        if each["severity"] == "note":
            text = _coded(each)
            note(with_code(f"note: {text}", text.code))


def _warning(code: str, what: str, advice: str) -> Disturbance:
    return {"code": code, "severity": "warning", "what": what, "advice": advice}


def _note(code: str, what: str, advice: str) -> Disturbance:
    return {"code": code, "severity": "note", "what": what, "advice": advice}


def _settings(record: Environment) -> Iterator[Disturbance]:
    bpf = record["kernel"]["bpf"]
    if bpf["jit_enable"] == 0:
        yield _warning(
            "jit-off",
            "BPF programs are interpreted, not compiled (net.core.bpf_jit_enable is 0).",
            "Run `sysctl net.core.bpf_jit_enable=1`.",
        )
    if (bpf["jit_harden"] or 0) >= _HARDENED_FOR_ALL:
        yield _warning(
            "jit-hardened",
            "Constants in compiled programs are blinded, which takes more instructions "
            f"(net.core.bpf_jit_harden is {bpf['jit_harden']}).",
            "Run `sysctl net.core.bpf_jit_harden=0`.",
        )
    if bpf["stats_enabled"]:
        yield _warning(
            "bpf-stats",
            "The kernel reads its clock twice for each run of a program "
            f"(kernel.bpf_stats_enabled is {bpf['stats_enabled']}).",
            "Run `sysctl kernel.bpf_stats_enabled=0`.",
        )
    parameters = record["kernel"]["parameters"] or []
    if bpf["perfmon"] is False and "mitigations=off" not in parameters:
        yield _warning(
            "speculation-guards",
            "The verifier may add instructions against speculation to programs, because this "
            "process lacks CAP_PERFMON.",
            "Run as root, or with CAP_PERFMON.",
        )


def _kernel(record: Environment) -> Iterator[Disturbance]:
    kernel = record["kernel"]
    if kernel["debugging"]:
        yield _warning(
            "debug-kernel",
            f"The kernel has debugging options ({', '.join(kernel['debugging'])}).",
            "Measure on a kernel without these.",
        )
    clock = kernel["clock_source"]
    if clock is not None and not clock.startswith(_CLOCKS):
        yield _warning(
            "slow-clock",
            f"The kernel reads the time from {clock}, which is slow.",
            "Boot with `clocksource=tsc` if the CPU's counter is reliable: `dmesg | grep -i tsc` "
            "shows why the kernel does not use it.",
        )
    if kernel["lockdown"] not in {None, "none"}:
        yield _note(
            "lockdown",
            f"The kernel is locked down ({kernel['lockdown']}): programs that read kernel memory "
            "may be rejected or read zeros.",
            "Boot with `lockdown=none`, and without Secure Boot if that sets it.",
        )
    slowing = [
        f"{each['name']}: {_mitigation(each['text'])}"
        for each in kernel["mitigations"]
        if any(word in each["text"] for word in _SLOWS_CALLS.get(each["name"], ()))
    ]
    if slowing:
        yield _note(
            "mitigations",
            "Calls and returns take longer, because the kernel mitigates vulnerabilities of the "
            "CPU "
            f"({'; '.join(slowing)}).",
            "Compare with machines that do the same. `mitigations=off` on the kernel's command "
            "line shows the cost, but makes the machine unsafe.",
        )


def _mitigation(text: str) -> str:
    """Extract the mitigation from a text such as `Mitigation: Retpolines; STIBP: disabled`."""
    return text.partition(";")[0].rpartition(": ")[2]


def _frequency(record: Environment) -> Iterator[Disturbance]:
    cpu, frequency = record["processor"]["cpu"], record["processor"]["frequency"]
    governor = frequency["governor"]
    if governor not in {None, "performance"}:
        yield _warning(
            "governor",
            f"The governor of CPU {cpu} is {governor}: its frequency follows the load.",
            f"Run `cpupower -c {cpu} frequency-set -g performance`.",
        )
    if frequency["boost"]:
        intel = (frequency["driver"] or "").startswith("intel_")
        file = "intel_pstate/no_turbo" if intel else "cpufreq/boost"
        yield _warning(
            "boost",
            f"CPU {cpu} may exceed its nominal frequency while heat and other cores allow (turbo).",
            f"Run `echo {int(intel)} > /sys/devices/system/cpu/{file}`.",
        )
    start, end = record["run"]["frequency_start_hz"], record["run"]["frequency_end_hz"]
    if start and end and abs(end - start) > _FREQUENCY * start:
        yield _warning(
            "frequency-changed",
            f"CPU {cpu} ran at {_ghz(start)} at the start and at {_ghz(end)} at the end.",
            f"Run `cpupower -c {cpu} frequency-set -d {_ghz(end)} -u {_ghz(end)}`.".replace(
                " GHz", "GHz"
            ),
        )
    throttled = record["run"]["throttled"]
    if throttled:
        yield _warning(
            "throttled",
            f"Heat slowed down CPU {cpu} {_times(throttled)}.",
            "Let the machine cool down, or lower its frequency: `cpupower frequency-set -u`.",
        )


def _pace(record: Environment) -> Iterator[Disturbance]:
    pace, cpu = record["pace"], record["processor"]["cpu"]
    if pace is None:
        return
    least = _WHOLE_CORE.get(record["kernel"]["architecture"])
    if least is not None and pace["instructions_per_cycle"] < least:
        yield _warning(
            "core-shared",
            f"CPU {cpu} did {pace['instructions_per_cycle']:.1f} additions in a cycle, but a whole "
            f"core does at least {least:g}. Another CPU used the core most of the time, perhaps "
            "one of another virtual machine.",
            "Measure when the machine is quiet, or without sharing cores: "
            "`echo off > /sys/devices/system/cpu/smt/control` on your own machine, else a virtual "
            "machine with whole cores.",
        )
    frequency = record["processor"]["frequency"]
    most = frequency["most_hz"]
    # If the clock may exceed the nominal frequency or save power, another warning explains a low
    # frequency.
    steady = frequency["boost"] is False and frequency["governor"] == "performance"
    if steady and most is not None and pace["clock_hz"] < (1 - _SLOW_CLOCK) * most:
        yield _warning(
            "below-frequency",
            f"CPU {cpu} ran at {_ghz(pace['clock_hz'])}, although {_ghz(most)} are allowed: heat "
            "or "
            "a power limit slowed it down.",
            "Let the machine cool down, and check its power limits with `turbostat`.",
        )


def _others(record: Environment) -> Iterator[Disturbance]:
    run, cpu, online = record["run"], record["processor"]["cpu"], record["processor"]["online"]
    for sibling in run["siblings"]:
        if sibling["busy"] > _BUSY_SIBLING:
            yield _warning(
                "sibling-busy",
                f"CPU {sibling['cpu']} shares a core with CPU {cpu}, and was busy for "
                f"{_percent(sibling['busy'])} of the time.",
                "Run `echo off > /sys/devices/system/cpu/smt/control`.",
            )
    load = (run["load_start"] or [0.0])[0]  # `load_end` includes slowpath's own work
    if online and load > len(online):
        count = f"{len(online)} CPU" + ("s" if len(online) > 1 else "")
        yield _warning(
            "load",
            f"The load average is {load:.2f}, with {count}: programs waited for each other.",
            "Wait until other programs end; `top` lists them.",
        )
    waited = (run["waited_ns"] or 0) / 1e9
    if run["seconds"] > 0 and waited / run["seconds"] > _WAITED:
        yield _warning(
            "cpu-shared",
            f"Other programs ran on CPU {cpu} while the measurement waited, for "
            f"{_percent(waited / run['seconds'])} of the time.",
            f"Keep them away: boot with `isolcpus={cpu} nohz_full={cpu}`.",
        )
    if run["quota_stops"]:
        yield _warning(
            "quota",
            f"The kernel stopped the process {_times(run['quota_stops'])}, because its control "
            "group had used up its CPU time.",
            "Raise the limit of the container (`docker update --cpus`), or cpu.max of the group.",
        )
    if (run["others_busy"] or 0.0) > _BUSY_OTHERS:
        yield _note(
            "others-busy",
            f"The CPUs of other cores were busy for {_percent(run['others_busy'] or 0.0)} of the "
            "time; they share caches, memory and heat.",
            "Wait until other programs end; `top` lists them.",
        )


def _interruptions(record: Environment) -> Iterator[Disturbance]:
    run, cpu = record["run"], record["processor"]["cpu"]
    time = run["time"]
    if time is None:
        return
    if time["stolen"] > _STOLEN:
        yield _warning(
            "stolen",
            f"The hypervisor gave {_percent(time['stolen'])} of the time of CPU {cpu} to others.",
            "Use a machine that is not shared.",
        )
    interrupted = time["interrupts"] + time["deferred"]
    if interrupted > _INTERRUPTED:
        by = f", mostly by {run['interrupted_by'][0]['name']}" if run["interrupted_by"] else ""
        yield _warning(
            "interrupted",
            f"Interrupts took {_percent(interrupted)} of the time of CPU {cpu}{by}.",
            "Stop irqbalance, and write other CPUs to /proc/irq/NUMBER/smp_affinity_list.",
        )


def _machine(record: Environment) -> Iterator[Disturbance]:
    host, processor = record["host"], record["processor"]
    if host["virtual"]:
        whose = "" if host["hypervisor"] is None else f" ({host['hypervisor']})"
        yield _note(
            "virtual",
            f"This is a virtual machine{whose}, so other load on its host is not visible.",
            "Measure on the machine that will run the program.",
        )
    cpu, kept = processor["cpu"], processor["isolated"]
    if kept is not None and cpu not in kept:
        others = f"; it isolates {show_cpus(kept)}" if kept else ""
        yield _note(
            "not-isolated",
            f"The kernel does not isolate CPU {cpu} from other programs{others}.",
            f"Boot with `isolcpus={cpu} nohz_full={cpu}`, or measure on an isolated CPU.",
        )


_CHECKS: tuple[Callable[[Environment], Iterator[Disturbance]], ...] = (
    _settings,
    _kernel,
    _frequency,
    _pace,
    _others,
    _interruptions,
    _machine,
)


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _ghz(hz: int) -> str:
    return f"{hz / 1e9:.2f} GHz"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
