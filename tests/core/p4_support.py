"""Generates the table of supported P4 constructs, by translating an example of each construct.

The table is in `docs/how-to/p4.md`, and cannot differ from the translation.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.core.engine.p4 import Pipeline, translate, translate_to_swx

TABLE = re.compile(r"(<!-- constructs -->\n)(.*?)(<!-- end -->)", re.DOTALL)
TRANSLATIONS = ("XDP", "SWX")
ARCHITECTURES = ("v1model", "psa", "ebpf_model", "xdp_model")


class Example(NamedTuple):
    """The parts of an example program that uses a P4 construct."""

    name: str
    apply: str = ""  # statements of the control
    locals: str = ""  # declarations of the control
    states: str = "state start { b.extract(hdr.h); transition accept; }"
    inner: str = ""  # declarations of the parser
    types: str = ""
    headers: str = ""  # further members of the headers
    only: tuple[str, ...] = ARCHITECTURES  # architectures that have the construct
    compute: str = ""  # statements of v1model's control of checksums
    verify: str = ""
    egress: str = ""  # statements of the egress control


V1 = ("v1model",)
_NEXT = "transition accept; }"
_TYPES = """header H { bit<8> a; bit<8> b; bit<16> c; }
header V { bit<8> size; varbit<64> rest; }
header_union U { H h; V v; }
"""


def _table(name: str, kind: str, more: str = "") -> Example:
    table = f"table t {{ key = {{ hdr.h.a: {kind}; }} actions = {{ NoAction; }} {more} }}"
    return Example(name, "t.apply();", table, only=V1 if kind in _V1_KINDS else ARCHITECTURES)


_V1_KINDS = ("range", "optional", "selector")


def _select(name: str, case: str, inner: str = "") -> Example:
    states = f"state start {{ b.extract(hdr.h); transition select(hdr.h.a) {{ {case}: accept; }} }}"
    return Example(name, states=states, inner=inner)


EXAMPLES = (
    _select("`select` with values, masks and ranges", "1 &&& 3: accept; 5..7"),
    _select("`value_set`", "known", "value_set<bit<8>>(4) known;"),
    Example(
        "`lookahead`, `advance`, `verify`",
        states="state start { bit<8> next = b.lookahead<bit<8>>(); b.advance(8); "
        f"verify(next == 4, error.NoMatch); {_NEXT}",
    ),
    Example(
        "parser in a parser",
        types="parser Inner(packet_in b, out H h) { state start { b.extract(h); " + _NEXT + " }",
        inner="Inner() inner;",
        states=f"state start {{ inner.apply(b, hdr.h); {_NEXT}",
    ),
    Example(
        "header stack", headers="H[2] s;", states=f"state start {{ b.extract(hdr.s.next); {_NEXT}"
    ),
    Example("header union", headers="U u;", states=f"state start {{ b.extract(hdr.u.h); {_NEXT}"),
    Example("`varbit`", headers="V v;", states=f"state start {{ b.extract(hdr.v, 16); {_NEXT}"),
    _table("keys `exact`, `lpm`, `ternary`", "exact; hdr.h.b: lpm; hdr.h.c: ternary"),
    _table("keys `range`", "range"),
    _table("keys `optional`", "optional"),
    _table("`const entries`", "ternary", "const entries = { 1 &&& 3: NoAction(); }"),
    Example(
        "action profile",
        "t.apply();",
        "action_profile(8) p; table t { key = { hdr.h.a: exact; } actions = { NoAction; } "
        "implementation = p; }",
        only=V1,
    ),
    Example(
        "action selector",
        "t.apply();",
        "action_selector(HashAlgorithm.crc16, 8, 8) p; table t { key = { hdr.h.a: exact; "
        "hdr.h.b: selector; } actions = { NoAction; } implementation = p; }",
        only=V1,
    ),
    Example(
        "entries of the program that are not constant",
        "t.apply();",
        "table t { key = { hdr.h.a: exact; } actions = { NoAction; } "
        "entries = { 1: NoAction(); } }",
        only=V1,
    ),
    Example(
        "direct meter",
        "t.apply();",
        "bit<8> c; direct_meter<bit<8>>(MeterType.packets) m; action read() { m.read(c); } "
        "table t { key = { hdr.h.a: exact; } actions = { read; } meters = m; }",
        only=V1,
    ),
    Example(
        "functions, `switch`, `exit`",
        "switch (twice(hdr.h.a)) { 2: { exit; } default: { } }",
        types="bit<8> twice(in bit<8> x) { return x << 1; }",
    ),
    Example("counter", "c.count(1);", "counter(8, CounterType.packets) c;", only=V1),
    Example(
        "`CounterArray`", "c.increment(1);", "CounterArray(8, false) c;", only=ARCHITECTURES[2:]
    ),
    Example(
        "direct counter",
        "t.apply();",
        "direct_counter(CounterType.packets) c; table t { key = { hdr.h.a: exact; } "
        "actions = { NoAction; } counters = c; }",
        only=V1,
    ),
    Example("register", "r.read(hdr.h.a, 1);", "register<bit<8>>(8) r;", only=V1),
    Example("meter", "m.execute_meter(1, hdr.h.a);", "meter(8, MeterType.bytes) m;", only=V1),
    Example("`hash`", "hash(hdr.h.c, HashAlgorithm.crc32, 16w0, { hdr.h.a }, 16w9);", only=V1),
    Example("`random`", "random(hdr.h.a, 0, 9);", only=V1),
    Example(
        "`verify_checksum`, `update_checksum`",
        verify="verify_checksum(true, { hdr.h.a, hdr.h.b }, hdr.h.c, HashAlgorithm.csum16);",
        compute="update_checksum(true, { hdr.h.a, hdr.h.b }, hdr.h.c, HashAlgorithm.csum16);",
        only=V1,
    ),
    Example(
        "checksums with payload",
        compute="update_checksum_with_payload(true, { hdr.h.a, hdr.h.b }, hdr.h.c, "
        "HashAlgorithm.csum16);",
        only=V1,
    ),
    Example("egress that changes packets", egress="hdr.h.a = 1;", only=("v1model", "psa")),
    Example("multicast", "s.mcast_grp = 1;", only=V1),
    Example("clone", "clone(CloneType.I2E, 5);", only=V1),
    Example("digest", "digest(1, hdr.h.c);", only=V1),
    Example("resubmit", "resubmit_preserving_field_list(1);", only=V1),
    Example("recirculate", "recirculate_preserving_field_list(1);", only=V1),
    Example("`truncate`", "truncate(64);", only=V1),
    Example("`log_msg`, `assert`", 'log_msg("text"); assert(hdr.h.a == 1);', only=V1),
)

PSA = {
    "action profile": (
        "t.apply();",
        "ActionProfile(8) p; table t { key = { hdr.h.a: exact; } actions = { NoAction; } "
        "psa_implementation = p; }",
    ),
    "action selector": (
        "t.apply();",
        "ActionSelector(PSA_HashAlgorithm_t.CRC16, 8, 8) p; table t { key = { hdr.h.a: exact; "
        "hdr.h.b: selector; } actions = { NoAction; } psa_implementation = p; }",
    ),
    "direct meter": (
        "t.apply();",
        "DirectMeter(PSA_MeterType_t.PACKETS) m; action read() { if (m.execute() == "
        "PSA_MeterColor_t.RED) { hdr.h.a = 1; } } "
        "table t { key = { hdr.h.a: exact; } actions = { read; NoAction; } psa_direct_meter = m; }",
    ),
    "counter": ("c.count(1);", "Counter<bit<32>, bit<8>>(8, PSA_CounterType_t.PACKETS) c;"),
    "direct counter": (
        "t.apply();",
        "DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) c; action count() { c.count(); } "
        "table t { key = { hdr.h.a: exact; } actions = { count; NoAction; } "
        "psa_direct_counter = c; }",
    ),
    "register": ("hdr.h.a = r.read(1);", "Register<bit<8>, bit<8>>(8) r;"),
    "meter": (
        "if (m.execute(1) == PSA_MeterColor_t.RED) { hdr.h.a = 1; }",
        "Meter<bit<8>>(8, PSA_MeterType_t.PACKETS) m;",
    ),
    "`hash`": ("hdr.h.c = h.get_hash(hdr.h.a);", "Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) h;"),
    "`random`": ("hdr.h.a = r.read();", "Random<bit<8>>(0, 9) r;"),
    "multicast": ("multicast(o, (MulticastGroup_t)1);", ""),
    "clone": ("o.clone = true; o.clone_session_id = (CloneSessionId_t)1;", ""),
    "resubmit": ("o.resubmit = true;", ""),
    "recirculate": ("send_to_port(o, PSA_PORT_RECIRCULATE);", ""),
}
"""Statements and declarations of constructs that are written differently for PSA, by name."""

_PROGRAMS = {
    "psa": """#include <core.p4>
#include <psa.p4>
{types} struct Hs {{ H h; {headers} }} struct M {{}}
parser P(packet_in b, out Hs hdr, inout M m, in psa_ingress_parser_input_metadata_t s, in M r,
    in M c) {{ {inner} {states} }}
control I(inout Hs hdr, inout M m, in psa_ingress_input_metadata_t s,
    inout psa_ingress_output_metadata_t o) {{ {locals} apply {{
        send_to_port(o, (PortId_t)1); {apply} }} }}
control D(packet_out b, out M c, out M r, out M n, inout Hs hdr, in M m,
    in psa_ingress_output_metadata_t o) {{ apply {{ b.emit(hdr); }} }}
parser EP(packet_in b, out Hs hdr, inout M m, in psa_egress_parser_input_metadata_t s, in M n,
    in M c, in M d) {{ state start {{ b.extract(hdr.h); transition accept; }} }}
control EI(inout Hs hdr, inout M m, in psa_egress_input_metadata_t s,
    inout psa_egress_output_metadata_t o) {{ apply {{ {egress} }} }}
control ED(packet_out b, out M c, out M r, inout Hs hdr, in M m,
    in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t s) {{ apply {{
        b.emit(hdr.h); }} }}
IngressPipeline(P(), I(), D()) ingress;
EgressPipeline(EP(), EI(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;""",
    "v1model": """#include <core.p4>
#include <v1model.p4>
{types} struct Hs {{ H h; {headers} }} struct M {{}}
parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {{ {inner} {states} }}
control Verify(inout Hs hdr, inout M m) {{ apply {{ {verify} }} }}
control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ {locals} apply {{ {apply} }} }}
control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
control K(inout Hs hdr, inout M m) {{ apply {{ {compute} }} }}
control D(packet_out b, in Hs hdr) {{ apply {{ b.emit(hdr); }} }}
V1Switch(P(), Verify(), I(), E(), K(), D()) main;""",
    "ebpf_model": """#include <core.p4>
#include <ebpf_model.p4>
{types} struct Hs {{ H h; {headers} }}
parser P(packet_in b, out Hs hdr) {{ {inner} {states} }}
control C(inout Hs hdr, out bool pass) {{ {locals} apply {{ {apply} pass = true; }} }}
ebpfFilter(P(), C()) main;""",
    "xdp_model": """#include <core.p4>
#include <xdp_model.p4>
{types} struct Hs {{ H h; {headers} }}
parser P(packet_in b, out Hs hdr) {{ {inner} {states} }}
control C(inout Hs hdr, in xdp_input i, out xdp_output o) {{ {locals} apply {{ {apply}
    o.output_action = xdp_action.XDP_TX; o.output_port = 0; }} }}
control D(in Hs hdr, packet_out b) {{ apply {{ b.emit(hdr.h); }} }}
xdp(P(), C(), D()) main;""",
}


def faults(example: Example, architecture: str, to: str = "XDP") -> list[tuple[int, str]]:
    """Translate an example program; return its errors, each as the number of the code and a text.

    `architecture` is the P4 architecture, and `to` the target of the translation.
    """
    if architecture == "psa" and example.name in PSA:
        apply, declarations = PSA[example.name]
        example = example._replace(apply=apply, locals=declarations)
    parts = example._replace(types=_TYPES + example.types)._asdict()
    text = _PROGRAMS[architecture].format(**parts)
    if to == "XDP":
        found = translate("program.p4", [], text=text).faults
    else:
        made = translate_to_swx("program.p4", [], text=text)
        found = [] if isinstance(made, Pipeline) else made
    return [(int(one.code.removeprefix("SP")), one.text) for one in found]


def support_table() -> str:
    """Generate the table of supported constructs for `docs/how-to/p4.md`, in Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"| construct | {' | '.join(ARCHITECTURES).replace('psa', 'PSA')} |"
    yield "|---" * (len(ARCHITECTURES) + 1) + "|"
    for example in EXAMPLES:
        cells = []
        for architecture in ARCHITECTURES:
            has = architecture in example.only or (architecture == "psa" and example.name in PSA)
            made = [to for to in TRANSLATIONS if has and not faults(example, architecture, to)]
            cells.append((", ".join(made) or "no") if has else "")
        yield f"| {' | '.join([example.name, *cells])} |"
