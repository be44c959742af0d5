//! Defines the abstract state at a point of the program: the abstract values of registers, spilled
//! registers and arguments of active calls. The state also contains the maps whose elements may
//! have been replaced, and the written bytes of stack frames.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::frame::{FrameId, ProgramPoint};
use crate::lift::state::accessed::Accessed;
use crate::lift::state::frame_bytes::FrameBytes;
use crate::lift::state::origin::{Origin, ValueLocation};
use crate::lift::state::value::{AbstractValue, MapId};

/// A point at which paths merge, given by stack frame and instruction slot.
type MergePoint = (FrameId, usize);

/// Joins the table `other` into `table`: keeps only the keys that are in both tables. Each value
/// becomes the join of both values.
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

/// Knowledge about registers and memory at a program point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lift) struct AbstractState {
    /// Abstract values of `r0` to `r10` in the current stack frame.
    pub regs: [AbstractValue; 11],
    /// Abstract values of `r6` to `r9` in the callers' stack frames, outermost first.
    pub saved: Vec<[AbstractValue; 4]>,
    /// Abstract values of spilled registers, by call depth and offset from the frame pointer.
    spilled: BTreeMap<(u8, i64), AbstractValue>,
    /// Abstract values that `r1` to `r5` had at the start of a call, by the call's program point
    /// and the register number. Stored only for calls that become several basic blocks, such as
    /// loops of helpers.
    pub arguments: BTreeMap<(ProgramPoint, usize), AbstractValue>,
    /// Maps whose elements may have been replaced, deleted or evicted, so that earlier pointers to
    /// their values may be old.
    pub replaced: BTreeSet<MapId>,
    /// Accesses of the run to memory that other CPUs can change.
    pub accessed: Accessed,
    /// Bytes of stack frames that the functions have written, outermost frame first.
    written: Vec<FrameBytes>,
}

impl AbstractState {
    /// Returns the state at the start of a program, with the context in `r1`.
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

    /// Returns the set of bytes that the function at this call depth has written to its stack
    /// frame.
    pub fn written(&self, depth: u8) -> FrameBytes {
        self.written.get(usize::from(depth)).copied().unwrap_or_default()
    }

    /// Returns the state after a tail call. The called program starts in the frame at call depth
    /// `depth`. The state of all outer frames moves from `self` to the result.
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

    /// Marks all bytes of the innermost frame, which has the call depth `depth`, as not written.
    fn begin_frame(&mut self, depth: u8) {
        self.written.resize(depth.into(), FrameBytes::default());
        self.written.push(FrameBytes::default());
    }

    /// Joins the state of another path into this state. `here` is the point at which the paths
    /// merge. Returns true if this state changed.
    pub fn join(&mut self, other: &AbstractState, here: MergePoint) -> bool {
        let before = self.clone();
        let joined = |holder| Origin::Joined(here, holder);
        for (number, (known, other)) in self.regs.iter_mut().zip(other.regs).enumerate() {
            *known = known.join(other, joined(ValueLocation::Register(number)));
        }
        // Both states have the same frame, and therefore the same callers.
        for (depth, (saved, others)) in self.saved.iter_mut().zip(&other.saved).enumerate() {
            for (number, (known, other)) in saved.iter_mut().zip(others).enumerate() {
                *known = known.join(*other, joined(ValueLocation::Saved(depth, number)));
            }
        }
        join_tables(&mut self.spilled, &other.spilled, |(depth, offset)| {
            joined(ValueLocation::Spilled(depth, offset))
        });
        join_tables(&mut self.arguments, &other.arguments, |(call, number)| {
            joined(ValueLocation::Argument(call.slot, number))
        });
        // Elements may have been replaced if they were replaced on one path. A byte counts as
        // written only if all paths write it.
        self.replaced.extend(&other.replaced);
        self.accessed.join(&other.accessed);
        for (written, others) in self.written.iter_mut().zip(&other.written) {
            *written = written.and(*others);
        }
        *self != before
    }

    /// Returns true if two states can differ only in the registers of the current frame: saved
    /// registers of callers, spilled registers and call arguments are equal.
    pub fn agrees_beyond_registers(&self, other: &AbstractState) -> bool {
        (&self.saved, &self.spilled, &self.arguments)
            == (&other.saved, &other.spilled, &other.arguments)
    }

    /// Forgets all pointers into the packet, because its start or end moves
    /// (`clear_all_pkt_pointers` of the kernel's verifier).
    pub fn forget_packet(&mut self) {
        for known in self.all_mut() {
            if let AbstractValue::Packet { .. } | AbstractValue::PacketEnd = known {
                *known = AbstractValue::NotStack;
            }
        }
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut AbstractValue> {
        let saved = self.saved.iter_mut().flatten();
        let tables = self.spilled.values_mut().chain(self.arguments.values_mut());
        self.regs.iter_mut().chain(saved).chain(tables)
    }

    /// Records that elements of a map may have been replaced, deleted or evicted, so that earlier
    /// pointers to its values are old.
    pub fn replace_elements(&mut self, replaced_map: MapId) {
        self.replaced.insert(replaced_map);
        for known in self.all_mut() {
            if let AbstractValue::MapValue { map, old, .. } = known
                && MapId::of_object(*map) == replaced_map
            {
                *old = true;
            }
        }
    }

    /// Stores the abstract values of `r1` to `r5` at the start of a call. Needed for calls that
    /// become several basic blocks, such as loops of helpers.
    pub fn keep_arguments(&mut self, call: ProgramPoint) {
        for number in 1..6 {
            self.arguments.insert((call, number), self.regs[number]);
        }
    }

    /// Returns the abstract value that an argument had at the start of a call.
    pub fn argument(&self, call: ProgramPoint, number: usize) -> AbstractValue {
        self.arguments.get(&(call, number)).copied().unwrap_or(AbstractValue::Unknown)
    }

    /// Models the entry of a called function at the call depth `depth`. The registers `r6` to `r9`
    /// are uninitialised in its frame.
    pub fn call(&mut self, depth: u8) {
        self.saved.push([self.regs[6], self.regs[7], self.regs[8], self.regs[9]]);
        self.regs[6..10].fill(AbstractValue::Unknown);
        self.regs[0] = AbstractValue::Unknown;
        self.regs[10] = AbstractValue::Frame { depth, offset: Some(0) };
        self.spilled.retain(|&(of, _), _| of < depth);
        self.begin_frame(depth);
    }

    /// Models the return from a function to its caller, which has the call depth `depth`. Forgets
    /// `r1` to `r5`.
    pub fn ret(&mut self, depth: u8) {
        if let Some(saved) = self.saved.pop() {
            self.regs[6..10].copy_from_slice(&saved);
        }
        self.regs[1..6].fill(AbstractValue::NotStack);
        self.regs[10] = AbstractValue::Frame { depth, offset: Some(0) };
        self.spilled.retain(|&(of, _), _| of <= depth);
        self.written.truncate(usize::from(depth) + 1);
    }

    /// Models a store of the low `bytes` bytes of `value` at `address`.
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
        let is_disjoint = |at: i64| at + 8 <= offset || at >= offset.saturating_add(bytes);
        self.spilled.retain(|&(of, at), _| of != depth || is_disjoint(at));
    }

    /// Models a write of unknown values to an unknown number of bytes, which starts at `address`.
    pub fn clobber(&mut self, address: AbstractValue) {
        match address {
            AbstractValue::Frame { depth, .. } => self.spilled.retain(|&(of, _), _| of != depth),
            AbstractValue::Unknown => self.spilled.clear(),
            _ => {}
        }
    }

    /// Returns the abstract value of the result of a load of `bytes` bytes from `address`.
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
