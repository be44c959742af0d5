//! Meaning of programs: from instructions to blocks of micro-operations.
//!
//! Functions are inlined: a block of the result is an instruction together with the calls that lead
//! to it. Code that constant conditions exclude is left out, as the kernel's verifier does it.
//! Costs are named here (one event an instruction) and priced elsewhere.
//!
//! Where a new thing goes: an instruction into [`alu`], [`jump`] or [`memory`], a helper into the
//! table of [`helpers`], a map type into the table of [`maps`].

mod alu;
mod arrivals;
mod cells;
mod content;
mod elements;
mod emit;
mod error;
mod eviction;
mod explore;
mod frame;
mod guarantees;
mod helpers;
mod jump;
mod layout;
mod lifter;
mod locks;
mod loops;
mod machine;
mod maps;
mod memory;
mod places;
mod plan;
mod prefixes;
mod reach;
mod registers;
mod room;
mod stale;
mod start;
mod support;
mod tail_call;
mod trie;
mod value;
mod walks;

pub use content::{
    EntryValue, InnerContent, MAX_CONTENT_BYTES, MapContent, MapEntry, array_content,
};
pub use error::LiftError;
pub use layout::{Bytes, Element, Interned, Layout, PartialValue};
pub use maps::{Keying, MapLayout};
pub use registers::{Offset, RegisterValue, Registers};
pub use room::{Fill as MapFill, Room as MapRoom};
pub use support::support_matrix;

use std::collections::BTreeMap;
use std::sync::Arc;

use slowpath_ir::{BlockId, Instruction, Program, SourceLocation, eliminate_dead_operations};
use slowpath_stop::{Stop, Ticker};

use crate::line_info::LineInfo;
use crate::{BpfProgram, Btf, Object};
use lifter::Lifter;
use plan::Plan;
use stale::Stale;

/// How far the ends of a packet can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes in front of the packet as received.
    pub before: u64,
    /// How many bytes of the packet as received can be cut off its head, if that is limited.
    pub cut: Option<u64>,
    /// Bytes behind the packet's start as received that the packet can extend to; none if its tail
    /// can only be cut, by at least one byte.
    pub tail: Option<u64>,
}

impl Room {
    /// What native XDP guarantees: `XDP_PACKET_HEADROOM` less `sizeof(struct xdp_frame)`, and a page
    /// of 4096 bytes less the head room and `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))`.
    pub const KERNEL: Room = Room { before: 256 - 40, cut: None, tail: Some(4096 - 256 - 320) };
}

/// What the lifter takes as given.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Length of the shortest packet in bytes, without frame check sequence.
    pub min_packet: u16,
    /// Length of the longest packet in bytes, without frame check sequence.
    pub max_packet: u16,
    /// What is known about the content of maps, by name.
    pub contents: BTreeMap<String, MapContent>,
    /// Helpers that are taken to return any value and to change nothing, by name, with the reason.
    pub assumed_helpers: BTreeMap<String, String>,
    /// The types of the kernel, for programs that tail calls lead to.
    pub kernel: Option<Arc<Btf>>,
    /// Whether operations stay whose results nothing uses, so that every value of every register can
    /// be asked for.
    pub keeps_dead_operations: bool,
    /// How far helpers can move the ends of the packet.
    pub room: Room,
    /// When to give up.
    pub stop: Stop,
}

impl Default for LiftOptions {
    /// From the minimum of Ethernet, 60 bytes, to the usual MTU, 1500 bytes, and any map content.
    fn default() -> Self {
        LiftOptions {
            min_packet: 60,
            max_packet: 1500,
            contents: BTreeMap::new(),
            assumed_helpers: BTreeMap::new(),
            kernel: None,
            keeps_dead_operations: false,
            room: Room::KERNEL,
            stop: Stop::never(),
        }
    }
}

impl LiftOptions {
    /// Why a helper that is not supported is taken for harmless, if it is.
    fn assumed(&self, name: &str) -> Option<&str> {
        self.assumed_helpers.get(name).map(String::as_str)
    }
}

/// A lifted program.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The program. Instructions are numbered by slot; those of programs that tail calls lead to
    /// follow.
    pub program: Program,
    /// Source line of each instruction, as far as known.
    pub lines: Vec<Option<LineInfo>>,
    /// What its memory means.
    pub layout: Layout,
    /// How many calls are around each block.
    pub depths: Vec<u8>,
}

/// Gives a program its meaning. Instructions that cannot be reached have none.
///
/// # Errors
/// [`LiftError`] for helpers, map types and instructions that are not supported, and for what the
/// kernel's verifier refuses as well; [`LiftError::stopped`] when it is time to give up.
pub fn lift(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
) -> Result<Lifted, LiftError> {
    let mut lifter = Lifter::new(object, program, options, (Plan::default(), Stale::default()));
    lifter.run()?;
    let (plan, stale) = (lifter.plan(), std::mem::take(&mut lifter.unwritten));
    if !plan.is_empty() || !stale.is_empty() {
        lifter = Lifter::new(object, program, options, (plan, stale));
        lifter.run()?;
    }
    let (blocks, cost_classes) = lifter.finish();
    lifter.assume_distinct_maps();
    let packets = (options.min_packet, options.max_packet);
    let metadata = lifter.starts_with_metadata();
    let (mut prologue, packet_length) = lifter.machine.prologue(packets, metadata);
    content::install(&mut lifter.machine, &object.maps, &lifter.layouts, &options.contents)?;
    prologue.extend(lifter.machine.emit.take_ops());
    let depths = std::mem::take(&mut lifter.depths);
    let layout = Layout {
        result: lifter.machine.result,
        packet: lifter.machine.packet,
        context: lifter.machine.context,
        maps: lifter.layouts.into_values().collect(),
    };
    let (mut insns, mut lines) = (Vec::new(), Vec::new());
    let mut ticker = Ticker::new(lifter::INSTRUCTIONS);
    for unit in &lifter.units {
        let linked = &unit.program;
        for slot in 0..linked.insns.len() {
            ticker.tick(&options.stop).map_err(LiftError::stop)?;
            let line = linked.lines.get(slot).cloned().flatten();
            let source = line
                .as_ref()
                .map(|line| SourceLocation { file: line.file.to_string(), line: line.line });
            insns.push(Instruction { text: linked.disassemble(object, slot), source });
            lines.push(line);
        }
    }
    let mut program = Program {
        name: program.name.clone(),
        insns,
        regs: std::mem::take(&mut lifter.machine.emit.regs),
        inputs: std::mem::take(&mut lifter.machine.inputs),
        draws: std::mem::take(&mut lifter.machine.emit.draws).into_table(),
        regions: std::mem::take(&mut lifter.machine.regions),
        cost_classes,
        prologue,
        blocks,
        entry: BlockId(0),
        packet_length: Some(packet_length),
        assumptions: lifter.assumptions.into_iter().collect(),
        reliances: lifter.reliances,
    };
    if !options.keeps_dead_operations {
        eliminate_dead_operations(&mut program);
    }
    debug_assert_eq!(program.validate(), Ok(()));
    Ok(Lifted { program, lines, layout, depths })
}

/// What is known of the registers of a program before each instruction.
///
/// # Errors
/// [`LiftError`], as [`lift`].
pub fn registers(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
) -> Result<Registers, LiftError> {
    explore::explore(object, program, options)
}
