//! Tests calls of functions and of the firmware, branches on single bits, and random numbers.

use crate::common;

use common::{program, refusal, run};
use slowpath_ir::{Destination, FlowGraph, InputKind, Op, Terminator};

#[test]
fn branches_on_bits() {
    for (branch, value, taken) in [
        ("br_bset[gprA_1, 5", 0x20, true),
        ("br_bset[gprA_1, 5", !0x20, false),
        ("br_bclr[gprA_1, 31", 0x7fff_ffff, true),
        ("br_bclr[gprA_1, 31", 0x8000_0000, false),
    ] {
        // The delay slot runs too late to change the decision.
        let body = format!("{branch}, .3], defer[1]\nalu[gprA_1, --, ~B, gprA_1]\nbr[.15004]");
        let run = run(&format!("{body}\nbr[.15000]"), &[("gprA_1", value)]);
        assert_eq!(run.exit == 15_000, taken, "{branch} {value:#x}");
        let class = if taken { "branch" } else { "branch.not_taken" };
        assert_eq!(run.costs[0], (0, class.to_owned()));
    }
    // Condition codes written just before do not affect the cost class.
    let body = "alu[--, gprA_1, -, 0x1]\nbr_bset[gprA_1, 0, .3]\nnop\nbr[.15000]";
    assert_eq!(run(body, &[("gprA_1", 1)]).costs[1].1, "branch");
    let constant = run("br_bset[0x4, 2, .2]\nnop\nbr[.15000]", &[]);
    assert_eq!(constant.costs.len(), 2);
}

#[test]
fn random_numbers() {
    let body = "local_csr_rd[PseudoRndNum]
        immed[gprA_0, 0x0], gpr_wrboth
        immed[gprA_1, 0x0], gpr_wrboth
        alu[*l$index0, --, B, gprA_0]
        alu[*l$index0[1], --, B, gprB_1]
        br[.15000]";
    let program = program(body).expect("it can be lifted");
    let drawn =
        program.blocks[0].ops.iter().filter(|origin| matches!(origin.op, Op::Unknown { .. }));
    assert_eq!(drawn.map(|origin| origin.insn.0).collect::<Vec<_>>(), [1]);
    assert!(
        program.inputs.iter().all(|input| input.kind != InputKind::Unknown || input.width < 32)
    );
    for (body, message) in [
        ("local_csr_rd[PseudoRndNum]\nnop\nbr[.15000]", ".1 (line 2): `local_csr_rd` is not"),
        ("local_csr_rd[PseudoRndNum]\nbr[.15000]", ".1 (line 2): `local_csr_rd` is not followed"),
        ("br[.15000], defer[1]\nlocal_csr_rd[PseudoRndNum]", ".1 (line 2): `local_csr_rd` is not"),
        ("local_csr_rd[PseudoRndNum]\nimmed[gprA_0, 0x1]\nbr[.15000]", "an `immed` of zero"),
        ("local_csr_rd[ActLMAddr0]\nimmed[gprA_0, 0x0]", "the control register ActLMAddr0 is not"),
    ] {
        let found = refusal(&format!("{body}\nnop\nbr[.15000]"));
        assert!(found.contains(message), "{found}");
    }
    let previous = body.replace("immed[gprA_1, 0x0], gpr_wrboth", "asr[gprB_1, 0x4, >>1]");
    assert!(refusal(&previous).contains("the previous ALU result undefined"));
}

const LOOKUP: &str = "br[.15001], defer[2]
    alu[gprA_0, --, B, gprA_2]
    immed[gprB_0, 0x3]
    alu[*l$index0, --, B, gprA_12]
    alu[*l$index0[1], --, B, gprA_0]
    br[.15000]";

#[test]
fn functions_of_the_firmware_return_any_value() {
    let result = run(LOOKUP, &[("gprA_12", 7), ("gprA_2", 1)]);
    assert_eq!((result.exit, result.stack(0), result.stack(1)), (15_000, 7, 0));
    let costs: Vec<_> = result.costs.iter().take(4).map(|(_, class)| class.as_str()).collect();
    assert_eq!(costs, ["branch", "insn.cc", "insn", "helper.map_lookup"]);
    let lifted = program(LOOKUP).expect("it can be lifted");
    assert_eq!(lifted.assumptions.len(), 1);
    assert!(lifted.assumptions[0].starts_with("the firmware's map_lookup (.0) returns any value"));
    for (number, class) in [
        (15_002, "helper.map_update"),
        (15_003, "helper.map_delete"),
        (15_025, "helper.perf_output"),
    ] {
        let lifted = program(&LOOKUP.replace("15001", &number.to_string())).expect("it is lifted");
        assert!(lifted.cost_classes.iter().any(|known| known == class), "{class}");
    }
    // Other numbers are exits.
    assert_eq!(run(&LOOKUP.replace("15001", "15004"), &[]).exit, 15_004);
}

#[test]
fn functions_of_the_firmware_that_are_refused() {
    for (from, to, message) in [
        ("immed[gprB_0, 0x3]", "nop", "whose delay slots load no return address into gprB_0"),
        ("immed[gprB_0, 0x3]", "immed[gprB_0, 0x63]", "branch to .99, but the listing ends at .5"),
        ("br[.15001]", "beq[.15001]", "a conditional branch to the firmware's map_lookup is not"),
        // Registers that are not preserved or not known.
        ("B, gprA_12", "B, gprA_3", "a register behind a call of the firmware undefined"),
        ("B, gprA_12", "B, $xfer_0", "a transfer register behind a call of the firmware"),
        ("br[.15000]", "beq[.15004]\nbr[.15000]", "the state of the ALU behind a call"),
        ("br[.15000]", "alu[*l$index2, --, B, 0x1]\nbr[.15000]", "a base of local memory behind"),
    ] {
        let body = LOOKUP.replace(from, to);
        // Condition codes are only undefined if no instruction after the call writes them.
        let body = if message.contains("ALU") {
            body.replace("alu[*l$index0, --, B, gprA_12]", "nop")
                .replace("alu[*l$index0[1], --, B, gprA_0]", "nop")
        } else {
            body
        };
        let found = refusal(&body);
        assert!(found.contains(message), "{body}: {found}");
    }
}

/// Program that calls the function at .8 twice. The function doubles gprA_0.
const DOUBLED_TWICE: &str = "alu[gprA_0, --, B, 0x3]
    br[.8], defer[1]
    immed[gprA_21, 0x3]
    br[.8], defer[1]
    immed[gprA_21, 0x5]
    alu[*l$index0[4], --, B, gprA_0]
    br[.15000]
    nop
    alu[*l$index0, --, B, gprA_21]
    alu[gprA_0, gprA_0, +, gprB_0]
    alu[gprA_21, --, B, *l$index0]
    rtn[gprA_21]";

#[test]
fn functions_return_to_their_caller() {
    let body = DOUBLED_TWICE.replace("B, 0x3]", "B, 0x3], gpr_wrboth");
    let body = body.replace("+, gprB_0]", "+, gprB_0], gpr_wrboth");
    let run = run(&body, &[]);
    assert_eq!(run.stack(4), 12);
    assert_eq!(run.blocks, [0, 8, 3, 8, 5]);
    let returns: Vec<_> = run.costs.iter().filter(|(insn, _)| *insn == 11).collect();
    assert!(returns.iter().all(|(_, class)| class == "branch") && returns.len() == 2);
}

#[test]
fn functions_are_copied_for_each_call() {
    let program = program(DOUBLED_TWICE).expect("it can be lifted");
    let copies = |first: u32| program.blocks.iter().filter(|block| block.first.0 == first).count();
    assert_eq!((copies(0), copies(8), copies(5)), (1, 2, 1));
    let flow = FlowGraph::of(&program).expect("it can be unrolled");
    assert!(flow.loops.is_empty(), "no false loop through the function");
    // A return to another address leads to a block whose condition no instruction writes.
    let traps: Vec<_> = program.blocks.iter().filter(|block| block.insns.is_empty()).collect();
    assert_eq!(traps.len(), 2);
    for trap in traps {
        let Terminator::Branch { cond, .. } = trap.terminator else { panic!("it decides") };
        assert!(trap.ops.is_empty());
        let name = &program.regs[cond.index()].name;
        assert!(name.starts_with("for return addresses other than ."), "{name}");
        let written = program.blocks.iter().flat_map(|block| &block.ops).chain(&program.prologue);
        assert!(written.into_iter().all(|origin| origin.op.dst() != Some(cond)));
    }
}

#[test]
#[should_panic(expected = "for return addresses other than .3 is read before it is written")]
fn returns_to_other_addresses_are_refused() {
    let body = DOUBLED_TWICE.replace("alu[gprA_21, --, B, *l$index0]", "alu[gprA_21, --, B, 0x6]");
    run(&body, &[]);
}

/// Call of a function that saves registers, as the driver emits it. The code at .7 saves registers
/// and jumps to the function at .14. The code at .18 restores them and returns.
const SAVING: &str = "alu[gprA_12, --, B, 0x5], gpr_wrboth
    alu[gprA_22, gprA_22, +, 0x20]
    local_csr_wr[ActLMAddr0, gprA_22]
    br[.7], defer[2]
    immed[gprB_21, 0xe]
    immed[gprA_21, 0x6]
    br[.21]
    alu[*l$index0[1], --, B, gprB_12]
    alu[*l$index0[2], --, B, gprB_13]
    rtn[gprB_21], defer[3]
    nop
    nop
    nop
    nop
    alu[*l$index0, --, B, gprA_21]
    alu[gprA_12, --, B, 0x9], gpr_wrboth
    br[.18], defer[1]
    alu[gprA_21, --, B, *l$index0]
    alu[gprA_12, --, B, *l$index0[1]], gpr_wrboth
    rtn[gprA_21], defer[1]
    alu[gprA_13, --, B, *l$index0[2]], gpr_wrboth
    alu[*l$index0[5], --, B, gprA_12]
    br[.15000]";

#[test]
fn functions_that_save_registers_are_called_through_a_subroutine() {
    let run = run(SAVING, &[]);
    assert_eq!(run.blocks, [0, 7, 14, 18, 6, 21]);
    assert_eq!((run.stack(8), run.stack(9), run.stack(13)), (6, 5, 5));
}

#[test]
fn calls_inside_calls() {
    // .0 calls .4, which calls .9 twice.
    let body = "br[.4], defer[1]
        immed[gprA_21, 0x2]
        alu[*l$index1[4], --, B, gprA_0]
        br[.15000]
        alu[*l$index0, --, B, gprA_21]
        br[.12], defer[1]
        immed[gprA_21, 0x7]
        br[.12], defer[1]
        immed[gprA_21, 0x9]
        alu[gprA_21, --, B, *l$index0]
        rtn[gprA_21]
        nop
        alu[gprA_0, gprA_0, +, 0x1]
        rtn[gprA_21]";
    let result = run(body, &[("gprA_0", 40)]);
    assert_eq!(result.exit, 15_000);
    assert_eq!(result.blocks, [0, 4, 12, 7, 12, 9, 2]);
    let lifted = program(body).expect("it can be lifted");
    assert!(FlowGraph::of(&lifted).expect("it can be unrolled").loops.is_empty());
    let reached = |number| {
        let targets = lifted.blocks.iter().flat_map(|block| block.terminator.edges());
        targets.filter(|edge| edge.target == Destination::Exit(number)).count()
    };
    assert_eq!(reached(15_000), 1 + 2 * 3, "the program's, and two for each return elsewhere");
}

#[test]
fn calls_that_are_refused() {
    for (body, message) in [
        ("nop\nrtn[gprA_21]", "instruction .1 (line 2): no call leads to this `rtn` (calls load"),
        ("br[.2], defer[1]\nimmed[gprA_21, 0x2]\nrtn[gprA_3]", "no call leads to this `rtn`"),
        ("br[.2], defer[1]\nimmed[gprB_21, 0x2]\nrtn[gprB_21]", "no call leads to this `rtn`"),
        (
            "br[.2], defer[1]\nimmed[gprA_21, 0x4]\nbr[.2], defer[1]\nimmed[gprA_21, 0x4]\nrtn[gprA_21]",
            "instruction .2 (line 3): the call that returns to .4 can happen again before it has",
        ),
        (
            "br[.2], defer[1]\nimmed[gprA_21, 0x99]\nrtn[gprA_21]",
            "instruction .0 (line 1): branch to .153, but the listing ends at .2",
        ),
        ("rtn[gprA_21], defer[2]\nnop", "its 2 delay slots do not fit"),
    ] {
        let found = refusal(body);
        assert!(found.contains(message), "{body}: {found}");
    }
    // Each of 20 functions calls the next one twice.
    let mut chain = String::new();
    for number in 0..20 {
        let (next, back) = (6 * number + 6, [6 * number + 2, 6 * number + 4]);
        for back in back {
            chain += &format!("br[.{next}], defer[1]\nimmed[gprA_21, {back:#x}]\n");
        }
        chain += "rtn[gprA_21]\nnop\n";
    }
    let found = refusal(&(chain + "rtn[gprA_21]"));
    assert!(found.contains("the program has too many sequences of calls"), "{found}");
    // Without an `rtn`, the registers for return addresses have no special role.
    assert_eq!(run("br[.2], defer[1]\nimmed[gprA_21, 0x99]\nbr[.15000]", &[]).exit, 15_000);
}
