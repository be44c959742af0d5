//! Limits of the translation to C, which calls in calls would pass.

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
