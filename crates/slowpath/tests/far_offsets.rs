//! Tests programs that read an offset from the packet and access the packet at this offset. Only
//! the width of addresses limits the offset.

use crate::common;

use common::{analyse, listing, options};
use serde_json::Value;
use slowpath::Options;

#[test]
fn witnesses_with_any_offset_replay() {
    for (far, compared) in [(3, "0x1"), (25, "0x2"), (25, "0x1"), (31, "0x2")] {
        let program = listing(&[
            "alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth",
            "mem[read32_swap, $xfer_0, gprA_2, 0x0, 1], ctx_swap[sig1]",
            "alu[gprA_4, --, B, $xfer_0], gpr_wrboth",
            &format!("alu_shf[--, 0x1, AND, gprB_4, >>{far}]"),
            "beq[.15000]",
            "alu[gprA_4, gprA_4, +, gprB_2], gpr_wrboth",
            "mem[read32_swap, $xfer_1, gprA_4, 0x0, 1], ctx_swap[sig1]",
            &format!("alu[--, $xfer_1, AND, {compared}]"),
            "beq[.10]",
            "nop",
            "mem[read32_swap, $xfer_2, gprA_4, 0x4, 1], ctx_swap[sig1]",
            "alu[--, $xfer_2, AND, 0x2]",
            "beq[.15000]",
            "br[.15000]",
        ]);
        let options = Options { paths: None, ..options() };
        let (result, _) = analyse(program.as_bytes(), options);
        assert_eq!(result["error"], Value::Null);
        assert_eq!(result["paths"].as_array().map(Vec::len), Some(5));
    }
}

#[test]
fn one_packet_size_is_enough() {
    let program = listing(&[
        "alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth",
        "alu[gprA_3, --, B, *l$index1[0]], gpr_wrboth",
        "alu[gprA_3, 0x3f, AND, gprB_3], gpr_wrboth",
        "alu[--, gprA_3, -, 0x3c]",
        "beq[.6]",
        "nop",
        "br[.15000]",
    ]);
    for metric in ["bitrate", "packetrate"] {
        let options =
            Options { mtu: Some(60), paths: None, metric: Some(metric.into()), ..options() };
        let (result, _) = analyse(program.as_bytes(), options);
        assert_eq!(result["error"], Value::Null);
        assert_eq!(result["paths"].as_array().map(Vec::len), Some(1), "{result}");
        assert_eq!(result["paths"][0]["min_packet_size"], 60);
        assert_eq!(result["guarantee"]["exact"], true);
    }
}
