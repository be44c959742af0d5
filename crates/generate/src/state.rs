//! Knowledge about registers and stack at a place in the program.
//!
//! It is deliberately coarse: the kernel's verifier can derive everything stated here, and so
//! accepts a program that relies on it. Ranges are of unsigned 64-bit values.
//!
//! Source: the rules of the kernel's `kernel/bpf/verifier.c`, of old and new versions.

mod range;
#[cfg(test)]
mod tests;

pub(crate) use range::{Range, result};

use std::collections::BTreeMap;

use slowpath_bpf::insn::Register;

/// Content of a register or stack slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An undefined or unreadable value.
    Nothing,
    /// A number.
    Scalar(Range),
    /// The context.
    Context,
    /// An address in the packet.
    Packet(Pointer),
    /// The end of the packet.
    End,
    /// The address of a map element.
    Value,
}

/// An address in the packet, relative to a base: the packet's start, or an unknown offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Number of the base; 0 for the packet's start.
    pub id: u32,
    /// Distance from the base in bytes.
    pub offset: u16,
    /// Number of bytes from the base on that are known to be in the packet.
    pub range: u16,
}

/// Knowledge at a place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerifierState {
    regs: [Kind; 10],
    /// For each byte of the stack, from the frame pointer downwards: true if it holds part of a
    /// number.
    written: Vec<bool>,
    /// Pointers on the stack, by their distance below the frame pointer in bytes.
    spilled: BTreeMap<u16, Kind>,
    /// Number of paths that lead here; 0 if the program has ended.
    pub paths: u64,
}

impl VerifierState {
    /// Returns a state without knowledge, for a stack of `stack` bytes.
    pub fn new(stack: u16) -> Self {
        VerifierState {
            regs: [Kind::Nothing; 10],
            written: vec![false; stack.into()],
            spilled: BTreeMap::new(),
            paths: 1,
        }
    }

    pub fn get(&self, register: Register) -> Kind {
        self.regs.get(usize::from(register.number())).copied().unwrap_or(Kind::Nothing)
    }

    pub fn set(&mut self, register: Register, kind: Kind) {
        if let Some(known) = self.regs.get_mut(usize::from(register.number())) {
            *known = kind;
        }
    }

    /// Returns the registers whose kind satisfies `of`, in order.
    pub fn registers(&self, of: impl Fn(Kind) -> bool) -> Vec<Register> {
        let all = self.regs.iter().enumerate().filter(|(_, kind)| of(**kind));
        all.filter_map(|(number, _)| Register::new(number as u8)).collect()
    }

    /// Returns the range of a scalar.
    pub fn range(&self, register: Register) -> Option<Range> {
        match self.get(register) {
            Kind::Scalar(range) => Some(range),
            _ => None,
        }
    }

    /// Invalidates all pointers into the packet.
    pub fn packet_moved(&mut self) {
        let gone = |kind: Kind| matches!(kind, Kind::Packet(_) | Kind::End);
        for kind in &mut self.regs {
            if gone(*kind) {
                *kind = Kind::Nothing;
            }
        }
        self.spilled.retain(|_, kind| !gone(*kind));
    }

    /// Records that `bytes` bytes of the packet from a base on exist.
    pub fn checked(&mut self, id: u32, bytes: u16) {
        for kind in self.regs.iter_mut().chain(self.spilled.values_mut()) {
            if let Kind::Packet(pointer) = kind
                && pointer.id == id
            {
                pointer.range = pointer.range.max(bytes);
            }
        }
    }

    /// Returns true if all of the `bytes` bytes that start `depth` bytes below the frame pointer
    /// hold numbers.
    pub fn readable(&self, depth: u16, bytes: u16) -> bool {
        let (from, to) = (depth.saturating_sub(bytes), depth);
        let known = self.written.get(usize::from(from)..usize::from(to));
        bytes <= depth && known.is_some_and(|bytes| bytes.iter().all(|byte| *byte))
    }

    /// Records a store of numbers to the stack.
    pub fn write(&mut self, depth: u16, bytes: u16) {
        self.spilled.remove(&depth.next_multiple_of(8));
        let places = usize::from(depth.saturating_sub(bytes))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(true);
        }
    }

    /// Records a store of a pointer to the stack.
    pub fn spill(&mut self, depth: u16, kind: Kind) {
        let places = usize::from(depth.saturating_sub(8))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(false);
            self.spilled.insert(depth, kind);
        }
    }

    /// Returns the pointers on the stack.
    pub fn spilled(&self) -> Vec<(u16, Kind)> {
        self.spilled.iter().map(|(depth, kind)| (*depth, *kind)).collect()
    }

    /// Returns the knowledge where two paths meet.
    pub fn join(&self, other: &VerifierState) -> VerifierState {
        if self.paths == 0 {
            return other.clone();
        }
        if other.paths == 0 {
            return self.clone();
        }
        let mut joined = self.clone();
        for (mine, theirs) in joined.regs.iter_mut().zip(other.regs) {
            *mine = mine.join(theirs);
        }
        for (mine, theirs) in joined.written.iter_mut().zip(&other.written) {
            *mine &= theirs;
        }
        joined.spilled.retain(|depth, kind| {
            *kind = kind.join(other.spilled.get(depth).copied().unwrap_or(Kind::Nothing));
            *kind != Kind::Nothing
        });
        joined.paths = self.paths.saturating_add(other.paths);
        joined
    }

    /// Returns the knowledge at the head of a loop whose end has the state `back`. Numbers that
    /// change can have any value.
    pub fn widen(&self, back: &VerifierState) -> VerifierState {
        let mut wide = self.join(back);
        for (kind, before) in wide.regs.iter_mut().zip(self.regs) {
            if let Kind::Scalar(range) = kind
                && before != Kind::Scalar(*range)
            {
                *kind = Kind::Scalar(Range::ANY);
            }
        }
        wide.paths = self.paths;
        wide
    }
}

impl Kind {
    fn join(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Scalar(a), Kind::Scalar(b)) => Kind::Scalar(a.join(b)),
            (Kind::Packet(a), Kind::Packet(b)) if (a.id, a.offset) == (b.id, b.offset) => {
                Kind::Packet(Pointer { range: a.range.min(b.range), ..a })
            }
            (a, b) if a == b => a,
            _ => Kind::Nothing,
        }
    }
}
