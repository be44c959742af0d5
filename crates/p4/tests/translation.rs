//! Tests of the size limits of the translation to C, which nested calls would exceed.

use crate::support::translated;

#[test]
fn calls_that_double_the_program_end_with_an_error() {
    let mut text = String::from(
        "#include <core.p4>\n#include <ebpf_model.p4>\nheader h_t { bit<8> x; }\nstruct hs { h_t h; }\n\
         parser P(packet_in p, out hs h) { state start { p.extract(h.h); transition accept; } }\n\
         control c0(inout hs h) { apply { h.h.x = h.h.x + 1; } }\n",
    );
    for at in 1..40 {
        let before = at - 1;
        text += &format!(
            "control c{at}(inout hs h) {{ c{before}() a; c{before}() b; apply {{ a.apply(h); b.apply(h); }} }}\n"
        );
    }
    text += "control F(inout hs h, out bool ok) { c39() c; apply { c.apply(h); ok = true; } }\n\
             ebpfFilter(P(), F()) main;\n";
    let fault = translated(&text).unwrap_err();
    assert!(fault.contains("a program of more than 100000 statements, calls expanded,"), "{fault}");
}

/// Returns the error message for a v1model program with the declarations `top` and the ingress
/// statements `body`; an empty text if it has no error.
fn refusal(top: &str, body: &str) -> String {
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\n{top}\n\
         header H {{ bit<16> a; }} struct Hs {{ H h; }} struct M {{}}\n\
         parser P(packet_in b, out Hs h, inout M m, inout standard_metadata_t s) \
         {{ state start {{ b.extract(h.h); transition accept; }} }}\n\
         control V(inout Hs h, inout M m) {{ apply {{}} }}\n\
         control I(inout Hs h, inout M m, inout standard_metadata_t s) {{ apply {{\n{body}\n}} }}\n\
         control E(inout Hs h, inout M m, inout standard_metadata_t s) {{ apply {{}} }}\n\
         control D(packet_out b, in Hs h) {{ apply {{ b.emit(h); }} }}\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    translated(&text).err().unwrap_or_default()
}

#[test]
fn copies_of_packets_are_refused_with_the_reason() {
    let ports = "XDP cannot send a packet to several ports; use one port";
    let copy = "XDP cannot send a copy of a packet; remove the clone";
    let fields = "ingress_port = 0, egress_spec = 0, egress_port = 0, instance_type = 0, \
         packet_length = 0, enq_timestamp = 0, enq_qdepth = 0, deq_timedelta = 0, deq_qdepth = 0, \
         ingress_global_timestamp = 0, egress_global_timestamp = 0, egress_rid = 0, \
         checksum_error = 0, parser_error = error.NoError, priority = 0";
    for (body, place, wanted) in [
        ("s.mcast_grp = h.h.a;", "8:1", ports),
        ("s.mcast_grp[3:0] = h.h.a[3:0];", "8:1", ports),
        (&*format!("s = {{ {fields}, mcast_grp = 5 }};"), "8:", ports),
        (&format!("s = {{ {fields}, mcast_grp = h.h.a }};"), "8:", ports),
        ("clone(CloneType.I2E, 5);", "8:1", copy),
        ("clone_preserving_field_list(CloneType.I2E, 5, 1);", "8:1", copy),
    ] {
        let fault = refusal("", body);
        assert!(fault.starts_with(&format!("a.p4:{place}")) && fault.ends_with(wanted), "{fault}");
    }
    for kept in ["s.mcast_grp = 0;", &format!("s = {{ {fields}, mcast_grp = s.mcast_grp }};")] {
        assert_eq!(refusal("", kept), "", "{kept}");
    }
}

#[test]
fn externs_of_the_program_are_refused() {
    let top = "extern void magic(in bit<16> a);\nextern Checksum { Checksum(); void clear(); }";
    let fault = refusal(top, "magic(h.h.a);");
    assert!(fault.ends_with("magic cannot be compiled for XDP yet"), "{fault}");
    let fault = refusal(top, "Checksum() c; c.clear();");
    assert!(!fault.is_empty(), "a local object");
}

#[test]
fn parts_of_results_of_functions_have_places() {
    let top = "header G { bit<8> x; } header_union U { G g; }\n\
         U one() { U u; u.g = { 1 }; return u; } G[2] two() { G[2] s; s[1] = { 2 }; return s; }";
    let body = "G g = one().g; G last = two()[1]; \
         if (one().g.isValid() && two()[1].isValid()) { h.h.a = (bit<16>)(g.x + last.x); }";
    assert_eq!(refusal(top, body), "");
}
