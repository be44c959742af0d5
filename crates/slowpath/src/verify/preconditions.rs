//! Preconditions of equivalence: cases in which the SmartNIC (the card) differs from the kernel for
//! every program, independent of the compiler. The proof excludes these cases and names those that
//! a packet can reach.
//!
//! The BPF program shows where a precondition matters: its front end emits a `Select` between the
//! effect of a helper and the unchanged state. The card has three preconditions:
//!
//! - The card masks the index of an array element. The kernel compares it with the number of
//!   elements.
//! - Packets start at a fixed offset in their buffer. This limits moves of the start more than in
//!   the kernel (`apps/nic/ebpf.uc` of the public firmware).
//! - The tail of a packet can only be cut (`adjust_tail` of the driver).

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_LOOKUP_ELEM, XDP_ADJUST_HEAD, XDP_ADJUST_TAIL,
};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_exec::Executor;
use slowpath_ir::{BlockId, Op, Operand, RegionId};
use slowpath_nfp::firmware::{INITIAL_HEAD_OFFSET, MAX_HEAD_OFFSET, MIN_HEAD_OFFSET};
use slowpath_product::{Precondition, Preconditions};
use std::collections::BTreeSet;

const INDEX: &str = "indices of array elements are in range (beyond it, the kernel finds nothing, \
                     the card another element)";
const HEAD: &str = "the packet's start is moved from 84 bytes before to 120 bytes behind where it \
                    was, if at all (the card has no more room; the kernel has)";
const BUFFER: &str = "the firmware puts packets 128 bytes into their buffers";
const TAIL: &str = "bpf_xdp_adjust_tail shortens the packet (the card refuses what does not; the \
                    kernel does not)";

/// The preconditions of a program on the SmartNIC, and the preconditions that some packet violates;
/// the proof excludes these packets.
pub(super) struct CardPreconditions {
    /// For each instruction, by index, the number of the helper that it calls; `None` if it calls
    /// none.
    helpers: Vec<Option<i32>>,
    packet: RegionId,
    values: Option<RegionId>,
    /// Sentences about the excluded cases that some packet can reach.
    pub excluded: BTreeSet<String>,
}

/// Returns true if an instruction calls a helper that the firmware of the SmartNIC carries out.
pub(super) fn uses_firmware(insn: &Insn) -> bool {
    const OWN: [i32; 3] = [GET_PRANDOM_U32, XDP_ADJUST_HEAD, XDP_ADJUST_TAIL];
    matches!(insn, Insn::Call(Call::Helper(number)) if !OWN.contains(number))
}

/// Returns true if a program calls a helper that moves the start of the packet.
pub(super) fn moves_head(linked: &BpfProgram) -> bool {
    linked.insns.iter().any(|insn| matches!(insn, Insn::Call(Call::Helper(XDP_ADJUST_HEAD))))
}

impl CardPreconditions {
    /// Returns the preconditions of a program. `packet` is the memory region of the packet.
    /// `values` is the memory region of array elements; `None` if the program has no array.
    pub fn of(linked: &BpfProgram, packet: RegionId, values: Option<RegionId>) -> Self {
        let helper = |insn: &Insn| match insn {
            Insn::Call(Call::Helper(number)) => Some(*number),
            _ => None,
        };
        let buffer = moves_head(linked).then(|| BUFFER.to_owned());
        CardPreconditions {
            helpers: linked.insns.iter().map(helper).collect(),
            packet,
            values,
            excluded: buffer.into_iter().collect(),
        }
    }
}

impl Preconditions for CardPreconditions {
    fn exclude(&mut self, precondition: &Precondition) {
        self.excluded.insert(precondition.sentence.to_owned());
    }

    fn is_excluded(&self, precondition: &Precondition) -> bool {
        self.excluded.contains(precondition.sentence)
    }

    fn of_block(&self, executor: &mut Executor, block: BlockId) -> Vec<Precondition> {
        let mut preconditions = Vec::new();
        let mut choices = Vec::new();
        for origin in &executor.program().block(block).ops {
            let helper = self.helpers.get(origin.insn.index()).copied().flatten();
            if let (Op::Select { cond, then, other, .. }, Some(helper)) = (origin.op, helper) {
                choices.push((cond, then, other, helper));
            }
        }
        for (cond, then, other, helper) in choices {
            let mut value = |operand: Operand| match operand {
                Operand::Const { value, width } => Some(executor.pool.constant(width, value)),
                Operand::Reg(reg) => executor.register(reg),
            };
            let (Some(cond), Some(then), Some(other)) = (value(cond), value(then), value(other))
            else {
                continue;
            };
            let region = |executor: &mut Executor, term| executor.location(term);
            let Some(place) = region(executor, then) else { continue };
            let term = match helper {
                MAP_LOOKUP_ELEM if Some(place.region) == self.values => {
                    preconditions.push(Precondition { term: cond, sentence: INDEX });
                    continue;
                }
                XDP_ADJUST_HEAD if place.region == self.packet => {
                    let pool = &mut executor.pool;
                    let before = pool.constant(64, (INITIAL_HEAD_OFFSET - MIN_HEAD_OFFSET).into());
                    let above = pool.add(place.offset, before);
                    let range = pool.constant(64, (MAX_HEAD_OFFSET - MIN_HEAD_OFFSET).into());
                    pool.ule(above, range)
                }
                XDP_ADJUST_TAIL if place.region == self.packet => {
                    let Some(end) = region(executor, other) else { continue };
                    executor.pool.slt(place.offset, end.offset)
                }
                _ => continue,
            };
            let pool = &mut executor.pool;
            let refused = pool.not(cond);
            let term = pool.or(refused, term);
            let sentence = if helper == XDP_ADJUST_HEAD { HEAD } else { TAIL };
            preconditions.push(Precondition { term, sentence });
        }
        preconditions
    }
}
