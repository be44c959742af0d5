//! Tracks the values of registers along a path without executing it: constants, maps, and addresses
//! as offsets from a base.
//!
//! Only estimates depend on these values. So each unknown value may count as a new base: two
//! addresses with an unknown distance are treated as different memory.

use slowpath_bpf::insn::helper::{XDP_ADJUST_HEAD, XDP_ADJUST_META, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Imm64, Insn, Register, Size, Source, Width};
use std::collections::HashMap;

const FP: usize = 10;

/// An unknown start address, relative to which other addresses are known. Addresses with different
/// bases are treated as different memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Base(u32);

/// Knowledge about the value of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Value {
    #[default]
    Unknown,
    Constant(i64),
    /// A BPF map, given by its index in the object.
    Map(u32),
    Address(Base, i64),
}

/// The bytes in memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryAccess {
    pub base: Base,
    pub offset: i64,
    pub bytes: u8,
}

/// Known values of registers and memory at one position of a path.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    registers: [Value; 11],
    /// Registers 6 to 10 of the calling functions, which are restored when calls return.
    callers: Vec<[Value; 5]>,
    bases: u32,
    context: Base,
    /// Values that were loaded from the program's context, by offset. They are removed when the
    /// start or end of the packet moves.
    fields: HashMap<i64, Value>,
    /// Values of 8 bytes that the program has stored in memory.
    spilled: HashMap<(Base, i64), Value>,
    /// Bytes in memory to which the program has stored constants.
    numbers: HashMap<(Base, i64), u8>,
    /// For each map with only one element, the base that stands for the element's address.
    elements: HashMap<u32, Base>,
    /// For each base that stands for the address of a map element, the index of the map.
    maps: HashMap<Base, u32>,
    /// For each base that stands for an address at an unknown offset inside a map element, the
    /// index of the map.
    inside: HashMap<Base, u32>,
}

impl Values {
    pub fn new() -> Values {
        let mut registers = [Value::Unknown; 11];
        let (context, frame) = (Base(0), Base(1));
        registers[1] = Value::Address(context, 0);
        registers[FP] = Value::Address(frame, 0);
        Values {
            registers,
            callers: Vec::new(),
            bases: 2,
            context,
            fields: HashMap::new(),
            spilled: HashMap::new(),
            numbers: HashMap::new(),
            elements: HashMap::new(),
            maps: HashMap::new(),
            inside: HashMap::new(),
        }
    }

    /// Records that r0 holds the address of an element of the map with index `map`.
    pub fn found(&mut self, map: u32) {
        if let Value::Address(base, _) = self.registers[0] {
            self.maps.insert(base, map);
        }
    }

    /// Returns the index of the map, if `base` is an address at an unknown offset inside an
    /// element. Returns `None` for other bases.
    pub fn inside(&self, base: Base) -> Option<u32> {
        self.inside.get(&base).copied()
    }

    pub fn register(&self, number: usize) -> Value {
        self.registers.get(number).copied().unwrap_or_default()
    }

    /// Returns the byte `distance` bytes after the address `from`, if the program stored a constant
    /// there or it is global data; otherwise `None`. `initial` contains the initial content of
    /// global data by map.
    pub fn byte(&self, from: Value, distance: i64, initial: &[Option<Vec<u8>>]) -> Option<u8> {
        let Value::Address(base, offset) = from else { return None };
        let at = offset.checked_add(distance)?;
        if let Some(&byte) = self.numbers.get(&(base, at)) {
            return Some(byte);
        }
        let (&map, _) = self.elements.iter().find(|&(_, &known)| known == base)?;
        let content = initial.get(map as usize)?.as_ref()?;
        content.get(usize::try_from(at).ok()?).copied()
    }

    /// Returns the bytes in memory that an instruction accesses, if their address is known.
    pub fn place(&self, insn: &Insn) -> Option<MemoryAccess> {
        let (size, base, offset) = match *insn {
            Insn::Load { size, base, offset, .. }
            | Insn::Store { size, base, offset, .. }
            | Insn::LoadAcquire { size, base, offset, .. }
            | Insn::StoreRelease { size, base, offset, .. } => (size, base, offset),
            _ => return None,
        };
        match self.registers[usize::from(base.number())] {
            Value::Address(base, from) => {
                let offset = from.checked_add(offset.into())?;
                Some(MemoryAccess { base, offset, bytes: size.bytes() })
            }
            _ => None,
        }
    }

    /// Returns the bytes in memory that an instruction loads, stores or changes atomically, if
    /// their address is known.
    pub fn accessed(&self, insn: &Insn) -> Option<MemoryAccess> {
        let Insn::Atomic { width, base, offset, .. } = *insn else { return self.place(insn) };
        match self.registers[usize::from(base.number())] {
            Value::Address(base, from) => {
                let offset = from.checked_add(offset.into())?;
                let bytes = if width == Width::W64 { 8 } else { 4 };
                Some(MemoryAccess { base, offset, bytes })
            }
            _ => None,
        }
    }

    /// Updates all values by executing an instruction. `place` is the memory that the instruction
    /// accesses, if it is known.
    pub fn step(&mut self, insn: &Insn, place: Option<MemoryAccess>) {
        match *insn {
            Insn::Alu { width, op, dst, src, .. } => {
                let value = self.computed(width, op, dst, src);
                self.set(dst, value);
            }
            Insn::LoadImm64 { dst, value } => {
                let value = match value {
                    Imm64::Value(number) => Value::Constant(number as i64),
                    Imm64::Map(map) => Value::Map(map),
                    Imm64::MapValue { map, offset } => {
                        let base = match self.elements.get(&map) {
                            Some(&base) => base,
                            None => self.new_base(),
                        };
                        self.elements.insert(map, base);
                        self.maps.insert(base, map);
                        Value::Address(base, offset.into())
                    }
                    _ => Value::Unknown,
                };
                self.set(dst, value);
            }
            Insn::Load { size, dst, .. } | Insn::LoadAcquire { size, dst, .. } => {
                let value = self.loaded(size, place);
                self.set(dst, value);
            }
            Insn::Store { size, src, .. } => self.store(size, src, place),
            Insn::StoreRelease { size, src, .. } => self.store(size, Source::Reg(src), place),
            Insn::Neg { dst, .. } | Insn::Swap { dst, .. } | Insn::MoveSigned { dst, .. } => {
                self.set(dst, Value::Unknown);
            }
            Insn::Atomic { op, src, .. } => {
                if let Some(place) = self.accessed(insn) {
                    self.forget(place);
                }
                // RFC 9669, section 5.3: only with the modifier FETCH does a register get the old
                // value.
                match op {
                    AtomicOp::Cmpxchg => self.set(Register::R0, Value::Unknown),
                    _ if op.fetches() => self.set(src, Value::Unknown),
                    _ => {}
                }
            }
            Insn::Call(Call::Subprogram { .. }) => {
                let kept = [6, 7, 8, 9, FP].map(|number| self.registers[number]);
                self.callers.push(kept);
                let frame = self.new_base();
                self.registers[FP] = Value::Address(frame, 0);
            }
            Insn::Call(called) => {
                if let Call::Helper(XDP_ADJUST_HEAD | XDP_ADJUST_META | XDP_ADJUST_TAIL) = called {
                    self.fields.clear();
                }
                self.registers[1..6].fill(Value::Unknown);
                self.registers[0] = Value::Address(self.new_base(), 0);
            }
            Insn::Exit => {
                if let Some(kept) = self.callers.pop() {
                    for (number, value) in [6, 7, 8, 9, FP].into_iter().zip(kept) {
                        self.registers[number] = value;
                    }
                    self.registers[1..6].fill(Value::Unknown);
                }
            }
            Insn::LoadPacket { .. } => self.registers[0] = Value::Unknown,
            Insn::SecondSlot | Insn::Jump { .. } | Insn::Branch { .. } | Insn::MayGoto { .. } => {}
        }
    }

    fn set(&mut self, register: Register, value: Value) {
        self.registers[usize::from(register.number())] = value;
    }

    fn new_base(&mut self) -> Base {
        self.bases += 1;
        Base(self.bases - 1)
    }

    fn computed(&mut self, width: Width, op: AluOp, dst: Register, src: Source) -> Value {
        let right = match src {
            Source::Imm(number) => Value::Constant(number.into()),
            Source::Reg(register) => self.registers[usize::from(register.number())],
        };
        if width == Width::W32 {
            return match (op, right) {
                (AluOp::Mov, Value::Constant(number)) => Value::Constant(i64::from(number as u32)),
                _ => Value::Unknown,
            };
        }
        let left = self.registers[usize::from(dst.number())];
        match (op, left, right) {
            (AluOp::Mov, _, right) => right,
            (AluOp::Add, Value::Constant(a), Value::Constant(b)) => {
                Value::Constant(a.wrapping_add(b))
            }
            (AluOp::Add, Value::Address(base, a), Value::Constant(b))
            | (AluOp::Add, Value::Constant(b), Value::Address(base, a)) => {
                Value::Address(base, a.wrapping_add(b))
            }
            (AluOp::Sub, Value::Address(base, a), Value::Constant(b)) => {
                Value::Address(base, a.wrapping_sub(b))
            }
            (AluOp::Add, Value::Address(..), _) | (AluOp::Add, _, Value::Address(..)) => {
                let map = [left, right].into_iter().find_map(|value| match value {
                    Value::Address(base, _) => self.maps.get(&base).or(self.inside.get(&base)),
                    _ => None,
                });
                let (map, base) = (map.copied(), self.new_base());
                if let Some(map) = map {
                    self.inside.insert(base, map);
                }
                Value::Address(base, 0)
            }
            _ => Value::Unknown,
        }
    }

    /// Returns the value that a load reads. An unknown value becomes an address with a new base,
    /// because it may be used as an address.
    fn loaded(&mut self, size: Size, place: Option<MemoryAccess>) -> Value {
        let Some(MemoryAccess { base, offset, .. }) = place else {
            return Value::Address(self.new_base(), 0);
        };
        if base == self.context {
            if let Some(&value) = self.fields.get(&offset) {
                return value;
            }
            let value = Value::Address(self.new_base(), 0);
            self.fields.insert(offset, value);
            return value;
        }
        match self.spilled.get(&(base, offset)) {
            Some(&value) if size.bytes() == 8 => value,
            _ => Value::Address(self.new_base(), 0),
        }
    }

    fn store(&mut self, size: Size, src: Source, place: Option<MemoryAccess>) {
        let Some(MemoryAccess { base, offset, .. }) = place else { return };
        self.forget(MemoryAccess { base, offset, bytes: size.bytes() });
        self.store_number(size, src, base, offset);
        if let Source::Reg(register) = src
            && size.bytes() == 8
        {
            let value = self.registers[usize::from(register.number())];
            self.spilled.insert((base, offset), value);
        }
    }

    /// Removes the known values of the bytes that an instruction overwrites.
    fn forget(&mut self, MemoryAccess { base, offset, bytes }: MemoryAccess) {
        // A spilled value that overlaps starts at most 7 bytes before.
        for near in -7..i64::from(bytes) {
            self.spilled.remove(&(base, offset.wrapping_add(near)));
        }
        for at in 0..i64::from(bytes) {
            self.numbers.remove(&(base, offset.wrapping_add(at)));
        }
    }

    /// Records the bytes of a constant that is stored in memory.
    fn store_number(&mut self, size: Size, src: Source, base: Base, offset: i64) {
        let number = match src {
            Source::Imm(number) => Some(i64::from(number)),
            Source::Reg(register) => match self.register(usize::from(register.number())) {
                Value::Constant(number) => Some(number),
                _ => None,
            },
        };
        let Some(number) = number else { return };
        for (at, byte) in number.to_le_bytes().into_iter().enumerate().take(size.bytes().into()) {
            self.numbers.insert((base, offset.wrapping_add(at as i64)), byte);
        }
    }
}
