//! Stack frames: active functions with their callers. Calls are lifted by inlining, so a point of
//! the lifted program is an instruction together with the frame that executes it.

use std::collections::HashMap;

/// Index of a linked program. The first is the program to lift; the others are reached by tail
/// calls.
pub(super) type UnitId = usize;

/// Index of a frame.
pub(super) type FrameId = usize;

/// Size of a stack frame in bytes (`MAX_BPF_STACK` of the kernel).
pub(super) const STACK_BYTES: u64 = 512;

/// Step inside an instruction that is lifted to several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The instruction itself, and the following instructions of the block.
    Start,
    /// Call on one of several maps: test for this map, then for later ones.
    SelectMap(u32),
    /// Call on one of several maps: the call on this map.
    CallOnMap(u32),
    /// Loop of a helper: test for another iteration.
    LoopTest,
    /// Loop of a helper: start of an iteration.
    LoopBody,
    /// Loop of a helper: entry of the callback.
    LoopEnter,
    /// Loop of a helper with several possible callbacks: test for this one, then for later ones.
    SelectCallback(u32),
    /// Loop of a helper with several possible callbacks: entry of this one.
    Callback(u32),
    /// Loop of a helper: return of the callback.
    LoopNext,
    /// Loop of a helper: result of the helper.
    LoopDone,
    /// Tail call through this map: test for this known slot. After the last slot, the tail call has
    /// failed.
    Slot { map: u32, number: u32 },
    /// Tail call through this map: jump to the program in this known slot.
    Enter { map: u32, number: u32 },
    /// End of a program: test for this handover, then for later ones.
    Handover(u32),
    /// End of a program: start of the program that this handover leads to.
    Next(u32),
}

/// Start of a block of the lifted program: an instruction, the frame that executes it, and the step
/// inside the instruction. The kernel's verifier stores the same in the instruction index and the
/// call chain of a state (`insn_idx`, `bpf_func_state::callsite`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProgramPoint {
    pub frame: FrameId,
    /// Slot in the frame's program.
    pub slot: usize,
    pub phase: Phase,
}

impl ProgramPoint {
    /// Returns the point after an instruction.
    pub fn behind(self) -> ProgramPoint {
        ProgramPoint { slot: self.slot + 1, phase: Phase::Start, ..self }
    }

    /// Returns another step of the same instruction.
    pub fn with(self, phase: Phase) -> ProgramPoint {
        ProgramPoint { phase, ..self }
    }
}

/// An active function call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub unit: UnitId,
    /// Program that was started; differs from `unit` after a tail call.
    pub run: UnitId,
    /// First slot of the function.
    pub function: usize,
    /// Number of frames around this one.
    pub depth: u8,
    /// Return point; `None` ends the program.
    pub ret: Option<ProgramPoint>,
}

/// All frames so far.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    known: HashMap<Frame, FrameId>,
}

impl Frames {
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id]
    }

    /// Returns all frames, by index.
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

    /// Returns true if the function is active in this frame or in a caller.
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
