//! Tracks what is known about registers and the stack at a point in a generated program.
//!
//! This knowledge is deliberately coarse: the kernel's verifier can derive all of it, and therefore
//! accepts a program that relies on it. Ranges are of unsigned 64-bit values.
//!
//! Source: the rules of old and new versions of the kernel's `kernel/bpf/verifier.c`.

mod range;
#[cfg(test)]
mod tests;

pub(crate) use range::{Range, result};

use std::collections::BTreeMap;

use slowpath_bpf::insn::Register;

/// Kind of content of a register or stack slot, such as a number, as the kernel's verifier knows
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An undefined or unreadable value.
    Nothing,
    /// A number within a known range.
    Scalar(Range),
    /// The pointer to the XDP context, `struct xdp_md`.
    Context,
    /// An address in the packet.
    Packet(Pointer),
    /// The address of the packet's end.
    End,
    /// The address of a map element.
    Value,
}

/// An address in the packet, given by its distance from a base. The base is the packet's start or a
/// pointer at an unknown offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Number that identifies the base; 0 for the packet's start.
    pub id: u32,
    /// Distance from the base in bytes.
    pub offset: u16,
    /// Number of bytes after the base that are certainly in the packet, by an earlier bounds check.
    pub range: u16,
}

/// Knowledge about registers and the stack at a point in a generated program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerifierState {
    regs: [Kind; 10],
    /// For each byte of the stack, from the frame pointer downwards: true if the byte is part of a
    /// stored number.
    written: Vec<bool>,
    /// Pointers on the stack, by distance below the frame pointer in bytes.
    spilled: BTreeMap<u16, Kind>,
    /// Number of paths that lead to this point; 0 if all paths have ended before it.
    pub paths: u64,
}

impl VerifierState {
    /// Returns a state in which all registers and the `stack` bytes of the stack are undefined.
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

    /// Returns the registers for whose content `of` returns true, in ascending order of their
    /// numbers.
    pub fn registers(&self, of: impl Fn(Kind) -> bool) -> Vec<Register> {
        let all = self.regs.iter().enumerate().filter(|(_, kind)| of(**kind));
        all.filter_map(|(number, _)| Register::new(number as u8)).collect()
    }

    /// Returns the range of the scalar in a register; `None` if the register does not hold a
    /// scalar.
    pub fn range(&self, register: Register) -> Option<Range> {
        match self.get(register) {
            Kind::Scalar(range) => Some(range),
            _ => None,
        }
    }

    /// Makes all pointers into the packet undefined, as the verifier does after a helper call that
    /// moves the packet's start or end.
    pub fn packet_moved(&mut self) {
        let is_invalid = |kind: Kind| matches!(kind, Kind::Packet(_) | Kind::End);
        for kind in &mut self.regs {
            if is_invalid(*kind) {
                *kind = Kind::Nothing;
            }
        }
        self.spilled.retain(|_, kind| !is_invalid(*kind));
    }

    /// Records a successful bounds check: the packet has at least `bytes` bytes after the base with
    /// number `id`.
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

    /// Records a store of a number of `bytes` bytes, starting `depth` bytes below the frame
    /// pointer.
    pub fn write(&mut self, depth: u16, bytes: u16) {
        self.spilled.remove(&depth.next_multiple_of(8));
        let places = usize::from(depth.saturating_sub(bytes))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(true);
        }
    }

    /// Records a store of an 8-byte pointer, `depth` bytes below the frame pointer.
    pub fn spill(&mut self, depth: u16, kind: Kind) {
        let places = usize::from(depth.saturating_sub(8))..usize::from(depth);
        if let Some(written) = self.written.get_mut(places) {
            written.fill(false);
            self.spilled.insert(depth, kind);
        }
    }

    /// Returns the pointers on the stack, with their distances below the frame pointer in bytes.
    pub fn spilled(&self) -> Vec<(u16, Kind)> {
        self.spilled.iter().map(|(depth, kind)| (*depth, *kind)).collect()
    }

    /// Returns the state at a point where two paths meet. It contains only the knowledge that both
    /// paths share.
    pub fn join(&self, other: &VerifierState) -> VerifierState {
        if self.paths == 0 {
            return other.clone();
        }
        if other.paths == 0 {
            return self.clone();
        }
        let mut joined = self.clone();
        for (known, others) in joined.regs.iter_mut().zip(other.regs) {
            *known = known.join(others);
        }
        for (known, others) in joined.written.iter_mut().zip(&other.written) {
            *known &= others;
        }
        joined.spilled.retain(|depth, kind| {
            *kind = kind.join(other.spilled.get(depth).copied().unwrap_or(Kind::Nothing));
            *kind != Kind::Nothing
        });
        joined.paths = self.paths.saturating_add(other.paths);
        joined
    }

    /// Returns the state at the head of a loop, given the state `back` at the end of its body.
    /// Numbers that change in the loop can have any value.
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
