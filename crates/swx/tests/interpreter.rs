//! An interpreter of pipelines that shares no code with the translation: it executes the data model
//! by name, on bytes. Tests compare it with the translation and with DPDK.

use std::collections::HashMap;

use slowpath_swx::spec::{
    Alu, Condition, FieldRef, Instruction, Op, Operand, Relation, Spec, Struct, Summand,
};

/// Result of a lookup.
pub struct Found {
    pub hit: bool,
    pub action: String,
    pub data: Vec<u8>,
    pub entry: u64,
}

/// Everything outside a run: tables, hashes, meters.
pub trait World {
    /// Looks up a table, with the numbers in its key, at a line.
    fn lookup(&mut self, spec: &Spec, table: &str, key: &[u64], line: u32) -> Found;
    /// Returns another value from outside.
    fn value(&mut self, what: &str) -> u64;
}

/// A header: its bytes are in the packet, or in its own memory.
pub struct Header {
    pub valid: bool,
    pub in_packet: Option<usize>,
    pub own: Vec<u8>,
}

/// State of a run.
pub struct Machine<'a> {
    pub spec: &'a Spec,
    pub packet: Vec<u8>,
    pub at: usize,
    /// Bytes that the packet needs.
    pub need: usize,
    pub meta: Vec<u8>,
    pub headers: HashMap<String, Header>,
    pub registers: HashMap<String, Vec<u64>>,
    hit: bool,
    action: String,
    entry: u64,
    data: Vec<u8>,
    emitted: Vec<String>,
    pub dropped: bool,
    /// Body and number of each executed instruction.
    pub executed: Vec<(Option<String>, usize)>,
}

enum Next {
    Step,
    Jump(String),
    Return,
    End,
}

impl<'a> Machine<'a> {
    pub fn new(spec: &'a Spec, packet: Vec<u8>) -> Machine<'a> {
        let kind = |name: &str| spec.structs.iter().find(|one| one.name == name).expect("struct");
        let headers = spec.headers.iter().map(|header| {
            let own = vec![0; kind(&header.kind).bits() as usize / 8];
            (header.name.clone(), Header { valid: false, in_packet: None, own })
        });
        let registers = spec.register_arrays.iter().map(|array| {
            (array.name.clone(), vec![array.initial; (array.size as usize).next_power_of_two()])
        });
        let meta = spec.metadata.as_ref().map_or(0, |meta| kind(&meta.kind).bits() as usize / 8);
        Machine {
            spec,
            packet,
            at: 0,
            need: 0,
            meta: vec![0; meta + 8], // a selector writes 4 bytes, whatever the width of its field
            headers: headers.collect(),
            registers: registers.collect(),
            hit: false,
            action: String::new(),
            entry: 0,
            data: Vec::new(),
            emitted: Vec::new(),
            dropped: false,
            executed: Vec::new(),
        }
    }

    fn kind(&self, name: &str) -> &'a Struct {
        self.spec.structs.iter().find(|one| one.name == name).expect("the struct is declared")
    }

    fn header_kind(&self, name: &str) -> &'a Struct {
        let header = self.spec.headers.iter().find(|one| one.name == name);
        self.kind(&header.expect("the header is declared").kind)
    }

    /// Returns the struct of a field, its name, and the bytes that hold the struct from an offset.
    fn memory(&mut self, field: &FieldRef) -> (&'a Struct, String, &mut Vec<u8>, usize) {
        match field {
            FieldRef::Header { header, field } => {
                let kind = self.header_kind(header);
                let found = self.headers.get_mut(header).expect("the header is declared");
                match found.in_packet {
                    Some(at) => (kind, field.clone(), &mut self.packet, at),
                    None => (kind, field.clone(), &mut found.own, 0),
                }
            }
            FieldRef::Meta(field) => {
                let kind = self.kind(&self.spec.metadata.as_ref().expect("metadata").kind);
                (kind, field.clone(), &mut self.meta, 0)
            }
            FieldRef::Data(field) => {
                let action = self.spec.actions.iter().find(|one| one.name == self.action);
                let kind = self.kind(action.and_then(|one| one.data.as_ref()).expect("data"));
                (kind, field.clone(), &mut self.data, 0)
            }
            other => panic!("{other} is C code"),
        }
    }

    fn bytes(&mut self, field: &FieldRef) -> &mut [u8] {
        let (kind, name, memory, start) = self.memory(field);
        let (found, offset) = kind.field(&name).expect("the field is declared");
        let start = start + offset as usize / 8;
        let end = start + found.bits as usize / 8;
        if memory.len() < end {
            memory.resize(end, 0); // beyond the end of a packet
        }
        &mut memory[start..end]
    }

    fn read(&mut self, field: &FieldRef) -> u64 {
        let network = matches!(field, FieldRef::Header { .. });
        let mut bytes = self.bytes(field).to_vec();
        assert!(bytes.len() <= 8);
        if !network {
            bytes.reverse();
        }
        bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    }

    fn write(&mut self, field: &FieldRef, value: u64) {
        let network = matches!(field, FieldRef::Header { .. });
        let bytes = self.bytes(field);
        let count = bytes.len();
        for (index, byte) in bytes.iter_mut().enumerate() {
            let place = if network { count - 1 - index } else { index };
            *byte = (value >> (8 * place)) as u8;
        }
    }

    fn operand(&mut self, operand: &Operand) -> u64 {
        match operand {
            Operand::Field(field) => self.read(field),
            Operand::Immediate(value) => *value,
        }
    }

    fn meta_field(name: &str) -> FieldRef {
        FieldRef::Meta(name.to_owned())
    }

    fn slot(&mut self, array: &str, index: &Operand) -> usize {
        let index = match index {
            Operand::Immediate(value) => u64::from(*value as u32),
            field => self.operand(field),
        };
        (index % self.registers[array].len() as u64) as usize
    }

    /// Runs the pipeline on the packet.
    pub fn run(&mut self, world: &mut dyn World) {
        let spec = self.spec;
        self.write(
            &Self::meta_field(match &spec.apply[0].op {
                Op::Receive { port } => port,
                other => panic!("the first instruction is rx, not {other}"),
            }),
            0,
        );
        self.body(None, &spec.apply, world);
    }

    /// Runs a body. Returns true if the packet left.
    fn body(
        &mut self,
        action: Option<&str>,
        body: &'a [Instruction],
        world: &mut dyn World,
    ) -> bool {
        let mut at = 0;
        loop {
            let one = &body[at];
            self.executed.push((action.map(str::to_owned), at));
            assert!(self.executed.len() < 100_000, "the run does not end");
            if let Op::Table { table } = &one.op
                && !self.spec.selectors.iter().any(|selector| selector.name == *table)
            {
                let key = self.key(table);
                let found = world.lookup(self.spec, table, &key, one.line.0);
                self.hit = found.hit;
                self.entry = found.entry;
                self.data = found.data;
                self.action = found.action.clone();
                let spec = self.spec;
                let called = spec.actions.iter().find(|one| one.name == found.action);
                let called = called.expect("the action is declared");
                if self.body(Some(&called.name), &called.instructions, world) {
                    return true;
                }
                at += 1;
                continue;
            }
            match self.step(&one.op, world) {
                Next::Step => at += 1,
                Next::Jump(label) => {
                    let to = body.iter().position(|one| one.label.as_ref() == Some(&label));
                    at = to.expect("the label is declared");
                }
                Next::Return => return false,
                Next::End => return true,
            }
        }
    }

    fn key(&mut self, table: &str) -> Vec<u64> {
        let table = self.spec.tables.iter().find(|one| one.name == table);
        let fields = table.iter().flat_map(|table| &table.key).map(|key| key.field.clone());
        fields.map(|field| self.read(&field)).collect()
    }

    fn step(&mut self, op: &Op, world: &mut dyn World) -> Next {
        match op {
            Op::Transmit { .. } => return Next::End,
            Op::Drop => {
                self.dropped = true;
                return Next::End;
            }
            Op::Return => return Next::Return,
            Op::Jump { condition, target } => {
                return if self.holds(condition) { Next::Jump(target.clone()) } else { Next::Step };
            }
            Op::Receive { .. }
            | Op::Mirror { .. }
            | Op::RegisterPrefetch { .. }
            | Op::MeterPrefetch { .. }
            | Op::Learn { .. }
            | Op::Rearm { .. }
            | Op::Forget => {}
            Op::RecirculationId { pass } => self.write(&Self::meta_field(pass), 0),
            Op::Extract { header, length } => {
                let kind = self.header_kind(header);
                let last = kind.fields.last().map_or(0, |last| last.bits);
                let mut bytes = (kind.bits() - if kind.variable { last } else { 0 }) as usize / 8;
                if let Some(length) = length {
                    bytes += self.read(&Self::meta_field(length)) as u32 as usize;
                }
                self.point(header);
                self.at += bytes;
                self.need = self.need.max(self.at);
            }
            Op::Lookahead { header } => {
                let bytes = self.header_kind(header).bits() as usize / 8;
                self.point(header);
                self.need = self.need.max(self.at + bytes);
            }
            Op::Emit { header } => {
                if self.headers[header].valid {
                    self.emitted.push(header.clone());
                }
            }
            Op::Validate { header } => {
                let found = self.headers.get_mut(header).expect("the header is declared");
                if !found.valid {
                    found.in_packet = None;
                }
                found.valid = true;
            }
            Op::Invalidate { header } => {
                self.headers.get_mut(header).expect("the header is declared").valid = false;
            }
            Op::Move { to, from: Operand::Field(from) }
                if self.bytes(to).len() > 8 || self.bytes(from).len() > 8 =>
            {
                let bytes = self.bytes(from).to_vec();
                self.bytes(to).copy_from_slice(&bytes);
            }
            Op::Move { to, from } => {
                let value = self.operand(from);
                self.write(to, value);
            }
            Op::Alu { alu, to, from } => {
                let (left, right) = (self.read(to), self.operand(from));
                let value = match alu {
                    Alu::Add => left.wrapping_add(right),
                    Alu::Sub => left.wrapping_sub(right),
                    Alu::And => left & right,
                    Alu::Or => left | right,
                    Alu::Xor => left ^ right,
                    Alu::Shl => left.wrapping_shl(right as u32),
                    Alu::Shr => left.wrapping_shr(right as u32),
                };
                self.write(to, value);
            }
            Op::ChecksumAdd { to, from } => {
                let bytes = match from {
                    Summand::Field(field) => self.bytes(field).to_vec(),
                    Summand::Header(header) => {
                        let fields = &self.header_kind(header).fields;
                        let of = |name: &str| FieldRef::Header {
                            header: header.clone(),
                            field: name.to_owned(),
                        };
                        let all = fields.iter().flat_map(|one| self.bytes(&of(&one.name)).to_vec());
                        let all: Vec<u8> = all.collect();
                        all[..all.len() / 4 * 4].to_vec()
                    }
                };
                self.checksum(to, &bytes, true);
            }
            Op::ChecksumSub { to, from } => {
                let bytes = self.bytes(from).to_vec();
                self.checksum(to, &bytes, false);
            }
            Op::Hash { function, to, .. } => {
                let value = world.value(&format!("hash {function}"));
                self.write(&Self::meta_field(to), value);
            }
            Op::RegisterRead { to, array, index } => {
                let slot = self.slot(array, index);
                self.write(to, self.registers[array][slot]);
            }
            Op::RegisterWrite { array, index, from } => {
                let (slot, value) = (self.slot(array, index), self.operand(from));
                self.registers.get_mut(array).expect("declared")[slot] = value;
            }
            Op::RegisterAdd { array, index, from } => {
                let (slot, value) = (self.slot(array, index), self.operand(from));
                let register = &mut self.registers.get_mut(array).expect("declared")[slot];
                *register = register.wrapping_add(value);
            }
            Op::Meter { to, .. } => {
                let colour = world.value("meter");
                for (index, byte) in self.bytes(to).iter_mut().enumerate() {
                    *byte = if index == 0 { colour as u8 } else { 0 };
                }
            }
            Op::Table { table } => {
                let selector = self.spec.selectors.iter().find(|one| one.name == *table);
                let member = Self::meta_field(&selector.expect("a selector").member);
                let (kind, name, ..) = self.memory(&member);
                let offset = kind.field(&name).expect("declared").1 as usize / 8;
                let value = world.value("selector") as u32;
                self.meta[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
            }
            Op::EntryId { to } => self.write(&Self::meta_field(to), self.entry),
            Op::Extern { .. } | Op::Recirculate => panic!("{op} is not analysed"),
        }
        Next::Step
    }

    fn point(&mut self, header: &str) {
        let at = self.at;
        let found = self.headers.get_mut(header).expect("the header is declared");
        (found.valid, found.in_packet) = (true, Some(at));
    }

    /// Updates a checksum in one's complement arithmetic on words of 16 bits in memory order.
    fn checksum(&mut self, to: &FieldRef, bytes: &[u8], add: bool) {
        let old = self.bytes(to).to_vec();
        let mut sum = u64::from(!u16::from_le_bytes([old[0], old[1]]));
        // Folded words: a chunk of 4 bytes is two words of 16 bits.
        for word in bytes.chunks(2) {
            let word = word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            sum += if add { word } else { 0xffff - word };
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let result = match !(sum as u16) {
            0 => 0xffff,
            result => result,
        };
        self.bytes(to).copy_from_slice(&result.to_le_bytes());
    }

    fn holds(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::Valid(header) => self.headers[header].valid,
            Condition::Invalid(header) => !self.headers[header].valid,
            Condition::Hit => self.hit,
            Condition::Miss => !self.hit,
            Condition::Action(action) => self.action == *action,
            Condition::NotAction(action) => self.action != *action,
            Condition::Compare { relation, left, right } => {
                let equality = matches!(relation, Relation::Eq | Relation::Ne);
                let header = matches!(left, FieldRef::Header { .. });
                let width = 8 * self.bytes(left).len() as u32;
                let (left, mut right_value) = (self.read(left), self.operand(right));
                if equality && header && matches!(right, Operand::Immediate(_)) {
                    right_value &= u64::MAX >> (64 - width);
                }
                match relation {
                    Relation::Eq => left == right_value,
                    Relation::Ne => left != right_value,
                    Relation::Lt => left < right_value,
                    Relation::Gt => left > right_value,
                }
            }
        }
    }

    /// Returns the packet after a run: emitted headers, and the rest behind the parser.
    pub fn output(&mut self) -> Vec<u8> {
        let emitted = std::mem::take(&mut self.emitted);
        let mut packet = Vec::new();
        for header in emitted {
            for field in &self.header_kind(&header).fields {
                let field = FieldRef::Header { header: header.clone(), field: field.name.clone() };
                packet.extend_from_slice(self.bytes(&field));
            }
        }
        packet.extend_from_slice(self.packet.get(self.at..).unwrap_or_default());
        packet
    }
}
