//! The abstract values of registers and stack slots, for code that the kernel's verifier has not
//! checked.
//!
//! Where paths meet, a pointer into the packet gets a new origin. Pointers with different origins
//! are not compared, as in the code generator.

use std::rc::Rc;

use slowpath_bpf::lift::{Offset, RegisterValue};

/// Kind of an abstract value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A value that may be a number or a pointer of any kind, as it differs between paths.
    Unknown,
    /// A pointer to the context, the program's argument with the pointers `data` and `data_end`.
    Context,
    Packet,
    PacketEnd,
    Map,
    /// A pointer to state that the SmartNIC can access, such as an element of a map.
    Element,
    /// A pointer to a global variable, or to other state that the SmartNIC cannot access.
    Global,
    /// A pointer to a constant variable of the object, such as a table.
    Table,
    Stack,
    /// The result of a helper that returns pointers to kernel state, or another value that is not a
    /// pointer to memory of the SmartNIC.
    Returned,
    /// A value loaded from state, such as a map element. If the value is a pointer, it points to
    /// state outside the packet.
    Inner,
    /// The value of a context field that the SmartNIC does not provide. It may be a pointer into
    /// the packet.
    Field,
}

impl Kind {
    /// Returns the word that stands for this kind of value in a token.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Unknown => "unknown",
            Kind::Context => "context",
            Kind::Packet => "packet",
            Kind::PacketEnd => "end",
            Kind::Map => "map",
            Kind::Element => "element",
            Kind::Global => "global",
            Kind::Table => "table",
            Kind::Stack => "stack",
            Kind::Returned => "returned",
            Kind::Inner => "inner",
            Kind::Field => "field",
        }
    }

    /// Returns true if the value may be a number.
    pub fn is_numeric(self) -> bool {
        matches!(self, Kind::Number | Kind::Unknown | Kind::Returned | Kind::Inner | Kind::Field)
    }

    fn is_state(self) -> bool {
        matches!(self, Kind::Element | Kind::Global | Kind::Table)
    }
}

/// Origin of a pointer: the address from which its offset is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    None,
    /// The packet's first byte.
    Data,
    /// The context of an XDP program, with the offsets of its fields `data` and `data_end`.
    Context {
        data: i64,
        end: i64,
    },
    /// An object that describes a packet, such as `struct rte_mbuf`.
    Descriptor,
    /// The function's own stack frame.
    Frame,
    /// An unknown position in a caller's stack frame.
    Caller,
    /// A position in a caller's stack frame: the address that the argument `register` contains at
    /// the function's start. `start` is the lowest offset of this address from the caller's frame
    /// pointer over all calls; `None` if unknown.
    Passed {
        register: u8,
        start: Option<i64>,
    },
    /// A variable, map or function of the object, by its symbol name.
    Symbol(Rc<str>),
    /// The pointer that the call at this instruction index returns.
    Call(usize),
    /// The pointer that the addition at this instruction index computes.
    Moved(usize),
    /// The pointer in this register or stack slot where control-flow paths meet, at this
    /// instruction index.
    Joined(usize, Cell),
    /// A pointer that the function received in this argument register, or at this stack position
    /// ([`Value::place`]) in a caller's frame.
    Argument(i64),
    /// A pointer that a called function wrote to a caller's stack frame, at this stack position
    /// ([`Value::place`]).
    Written(i64),
    /// A pointer loaded from an object that describes a packet, from the field at this offset in
    /// bytes.
    Field(i64),
    /// One of several origins, because calls or returns pass different pointers.
    Several,
}

/// A register or a stack slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Register(u8),
    Stack(i64),
}

/// Size in bytes of a word of the SmartNIC's stack memory.
pub(super) const WORD_BYTES: i64 = 4;
/// Difference between the stack positions ([`Value::place`]) that two consecutive argument
/// registers point to. It is larger than any stack frame.
const REGISTER_SPACING: i64 = 1 << 16;

/// Abstract value of a register or of 8 bytes of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub kind: Kind,
    pub origin: Origin,
    /// Distance in bytes from `origin` for a pointer, the value for a number. `None` if unknown.
    pub offset: Option<i64>,
    /// Largest value of a number.
    pub high: u64,
    /// True if a pointer's offset varies between executions in such a way that the SmartNIC cannot
    /// access the map element or stack variable.
    pub varies: bool,
    /// True if the pointer can point to several stack positions, all with the same alignment.
    /// `offset` then belongs to the lowest position.
    pub several: bool,
    /// Name of the map that contains the element to which the value points; `None` if unknown.
    pub map: Option<Rc<str>>,
}

/// A number without known bounds.
pub(super) const NUMBER: Value = Value {
    kind: Kind::Number,
    origin: Origin::None,
    offset: None,
    high: u64::MAX,
    varies: false,
    several: false,
    map: None,
};

impl Value {
    pub fn of(kind: Kind) -> Self {
        Value { kind, ..NUMBER }
    }

    /// Returns an unknown number between 0 and `high`.
    pub fn up_to(high: u64) -> Self {
        Value { high, ..NUMBER }
    }

    pub fn constant(value: u64) -> Self {
        Value { offset: Some(value as i64), high: value, ..NUMBER }
    }

    pub fn pointer(kind: Kind, origin: Origin, offset: Option<i64>) -> Self {
        Value { kind, origin, offset, ..NUMBER }
    }

    /// Returns true if the value is the number zero.
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Number && self.offset == Some(0)
    }

    /// Returns the kind of memory that an access through this value reaches on the SmartNIC.
    /// Returns [`Kind::Returned`] if it reaches none.
    pub fn card_pointee(&self) -> Kind {
        match self.kind {
            Kind::Element if self.varies => Kind::Global,
            Kind::Inner => Kind::Global,
            Kind::Field | Kind::PacketEnd | Kind::Number | Kind::Unknown | Kind::Map => {
                Kind::Returned
            }
            kind => kind,
        }
    }

    /// Returns the kind of memory that the value points to, whether or not the SmartNIC can access
    /// it.
    pub fn pointee(&self) -> Kind {
        match self.kind {
            Kind::Field | Kind::PacketEnd => Kind::Packet,
            Kind::Number | Kind::Unknown | Kind::Map => Kind::Unknown,
            _ => self.card_pointee(),
        }
    }

    /// Returns the value's low 32 bits as a number, as after a 32-bit operation.
    pub fn narrowed(&self) -> Self {
        const WORD: u64 = u32::MAX as u64;
        match (self.kind, self.offset) {
            (Kind::Number, Some(value)) => Value::constant(value as u64 & WORD),
            (Kind::Number, None) => Value::up_to(self.high.min(WORD)),
            _ => Value::up_to(WORD),
        }
    }

    /// Returns the pointer moved by `distance` bytes.
    pub fn moved(self, distance: i64) -> Self {
        Value { offset: self.offset.map(|offset| offset.wrapping_add(distance)), ..self }
    }

    /// Returns the stack position of the pointer plus `offset`; `None` if unknown. In the
    /// function's own frame, this is the offset from the frame pointer. In a caller's frame, it is
    /// the number of the argument register times [`REGISTER_SPACING`], plus the offset from the
    /// address in this register.
    pub fn place(&self, offset: i64) -> Option<i64> {
        let from = self.offset.filter(|_| self.kind == Kind::Stack && !self.several)?;
        match self.origin {
            Origin::Passed { register, .. } => {
                Some(i64::from(register) * REGISTER_SPACING + from.wrapping_add(offset))
            }
            Origin::Frame => Some(from.wrapping_add(offset)),
            _ => None,
        }
    }

    /// Returns true if the SmartNIC's helpers accept the pointer as the address of a stack
    /// variable.
    pub fn is_variable(&self) -> bool {
        let aligned = self.offset.is_some_and(|offset| offset.rem_euclid(WORD_BYTES) == 0);
        self.kind == Kind::Stack && !self.varies && aligned
    }

    /// Returns the name of the map that the value refers to, if it is the same on all paths.
    pub fn one_map(&self) -> Option<&Rc<str>> {
        match &self.origin {
            Origin::Symbol(name) if self.kind == Kind::Map => Some(name),
            _ => None,
        }
    }

    /// Returns the offset of an access from the frame pointer of the caller whose frame it
    /// accesses; `None` if unknown. The address is this pointer plus `offset`.
    pub fn in_caller(&self, offset: i16) -> Option<i64> {
        match self.origin {
            Origin::Passed { start, .. } if self.kind == Kind::Stack => {
                Some(start?.wrapping_add(self.offset?).wrapping_add(offset.into()))
            }
            _ => None,
        }
    }

    /// Converts the value to the representation that the code generator uses.
    pub fn as_register(&self) -> RegisterValue {
        let offset = self.offset.map_or(Offset::Unknown, Offset::Constant);
        match self.kind {
            Kind::Context => RegisterValue::Context { offset: self.offset.unwrap_or(0) },
            Kind::Packet => RegisterValue::Packet,
            Kind::PacketEnd => RegisterValue::PacketEnd,
            Kind::Map => RegisterValue::Map(0),
            Kind::Element if !self.varies => RegisterValue::MapValue { map: 0, offset },
            Kind::Element | Kind::Global | Kind::Table => RegisterValue::Data { map: 0 },
            Kind::Stack => {
                let caller = self.origin != Origin::Frame;
                RegisterValue::Stack { caller, offset }
            }
            kind => {
                debug_assert!(kind.is_numeric());
                RegisterValue::Other
            }
        }
    }

    /// Returns the join of two values where paths meet. With `widen`, a bound that grows becomes
    /// the largest number of 32 or 64 bits.
    pub fn join(&self, other: &Self, at: Origin, widen: bool) -> Self {
        if self == other {
            return self.clone();
        }
        if (self.kind, other.kind) == (Kind::Number, Kind::Number) {
            let high = self.high.max(other.high);
            let grows = widen && high > self.high;
            return Value::up_to(match high {
                _ if !grows => high,
                0..=0xffff_ffff => u32::MAX.into(),
                _ => u64::MAX,
            });
        }
        if let Some(pointer) = self.or_null(other) {
            return pointer;
        }
        if self.kind != other.kind {
            return self.mixed(other, at);
        }
        if self.kind == Kind::Packet {
            return Value::pointer(Kind::Packet, at, Some(0));
        }
        let moves = widen && self.kind != Kind::Stack && self.offset != other.offset;
        let varies = self.varies || other.varies || moves;
        let same = self.origin == other.origin;
        if self.kind == Kind::Element && self.map != other.map {
            // The card can only access elements of a known map.
            return Value::pointer(Kind::Global, at, None);
        }
        if self.kind == Kind::Stack && same && !varies {
            return self.one_of_places(other);
        }
        let origin = if same { self.origin.clone() } else { at };
        Value { varies, map: self.map.clone(), ..Value::pointer(self.kind, origin, None) }
    }

    /// If one of the two values is null, returns the other value; otherwise returns `None`.
    pub fn or_null(&self, other: &Self) -> Option<Self> {
        if self.is_null() { Some(other.clone()) } else { other.is_null().then(|| self.clone()) }
    }

    /// Returns the join of two values of different kinds. This is [`Kind::Global`] if both point to
    /// state, else [`Kind::Unknown`].
    pub fn mixed(&self, other: &Self, origin: Origin) -> Self {
        if self.kind.is_state() && other.kind.is_state() {
            Value::pointer(Kind::Global, origin, None)
        } else {
            Value::of(Kind::Unknown)
        }
    }

    /// Returns the join of two stack pointers with the same origin but different offsets. The
    /// SmartNIC can access both positions through one pointer if they have the same alignment.
    fn one_of_places(&self, other: &Self) -> Self {
        let (Some(one), Some(two)) = (self.offset, other.offset) else {
            return Value::pointer(Kind::Stack, self.origin.clone(), None);
        };
        let varies = one.wrapping_sub(two).rem_euclid(WORD_BYTES) != 0;
        Value { offset: Some(one.min(two)), several: true, varies, ..self.clone() }
    }
}

/// Splits a stack position ([`Value::place`]) into an argument register that points to the stack
/// frame, and the offset from the address in this register. Register 0 stands for the function's
/// own frame.
pub(super) fn split_place(place: i64) -> (i64, i64) {
    let register = (place + REGISTER_SPACING / 2).div_euclid(REGISTER_SPACING);
    (register, place - register * REGISTER_SPACING)
}
