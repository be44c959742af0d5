//! Describes stack frames, which are active functions with their callers. Lifting inlines calls, so
//! a point of the lifted program is an instruction together with the frame that executes it.

use std::collections::HashMap;

/// Index of a linked program, which is called a unit. Unit 0 is the program to lift; tail calls and
/// handovers reach the other units.
pub(super) type UnitId = usize;

/// Index of a stack frame in [`Frames`].
pub(super) type FrameId = usize;

/// Size of a stack frame in bytes (`MAX_BPF_STACK` of the kernel).
pub(super) const STACK_BYTES: u64 = 512;

/// Step of an instruction that is lifted to several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The first step, and the following instructions of the same block.
    Start,
    /// First step of a call that may use one of several maps: test whether it uses the map with
    /// this index; if not, continue with the next map.
    SelectMap(u32),
    /// Second step of a call that may use one of several maps: the call for the map with this
    /// index.
    CallOnMap(u32),
    /// Packet load of classic BPF: end the function, because the packet is too short.
    OutsidePacket,
    /// Loop around the callback of a helper: test whether there is another iteration.
    LoopTest,
    /// Loop around the callback of a helper: start of an iteration.
    LoopBody,
    /// Loop around the callback of a helper: entry of the callback.
    LoopEnter,
    /// Loop of a helper that has several possible callbacks: test whether the call uses the
    /// callback with this index; if not, continue with the next one.
    SelectCallback(u32),
    /// Loop of a helper that has several possible callbacks: entry of the callback with this index.
    Callback(u32),
    /// Loop around the callback of a helper: after the callback returns, continue or stop,
    /// depending on the result of the callback.
    LoopNext,
    /// Loop around the callback of a helper: after the last iteration, set the result of the
    /// helper.
    LoopDone,
    /// Tail call through map `map`: test whether the index is that of filled slot `number` of the
    /// program array; if not, continue with the next filled slot. After the last one, the tail call
    /// has failed.
    Slot { map: u32, number: u32 },
    /// Tail call through map `map`: jump to the program in filled slot `number` of the program
    /// array.
    Enter { map: u32, number: u32 },
    /// End of a program: test whether the handover with this index passes the packet to another
    /// program; if not, continue with the next handover.
    Handover(u32),
    /// End of a program: start of the program that receives the packet by the handover with this
    /// index.
    Next(u32),
}

/// Start of a block of the lifted program: an instruction, the frame that executes it, and the step
/// of the instruction. The kernel's verifier identifies states in the same way, by instruction
/// index and call chain (`insn_idx`, `bpf_func_state::callsite`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProgramPoint {
    pub frame: FrameId,
    /// Index of the instruction's 8-byte slot in the frame's program.
    pub slot: usize,
    pub phase: Phase,
}

impl ProgramPoint {
    /// Returns the program point of the next slot in the same frame.
    pub fn behind(self) -> ProgramPoint {
        ProgramPoint { slot: self.slot + 1, phase: Phase::Start, ..self }
    }

    /// Returns the program point of another step of the same instruction.
    pub fn with(self, phase: Phase) -> ProgramPoint {
        ProgramPoint { phase, ..self }
    }
}

/// An active function call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub unit: UnitId,
    /// Program that the kernel started, before any tail call. The field `unit` is the program that
    /// is being executed.
    pub run: UnitId,
    /// Index of the slot of the function's first instruction.
    pub function: usize,
    /// Number of active functions that lead to this call: its caller, the caller's caller, and so
    /// on.
    pub depth: u8,
    /// Program point to which the function returns; `None` if the program ends when the function
    /// returns.
    pub ret: Option<ProgramPoint>,
}

/// All stack frames found so far, indexed by [`FrameId`].
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    known: HashMap<Frame, FrameId>,
}

impl Frames {
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id]
    }

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

    /// Returns true if a function is executed by this frame or by one of its callers. The function
    /// starts at the slot `function` of the program `unit`.
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
