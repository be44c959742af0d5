//! Frames: which function runs, called from where. Calls are lifted by inlining, so a point of the
//! lifted program is an instruction together with the frame that executes it.

use std::collections::HashMap;

/// Index of a linked program: the first is the one to lift, the others are reached by tail calls.
pub(super) type UnitId = usize;

/// Index of a frame.
pub(super) type FrameId = usize;

/// Bytes of a stack frame (`MAX_BPF_STACK` of the kernel).
pub(super) const STACK_BYTES: u64 = 512;

/// A step inside an instruction that takes several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The instruction itself, and those behind it up to the end of the block.
    Start,
    /// A call that works on one of several maps: is it this one, or a later one?
    WhichMap(u32),
    /// A call that works on one of several maps: it is this one.
    OnMap(u32),
    /// A loop of a helper: is there another round?
    LoopTest,
    /// A loop of a helper: a round begins.
    LoopBody,
    /// A loop of a helper: the callback is entered.
    LoopEnter,
    /// A loop of a helper that calls back one of several functions: is it this one, or a later one?
    WhichCallback(u32),
    /// A loop of a helper that calls back one of several functions: this one is entered.
    Callback(u32),
    /// A loop of a helper: the callback has returned.
    LoopNext,
    /// A loop of a helper: its result.
    LoopDone,
    /// A tail call through this map: is it this one of the known slots? Behind the last one it has
    /// failed.
    Slot { map: u32, number: u32 },
    /// A tail call through this map: the jump to this one of the known slots.
    Enter { map: u32, number: u32 },
    /// The end of a program: does the program of this handover run next, or that of a later one?
    Handover(u32),
    /// The end of a program: the start of the one that runs next.
    Next(u32),
}

/// Where a block of the lifted program begins: an instruction, in the frame that executes it, and
/// which of its steps. The kernel's verifier has the same in the instruction and the call chain of a
/// state (`insn_idx`, `bpf_func_state::callsite`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProgramPoint {
    pub frame: FrameId,
    /// Slot in the frame's unit.
    pub slot: usize,
    pub phase: Phase,
}

impl ProgramPoint {
    /// The point behind an instruction.
    pub fn behind(self) -> ProgramPoint {
        ProgramPoint { slot: self.slot + 1, phase: Phase::Start, ..self }
    }

    /// Another step of the same instruction.
    pub fn with(self, phase: Phase) -> ProgramPoint {
        ProgramPoint { phase, ..self }
    }
}

/// A function call in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub unit: UnitId,
    /// The unit of the program that was run; it is another one behind tail calls.
    pub run: UnitId,
    /// First slot of the function.
    pub function: usize,
    /// How many frames are around it.
    pub depth: u8,
    /// Where it returns to; `None` ends the program.
    pub ret: Option<ProgramPoint>,
}

/// All frames met.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    known: HashMap<Frame, FrameId>,
}

impl Frames {
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id]
    }

    /// All of them, by their numbers.
    pub fn all(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }

    pub fn id(&mut self, frame: Frame) -> FrameId {
        let next = self.frames.len();
        let id = *self.known.entry(frame.clone()).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// Whether the function runs in this frame or in one around it.
    pub fn running(&self, mut frame: FrameId, unit: UnitId, function: usize) -> bool {
        loop {
            let current = &self.frames[frame];
            if (current.unit, current.function) == (unit, function) {
                return true;
            }
            let Some(ret) = current.ret else { return false };
            frame = ret.frame;
        }
    }
}
