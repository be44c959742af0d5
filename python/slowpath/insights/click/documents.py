"""Types of the JSON document of `slowpath insights graph`."""

from typing import Literal, NotRequired, TypedDict

from slowpath.core.schema import Document
from slowpath.insights.advice.documents import AdviceGiven
from slowpath.insights.trace.documents import CountedStructure


class GraphElement(TypedDict):
    """An element of the configuration, without compound elements, and its counts."""

    name: str
    """Name; components of compound elements are named `compound/component`."""
    kind: str
    """Name of the class."""
    file: str
    """Configuration or library with the element."""
    line: int
    """Line of the element in `file`."""
    source: str
    """Source of the class; empty for classes that slowpath models or does not find."""
    role: Literal["code", "source", "sink", "device", "queue", "idle", "information", "missing"]
    """`code`: the source of the class runs; `missing`: it does not run. Other roles are those of
    models: they deliver packets, take them, do both, keep them, do nothing, or have no packets."""
    reason: str
    """Reason why the element is missing; else empty."""
    inputs: list[Literal["push", "pull"]]
    """Direction of each input."""
    outputs: list[Literal["push", "pull"]]
    """Direction of each output."""
    packets: int
    """Packets that entered the element."""
    dropped: int
    """Packets that got no buffer, or that a full queue dropped."""
    waiting: int
    """Packets that a queue, or the element itself, keeps at the end."""
    instructions_per_packet: float | None
    """LLVM instructions, including headers, per packet of the traffic; null without counts."""
    state_reads_per_packet: float | None
    """Reads of state per packet of the traffic; null without counts."""
    state_writes_per_packet: float | None
    """Writes of state per packet of the traffic; null without counts."""
    packet_reads_per_packet: float | None
    """Reads of packet bytes per packet of the traffic; null without counts."""
    packet_writes_per_packet: float | None
    """Writes of packet bytes per packet of the traffic; null without counts."""
    structures: list[CountedStructure]
    """State that packets accessed."""
    notes: list[str]
    """Limits of the counts, and features that a card lacks."""


class GraphConnection(TypedDict):
    """A connection of two elements."""

    start: str
    """Element that packets leave."""
    output: int
    """Number of its output."""
    end: str
    """Element that packets enter."""
    input: int
    """Number of its input."""
    direction: Literal["push", "pull"]
    """`push`: the first element acts; `pull`: the second one."""


class GraphMissing(TypedDict):
    """An element that does not run, and the part of the configuration that it hides."""

    element: str
    """Name of the element."""
    kind: str
    """Name of its class."""
    reason: str
    """Reason."""
    packets: int
    """Packets that reached it, and were lost there."""
    behind: list[str]
    """Elements with code that packets reach only through missing elements."""


class GraphSource(TypedDict):
    """The traffic of a source element."""

    element: str
    """Name of the element."""
    file: str
    """Capture file."""


class GraphTraffic(TypedDict):
    """The traffic, and the sums over all elements with counts."""

    sources: list[GraphSource]
    """Capture files by element."""
    packets: int
    """Packets that entered the configuration, over all sources."""
    more: bool
    """True if a capture file has more packets than ran."""
    instructions_per_packet: float
    """LLVM instructions per packet."""
    state_reads_per_packet: float
    """Reads of state per packet."""
    state_writes_per_packet: float
    """Writes of state per packet."""
    state_bytes: int
    """Size of all structures that packets accessed, in bytes."""
    cycles: float
    """Cycles per packet, under the assumptions of the report."""
    complete: bool
    """True if no packet reached a missing element."""


class GraphAdvice(TypedDict):
    """A piece of advice, and the elements that it concerns."""

    elements: list[str]
    """Names of the elements; empty for advice on the whole configuration."""
    given: AdviceGiven
    """The advice, as for the source of a single element."""


class GraphReport(Document):
    """Output of `slowpath insights graph --format json`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """Configuration, as the user gave it."""
    click: str
    """Folder with the sources of the classes, as the user gave it."""
    packages: list[str]
    """Packages that the configuration requires."""
    traffic: GraphTraffic | None
    """Traffic and sums; null if no packet ran."""
    elements: list[GraphElement]
    """Elements in the order of the configuration."""
    connections: list[GraphConnection]
    """Connections, without compound elements."""
    missing: list[GraphMissing]
    """Elements that do not run."""
    advice: list[GraphAdvice]
    """Advice, largest effect first."""
    assumptions: list[str]
    """Assumptions behind the counts and the order of the advice."""
    notes: list[str]
    """Parts that the report leaves out."""
