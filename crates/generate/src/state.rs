//! What is known about registers and stack at a place in the program.
//!
//! Everything claimed here the kernel's verifier works out too, so it is deliberately coarse: a
//! program that relies on it is accepted. Ranges are of unsigned 64-bit values.
//!
//! Source: the rules of the kernel's `kernel/bpf/verifier.c`, of old and new versions.

mod range;
#[cfg(test)]
mod tests;

pub(crate) use range::{Range, result};

use std::collections::BTreeMap;

use slowpath_bpf::insn::Register;

/// What a register or a stack slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing that may be read.
    Nothing,
    /// A number.
    Scalar(Range),
    /// The context.
    Context,
    /// An address in the packet.
    Packet(Pointer),
    /// The end of the packet.
    End,
    /// An element of the map.
    Value,
}

/// An address in the packet, relative to an unknown place: its start, or a variable offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Which place; 0 for the packet's start.
    pub id: u32,
    /// Distance from that place in bytes.
    pub offset: u16,
    /// How many bytes from that place are known to be there.
    pub range: u16,
}

/// All that is known at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerifierState {
    regs: [Kind; 10],
    /// Bytes of the stack with numbers in them, from the frame pointer downwards.
    written: Vec<bool>,
    /// Pointers on the stack, by their place below the frame pointer in bytes.
    spilled: BTreeMap<u16, Kind>,
    /// Paths that lead here; 0 where the program has ended.
    pub paths: u64,
}

impl VerifierState {
    /// Nothing is known, and the stack has so many bytes.
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

    /// The registers of a kind, in order.
    pub fn registers(&self, of: impl Fn(Kind) -> bool) -> Vec<Register> {
        let all = self.regs.iter().enumerate().filter(|(_, kind)| of(**kind));
        all.filter_map(|(number, _)| Register::new(number as u8)).collect()
    }

    /// The range of a scalar.
    pub fn range(&self, register: Register) -> Option<Range> {
        match self.get(register) {
            Kind::Scalar(range) => Some(range),
            _ => None,
        }
    }

    /// All that points into the packet no longer does.
    pub fn packet_moved(&mut self) {
        let gone = |kind: Kind| matches!(kind, Kind::Packet(_) | Kind::End);
        for kind in &mut self.regs {
            if gone(*kind) {
                *kind = Kind::Nothing;
            }
        }
        self.spilled.retain(|_, kind| !gone(*kind));
    }

    /// So many bytes from a place are there.
    pub fn checked(&mut self, id: u32, bytes: u16) {
        for kind in self.regs.iter_mut().chain(self.spilled.values_mut()) {
            if let Kind::Packet(pointer) = kind
                && pointer.id == id
            {
                pointer.range = pointer.range.max(bytes);
            }
        }
    }

    /// Whether all bytes below the frame pointer from `depth` on hold numbers.
    pub fn readable(&self, depth: u16, bytes: u16) -> bool {
        let (from, to) = (depth.saturating_sub(bytes), depth);
        let known = self.written.get(usize::from(from)..usize::from(to));
        bytes <= depth && known.is_some_and(|bytes| bytes.iter().all(|byte| *byte))
    }

    /// Numbers go to the stack.
    pub fn write(&mut self, depth: u16, bytes: u16) {
        self.spilled.remove(&depth.next_multiple_of(8));
        let places = usize::from(depth.saturating_sub(bytes))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(true);
        }
    }

    /// A pointer goes to a slot of the stack.
    pub fn spill(&mut self, depth: u16, kind: Kind) {
        let places = usize::from(depth.saturating_sub(8))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(false);
            self.spilled.insert(depth, kind);
        }
    }

    /// The pointers on the stack.
    pub fn spilled(&self) -> Vec<(u16, Kind)> {
        self.spilled.iter().map(|(depth, kind)| (*depth, *kind)).collect()
    }

    /// What is known where two ways meet.
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

    /// What is known at the head of a loop that comes back with `back`: numbers that change are
    /// any numbers.
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
