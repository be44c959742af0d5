//! Tests memory commands, local memory and the start state. The expected values are worked out by
//! hand.

use crate::common;

use common::{
    CONTEXT, DRAM, DRAM_BYTES, LENGTH, PACKET, STACK, program, refusal, run, run_with_memory,
};
use slowpath_ir::{InputKind, RegionKind};

#[test]
fn reads_are_little_endian_words() {
    let body = "mem[read32_swap, $xfer_4, gprA_1, 0x3, 2], ctx_swap[sig1]
        alu[*l$index0, --, B, $xfer_4]
        alu[*l$index0[1], --, B, $xfer_5]
        br[.15000]";
    let bytes: Vec<u8> = (0..16).collect();
    let run = run_with_memory(body, &[("gprA_1", PACKET as u32)], &[(PACKET, &bytes)]);
    assert_eq!((run.stack(0), run.stack(1)), (0x0605_0403, 0x0a09_0807));
}

#[test]
fn writes_of_bytes_take_words_low_byte_first() {
    let body = "alu[$xfer_0, --, B, gprA_2]
        alu[$xfer_1, --, B, gprA_3]
        mem[write8_swap, $xfer_0, gprA_1, 0x1, COUNT], ctx_swap[sig1]
        br[.15000]";
    let start = [("gprA_1", PACKET as u32), ("gprA_2", 0x4433_2211), ("gprA_3", 0x8877_6655)];
    for count in 1..=8 {
        let run = run(&body.replace("COUNT", &count.to_string()), &start);
        let expected = 0x8877_6655_4433_2211_u64 & (u64::MAX >> (64 - 8 * count));
        assert_eq!(run.read(PACKET + 1, 8), expected, "{count} bytes");
    }
    let words = body.replace("write8_swap", "write32_swap").replace("COUNT", "2");
    assert_eq!(run(&words, &start).read(PACKET + 1, 8), 0x8877_6655_4433_2211);
}

#[test]
fn dram_addresses_have_40_bits() {
    // gprB_23 is in units of 256 bytes. The sum may carry beyond 32 bits.
    let body = "mem[read32_swap, $xfer_0, gprB_1, <<8, gprA_1, 1], ctx_swap[sig1]
        alu[*l$index0, --, B, $xfer_0]
        br[.15000]";
    let start = [("gprB_1", 0xff00_0000), ("gprA_1", 0xffff_fff0)];
    let address = 0xff_0000_0000 + 0xffff_fff0;
    let run = run_with_memory(body, &start, &[(address, &[0x78, 0x56, 0x34, 0x12])]);
    assert_eq!(run.stack(0), 0x1234_5678);

    let body = body.replace("gprB_1", "gprB_23");
    let run = run_with_memory(&body, &[("gprA_1", 4)], &[(DRAM_BYTES + 4, &[9])]);
    assert_eq!(run.stack(0), 9);
}

#[test]
fn indirect_lengths() {
    let read = "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1], indirect_ref, ctx_swap[sig1]
        alu[*l$index0, --, B, $xfer_8]
        br[.15000]";
    let bytes: Vec<u8> = (0..64).collect();
    let start = [("gprA_1", PACKET as u32), ("$xfer_8 (read)", 77)];
    let word8 = |body: &str| run_with_memory(body, &start, &[(PACKET, &bytes)]).stack(0);
    // 8 + 1 words reach $xfer_8, 7 + 1 do not.
    assert_eq!(word8(&format!("immed[--, 0x880]\n{read}")), 0x2322_2120);
    assert_eq!(word8(&format!("immed[--, 0x780]\n{read}")), 77);
    // Only the bits of the length must be known.
    let field = "immed[gprA_2, 0x880]\nld_field[gprA_2, 1100, gprB_5, <<16]";
    assert_eq!(word8(&format!("{field}\n{read}")), 0x2322_2120);
    let moved = "immed[gprA_2, 0x8]\nalu_shf[--, --, B, gprA_2, <<8]";
    assert_eq!(word8(&format!("{moved}\n{read}")), 0x2322_2120);

    let write = "immed[--, 0x280]
        mem[write8_swap, $xfer_0, gprA_1, 0x0, 1], indirect_ref, ctx_swap[sig1]
        br[.15000]";
    let run = run(write, &[("gprA_1", PACKET as u32), ("$xfer_0 (write)", 0x4433_2211)]);
    assert_eq!(run.read(PACKET, 4), 0x33_2211);

    for before in ["alu[--, gprA_3, +, 0x1]", "immed[--, 0x880]\nbr[.2]"] {
        let message = refusal(&format!("{before}\n{read}"));
        assert!(message.contains("length of `indirect_ref`"), "{message}");
    }
}

#[test]
fn atomic_additions() {
    let body = "immed[gprA_2, VALUE]
        ld_field[gprA_2, 1100, gprB_3, <<16]
        mem[add_imm, $xfer_0, gprB_23, <<8, gprA_1, 1], indirect_ref
        br[.15000]";
    let start = [("gprA_1", 8), ("gprB_3", 0xabcd_fff0)];
    let memory = [0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0];
    let sum = |value: &str| {
        let body = body.replace("VALUE", value);
        run_with_memory(&body, &start, &[(DRAM_BYTES + 8, &memory)]).read(DRAM_BYTES + 8, 8)
    };
    assert_eq!(sum("0x890"), 0x1_0000_ffef, "32 bits wide");
    assert_eq!(sum("0xc90"), 0x2_0000_ffef, "64 bits wide");
    let direct = body.replace(", indirect_ref", "").replace("VALUE", "0x890");
    assert!(refusal(&direct).contains("`add_imm` without `indirect_ref`"));
    let unknown = body.replace("immed[gprA_2, VALUE]", "nop");
    assert!(refusal(&unknown).contains("width of `indirect_ref`"));
}

#[test]
fn transfer_registers_end_at_31() {
    let read = |first, count| {
        format!("mem[read32_swap, $xfer_{first}, gprA_1, 0x0, {count}], ctx_swap[sig1]\nbr[.15000]")
    };
    assert!(program(&read(24, 8)).is_ok());
    assert!(refusal(&read(25, 8)).contains("8 transfer registers from $xfer_25"));
}

#[test]
fn results_of_reads_without_a_wait_must_not_be_used() {
    let read = "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1]\n";
    assert!(program(&format!("{read}br[.15000]")).is_ok());
    let message = refusal(&format!("{read}alu[*l$index0, --, B, $xfer_0]\nbr[.15000]"));
    assert!(message.contains("no ctx_swap waits for it"), "{message}");
}

#[test]
fn the_start_state() {
    let body = "alu[*l$index0, --, B, *l$index1]
        alu[*l$index0[1], --, B, *l$index1[2]]
        alu[*l$index0[2], --, B, gprA_22]
        alu[*l$index0[3], --, B, gprB_23]
        br[.15000]";
    let run = run(body, &[("context word 0, bits 14 to 31", 0x2_1234)]);
    assert_eq!(run.stack(0), (0x2_1234 << 14) + LENGTH as u32);
    assert_eq!(u64::from(run.stack(1)), PACKET);
    assert_eq!(u64::from(run.stack(2)), STACK);
    assert_eq!(u64::from(run.stack(3)), DRAM);
    assert_eq!(run.read(CONTEXT + 8, 4), PACKET);
}

#[test]
fn regions_and_inputs() {
    let program = program("alu[*l$index0, --, B, gprA_5]\nbr[.15000]").expect("it can be lifted");
    let kinds: Vec<_> = program.regions.iter().map(|region| region.kind).collect();
    use RegionKind::{Context, Map, Packet, Stack};
    assert_eq!(kinds, [Packet, Stack, Context, Map]);
    let widths: Vec<_> = program.regions.iter().map(|r| program.width(r.base)).collect();
    assert_eq!(widths, [32, 32, 32, 40]);
    let length = &program.inputs[program.packet_length.expect("known").index()];
    assert_eq!((length.width, length.min, length.max), (14, 60, 1500));
    assert_eq!(length.kind, InputKind::PacketLength);
    // Of the other registers, only those that are read have a start value.
    let names: Vec<_> = program.inputs[6..].iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["gprA_5"]);
}

#[test]
fn a_new_base_is_seen_by_the_fourth_instruction() {
    let body = "alu[gprA_1, gprA_22, +, 0x40]
        local_csr_wr[ActLMAddr0, gprA_1]
        alu[*l$index0, --, B, 0x1]
        alu[*l$index0[1], --, B, 0x2]
        alu[*l$index0[2], --, B, 0x3]
        alu[*l$index0[3], --, B, 0x4]
        br[.15000]";
    let run = run(body, &[]);
    assert_eq!([0, 1, 2, 3].map(|word| run.stack(word)), [1, 2, 3, 0]);
    assert_eq!(run.stack(16 + 3), 4);
}

#[test]
fn a_new_base_has_the_value_at_the_time_of_the_write() {
    let body = "local_csr_wr[ActLMAddr2, gprA_1]
        immed[gprA_1, 0x0]
        nop
        nop
        alu[*l$index2[1], --, B, 0x7]
        br[.15000]";
    assert_eq!(run(body, &[("gprA_1", 0x500)]).read(0x504, 4), 7);
}

#[test]
fn a_wait_for_memory_takes_longer_than_a_new_base() {
    let body = "local_csr_wr[ActLMAddr0, gprA_1]
        mem[read32_swap, $xfer_0, gprA_2, 0x0, 1], ctx_swap[sig1]
        alu[*l$index0, --, B, 0x7]
        br[.15000]";
    assert_eq!(run(body, &[("gprA_1", 0x500)]).read(0x500, 4), 7);
}

#[test]
fn a_new_base_across_blocks() {
    // No instruction uses the base within three instructions, on any path.
    let body = "local_csr_wr[ActLMAddr0, gprA_1]
        br[.2], defer[1]
        nop
        beq[.5]
        alu[*l$index1[4], --, B, 0x1]
        alu[*l$index0, --, B, 0x7]
        br[.15000]";
    let body = body.replace("br[.2]", "br[.3]");
    assert_eq!(run(&body, &[("gprA_1", 0x500), ("Z", 0)]).read(0x500, 4), 7);
    assert_eq!(run(&body, &[("gprA_1", 0x500), ("Z", 1)]).read(0x500, 4), 7);
    // A taken branch takes long enough for the earlier writes.
    for body in [
        "local_csr_wr[ActLMAddr0, gprA_1]\nbr[.3]\nnop\nalu[*l$index0, --, B, 0x7]",
        "local_csr_wr[ActLMAddr0, gprA_1]\nbr[.3], defer[1]\nnop\nalu[*l$index0, --, B, 0x7]",
        "local_csr_wr[ActLMAddr0, gprA_1]\nnop\nbeq[.4]\nnop\nalu[*l$index0, --, B, 0x7]",
    ] {
        let run = run(&format!("{body}\nbr[.15000]"), &[("gprA_1", 0x500), ("Z", 1)]);
        assert_eq!(run.read(0x500, 4), 7, "{body}");
    }
    // A delay slot uses the old base.
    let early = "local_csr_wr[ActLMAddr0, gprA_1]
        br[.3], defer[1]
        alu[*l$index0, --, B, 0x7]
        br[.15000]";
    assert_eq!(run(early, &[("gprA_1", 0x500)]).stack(0), 7);
    // Uses that come too early: after a branch not taken, and after a write in a delay slot.
    for (body, writer, user) in [
        ("WRITE\nbeq[.15004]\nalu[*l$index0, --, B, 0x7]\nnop", 0, 2),
        ("br[.3], defer[1]\nWRITE\nnop\nalu[*l$index0, --, B, 0x7]", 1, 3),
        ("WRITE\nbne[.4]\nbr[.4], defer[1]\nld_field[*l$index0, 0001, 0x0]\nnop", 0, 3),
    ] {
        let body = body.replace("WRITE", "local_csr_wr[ActLMAddr0, gprA_1]");
        let message = refusal(&format!("{body}\nbr[.15000]"));
        let expected = format!("instruction .{writer} (line {}): ActLMAddr0", writer + 1);
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains(&format!(".{user} uses *l$index0")), "{message}");
    }
}

#[test]
fn bases_can_change() {
    let body = "alu[*l$index0++, --, B, 0x1]
        alu[*l$index0++, --, B, 0x2]
        ld_field[*l$index0--, 0001, 0x3]
        alu[*l$index0[4], --, B, *l$index0--]
        alu[*l$index0[8], --, B, 0x5]
        br[.15000]";
    let run = run(body, &[]);
    assert_eq!([0, 1, 2].map(|word| run.stack(word)), [1, 2, 3]);
    assert_eq!((run.stack(4), run.stack(8)), (2, 5));
}

#[test]
fn read8_puts_the_first_byte_highest() {
    let body = "mem[read8, $xfer_4, gprA_1, 0x3, 8], ctx_swap[sig1]
        alu[*l$index0, --, B, $xfer_4]
        alu[*l$index0[1], --, B, $xfer_5]
        br[.15000]";
    let bytes: Vec<u8> = (0..16).collect();
    let start = [("gprA_1", PACKET as u32)];
    let result = run_with_memory(body, &start, &[(PACKET, &bytes)]);
    assert_eq!((result.stack(0), result.stack(1)), (0x0304_0506, 0x0708_090a));
    assert_eq!(result.costs[0].1, "mem.sram.read8.wait");
    let message = refusal(&body.replace("0x3, 8", "0x3, 6"));
    assert!(message.contains("`read8` of 6 bytes: only whole words"), "{message}");
}

#[test]
fn additions_use_transfer_registers_that_delay_slots_write() {
    let body = "mem[add64, $xfer_2, gprB_23, <<8, gprA_1, 5], ctx_swap[sig1], defer[2]
        alu[$xfer_2, --, B, gprA_3]
        alu[$xfer_3, --, B, gprB_4]
        br[.15000]";
    let start = [("gprA_1", 8), ("gprA_3", 0xffff_ffff), ("gprB_4", 7), ("$xfer_2 (write)", 9)];
    let memory = [2, 0, 0, 0, 1, 0, 0, 0];
    let added = |body: &str| run_with_memory(body, &start, &[(DRAM_BYTES + 8, &memory)]);
    let wide = added(body);
    assert_eq!(wide.read(DRAM_BYTES + 8, 8), 0x9_0000_0001);
    let classes: Vec<_> = wide.costs.iter().map(|(_, class)| class.as_str()).collect();
    assert_eq!(classes, ["mem.dram.add_xfer.wait", "insn.cc", "insn.cc", "branch"]);
    let narrow = body.replace("add64", "add").replace(", 5]", ", 1]");
    assert_eq!(added(&narrow).read(DRAM_BYTES + 8, 8), 0x1_0000_0001, "32 bits wide");
    // The address is computed before the delay slots.
    let moved = narrow.replace("alu[$xfer_3, --, B, gprB_4]", "immed[gprA_1, 0x0]");
    assert_eq!(added(&moved).read(DRAM_BYTES + 8, 4), 1);

    for other in [
        narrow.replace(", 1]", ", 2]"),
        narrow.replace(", ctx_swap[sig1], defer[2]", ""),
        narrow.replace(", ctx_swap", ", indirect_ref, ctx_swap"),
    ] {
        let message = refusal(&other);
        assert!(message.contains("`add` is supported with counts 1 and 5"), "{message}");
    }
}

#[test]
fn reads_with_delay_slots_arrive_behind_them() {
    let body = "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1], ctx_swap[sig1], defer[1]
        alu[*l$index0, --, B, $xfer_0]
        alu[*l$index0[1], --, B, $xfer_0]
        br[.15000]";
    let start = [("gprA_1", PACKET as u32), ("$xfer_0 (read)", 5)];
    let run = run_with_memory(body, &start, &[(PACKET, &[1, 2, 3, 4])]);
    assert_eq!((run.stack(0), run.stack(1)), (5, 0x0403_0201));

    let mem = "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1], ctx_swap[sig1]";
    for (body, message) in [
        (format!("{mem}, defer[1]\n{mem}"), ".1 (line 2): memory command in a delay slot of .0"),
        (format!("{mem}, defer[1]\nbr[.0]"), ".1 (line 2): branch in a delay slot of .0"),
        (format!("{mem}, defer[2]\nnop"), ".2 (line 3): branch in a delay slot of .0"),
        (
            format!("br[.3], defer[1]\n{mem}, defer[1]\nnop"),
            ".1 (line 2): memory command in a delay slot of .0",
        ),
        (
            format!("beq[.2]\n{mem}, defer[1]\nnop"),
            ".0 (line 1): branch to .2, which is a delay slot of .1",
        ),
    ] {
        let found = refusal(&format!("{body}\nbr[.15000]"));
        assert!(found.contains(message), "{found}");
    }
}
