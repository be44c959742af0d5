//! The lifter: what is known, and what is made, while a block is lifted.
//!
//! This file has the data and what every part of lifting needs of it. Methods for single subjects
//! are beside what they are about: memory of maps in [`super::maps`], instructions in
//! [`super::insns`], calls in [`super::calls`] and [`super::helpers`]; [`super::block`] puts them
//! together. Which blocks there are, and what is known where they begin, is up to [`super::walk`].

use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{Block, BlockId, CostEvent, Emit, InsnIdx, Op, Operand, OriginOp, RelianceId};
use slowpath_stop::{Reason, Ticker};

use crate::insn::Register;
use crate::insn::helper;
use crate::insn::{Call, Insn, Size};
use crate::lift::costs::Costs;
use crate::lift::error::Cause;
use crate::lift::frame::{Frame, FrameId, Frames, Phase, ProgramPoint, UnitId};
use crate::lift::ir::builder::IrBuilder;
use crate::lift::ir::start::DATA_META;
use crate::lift::layout::memory::MapLayout;
use crate::lift::linked_code::LinkedCode;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::tracking::{Tracking, TrackingPlan};
use crate::lift::maps::uses::{Access, MapUses};
use crate::lift::options::LiftOptions;
use crate::lift::receive::Surroundings;
use crate::lift::state::abstract_state::AbstractState;
use crate::lift::state::accessed::Interference;
use crate::lift::state::frame_bytes::{FrameBytes, UninitReads};
use crate::lift::state::value::{AbstractValue, MapId};
use crate::lift::unseen::Unseen;
use crate::lift::visit_limits::VisitLimits;
use crate::maps::MapDef;
use crate::{BpfProgram, Object};

/// Instructions between two looks at whether to give up.
pub(super) const INSTRUCTIONS: u32 = 64;

/// How control goes on behind an instruction.
pub(super) enum Next {
    /// To the next instruction.
    On,
    To(ProgramPoint),
    /// To the first point if the bit is set, else to the second.
    Either(Operand, ProgramPoint, ProgramPoint),
    /// To the point if the bit is set; else the run contradicts what the kernel guarantees.
    Only(Operand, ProgramPoint),
    /// The program ends.
    Exit,
    /// The program ends if the bit is set, else goes on at the point.
    ExitOr(Operand, ProgramPoint),
}

/// What lifting a program once finds out for lifting it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// What has to be tracked of maps.
    plan: TrackingPlan,
    /// Bytes of stack frames that functions read before they write them.
    uninit: UninitReads,
    /// Whether metadata has to be followed, because the program asks where it is.
    metadata: bool,
}

impl Findings {
    /// What two programs over the same maps find out, so that these mean the same to both. Bytes of stack frames stay those of the first.
    pub fn shared(mut self, other: &Findings) -> Self {
        for (map, tracking) in &other.plan {
            let all = self.plan.remove(map).unwrap_or_default().with(tracking);
            self.plan.insert(map.clone(), all);
        }
        self.metadata |= other.metadata;
        self
    }

    /// Whether lifting it again would make no difference.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.uninit.is_empty() && !self.metadata
    }
}

/// What a lifted program consists of besides its blocks.
pub(super) struct Parts {
    pub ir: IrBuilder,
    pub code: LinkedCode,
    /// The maps used, by name.
    pub layouts: BTreeMap<String, MapLayout>,
    pub cost_classes: Vec<String>,
    pub assumptions: BTreeSet<String>,
    pub unseen: Unseen,
    /// What single runs can rely on.
    pub reliances: Vec<String>,
    pub wider: BTreeSet<RelianceId>,
    pub of_packet: BTreeSet<RelianceId>,
    pub interference: Interference,
}

/// Lifts blocks of one program.
pub(super) struct Lifter<'a> {
    pub object: &'a Object,
    pub options: &'a LiftOptions,
    pub code: LinkedCode,
    pub frames: Frames,
    pub ir: IrBuilder,
    /// What is known at the current instruction.
    pub state: AbstractState,
    /// The instruction being lifted.
    pub at: ProgramPoint,
    /// The block that it is lifted for, and its number.
    site: (BlockId, InsnIdx),
    costs: Costs,
    assumptions: BTreeSet<String>,
    unseen: Unseen,
    reliances: Vec<String>,
    wider: BTreeSet<RelianceId>,
    of_packet: BTreeSet<RelianceId>,
    /// Maps that other CPUs can change between two accesses of a run.
    pub interference: Interference,
    /// The map of which the current call finds any elements, because another CPU may have changed
    /// them.
    pub open_elements: Option<MapId>,
    /// The maps used, by name.
    pub layouts: BTreeMap<String, MapLayout>,
    /// What an earlier lifter of the same program has found.
    given: Findings,
    /// How maps are used, as far as the program is lifted.
    uses: MapUses,
    /// Bytes that functions read before they write them, as far as the program is lifted.
    uninit_reads: UninitReads,
    /// Whether the program asks where metadata is, as far as it is lifted.
    asks_metadata: bool,
    /// How often the kernel lets blocks run.
    pub visit_limits: VisitLimits,
    ticker: Ticker,
}

impl<'a> Lifter<'a> {
    pub fn new(
        object: &'a Object,
        program: &BpfProgram,
        options: &'a LiftOptions,
        given: Findings,
    ) -> Self {
        let mut ir = IrBuilder::new();
        if options.records_calls {
            ir.record_calls();
        }
        Lifter {
            object,
            options,
            code: LinkedCode::new(program.clone()),
            frames: Frames::default(),
            ir,
            state: AbstractState::start(),
            at: ProgramPoint { frame: 0, slot: 0, phase: Phase::Start },
            site: (BlockId(0), InsnIdx(0)),
            costs: Costs::default(),
            assumptions: BTreeSet::new(),
            unseen: Unseen::default(),
            reliances: Vec::new(),
            wider: BTreeSet::new(),
            of_packet: BTreeSet::new(),
            interference: Interference::default(),
            open_elements: None,
            layouts: BTreeMap::new(),
            given,
            uses: MapUses::default(),
            uninit_reads: UninitReads::new(),
            asks_metadata: false,
            visit_limits: VisitLimits::default(),
            ticker: Ticker::new(INSTRUCTIONS),
        }
    }

    /// Where the program begins.
    pub fn entry(&mut self) -> ProgramPoint {
        let frame = self.frames.id(Frame { unit: 0, run: 0, function: 0, depth: 0, ret: None });
        ProgramPoint { frame, slot: 0, phase: Phase::Start }
    }

    /// What lifting the program again needs to know, once these are all of its blocks.
    pub fn findings(&mut self, blocks: &[Block]) -> Findings {
        Findings {
            plan: self.uses.plan(&self.options.contents, blocks),
            uninit: std::mem::take(&mut self.uninit_reads),
            metadata: self.asks_metadata && (self.moves_head() || self.is_sent()),
        }
    }

    /// What there is besides blocks, once all of them are lifted.
    pub fn finish(self) -> Parts {
        Parts {
            ir: self.ir,
            code: self.code,
            layouts: self.layouts,
            cost_classes: self.costs.into_classes(),
            assumptions: self.assumptions,
            unseen: self.unseen,
            reliances: self.reliances,
            wider: self.wider,
            of_packet: self.of_packet,
            interference: self.interference,
        }
    }

    /// A block is lifted from here on, from what is known where it begins.
    pub fn begin_block(&mut self, block: BlockId, state: AbstractState) {
        self.ir.emit.begin_block();
        self.costs.begin_block();
        self.site.0 = block;
        self.state = state;
    }

    /// An instruction of the block is lifted from here on; its number, or why it is time to give up.
    pub fn begin_insn(&mut self, at: ProgramPoint) -> Result<InsnIdx, Reason> {
        self.ticker.tick(&self.options.stop)?;
        let unit = self.unit(at);
        let insn = self.code.number(unit, at.slot);
        self.ir.emit.begin_insn(insn.index(), self.code.called(unit, at.slot));
        self.site.1 = insn;
        self.at = at;
        Ok(insn)
    }

    /// The unit that a point is in.
    pub fn unit(&self, at: ProgramPoint) -> UnitId {
        self.frames.get(at.frame).unit
    }

    /// The block and the number of the instruction that is lifted.
    pub fn site(&self) -> (BlockId, InsnIdx) {
        self.site
    }

    /// Where the bit is set, the run relies on what the sentence says.
    pub fn rely(&mut self, cond: Operand, sentence: String) {
        self.rely_on(cond, sentence);
    }

    /// Where the bit is set, the run may be impossible, as the sentence says; what the device can do
    /// is all there beside it.
    pub fn rely_on_possible(&mut self, cond: Operand, sentence: String) {
        let on = self.rely_on(cond, sentence);
        self.wider.insert(on);
    }

    /// Where the bit is set, the run relies on a packet that is as it was received, else on what the
    /// sentence says.
    pub fn rely_on_packet(&mut self, cond: Operand, sentence: String) {
        let on = self.rely_on(cond, sentence);
        self.of_packet.insert(on);
    }

    fn rely_on(&mut self, cond: Operand, sentence: String) -> RelianceId {
        let known = self.reliances.iter().position(|known| *known == sentence);
        let on = known.unwrap_or_else(|| {
            self.reliances.push(sentence);
            self.reliances.len() - 1
        });
        let on = RelianceId::from(on);
        self.ir.emit.rely(cond, on);
        on
    }

    /// The whole result depends on what the sentence says.
    pub fn assume(&mut self, sentence: String) {
        self.assumptions.insert(sentence);
    }

    /// Runs may end in programs that are not known, as the sentence says; the whole result depends on
    /// that.
    pub fn ends_elsewhere(&mut self, sentence: String) {
        self.unseen.ends.insert(sentence.clone());
        self.assume(sentence);
    }

    /// A call means something else for a packet in fragments, if the program gets such packets.
    pub fn in_one_piece(&mut self, at: ProgramPoint) {
        let unit = self.unit(at);
        if self.options.receive.fragments && self.code.program(unit).takes_fragments() {
            let name = self.code.called(unit, at.slot);
            let sentence = format!("packets are in one piece: {name} is not known of others");
            self.unseen.fragments.insert(sentence.clone());
            self.assume(sentence);
        }
    }

    /// Counts an instruction as work of a class, unless it is of a program whose work does not count.
    pub fn cost(&mut self, at: ProgramPoint, class: &str) {
        let run = self.code.program(self.frames.get(at.frame).run).number;
        if self.options.counted.as_ref().is_some_and(|counted| !counted.contains(&run)) {
            return;
        }
        let insn = self.code.number(self.unit(at), at.slot);
        self.costs.add(insn, class);
    }

    /// The operations and costs of the block.
    pub fn take_work(&mut self) -> (Vec<OriginOp>, Vec<CostEvent>) {
        (self.ir.emit.take_ops(), self.costs.take_block())
    }

    /// Sets `r0`.
    pub fn result(&mut self, value: Operand, known: AbstractValue) {
        let reg = self.ir.reg(Register::R0.number());
        self.ir.emit.push(Op::Copy { dst: reg, src: value });
        self.state.regs[0] = known;
    }

    /// The map of this number.
    pub fn map_def(&self, map: u32) -> Result<&'a MapDef, Cause> {
        let found = self.object.maps.get(map as usize);
        found.ok_or_else(|| Cause::new(format!("there is no map number {map}"), "is it damaged?"))
    }

    /// What is tracked of the map of this name.
    pub fn tracking(&self, map: &str) -> Tracking {
        if self.options.interleaved {
            // What is tracked holds only while nobody else changes the map.
            return Tracking::default();
        }
        self.given.plan.get(map).cloned().unwrap_or_default()
    }

    /// Notes what a call does to a map.
    pub fn note_access(&mut self, map: &MapOperand, access: Access) {
        self.note_elements(map, access);
        self.uses.note(map, self.site, access);
    }

    /// Notes that memory is accessed through a value of which this is known.
    pub fn note_pointer(&mut self, pointer: AbstractValue) {
        match pointer {
            AbstractValue::MapValue { map, old: true, .. } => {
                self.uses.note_old([MapId::of_object(map)])
            }
            AbstractValue::MaybeMapValue | AbstractValue::Unknown => {
                self.uses.note_old(self.state.replaced.iter().copied());
            }
            _ => {}
        }
    }

    /// Bytes that a function reads before it writes them, as an earlier lifter has found.
    pub fn uninit(&self, unit: UnitId, function: usize) -> Option<FrameBytes> {
        self.given.uninit.get(&(unit, function)).copied()
    }

    /// Notes that the function of a frame reads bytes that it has not written.
    pub fn note_uninit(&mut self, frame: FrameId, bytes: FrameBytes) {
        let frame = self.frames.get(frame);
        // What the program itself finds is the unknown content of memory at the start.
        if (frame.unit, frame.function) != (0, 0) {
            let noted = self.uninit_reads.entry((frame.unit, frame.function)).or_default();
            *noted = noted.or(bytes);
        }
    }

    /// Whether there may be metadata in front of the packet: there was some, or a function of the
    /// object makes it, which may run before, if only through tail calls.
    pub fn may_have_metadata(&self) -> bool {
        self.starts_with_metadata() || self.makes_metadata()
    }

    /// Whether metadata is moved with the packet's start, byte by byte. Where others may have made it
    /// and no function of the object asks where it is, none can tell whether it is: what two programs
    /// do to it is the same if they move the start alike.
    pub fn moves_metadata(&self) -> bool {
        let asked = self.starts_with_metadata() && self.reads_metadata();
        asked || self.code.program(0).runs_behind_a_map() || self.makes_metadata()
    }

    /// Whether the program asks where metadata is, as an earlier lifter has found.
    pub fn reads_metadata(&self) -> bool {
        self.given.metadata
    }

    /// Notes that memory is read.
    pub fn note_load(&mut self, known: AbstractValue, offset: i16, size: Size) {
        let at = match known {
            AbstractValue::Context { offset } => offset,
            AbstractValue::Unknown | AbstractValue::NotStack => offset.into(),
            _ => return,
        };
        self.asks_metadata |= size == Size::W && u64::try_from(at) == Ok(DATA_META);
    }

    /// Whether packets are sent to other devices on the way.
    pub fn is_sent(&self) -> bool {
        self.options.handovers.iter().any(|handover| handover.network.is_some())
    }

    fn makes_metadata(&self) -> bool {
        self.any(|insn| *insn == Insn::Call(Call::Helper(helper::XDP_ADJUST_META)))
    }

    /// Whether a function of the object has such an instruction.
    fn any(&self, is: impl Fn(&Insn) -> bool) -> bool {
        let mut codes = self.object.functions.iter().map(|function| &function.code);
        codes.any(|code| code.as_ref().is_ok_and(|code| code.iter().any(&is)))
    }

    /// Whether a function of the object can show what is in front of a packet.
    pub fn moves_head(&self) -> bool {
        let calls = [helper::XDP_ADJUST_HEAD, helper::XDP_ADJUST_META];
        let calls = calls.map(|helper| Insn::Call(Call::Helper(helper)));
        let mut codes = self.object.functions.iter().map(|function| &function.code);
        codes.any(|code| {
            code.as_ref().is_ok_and(|code| calls.iter().any(|call| code.contains(call)))
        })
    }

    /// Whether packets may have metadata when they arrive, on the first device or another.
    pub fn starts_with_metadata(&self) -> bool {
        let beyond = self.options.beyond.around().words().1 > 0;
        self.surroundings().words().1 > 0 || self.is_sent() && beyond
    }

    /// What lies around packets when they arrive. Another program has run before those that run on
    /// the way through a cpumap or devmap.
    pub fn surroundings(&self) -> Surroundings {
        if self.code.program(0).runs_behind_a_map() {
            Surroundings::ANY
        } else {
            self.options.receive.around()
        }
    }
}
