//! Models reads of uninitialised stack bytes. Privileged programs may read stack bytes that they
//! have not written (`allow_uninit_stack` of `kernel/bpf/verifier.c`), such as the padding of a
//! key.
//!
//! A function's frame reuses memory of earlier calls and of the kernel. A byte that is read before
//! it is written therefore has an unknown value, which may differ in each call. A first lifting of
//! the program finds these bytes, see [`super::maps::uses`]. A program that reads only bytes that
//! it has written needs no second lifting.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::insn::helper;
use crate::lift::frame::{FrameId, STACK_BYTES, UnitId};
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::frame_bytes::{FrameBytes, all};
use crate::lift::state::value::AbstractValue;

impl Lifter<'_> {
    /// Records a read of `bytes` bytes at an address, to find bytes of the stack that the program
    /// has not written.
    pub(super) fn note_read(&mut self, address: AbstractValue, bytes: u64) {
        match address {
            AbstractValue::Frame { depth, offset: Some(offset) } => {
                self.note_bytes(depth, FrameBytes::at(offset, bytes));
            }
            AbstractValue::Frame { depth, offset: None } => self.note_bytes(depth, all()),
            AbstractValue::Unknown => {
                (0..=self.frames.get(self.at.frame).depth)
                    .for_each(|at| self.note_bytes(at, all()));
            }
            _ => {}
        }
    }

    fn note_bytes(&mut self, depth: u8, bytes: FrameBytes) {
        let unwritten = bytes.without(self.state.written(depth));
        if unwritten == FrameBytes::default() {
            return;
        }
        let Some(frame) = self.frame_at(depth) else { return };
        self.note_uninit(frame, unwritten);
    }

    /// Returns the frame at a call depth: the current frame or the frame of one of its callers.
    /// Returns `None` if there is none.
    fn frame_at(&self, depth: u8) -> Option<FrameId> {
        let mut id = self.at.frame;
        while self.frames.get(id).depth != depth {
            id = self.frames.get(id).ret?.frame;
        }
        Some(id)
    }

    /// Records the stack bytes that a call of the helper `number` may read through its arguments.
    pub(super) fn note_stack_arguments(&mut self, number: i32) {
        for register in 1..6 {
            let known = self.state.regs[usize::from(register)];
            if let AbstractValue::Frame { .. } | AbstractValue::Unknown = known {
                let bytes = self.read_through(number, register).unwrap_or(STACK_BYTES);
                if bytes > 0 {
                    self.note_read(known, bytes);
                }
            }
        }
    }

    /// Returns the number of bytes that the helper `number` reads at the address in a register;
    /// `None` if it is unknown.
    fn read_through(&self, number: i32, register: u8) -> Option<u64> {
        let map = || match self.state.regs[1] {
            AbstractValue::Map(map) => self.object.maps.get(map as usize),
            _ => None,
        };
        match (number, register) {
            (helper::MAP_LOOKUP_ELEM | helper::MAP_UPDATE_ELEM | helper::MAP_DELETE_ELEM, 2) => {
                map().map(|map| map.key_size.into())
            }
            (helper::MAP_UPDATE_ELEM, 3) | (helper::MAP_PUSH_ELEM, 2) => {
                map().map(|map| map.value_size.into())
            }
            // These helpers write to the buffer.
            (helper::MAP_POP_ELEM | helper::MAP_PEEK_ELEM, 2) | (helper::XDP_LOAD_BYTES, 3) => {
                Some(0)
            }
            // Only the callback reads memory.
            (helper::FOR_EACH_MAP_ELEM | helper::LOOP, _) => Some(0),
            _ => None,
        }
    }

    /// Stores unknown values in the stack frame of a function when it starts, in the bytes that it
    /// reads without writing them first.
    pub(super) fn draw_uninit(&mut self, unit: UnitId, function: usize, depth: u8) {
        let Some(bytes) = self.uninit(unit, function) else { return };
        self.ir.enter(depth);
        let frame = self.ir.stack();
        for at in bytes.words() {
            let below = STACK_BYTES - at;
            let text = format!("bytes at r10-{below} of the function, which it does not write");
            let emit = &mut self.ir.emit;
            let unknown: Operand = emit.draw(&text, ValueFormat::Bytes, 64, u64::MAX);
            let address = emit.add(frame, word(at));
            emit.store(address, unknown);
        }
    }
}
