//! Defines the lifter, which holds the input, the abstract state and the output while blocks are
//! lifted.
//!
//! This file defines the data and the operations that all parts of lifting share. Other modules add
//! methods: [`super::maps`] for the memory of maps, [`super::insns`] for instructions,
//! [`super::calls`] and [`super::helpers`] for calls. [`super::block`] combines them.
//! [`super::walk`] selects the blocks and computes the abstract state at their start.

use slowpath_codes as codes;
use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{Block, BlockId, CostEvent, Emit, InsnIdx, Op, Operand, OriginOp, RelianceId};
use slowpath_stop::{Reason, Ticker};

use crate::context::{Content, ProgramType, XDP};
use crate::insn::Register;
use crate::insn::helper;
use crate::insn::{Call, Insn, Size};
use crate::lift::costs::Costs;
use crate::lift::error::Cause;
use crate::lift::frame::{Frame, FrameId, Frames, Phase, ProgramPoint, UnitId};
use crate::lift::ir::builder::IrBuilder;
use crate::lift::layout::memory::MapLayout;
use crate::lift::linked_code::LinkedCode;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::tracking::{Tracking, TrackingPlan};
use crate::lift::maps::uses::{Access, MapUses};
use crate::lift::missing_runs::MissingRuns;
use crate::lift::options::LiftOptions;
use crate::lift::receive::PacketEnvironment;
use crate::lift::state::abstract_state::AbstractState;
use crate::lift::state::accessed::Interference;
use crate::lift::state::frame_bytes::{FrameBytes, UninitReads};
use crate::lift::state::value::{AbstractValue, MapId};
use crate::lift::visit_limits::VisitLimits;
use crate::maps::MapDef;
use crate::{BpfProgram, Object};

/// Number of instructions between two checks of the time budget.
pub(super) const INSTRUCTIONS: u32 = 64;

/// Way in which a run of the program continues after an instruction.
pub(super) enum Next {
    /// Continues with the next instruction of the same block.
    On,
    To(ProgramPoint),
    /// Goes to the first program point if the operand, one bit, is set, otherwise to the second.
    Branch(Operand, ProgramPoint, ProgramPoint),
    /// Goes to the program point. The operand, one bit, must be set: a run in which it is not set
    /// contradicts a guarantee of the kernel, so it is excluded.
    Assume(Operand, ProgramPoint),
    /// Ends the program.
    Exit,
    /// Ends the program if the operand, one bit, is set; otherwise goes to the program point.
    ExitOr(Operand, ProgramPoint),
}

/// Requirements that were found by lifting a program once. If there are any, the program is lifted
/// a second time, which fulfils them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The properties of maps that must be tracked.
    plan: TrackingPlan,
    /// Bytes of stack frames that functions read without writing them first.
    uninit: UninitReads,
    /// True if the program reads the position of metadata, so that metadata must be tracked.
    metadata: bool,
}

impl Findings {
    /// Merges the requirements of two programs that use the same maps, so that lifting tracks the
    /// same map properties in both. Keeps the stack bytes of `self`, because each program has its
    /// own stack.
    pub fn shared(mut self, other: &Findings) -> Self {
        for (map, tracking) in &other.plan {
            let merged = self.plan.remove(map).unwrap_or_default().with(tracking);
            self.plan.insert(map.clone(), merged);
        }
        self.metadata |= other.metadata;
        self
    }

    /// Returns true if nothing was found, so that lifting the program again would give the same
    /// result.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.uninit.is_empty() && !self.metadata
    }
}

/// State of the lifter, which translates the basic blocks of one BPF program one after the other.
pub(super) struct Lifter<'a> {
    pub object: &'a Object,
    pub options: &'a LiftOptions,
    /// Description of the program's type, an entry of the table of program types.
    pub program_type: &'static ProgramType,
    pub code: LinkedCode,
    pub frames: Frames,
    pub ir: IrBuilder,
    /// Abstract state before the current instruction.
    pub state: AbstractState,
    /// Program point of the current instruction.
    pub at: ProgramPoint,
    /// Number of the current block, and index of the current instruction in the lifted program.
    site: (BlockId, InsnIdx),
    pub costs: Costs,
    pub assumptions: BTreeSet<String>,
    pub missing_runs: MissingRuns,
    /// Assumptions on which single runs of the program rely, as sentences. The index of a sentence
    /// is its [`RelianceId`].
    pub reliances: Vec<String>,
    /// Identifiers of those assumptions in `reliances` that only add runs to the model: a run that
    /// relies on one of them may be impossible on the device. See
    /// [`super::Lifted::over_approximating`].
    pub over_approximating: BTreeSet<RelianceId>,
    /// Identifiers of those assumptions in `reliances` that matter only if the program changes the
    /// packet. See [`super::Lifted::packet_reliances`].
    pub packet_reliances: BTreeSet<RelianceId>,
    /// Maps that other CPUs can change between two accesses of a run.
    pub interference: Interference,
    /// Map in which another CPU may have inserted or deleted elements before the call that is being
    /// lifted; `None` if there is no such map.
    pub open_elements: Option<MapId>,
    /// Layouts of the maps that the program uses, by the name of the map.
    pub layouts: BTreeMap<String, MapLayout>,
    /// Requirements that the first lifting of the program has found; empty during the first
    /// lifting.
    first_findings: Findings,
    uses: MapUses,
    /// Bytes of stack frames found so far that functions read without writing them first.
    uninit_reads: UninitReads,
    /// True if an instruction lifted so far reads the position of the packet's metadata
    /// (`data_meta`).
    finds_metadata_reads: bool,
    /// Limits of the kernel on the number of times that a run visits blocks.
    pub visit_limits: VisitLimits,
    ticker: Ticker,
}

impl<'a> Lifter<'a> {
    pub fn new(
        object: &'a Object,
        program: &BpfProgram,
        options: &'a LiftOptions,
        first_findings: Findings,
    ) -> Self {
        let mut ir = IrBuilder::new();
        if options.records_calls {
            ir.record_calls();
        }
        Lifter {
            object,
            options,
            program_type: ProgramType::of(program.kind).unwrap_or(&XDP),
            code: LinkedCode::new(program.clone()),
            frames: Frames::default(),
            ir,
            state: AbstractState::start(),
            at: ProgramPoint { frame: 0, slot: 0, phase: Phase::Start },
            site: (BlockId(0), InsnIdx(0)),
            costs: Costs::default(),
            assumptions: BTreeSet::new(),
            missing_runs: MissingRuns::default(),
            reliances: Vec::new(),
            over_approximating: BTreeSet::new(),
            packet_reliances: BTreeSet::new(),
            interference: Interference::default(),
            open_elements: None,
            layouts: BTreeMap::new(),
            first_findings,
            uses: MapUses::default(),
            uninit_reads: UninitReads::new(),
            finds_metadata_reads: false,
            visit_limits: VisitLimits::default(),
            ticker: Ticker::new(INSTRUCTIONS),
        }
    }

    pub fn entry(&mut self) -> ProgramPoint {
        let frame = self.frames.id(Frame { unit: 0, run: 0, function: 0, depth: 0, ret: None });
        ProgramPoint { frame, slot: 0, phase: Phase::Start }
    }

    /// Returns the requirements that this lifting of the program has found. `blocks` are all blocks
    /// of the lifted program.
    pub fn findings(&mut self, blocks: &[Block]) -> Findings {
        Findings {
            plan: self.uses.plan(&self.options.contents, blocks),
            uninit: std::mem::take(&mut self.uninit_reads),
            metadata: self.finds_metadata_reads && (self.moves_head() || self.is_sent()),
        }
    }

    /// Starts to lift a block for the abstract state `state` at its start.
    pub fn begin_block(&mut self, block: BlockId, state: AbstractState) {
        self.ir.emit.begin_block();
        self.costs.begin_block();
        self.site.0 = block;
        self.state = state;
    }

    /// Starts to lift an instruction of the block and returns its number. Returns an error if the
    /// time budget is exhausted.
    pub fn begin_insn(&mut self, at: ProgramPoint) -> Result<InsnIdx, Reason> {
        self.ticker.tick(&self.options.stop)?;
        let unit = self.unit(at);
        let insn = self.code.number(unit, at.slot);
        self.ir.emit.begin_insn(insn.index(), self.code.called(unit, at.slot));
        self.site.1 = insn;
        self.at = at;
        Ok(insn)
    }

    /// Returns the index of the linked program that contains a program point.
    pub fn unit(&self, at: ProgramPoint) -> UnitId {
        self.frames.get(at.frame).unit
    }

    /// Returns the current block and the number of the current instruction.
    pub fn site(&self) -> (BlockId, InsnIdx) {
        self.site
    }

    /// Like [`Lifter::rely`], for an assumption that may be false on the device. If `sentence` is
    /// false for a run, the run cannot occur on the device. The lifted program nevertheless
    /// contains all possible runs.
    pub fn rely_on_feasible(&mut self, cond: Operand, sentence: String) {
        let reliance = self.rely(cond, sentence);
        self.over_approximating.insert(reliance);
    }

    /// Like [`Lifter::rely`], for an assumption that matters only if the packet was changed since
    /// the device received it.
    pub fn rely_on_packet(&mut self, cond: Operand, sentence: String) {
        let reliance = self.rely(cond, sentence);
        self.packet_reliances.insert(reliance);
    }

    /// Records that runs in which the bit `cond` is set rely on the assumption `sentence`. Returns
    /// the number of the assumption.
    pub fn rely(&mut self, cond: Operand, sentence: String) -> RelianceId {
        let known = self.reliances.iter().position(|known| *known == sentence);
        let index = known.unwrap_or_else(|| {
            self.reliances.push(sentence);
            self.reliances.len() - 1
        });
        let reliance = RelianceId::from(index);
        self.ir.emit.rely(cond, reliance);
        reliance
    }

    /// Adds an assumption on which every result about the program depends.
    pub fn assume(&mut self, sentence: String) {
        self.assumptions.insert(sentence);
    }

    /// Adds the assumption `sentence`, because runs may continue in unknown programs, whose
    /// instructions the analysis does not count.
    pub fn assume_unknown_end(&mut self, sentence: String) {
        self.missing_runs.ends.insert(sentence.clone());
        self.assume(sentence);
    }

    /// Adds the assumption that packets are not fragmented, if the program can receive fragments.
    /// Used for calls whose result differs for fragments.
    pub fn assume_unfragmented(&mut self, at: ProgramPoint) {
        let unit = self.unit(at);
        if self.options.receive.fragments && self.code.program(unit).accepts_fragments() {
            let name = self.code.called(unit, at.slot);
            let sentence = format!(
                "packets are in one piece; the result of {name} for others is \
                unknown"
            );
            self.missing_runs.fragments.insert(sentence.clone());
            self.assume(sentence);
        }
    }

    /// Adds the cost of an instruction, which is the target's price for the cost class `class`.
    /// Does nothing if the options exclude the costs of the instruction's program.
    pub fn cost(&mut self, at: ProgramPoint, class: &str) {
        let run = self.code.program(self.frames.get(at.frame).run).number;
        if self.options.costed_programs.as_ref().is_some_and(|counted| !counted.contains(&run)) {
            return;
        }
        let insn = self.code.number(self.unit(at), at.slot);
        self.costs.add(insn, class);
    }

    /// Returns the operations and costs of the block being lifted, and removes them from the
    /// lifter.
    pub fn take_work(&mut self) -> (Vec<OriginOp>, Vec<CostEvent>) {
        (self.ir.emit.take_ops(), self.costs.take_block())
    }

    /// Emits code that sets `r0` to the result of a call. `known` is the abstract value of the
    /// result.
    pub fn result(&mut self, value: Operand, known: AbstractValue) {
        let reg = self.ir.reg(Register::R0.number());
        self.ir.emit.push(Op::Copy { dst: reg, src: value });
        self.state.regs[0] = known;
    }

    pub fn map_def(&self, map: u32) -> Result<&'a MapDef, Cause> {
        let found = self.object.maps.get(map as usize);
        found.ok_or_else(|| {
            Cause::new(
                codes::DAMAGED_OBJECT,
                format!("there is no map number {map}"),
                "the object may be \
             damaged",
            )
        })
    }

    pub fn tracking(&self, map: &str) -> Tracking {
        if self.options.interleaved {
            // Tracked properties hold only if no other CPU changes the map.
            return Tracking::default();
        }
        self.first_findings.plan.get(map).cloned().unwrap_or_default()
    }

    pub fn note_access(&mut self, map: &MapOperand, access: Access) {
        self.note_elements(map, access);
        self.uses.note(map, self.site, access);
    }

    /// Records a memory access through a pointer with this abstract value.
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

    /// Returns the bytes that a function reads from its stack frame without writing them first. The
    /// first lifting of the program has found these bytes.
    pub fn uninit(&self, unit: UnitId, function: usize) -> Option<FrameBytes> {
        self.first_findings.uninit.get(&(unit, function)).copied()
    }

    /// Records the bytes of a stack frame that its function reads without writing them first.
    pub fn note_uninit(&mut self, frame: FrameId, bytes: FrameBytes) {
        let frame = self.frames.get(frame);
        // In the program's entry function, these bytes belong to the initial memory, which is
        // unknown anyway.
        if (frame.unit, frame.function) != (0, 0) {
            let noted = self.uninit_reads.entry((frame.unit, frame.function)).or_default();
            *noted = noted.or(bytes);
        }
    }

    /// Returns true if there may be metadata before the packet. Packets may arrive with metadata,
    /// or some function of the object may create it. That function may run earlier, for example
    /// before a tail call.
    pub fn may_have_metadata(&self) -> bool {
        self.starts_with_metadata() || self.makes_metadata()
    }

    /// Returns true if a helper that moves the packet's start must also move the metadata in the
    /// model, byte by byte. This is unnecessary if no function of the object reads the position of
    /// metadata. Two programs that move the packet's start equally then have the same effect on
    /// metadata.
    pub fn moves_metadata(&self) -> bool {
        (self.starts_with_metadata() && self.reads_metadata())
            || self.code.program(0).runs_on_map_entry()
            || self.makes_metadata()
    }

    /// Returns true if the program reads the position of the packet's metadata (`data_meta`). The
    /// first lifting of the program has found this out.
    pub fn reads_metadata(&self) -> bool {
        self.first_findings.metadata
    }

    /// Records whether a load reads the position of packet metadata (`data_meta` of the context).
    pub fn note_load(&mut self, known: AbstractValue, offset: i16, size: Size) {
        let at = match known {
            AbstractValue::Context { offset } => offset,
            AbstractValue::Unknown | AbstractValue::NotStack => offset.into(),
            _ => return,
        };
        let field = self.program_type.offset(Content::Metadata);
        self.finds_metadata_reads |= size == Size::W && u64::try_from(at) == Ok(field);
    }

    /// Returns true if a packet is sent to another device between two of the programs that are
    /// lifted together.
    pub fn is_sent(&self) -> bool {
        self.options.handovers.iter().any(|handover| handover.network.is_some())
    }

    fn makes_metadata(&self) -> bool {
        self.any(|insn| *insn == Insn::Call(Call::Helper(helper::XDP_ADJUST_META)))
    }

    /// Returns true if some function of the object contains a matching instruction.
    fn any(&self, matches: impl Fn(&Insn) -> bool) -> bool {
        let mut codes = self.object.functions.iter().map(|function| &function.code);
        codes.any(|code| code.as_ref().is_ok_and(|code| code.iter().any(&matches)))
    }

    /// Returns true if some function of the object can expose bytes before the packet.
    pub fn moves_head(&self) -> bool {
        let calls = [helper::XDP_ADJUST_HEAD, helper::XDP_ADJUST_META];
        let calls = calls.map(|helper| Insn::Call(Call::Helper(helper)));
        // All helpers that change a packet of `struct sk_buff` may move its start or its metadata.
        let skb = self.program_type.length().is_some();
        let changes = |insn: &Insn| {
            skb && matches!(*insn, Insn::Call(Call::Helper(number)) if helper::changes_skb(number))
        };
        self.any(|insn| calls.contains(insn) || changes(insn))
    }

    /// Returns true if packets may arrive with metadata, on the first device or a later one.
    pub fn starts_with_metadata(&self) -> bool {
        let later = self.options.receive_after_network.packet_environment().words().1 > 0;
        self.packet_environment().words().1 > 0 || self.is_sent() && later
    }

    /// Returns the head room and metadata of packets that reach the program. For programs on cpumap
    /// or devmap entries, another program has run before and may have changed both.
    pub fn packet_environment(&self) -> PacketEnvironment {
        if self.code.program(0).runs_on_map_entry() {
            PacketEnvironment::ANY
        } else {
            self.options.receive.packet_environment()
        }
    }
}
