//! Tests how listings are divided into basic blocks, and tests delay slots, exits and cost events.

use crate::common;

use common::{program, refusal, run};
use slowpath_nfp::{LiftError, LiftOptions, Listing, lift, parse};

#[test]
fn blocks_start_at_targets_and_behind_branches() {
    let program = program(
        "alu[--, gprA_1, -, 0x1]
        beq[.3]
        immed[gprA_1, 0x0]
        immed[gprA_2, 0x0]
        br[.7], defer[1]
        nop
        nop
        br[.15005]
        nop",
    )
    .expect("it can be lifted");
    let blocks: Vec<_> = program
        .blocks
        .iter()
        .map(|block| block.insns.iter().map(|insn| insn.0).collect::<Vec<_>>())
        .collect();
    // .6 and .8 cannot be reached.
    assert_eq!(blocks, [vec![0, 1], vec![2], vec![3, 4, 5], vec![7]]);
    assert!(program.blocks.iter().all(|block| block.first == block.insns[0]));
    assert_eq!(program.insns.len(), 9);
    assert_eq!(program.insns[4].text, "br[.7], defer[1]");
}

#[test]
fn ways_out_are_numbered_by_the_target() {
    assert_eq!(run("br[.15000]", &[]).exit, 15_000);
    assert_eq!(run("br[.65535]", &[]).exit, 65_535);
}

#[test]
fn delay_slots_run_in_either_direction_and_after_the_decision() {
    let body = "alu[--, gprA_1, -, 0x1]
        beq[.15004], defer[2]
        alu[*l$index0, --, B, 0x5]
        alu[--, gprA_1, -, 0x2]
        beq[.15005]
        br[.15000]";
    for (value, exit, count) in [(1, 15_004, 1), (2, 15_005, 2), (3, 15_000, 3)] {
        let run = run(body, &[("gprA_1", value)]);
        assert_eq!((run.exit, run.stack(0), run.blocks.len()), (exit, 5, count));
    }
}

#[test]
fn cost_events_in_order_of_execution() {
    let body = "immed[gprA_1, 0x1]
        alu[--, gprA_2, -, gprA_1]
        beq[.15004], defer[2]
        mem[read32_swap, $xfer_0, gprA_3, 0x0, 1], ctx_swap[sig1]
        ld_field[gprA_4, 0001, gprB_5]
        immed[gprA_1, 0x880]
        mem[add_imm, $xfer_0, gprB_23, <<8, gprA_1, 1], indirect_ref
        br[.9], defer[1]
        local_csr_wr[ActLMAddr3, gprA_1]
        nop
        br[.15000]";
    let costs = |value| -> Vec<String> {
        let run = run(body, &[("gprA_2", value)]);
        run.costs.iter().map(|(insn, class)| format!("{insn} {class}")).collect()
    };
    let first = ["0 insn", "1 insn.cc"];
    let slots = ["3 mem.sram.read32.wait", "4 insn.cc"];
    let taken = [&first[..], &["2 branch.taken"], &slots].concat();
    assert_eq!(costs(1), taken);
    let rest = ["5 insn", "6 mem.dram.add.post", "7 branch", "8 insn", "9 insn", "10 branch"];
    assert_eq!(costs(2), [&first[..], &["2 branch.not_taken"], &slots, &rest].concat());
}

#[test]
fn every_instruction_has_its_cost_class() {
    for (insn, class) in [
        ("immed[gprA_1, 0x1]", "insn"),
        ("immed_w1[gprA_1, 0x1]", "insn"),
        ("local_csr_wr[ActLMAddr2, gprA_1]", "insn"),
        ("nop", "insn"),
        ("mul_step[gprA_1, gprB_1], start", "insn"),
        ("alu[gprA_1, --, B, 0x0]", "insn.cc"),
        ("alu_shf[gprA_1, --, B, gprA_1, <<1]", "insn.cc"),
        ("asr[gprA_1, gprB_1, >>1]", "insn.cc"),
        ("dbl_shf[gprA_1, gprA_1, gprB_1, >>1]", "insn.cc"),
        ("ld_field[gprA_1, 0001, gprB_1]", "insn.cc"),
        ("ld_field_w_clr[gprA_1, 0001, gprB_1]", "insn.cc"),
    ] {
        let run = run(&format!("{insn}\nbr[.15000]"), &[]);
        assert_eq!(run.costs[0].1, class, "{insn}");
        assert_eq!(run.costs[1].1, "branch");
    }
    for (command, name) in
        [("read32_swap", "read32"), ("write8_swap", "write8"), ("write32_swap", "write32")]
    {
        for (shift, kind) in [("", "sram"), (", <<8", "dram")] {
            for (attribute, wait) in [(", ctx_swap[sig1]", "wait"), ("", "post")] {
                let mem = format!("mem[{command}, $xfer_0, gprA_1{shift}, 0x0, 1]{attribute}");
                let run = run(&format!("{mem}\nbr[.15000]"), &[]);
                assert_eq!(run.costs[0].1, format!("mem.{kind}.{name}.{wait}"));
            }
        }
    }
    let product = "mul_step[gprA_1, gprB_1], start
        mul_step[gprA_1, gprB_1], 16x16_step1
        mul_step[gprA_1, gprB_1], 16x16_step2
        mul_step[gprA_1, --], 16x16_last
        br[.15000]";
    let run = run(product, &[]);
    let classes: Vec<_> = run.costs.iter().map(|(_, class)| class.as_str()).collect();
    assert_eq!(classes, ["insn", "insn", "insn", "insn.cc", "branch"]);
}

#[test]
fn loops_run() {
    let body = "immed[gprA_1, 0x3]
        alu[gprA_1, gprA_1, -, 0x1]
        bne[.1]
        br[.15000]";
    assert_eq!(run(body, &[]).blocks, [0, 1, 1, 1, 3]);
}

#[test]
fn control_flow_that_does_not_exist_is_refused() {
    for (body, message) in [
        (
            "nop\nbr[.7]",
            "instruction .1 (line 2): branch to .7, but the listing ends at .1 (ways out of the \
             program are numbered .15000 and up; is the listing cut off?)",
        ),
        ("nop\nbeq[.14999]\nbr[.15000]", "instruction .1 (line 2): branch to .14999"),
        ("br[.15000]\nbr[.2]", "instruction .1 (line 2): branch to .2"),
        ("nop\nnop", "instruction .1 (line 2): the program continues past the end"),
        ("nop\nbeq[.15000]", "instruction .1 (line 2): the program continues past the end"),
        ("br[.15000], defer[2]\nnop", "instruction .0 (line 1): its 2 delay slots do not fit"),
        ("br[.15000], defer[1]\nbr[.0]", "instruction .1 (line 2): branch in a delay slot of .0"),
        (
            "br[.15000], defer[1]\nnop\nbr[.1]",
            "instruction .2 (line 3): branch to .1, which is a delay slot of .0",
        ),
    ] {
        let found = refusal(body);
        assert!(found.starts_with(message), "{found}");
    }
    // Unreachable code may run past the end: compilers pad with `nop`.
    assert!(program("br[.15000]\nnop").is_ok());
}

#[test]
fn lines_of_errors_count_comments() {
    let text = "; a comment\n\n   0:\t.0  nop\n# another\n   8:\t.1  br[.9]\n";
    let listing = parse(text).expect("it is a listing");
    let error = lift(&listing, "test", &LiftOptions::default()).expect_err("a cut listing");
    assert!(error.to_string().starts_with("instruction .1 (line 5)"), "{error}");
}

#[test]
fn invalid_options_and_listings_are_refused() {
    let listing = parse("0: .0 br[.15000]").expect("it is a listing");
    for (min_packet, max_packet) in [(100, 99), (60, 16_384)] {
        let error = lift(
            &listing,
            "test",
            &LiftOptions { min_packet, max_packet, ..LiftOptions::default() },
        );
        assert_eq!(error, Err(LiftError::PacketLengths { min: min_packet, max: max_packet }));
    }
    let empty = lift(&Listing::default(), "test", &LiftOptions::default());
    assert_eq!(empty, Err(LiftError::Empty));
}
