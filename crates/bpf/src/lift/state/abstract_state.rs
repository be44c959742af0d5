//! What is known at a point of the program: abstract values of registers, of spilled registers and of
//! arguments of calls under way, the maps whose elements may have been replaced, and the bytes of
//! stack frames that have been written.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::frame::{FrameId, ProgramPoint};
use crate::lift::state::accessed::Accessed;
use crate::lift::state::frame_bytes::FrameBytes;
use crate::lift::state::origin::{Holder, Origin};
use crate::lift::state::value::{AbstractValue, MapId};

/// A point where paths meet: a frame and a slot.
type Meeting = (FrameId, usize);

/// What holds for both of two tables.
fn join_tables<K: Ord + Copy>(
    table: &mut BTreeMap<K, AbstractValue>,
    other: &BTreeMap<K, AbstractValue>,
    origin: impl Fn(K) -> Origin,
) {
    table.retain(|&key, known| match other.get(&key) {
        Some(other) => {
            *known = known.join(*other, origin(key));
            true
        }
        None => false,
    });
}

/// What is known at a point of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lift) struct AbstractState {
    /// `r0` to `r10` of the current frame.
    pub regs: [AbstractValue; 11],
    /// `r6` to `r9` of the frames around it, outermost first.
    pub saved: Vec<[AbstractValue; 4]>,
    /// Spilled registers, by frame and offset from the frame pointer.
    spilled: BTreeMap<(u8, i64), AbstractValue>,
    /// Arguments of calls that take several blocks, by the call and the register's number.
    pub arguments: BTreeMap<(ProgramPoint, usize), AbstractValue>,
    /// Maps of which elements may have been replaced, deleted or evicted: pointers to their values
    /// from before may be old.
    pub replaced: BTreeSet<MapId>,
    /// Memory shared with other CPUs that has been accessed.
    pub accessed: Accessed,
    /// Bytes of stack frames that have been written since their functions began, outermost first.
    written: Vec<FrameBytes>,
}

impl AbstractState {
    /// At the start of a program: the context in `r1`.
    pub fn start() -> Self {
        let mut regs = [AbstractValue::Unknown; 11];
        regs[1] = AbstractValue::Context { offset: 0 };
        regs[10] = AbstractValue::Frame { depth: 0, offset: Some(0) };
        AbstractState {
            regs,
            saved: Vec::new(),
            spilled: BTreeMap::new(),
            arguments: BTreeMap::new(),
            replaced: BTreeSet::new(),
            accessed: Accessed::default(),
            written: vec![FrameBytes::default()],
        }
    }

    /// The bytes of the frame of this depth that its function has written.
    pub fn written(&self, depth: u8) -> FrameBytes {
        self.written.get(usize::from(depth)).copied().unwrap_or_default()
    }

    /// The function of the innermost frame is replaced by a program: everything is to be known of
    /// the others as before.
    pub fn restarted(&mut self, depth: u8) -> AbstractState {
        let mut state = AbstractState::start();
        state.regs[10] = AbstractValue::Frame { depth, offset: Some(0) };
        state.saved = std::mem::take(&mut self.saved);
        state.replaced = std::mem::take(&mut self.replaced);
        state.accessed = std::mem::take(&mut self.accessed);
        state.written = std::mem::take(&mut self.written);
        state.begin_frame(depth);
        state
    }

    /// Nothing has been written to the frame of this depth, which is the innermost.
    fn begin_frame(&mut self, depth: u8) {
        self.written.resize(depth.into(), FrameBytes::default());
        self.written.push(FrameBytes::default());
    }

    /// Adds what holds on another path to the same point, `here`; says whether that changed anything.
    pub fn join(&mut self, other: &AbstractState, here: Meeting) -> bool {
        let before = self.clone();
        let joined = |holder| Origin::Joined(here, holder);
        for (number, (known, other)) in self.regs.iter_mut().zip(other.regs).enumerate() {
            *known = known.join(other, joined(Holder::Register(number)));
        }
        // Both are in the same frame: as many frames are around them.
        for (depth, (saved, others)) in self.saved.iter_mut().zip(&other.saved).enumerate() {
            for (number, (known, other)) in saved.iter_mut().zip(others).enumerate() {
                *known = known.join(*other, joined(Holder::Saved(depth, number)));
            }
        }
        join_tables(&mut self.spilled, &other.spilled, |(depth, offset)| {
            joined(Holder::Spilled(depth, offset))
        });
        join_tables(&mut self.arguments, &other.arguments, |(call, number)| {
            joined(Holder::Argument(call.slot, number))
        });
        // Replaced on one path is replaced perhaps; written has to be on all.
        self.replaced.extend(&other.replaced);
        self.accessed.join(&other.accessed);
        for (written, others) in self.written.iter_mut().zip(&other.written) {
            *written = written.and(*others);
        }
        *self != before
    }

    /// Whether the same is known of everything but the current frame's registers.
    pub fn agrees_beyond_registers(&self, other: &AbstractState) -> bool {
        (&self.saved, &self.spilled, &self.arguments)
            == (&other.saved, &other.spilled, &other.arguments)
    }

    /// Forgets all pointers into the packet: its ends have moved (`clear_all_pkt_pointers` of the
    /// kernel's verifier).
    pub fn forget_packet(&mut self) {
        for known in self.all_mut() {
            if let AbstractValue::Packet { .. } | AbstractValue::PacketEnd = known {
                *known = AbstractValue::NotStack;
            }
        }
    }

    /// Everything that is known of a value, wherever that is.
    fn all_mut(&mut self) -> impl Iterator<Item = &mut AbstractValue> {
        let saved = self.saved.iter_mut().flatten();
        let tables = self.spilled.values_mut().chain(self.arguments.values_mut());
        self.regs.iter_mut().chain(saved).chain(tables)
    }

    /// Notes that elements of a map may have been replaced, deleted or evicted.
    pub fn replace_elements(&mut self, of: MapId) {
        self.replaced.insert(of);
        for known in self.all_mut() {
            if let AbstractValue::MapValue { map, old, .. } = known
                && MapId::of_object(*map) == of
            {
                *old = true;
            }
        }
    }

    /// Keeps what is known about `r1` to `r5` for the later blocks of a call.
    pub fn keep_arguments(&mut self, call: ProgramPoint) {
        for number in 1..6 {
            self.arguments.insert((call, number), self.regs[number]);
        }
    }

    /// What was known about an argument when the call began.
    pub fn argument(&self, call: ProgramPoint, number: usize) -> AbstractValue {
        self.arguments.get(&(call, number)).copied().unwrap_or(AbstractValue::Unknown)
    }

    /// Enters a function: its frame has nothing in `r6` to `r9`.
    pub fn call(&mut self, depth: u8) {
        self.saved.push([self.regs[6], self.regs[7], self.regs[8], self.regs[9]]);
        self.regs[6..10].fill(AbstractValue::Unknown);
        self.regs[0] = AbstractValue::Unknown;
        self.regs[10] = AbstractValue::Frame { depth, offset: Some(0) };
        self.spilled.retain(|&(of, _), _| of < depth);
        self.begin_frame(depth);
    }

    /// Returns from a function to a frame of this depth; `r1` to `r5` are lost.
    pub fn ret(&mut self, depth: u8) {
        if let Some(saved) = self.saved.pop() {
            self.regs[6..10].copy_from_slice(&saved);
        }
        self.regs[1..6].fill(AbstractValue::NotStack);
        self.regs[10] = AbstractValue::Frame { depth, offset: Some(0) };
        self.spilled.retain(|&(of, _), _| of <= depth);
        self.written.truncate(usize::from(depth) + 1);
    }

    /// What a store of `bytes` bytes at `address` leaves known.
    pub fn store(&mut self, address: AbstractValue, bytes: u8, value: AbstractValue) {
        match address {
            AbstractValue::Frame { depth, offset: Some(offset) } => {
                self.forget(depth, offset, i64::from(bytes));
                if let Some(written) = self.written.get_mut(usize::from(depth)) {
                    *written = written.or(FrameBytes::at(offset, bytes.into()));
                }
                if bytes == 8 {
                    self.spilled.insert((depth, offset), value);
                }
            }
            _ => self.clobber(address),
        }
    }

    fn forget(&mut self, depth: u8, offset: i64, bytes: i64) {
        let apart = |at: i64| at + 8 <= offset || at >= offset.saturating_add(bytes);
        self.spilled.retain(|&(of, at), _| of != depth || apart(at));
    }

    /// What is known after something behind `address` was written.
    pub fn clobber(&mut self, address: AbstractValue) {
        match address {
            AbstractValue::Frame { depth, .. } => self.spilled.retain(|&(of, _), _| of != depth),
            AbstractValue::Unknown => self.spilled.clear(),
            _ => {}
        }
    }

    /// What a load of `bytes` bytes at `address` yields.
    pub fn load(&self, address: AbstractValue, bytes: u8) -> AbstractValue {
        match address {
            AbstractValue::Frame { depth, offset: Some(offset) } if bytes == 8 => {
                self.spilled.get(&(depth, offset)).copied().unwrap_or(AbstractValue::Unknown)
            }
            AbstractValue::Frame { .. } | AbstractValue::Unknown if bytes == 8 => {
                AbstractValue::Unknown
            }
            _ => AbstractValue::NotStack,
        }
    }
}
