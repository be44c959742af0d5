//! Describes the values that registers can have before each instruction, for code generators. These
//! values include the kinds of pointers, which device drivers otherwise learn from the kernel's
//! verifier.
//!
//! If several calls lead to an instruction, each call has separate values; [`Registers::before`]
//! returns a value that includes them all. Ranges of numbers are not tracked.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::frame::{FrameId, Frames};
use crate::lift::state::value::AbstractValue;

/// Knowledge about `r0` to `r10` before instructions. The key contains the stack frame, the number
/// of a stretch, and the instruction slot. A stretch is a part of a path that contains no jump
/// target, so its values belong to the same run.
pub(super) type Before = BTreeMap<(FrameId, u32, usize), [AbstractValue; 11]>;

/// Knowledge about the registers before one instruction, in one stretch: a part of a path that
/// contains no jump target.
#[derive(Clone, Debug)]
struct Instance {
    frame: FrameId,
    stretch: u32,
    /// Call depth of the frame; 0 for the program's entry function.
    depth: u8,
    known: [AbstractValue; 11],
}

/// Offset of a pointer, in bytes, from the start of an element or from the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// The same constant offset on all paths.
    Constant(i64),
    /// Different constant offsets on different paths; the field contains one of them.
    OneOf(i64),
    /// Any offset.
    Unknown,
}

impl Offset {
    fn of(offset: Option<i64>) -> Self {
        offset.map_or(Offset::Unknown, Offset::Constant)
    }

    fn join(self, other: Self) -> Self {
        use Offset::{Constant, OneOf, Unknown};
        match (self, other) {
            (Unknown, _) | (_, Unknown) => Unknown,
            (Constant(a), Constant(b)) if a == b => Constant(a),
            (_, Constant(b) | OneOf(b)) => OneOf(b),
        }
    }
}

/// Knowledge about the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterValue {
    /// Any other value: an unknown number, an unsupported pointer, or different kinds of values on
    /// different paths.
    Other,
    /// The same known number on all paths.
    Constant(u64),
    /// An address in the context (`struct xdp_md`).
    Context {
        /// Offset from the start of the context in bytes.
        offset: i64,
    },
    /// An address in the packet.
    Packet,
    /// The address of the packet's end.
    PacketEnd,
    /// A map, by index in [`crate::Object::maps`].
    Map(u32),
    /// An address in an element of a map, or null.
    MapValue {
        /// Index of the map in [`crate::Object::maps`].
        map: u32,
        /// Offset from the start of the element.
        offset: Offset,
    },
    /// An address in the object's global variables.
    Data {
        /// Index of the map that contains the variables, in [`crate::Object::maps`].
        map: u32,
    },
    /// An address in a stack frame.
    Stack {
        /// True if the frame belongs to a caller of the current function, false if it is the frame
        /// of the current function.
        caller: bool,
        /// Offset from the frame pointer.
        offset: Offset,
    },
}

impl RegisterValue {
    fn of(known: AbstractValue, depth: u8) -> Self {
        match known {
            AbstractValue::Const(value) => RegisterValue::Constant(value),
            AbstractValue::Context { offset } => RegisterValue::Context { offset },
            AbstractValue::Packet { .. } => RegisterValue::Packet,
            AbstractValue::PacketEnd => RegisterValue::PacketEnd,
            AbstractValue::Map(map) => RegisterValue::Map(map),
            AbstractValue::MapValue { map, offset, .. } => {
                RegisterValue::MapValue { map, offset: Offset::of(offset) }
            }
            AbstractValue::Data { map, .. } => RegisterValue::Data { map },
            AbstractValue::Frame { depth: of, offset } => {
                RegisterValue::Stack { caller: of != depth, offset: Offset::of(offset) }
            }
            AbstractValue::Unknown
            | AbstractValue::NotStack
            | AbstractValue::MaybeMapValue
            | AbstractValue::OneOfMaps(_)
            | AbstractValue::InnerMap(_)
            | AbstractValue::Function(_)
            | AbstractValue::OneOfFunctions(_) => RegisterValue::Other,
        }
    }

    fn join(self, other: Self) -> Self {
        use RegisterValue::{MapValue, Stack};
        match (self, other) {
            _ if self == other => self,
            (MapValue { map, offset }, MapValue { map: same, offset: other }) if map == same => {
                MapValue { map, offset: offset.join(other) }
            }
            (Stack { caller, offset }, Stack { caller: other_caller, offset: other }) => {
                Stack { caller: caller || other_caller, offset: offset.join(other) }
            }
            _ => RegisterValue::Other,
        }
    }
}

/// Knowledge about the registers of a program before each instruction that can be reached.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    slots: BTreeMap<usize, Vec<Instance>>,
    /// For each stack frame, the first instruction slot of its function, and the frame of its
    /// caller (`None` for the entry function).
    frames: Vec<(usize, Option<FrameId>)>,
}

impl Registers {
    pub(super) fn new(before: &Before, frames: &Frames) -> Self {
        let mut slots: BTreeMap<usize, Vec<Instance>> = BTreeMap::new();
        for (&(frame, stretch, slot), &known) in before {
            let depth = frames.get(frame).depth;
            slots.entry(slot).or_default().push(Instance { frame, stretch, depth, known });
        }
        let frames = frames.all().map(|f| (f.function, f.ret.map(|ret| ret.frame))).collect();
        Registers { slots, frames }
    }

    /// Returns true if some path of the program reaches the instruction at a slot.
    pub fn is_reached(&self, slot: usize) -> bool {
        self.slots.contains_key(&slot)
    }

    /// Returns the knowledge about the value of a register (0 to 10) before the instruction at a
    /// slot.
    pub fn before(&self, slot: usize, register: u8) -> RegisterValue {
        let Some(instances) = self.slots.get(&slot) else { return RegisterValue::Other };
        let values = instances.iter().map(|instance| {
            let known = instance.known.get(usize::from(register)).copied();
            RegisterValue::of(known.unwrap_or(AbstractValue::Unknown), instance.depth)
        });
        values.reduce(RegisterValue::join).unwrap_or(RegisterValue::Other)
    }

    /// Returns all offsets in a map element, in bytes, to which a register may point before the
    /// instruction at a slot. Returns `None` if some offset is unknown.
    pub fn element_offsets(&self, slot: usize, register: u8) -> Option<BTreeSet<i64>> {
        let instances = self.slots.get(&slot)?.iter();
        let offset = |instance: &Instance| match instance.known.get(usize::from(register)) {
            Some(&AbstractValue::MapValue { offset, .. }) => offset,
            _ => None,
        };
        instances.map(offset).collect()
    }

    /// Returns the distance in bytes from the first to the second of two pointers into the packet.
    /// Each pair gives a pointer: an instruction slot, and the register that holds the pointer
    /// before this instruction. Returns `None` unless the distance is the same constant on all
    /// paths through both slots.
    pub fn packet_distance(&self, first: (usize, u8), second: (usize, u8)) -> Option<i64> {
        let (a, b) = (self.slots.get(&first.0)?, self.slots.get(&second.0)?);
        let packet =
            |known: &[AbstractValue; 11], register: u8| match known.get(usize::from(register)) {
                Some(&AbstractValue::Packet { origin, offset }) => Some((origin, offset)),
                _ => None,
            };
        let distances = a.iter().filter_map(|first_at| {
            // Values of one stretch belong to the same run.
            let together = |other: &&Instance| {
                (other.frame, other.stretch) == (first_at.frame, first_at.stretch)
            };
            let second_at = b.iter().find(together)?;
            let distance = || {
                let (origin, from) = packet(&first_at.known, first.1)?;
                let (same, to) = packet(&second_at.known, second.1)?;
                (origin == same).then(|| to.checked_sub(from)).flatten()
            };
            Some(distance())
        });
        let mut distances = distances.collect::<Option<Vec<i64>>>()?;
        distances.dedup();
        match distances[..] {
            [distance] => Some(distance),
            _ => None,
        }
    }

    /// Returns the stack frames into which a register may point before the instruction at a slot.
    /// Each pair contains the first slot of the frame's function, and the pointer's offset from the
    /// frame pointer in bytes (`None` if unknown).
    pub fn stack_frames(&self, slot: usize, register: u8) -> Vec<(usize, Option<i64>)> {
        let instances = self.slots.get(&slot).map_or(&[][..], Vec::as_slice);
        let place = |instance: &Instance| {
            let known = instance.known.get(usize::from(register));
            let Some(&AbstractValue::Frame { depth: of, offset }) = known else { return None };
            let mut frame = instance.frame;
            // Follow the callers from the instruction's frame to the frame that contains the
            // target.
            for _ in of..instance.depth {
                frame = self.frames.get(frame)?.1?;
            }
            Some((self.frames.get(frame)?.0, offset))
        };
        instances.iter().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests;
