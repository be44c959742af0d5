//! Names of sections and logs of the verifier.

use super::{attach_type, reason};

#[test]
fn sections_name_where_a_program_is_attached() {
    for section in ["xdp", "xdp.frags", "xdp/main", "xdp/devmaps", "prog", ""] {
        assert_eq!(attach_type(section), 37, "{section}");
    }
    for section in ["xdp/devmap", "xdp_devmap/egress", "xdp.frags/devmap", "xdp/devmap/x"] {
        assert_eq!(attach_type(section), 33, "{section}");
    }
    assert_eq!(attach_type("xdp/cpumap"), 35);
}

#[test]
fn reasons_are_what_follows_the_last_instruction() {
    let log = [
        "; return *(volatile __u8 *)(long)ctx->data; @ a.c:1",
        "0: (61) r1 = *(u32 *)(r1 +0)          ; R1=pkt(r=0)",
        "1: (71) r0 = *(u8 *)(r1 +0)",
        "invalid access to packet, off=0 size=1, R1(id=0,off=0,r=0)",
        "R1 offset is outside of the packet",
        "verification time 61 usec",
        "stack depth 0",
        "processed 2 insns (limit 1000000) max_states_per_insn 0",
    ];
    let expected = "invalid access to packet, off=0 size=1, R1(id=0,off=0,r=0); \
                    R1 offset is outside of the packet";
    assert_eq!(reason(&log), expected);
    assert_eq!(reason(&["0: (95) exit", "expected thisprocessed 1 insns"]), "expected this");
    assert_eq!(reason(&[]), "");
    assert_eq!(reason(&["processed 0 insns"]), "");
}
