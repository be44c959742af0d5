"""Classes that slowpath models: sources and sinks of packets, queues, and information elements.

Their code depends on devices, files or other machines, so that it does not run here.
"""

from typing import Literal, NamedTuple

from slowpath.insights.click.processing import Shape

Role = Literal["source", "sink", "device", "queue", "idle", "information"]


class Model(NamedTuple):
    """What slowpath does in place of a class."""

    role: Role
    """`source` delivers the packets of the trace; `sink` takes packets, or pulls them; `device`
    does both; `queue` keeps packets until they are pulled; `idle` neither sends nor keeps packets;
    `information` has no packets."""
    shape: Shape


def _made(role: Role, ports: str, processing: str, names: str) -> dict[str, Model]:
    flow = "x/y" if role in ("device", "idle") else "x/x"
    return {name: Model(role, Shape(ports, processing, flow)) for name in names.split()}


MODELS = {
    **_made(
        "source",
        "0/1-2",
        "/h",
        "FromDevice PollDevice FromDPDKDevice FromNetmapDevice FromMinDevice FromHost "
        "FromUserDevice",
    ),
    **_made(
        "source",
        "0/1-2",
        "a",
        "FromDump FromTcpdump FromIPSummaryDump FromDAGDump FromNetFlowSummaryDump FromNLANRDump "
        "FromCapDump InfiniteSource RatedSource RandomSource TimedSource FastUDPSource "
        "FastTCPFlows FastUDPFlows FastUDPSourceIP6 MultiUDPSource UDPGen ReplayUnqueue",
    ),
    **_made("device", "0-1/1-2", "a/h", "KernelTun KernelTap"),
    **_made(
        "sink", "1/0-2", "l/h", "ToDevice ToDPDKDevice ToNetmapDevice ToMinDevice ToUserDevice"
    ),
    **_made("sink", "1/0-1", "a/h", "ToHost ToHostSniffers ToDump"),
    **_made("sink", "1/0", "a", "Discard BatchDiscard DiscardNoFree ToIPSummaryDump"),
    **_made(
        "queue",
        "1-/1",
        "h/l",
        "Queue SimpleQueue NotifierQueue FullNoteQueue QuickNoteQueue ThreadSafeQueue "
        "NonfullNotifierQueue",
    ),
    **_made("idle", "-/-", "a", "Idle"),
    **_made(
        "information",
        "0/0",
        "a",
        "AddressInfo AlignmentInfo IPRewriterPatterns PortInfo ScheduleInfo ScriptInfo IPFieldInfo "
        "IPProtocolInfo "
        "Message ErrorElement ControlSocket ChatterSocket DriverManager Script Scheduler "
        "StaticThreadSched BalancedThreadSched StoragePolicy DPDKInfo NetmapInfo "
        "AvailableInterfaces "
        "HTTPServer ClickyInfo ProgressBar",
    ),
}
"""Models by class."""
