//! Executes a pipeline on a packet.
//!
//! The interpreter shares no code with [`crate::lift`](crate::lift()): it looks up names during the
//! run, and works on bytes. So each can check the other. Both follow the rules of DPDK 22.11.
//!
//! A new [`Machine`] has the state of a pipeline that DPDK has just built. Callers may change its
//! memory, as earlier packets would.

use std::collections::{BTreeMap, HashMap};

use thiserror::Error;

use crate::spec::{
    self, Action, Alu, Condition, DefaultAction, Field, FieldRef, Instruction, Op, Operand,
    Relation, Spec, Struct, Summand,
};

#[cfg(test)]
mod tests;

/// Largest size of a struct in bytes.
const LARGEST: usize = 1 << 17;

/// Error that ends a run without output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {cause}")]
pub struct RunError {
    /// Line of the instruction; 0 for a fault in the declarations.
    pub line: u32,
    /// Cause of the error.
    pub cause: RunFault,
}

/// Reason why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunFault {
    /// The interpreter does not know the effects of this instruction, or a field belongs to C code.
    #[error("the interpreter does not execute '{0}'")]
    Unsupported(String),
    /// The pipeline does not declare this name, or DPDK rejects its use here.
    #[error("'{0}' is not declared, or has another size than the instruction needs")]
    Name(String),
    /// The packet is too short for a header. DPDK does not check the length.
    #[error("the packet has {has} bytes, and the header ends at byte {needs}")]
    ShortPacket {
        /// Length of the packet in bytes.
        has: usize,
        /// Number of bytes that the pipeline accesses.
        needs: u64,
    },
    /// The run exceeds this number of instructions.
    #[error("the run does not end within {0} instructions")]
    TooManySteps(usize),
    /// The last instruction of a body neither jumps nor ends the body.
    #[error("no instruction follows")]
    NoEnd,
}

/// A field and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// Name of the field, such as `h.ipv4.source`, `m.flow` or `t.port`.
    pub name: String,
    /// Bytes of the field, in the order of memory.
    pub bytes: Vec<u8>,
    /// True if the bytes have network byte order, false if they have little-endian order.
    pub network_order: bool,
}

impl FieldValue {
    /// Returns the bytes, most significant first. A field of more than 64 bits keeps its memory
    /// order, because DPDK only copies such fields.
    pub fn big_endian(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if !self.network_order && bytes.len() <= 8 {
            bytes.reverse();
        }
        bytes
    }

    /// Returns the value as a number; `None` if the field has more than 64 bits.
    pub fn number(&self) -> Option<u64> {
        (self.bytes.len() <= 8).then(|| number(&self.big_endian()))
    }
}

fn number(big_endian: &[u8]) -> u64 {
    big_endian.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Lookup of a table or learner whose result is still to be determined.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// Line of the instruction `table` in the file.
    pub line: u32,
    /// Index of the instruction `table` in `apply`.
    pub at: usize,
    /// Number of instructions that the run has executed before the instruction `table`.
    pub step: usize,
    /// Number of earlier passes of the packet.
    pub pass: u32,
    /// Fields of the key with their values.
    pub key: &'a [FieldValue],
}

/// Result of a table lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// True if an entry matches.
    pub hit: bool,
    /// Name of the action to run.
    pub action: String,
    /// Action data, as the bytes of its struct in memory.
    pub data: Vec<u8>,
    /// Number of the matching entry; 0 after a miss.
    pub entry: u64,
}

/// Kind of a number that the interpreter does not compute itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The hash function with this name.
    Hash(&'a str),
    /// The colour of a meter: 0 is green, 1 yellow, 2 red.
    Meter,
    /// The index of the group member that the selector with this name chooses.
    Selector(&'a str),
}

/// Environment of a run: entries of tables, hashes and meters.
pub trait World {
    /// Returns the result of a table lookup.
    fn lookup(&mut self, request: &Request<'_>) -> Found;

    /// Returns a number of the kind `source` for the instruction with index `step` in the run.
    fn value(&mut self, source: Source<'_>, step: usize) -> u64;
}

/// A table lookup that a run has made, with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Name of the table.
    pub table: String,
    /// Line of the instruction `table` in the file.
    pub line: u32,
    /// Fields of the key, in the order of the table.
    pub key: Vec<FieldValue>,
    /// True if an entry matches.
    pub hit: bool,
    /// Name of the action that ran.
    pub action: String,
    /// Fields of the action data.
    pub data: Vec<FieldValue>,
}

/// Memory that the pointer of a header refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// Bytes of the packet, starting at this offset.
    Packet(usize),
    /// Memory that belongs to the header itself, outside of packets.
    Own,
    /// Memory that the header had while an earlier packet was processed.
    Earlier,
}

/// State of a header in a [`Machine`].
#[derive(Clone, Debug)]
pub struct Header {
    /// Memory that belongs to the header itself, outside of packets.
    pub own: Vec<u8>,
    /// Memory to which the header refers after [`Machine::follow_packet`], until the packet
    /// extracts or validates the header.
    pub earlier: Vec<u8>,
    valid: bool,
    location: Location,
    /// Number of bytes that `emit` appends to the packet.
    length: usize,
}

/// State of a register array in a [`Machine`].
#[derive(Clone, Debug)]
pub struct Registers {
    /// Value of each register that was never set.
    pub initial: u64,
    mask: u64,
    changed: BTreeMap<u64, u64>,
}

impl Registers {
    /// Returns the value of a register. The index wraps around at the array's size, rounded up to a
    /// power of two as in DPDK.
    pub fn get(&self, index: u64) -> u64 {
        self.changed.get(&(index & self.mask)).copied().unwrap_or(self.initial)
    }

    /// Sets the value of a register. The index wraps around as in [`get`](Registers::get).
    pub fn set(&mut self, index: u64, value: u64) {
        self.changed.insert(index & self.mask, value);
    }
}

/// An executed instruction: name of its action (`None` for `apply`), and its index there.
pub type Executed<'a> = (Option<&'a str>, usize);

/// State of a run of a pipeline on a packet.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    spec: &'a Spec,
    /// Bytes of the packet.
    pub packet: Vec<u8>,
    /// Number of the input port.
    pub port: u64,
    /// Bytes of the metadata.
    pub meta: Vec<u8>,
    /// States of the headers, by name.
    pub headers: HashMap<&'a str, Header>,
    /// States of the register arrays, by name.
    pub registers: HashMap<&'a str, Registers>,
    /// True if the last table lookup was a hit.
    pub hit: bool,
    /// Name of the action that the last table lookup selected.
    pub action: String,
    /// Number of the entry that the last table lookup found; 0 after a miss.
    pub entry: u64,
    data: Vec<u8>,
    /// Number of bytes of the packet that are already extracted.
    at: usize,
    /// Headers of the output packet: name, memory, and number of bytes.
    emitted: Vec<(&'a str, Location, usize)>,
    /// Number of earlier passes of the packet.
    pass: u32,
    /// True if the next `tx` starts another pass.
    recirculates: bool,
    /// True if another pass follows the current one.
    again: bool,
    output: Option<Vec<u8>>,
    output_port: Option<u64>,
    executed: Vec<Executed<'a>>,
    lookups: Vec<Lookup>,
}

enum Next {
    Step,
    Jump(usize),
    Return,
    End,
}

type Fallible<T> = Result<T, RunFault>;

fn unknown(name: impl ToString) -> RunFault {
    RunFault::Name(name.to_string())
}

/// Returns the largest size of a struct in bytes, and its size without a variable-length last
/// field.
fn sizes(kind: &Struct) -> Fallible<(usize, usize)> {
    let bits: u64 = kind.fields.iter().map(|field| u64::from(field.bits)).sum();
    let last = kind.fields.last().map_or(0, |last| u64::from(last.bits));
    let fixed = bits - if kind.variable { last } else { 0 };
    match usize::try_from(bits / 8) {
        Ok(bytes) if bytes <= LARGEST => Ok((bytes, (fixed / 8) as usize)),
        _ => Err(unknown(&kind.name)),
    }
}

/// Returns the offset and the size of a field in its struct, in bytes.
fn place(kind: &Struct, name: &str) -> Fallible<(usize, usize)> {
    sizes(kind)?;
    let (Field { bits, .. }, offset) = kind.field(name).ok_or_else(|| unknown(name))?;
    Ok((offset as usize / 8, *bits as usize / 8))
}

/// Returns the fields of a struct, each with its name and its bytes in `memory`.
fn parts<'b>(fields: &'b [Field], memory: &'b [u8]) -> impl Iterator<Item = (&'b str, &'b [u8])> {
    let mut start = 0;
    fields.iter().map(move |field| {
        let end = start + field.bits as usize / 8;
        let bytes = memory.get(start..end).unwrap_or_default();
        start = end;
        (field.name.as_str(), bytes)
    })
}

/// Returns the struct type with this name.
fn kind<'a>(spec: &'a Spec, name: &str) -> Fallible<&'a Struct> {
    spec.structs.iter().find(|one| one.name == name).ok_or_else(|| unknown(name))
}

fn action<'a>(spec: &'a Spec, name: &str) -> Fallible<&'a Action> {
    spec.actions.iter().find(|one| one.name == name).ok_or_else(|| unknown(name))
}

/// Returns the fields of an action's data; none for an action without data.
fn data_fields<'a>(spec: &'a Spec, name: &str) -> Fallible<&'a [Field]> {
    match &action(spec, name)?.data {
        Some(data) => Ok(&kind(spec, data)?.fields),
        None => Ok(&[]),
    }
}

/// Returns the size of an action's data in bytes.
///
/// # Errors
/// Returns an error if the action or its struct is not declared, or the struct is too large.
pub fn data_size(spec: &Spec, name: &str) -> Result<usize, RunFault> {
    match &action(spec, name)?.data {
        Some(data) => Ok(sizes(kind(spec, data)?)?.0),
        None => Ok(0),
    }
}

/// Returns the default action of a table or learner; `None` for an unknown name.
pub fn default_action<'a>(spec: &'a Spec, table: &str) -> Option<&'a DefaultAction> {
    let tables = spec.tables.iter().map(|one| (&one.name, &one.default_action));
    let learners = spec.learners.iter().map(|one| (&one.name, &one.default_action));
    tables.chain(learners).find(|(name, _)| *name == table).map(|(_, default)| default)
}

/// Returns the data of a default action as the bytes in memory.
///
/// # Errors
/// Returns an error if the arguments are not numbers that fit the fields of the action.
pub fn default_data(spec: &Spec, default: &DefaultAction) -> Result<Vec<u8>, RunFault> {
    let fields = data_fields(spec, &default.name)?;
    let mut bytes = Vec::with_capacity(data_size(spec, &default.name)?);
    if fields.len() != default.arguments.len() {
        return Err(unknown(&default.name));
    }
    for (field, (name, text)) in fields.iter().zip(&default.arguments) {
        if field.bits > 64 {
            let size = field.bits as usize / 8;
            bytes.extend(crate::parse::in_memory_order(text, size).ok_or_else(|| unknown(name))?);
            continue;
        }
        let value = crate::parse::number(text).ok_or_else(|| unknown(name))?;
        bytes.extend(&value.to_le_bytes()[..field.bits as usize / 8]);
    }
    Ok(bytes)
}

impl<'a> Machine<'a> {
    /// Creates the state in which a new pipeline receives a packet.
    ///
    /// # Errors
    /// Returns an error if a struct is not declared or too large.
    pub fn new(spec: &'a Spec, packet: Vec<u8>) -> Result<Machine<'a>, RunError> {
        Machine::start(spec, packet).map_err(|cause| RunError { line: 0, cause })
    }

    fn start(spec: &'a Spec, packet: Vec<u8>) -> Fallible<Machine<'a>> {
        let mut headers = HashMap::new();
        for header in &spec.headers {
            let (length, _) = sizes(kind(spec, &header.kind)?)?;
            let location = Location::Own;
            let zeros = vec![0; length];
            headers.insert(
                header.name.as_str(),
                Header { own: zeros.clone(), earlier: zeros, valid: false, location, length },
            );
        }
        let registers = spec.register_arrays.iter().map(|array| {
            let mask = u64::from(array.size).next_power_of_two() - 1;
            let (initial, changed) = (array.initial, BTreeMap::new());
            (array.name.as_str(), Registers { mask, initial, changed })
        });
        let meta = match &spec.metadata {
            Some(meta) => sizes(kind(spec, &meta.kind)?)?.0,
            None => 0,
        };
        Ok(Machine {
            spec,
            packet,
            port: 0,
            meta: vec![0; meta],
            headers,
            registers: registers.collect(),
            hit: false,
            action: spec.actions.first().map_or_else(String::new, |first| first.name.clone()),
            entry: 0,
            data: Vec::new(),
            at: 0,
            emitted: Vec::new(),
            pass: 0,
            recirculates: false,
            again: false,
            output: None,
            output_port: None,
            executed: Vec::new(),
            lookups: Vec::new(),
        })
    }

    /// Makes each header that the pipeline extracts refer to the memory that it had for an earlier
    /// packet, until this packet extracts or validates the header.
    pub fn follow_packet(&mut self) {
        for one in &self.spec.apply {
            if let Op::Extract { header, .. } | Op::Lookahead { header } = &one.op
                && let Some(header) = self.headers.get_mut(header.as_str())
            {
                header.location = Location::Earlier;
            }
        }
    }

    /// Returns the fields and registers whose values differ from those in `other`, a machine for
    /// the same pipeline. If all are equal, returns the fields of headers in memory of an earlier
    /// packet.
    pub fn differences(&self, other: &Machine<'_>) -> Vec<FieldValue> {
        let mut found = Vec::new();
        let mut compare = |name: String, bytes: (&[u8], &[u8]), network_order| {
            if bytes.0 != bytes.1 {
                found.push(FieldValue { name, bytes: bytes.0.to_vec(), network_order });
            }
        };
        let fields = |name: &str| kind(self.spec, name).map_or(&[][..], |kind| &kind.fields);
        let meta = self.spec.metadata.as_ref().map_or(&[][..], |meta| fields(&meta.kind));
        for (field, bytes) in parts(meta, &self.meta).zip(parts(meta, &other.meta)) {
            compare(format!("m.{}", field.0), (field.1, bytes.1), false);
        }
        for header in &self.spec.headers {
            let name = header.name.as_str();
            let (Some(own), Some(others)) = (self.headers.get(name), other.headers.get(name))
            else {
                continue;
            };
            let fields = fields(&header.kind);
            let memories = [
                (&own.own, &others.own, ""),
                (&own.earlier, &others.earlier, " of an earlier packet"),
            ];
            for (own, others, whose) in memories {
                for (field, bytes) in parts(fields, own).zip(parts(fields, others)) {
                    compare(format!("h.{name}.{}{whose}", field.0), (field.1, bytes.1), true);
                }
            }
        }
        for array in &self.spec.register_arrays {
            let name = array.name.as_str();
            let (Some(own), Some(others)) = (self.registers.get(name), other.registers.get(name))
            else {
                continue;
            };
            for (&index, &value) in &own.changed {
                let bytes = (&value.to_le_bytes()[..], &others.get(index).to_le_bytes()[..]);
                compare(format!("{name}[{index}]"), bytes, false);
            }
        }
        let number = |machine: &Machine<'_>| {
            let action = self.spec.actions.iter().position(|one| one.name == machine.action);
            action.map_or(u64::MAX, |action| action as u64)
        };
        for (what, own, others) in [
            ("hit", u64::from(self.hit), u64::from(other.hit)),
            ("action", number(self), number(other)),
            ("entry", self.entry, other.entry),
        ] {
            let bytes = (&own.to_le_bytes()[..], &others.to_le_bytes()[..]);
            compare(format!("{what} of the last table for an earlier packet"), bytes, false);
        }
        if found.is_empty() {
            let is_earlier = |header: &&spec::Header| {
                let header = self.headers.get(header.name.as_str());
                header.is_some_and(|header| header.location == Location::Earlier)
            };
            for header in self.spec.headers.iter().filter(is_earlier) {
                let name = header.name.as_str();
                let earlier = self.headers.get(name).map_or(&[][..], |header| &header.earlier);
                found.extend(parts(fields(&header.kind), earlier).map(|(field, bytes)| {
                    let name = format!("h.{name}.{field} of an earlier packet");
                    FieldValue { name, bytes: bytes.to_vec(), network_order: true }
                }));
            }
        }
        found
    }

    /// Returns the executed instructions, in order.
    pub fn executed(&self) -> &[Executed<'a>] {
        &self.executed
    }

    /// Returns the table lookups of the run, in order.
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// Runs the pipeline on the packet, with at most `most` instructions.
    ///
    /// # Errors
    /// Returns [`RunError`] if an instruction cannot be executed, the packet is too short, or the
    /// run is too long.
    pub fn run(&mut self, world: &mut dyn World, most: usize) -> Result<(), RunError> {
        let spec = self.spec;
        self.body(None, &spec.apply, world, most)?;
        while self.again {
            self.again = false;
            self.body(None, &spec.apply, world, most)?;
        }
        Ok(())
    }

    /// Returns the output packet: the emitted headers, then the input bytes that the pipeline did
    /// not extract. Returns `None` if the pipeline drops the packet.
    pub fn output(&self) -> Option<&[u8]> {
        self.output.as_deref()
    }

    /// Returns the number of the output port; `None` if the pipeline drops the packet.
    pub fn output_port(&self) -> Option<u64> {
        self.output_port
    }

    fn assembled(&self) -> Fallible<Vec<u8>> {
        let mut packet = Vec::new();
        for &(name, location, length) in &self.emitted {
            let header = self.headers.get(name).ok_or_else(|| unknown(name))?;
            let (memory, start) = match location {
                Location::Packet(at) => (&self.packet, at),
                Location::Own => (&header.own, 0),
                Location::Earlier => (&header.earlier, 0),
            };
            let bytes = memory.get(start..).ok_or_else(|| unknown(name))?;
            packet.extend_from_slice(&bytes[..length.min(bytes.len())]);
            // DPDK reads beyond a header that was longer in the packet than its own memory is.
            packet.resize(packet.len() + length.saturating_sub(bytes.len()), 0);
        }
        packet.extend_from_slice(self.packet.get(self.at..).unwrap_or_default());
        Ok(packet)
    }

    /// Starts another pass, whose input is the output packet of the current pass.
    fn return_to_start(&mut self) -> Fallible<()> {
        self.packet = self.assembled()?;
        (self.at, self.recirculates) = (0, false);
        self.pass += 1;
        self.emitted.clear();
        for header in self.headers.values_mut() {
            header.valid = false;
        }
        // DPDK keeps the addresses of headers, where the packet may now contain other bytes.
        self.follow_packet();
        Ok(())
    }

    /// Executes the body of an action or of `apply`. Returns true if the pass ended.
    fn body(
        &mut self,
        action_name: Option<&'a str>,
        body: &'a [Instruction],
        world: &mut dyn World,
        most: usize,
    ) -> Result<bool, RunError> {
        let mut at = 0;
        let mut line = 0;
        loop {
            let one = body.get(at).ok_or(RunError { line, cause: RunFault::NoEnd })?;
            line = one.line.0;
            let fault = |cause| RunError { line, cause };
            if self.executed.len() >= most {
                return Err(fault(RunFault::TooManySteps(most)));
            }
            self.executed.push((action_name, at));
            if let Op::Table { table } = &one.op {
                if action_name.is_some() {
                    return Err(fault(RunFault::Unsupported(one.op.to_string())));
                }
                if let Some(called) = self.lookup(table, (line, at), world).map_err(fault)? {
                    let instructions = &called.instructions;
                    if self.body(Some(&called.name), instructions, world, most)? {
                        return Ok(true);
                    }
                }
                at += 1;
                continue;
            }
            match self.step(body, &one.op, world).map_err(fault)? {
                Next::Step => at += 1,
                Next::Jump(to) => at = to,
                Next::Return => return Ok(false),
                Next::End => return Ok(true),
            }
        }
    }

    /// Returns the index of the current instruction among all instructions that the run has
    /// executed.
    fn now(&self) -> usize {
        self.executed.len().saturating_sub(1)
    }

    /// Looks up a table, learner or selector. Returns the action to run; `None` for a selector.
    fn lookup(
        &mut self,
        table: &'a str,
        (line, at): (u32, usize),
        world: &mut dyn World,
    ) -> Fallible<Option<&'a Action>> {
        let spec = self.spec;
        if let Some(selector) = spec.selectors.iter().find(|one| one.name == table) {
            let member = FieldRef::Meta(selector.member.clone());
            let (kind, name) = self.declared(&member)?;
            let start = place(kind, name)?.0;
            let value = world.value(Source::Selector(table), self.now()) as u32;
            // DPDK writes 4 bytes, whatever the width of the field.
            if self.meta.len() < start + 4 {
                self.meta.resize(start + 4, 0);
            }
            self.meta[start..start + 4].copy_from_slice(&value.to_le_bytes());
            return Ok(None);
        }
        let tables = spec.tables.iter().find(|one| one.name == table);
        let learners = spec.learners.iter().find(|one| one.name == table);
        let fields: Vec<&FieldRef> = match (tables, learners) {
            (Some(table), _) => table.key.iter().map(|key| &key.field).collect(),
            (None, Some(learner)) => learner.key.iter().collect(),
            (None, None) => return Err(unknown(table)),
        };
        let mut key = Vec::new();
        for field in fields {
            let network_order = matches!(field, FieldRef::Header { .. });
            let bytes = self.bytes(field)?.to_vec();
            key.push(FieldValue { name: field.to_string(), bytes, network_order });
        }
        let step = self.now();
        let found = world.lookup(&Request { table, line, at, step, pass: self.pass, key: &key });
        let called = action(spec, &found.action)?;
        self.hit = found.hit;
        self.entry = found.entry;
        self.data = found.data;
        self.data.resize(data_size(spec, &called.name)?, 0);
        self.action.clone_from(&called.name);
        let data = parts(data_fields(spec, &called.name)?, &self.data);
        let data = data.map(|(name, bytes)| FieldValue {
            name: format!("t.{name}"),
            bytes: bytes.to_vec(),
            network_order: false,
        });
        self.lookups.push(Lookup {
            table: table.to_owned(),
            line,
            key,
            hit: found.hit,
            action: called.name.clone(),
            data: data.collect(),
        });
        Ok(Some(called))
    }

    /// Returns the struct that contains a field, and the field's name in it.
    fn declared<'f>(&self, field: &'f FieldRef) -> Fallible<(&'a Struct, &'f str)> {
        let spec = self.spec;
        match field {
            FieldRef::Header { header, field } => Ok((self.header_kind(header)?, field)),
            FieldRef::Meta(name) => {
                let meta = spec.metadata.as_ref().ok_or_else(|| unknown(field))?;
                Ok((kind(spec, &meta.kind)?, name))
            }
            FieldRef::Data(name) => {
                let data = action(spec, &self.action)?.data.as_ref();
                Ok((kind(spec, data.ok_or_else(|| unknown(field))?)?, name))
            }
            FieldRef::Object { .. } | FieldRef::Function { .. } => {
                Err(RunFault::Unsupported(field.to_string()))
            }
        }
    }

    fn header_kind(&self, name: &str) -> Fallible<&'a Struct> {
        let header = self.spec.headers.iter().find(|one| one.name == name);
        kind(self.spec, &header.ok_or_else(|| unknown(name))?.kind)
    }

    fn header(&mut self, name: &str) -> Fallible<&mut Header> {
        self.headers.get_mut(name).ok_or_else(|| unknown(name))
    }

    /// Returns `length` bytes of a header from offset `start` on.
    fn header_bytes(&mut self, name: &str, start: usize, length: usize) -> Fallible<&mut [u8]> {
        let header = self.headers.get_mut(name).ok_or_else(|| unknown(name))?;
        let (memory, base) = match header.location {
            Location::Packet(at) => (&mut self.packet, at),
            Location::Own => (&mut header.own, 0),
            Location::Earlier => (&mut header.earlier, 0),
        };
        let (has, end) = (memory.len(), base + start + length);
        let bytes = memory.get_mut(base + start..end);
        bytes.ok_or(RunFault::ShortPacket { has, needs: end as u64 })
    }

    /// Returns the bytes of a field in memory.
    fn bytes(&mut self, field: &FieldRef) -> Fallible<&mut [u8]> {
        let (kind, name) = self.declared(field)?;
        let (start, length) = place(kind, name)?;
        let memory = match field {
            FieldRef::Header { header, .. } => return self.header_bytes(header, start, length),
            FieldRef::Data(_) => &mut self.data,
            _ => &mut self.meta,
        };
        memory.get_mut(start..start + length).ok_or_else(|| unknown(field))
    }

    fn read(&mut self, field: &FieldRef) -> Fallible<u64> {
        let network = matches!(field, FieldRef::Header { .. });
        let mut bytes = self.bytes(field)?.to_vec();
        if bytes.len() > 8 {
            return Err(unknown(field));
        }
        if !network {
            bytes.reverse();
        }
        Ok(number(&bytes))
    }

    fn write(&mut self, field: &FieldRef, value: u64) -> Fallible<()> {
        let network = matches!(field, FieldRef::Header { .. });
        let bytes = self.bytes(field)?;
        let count = bytes.len();
        if count > 8 {
            return Err(unknown(field));
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let place = if network { count - 1 - index } else { index };
            *byte = (value >> (8 * place)) as u8;
        }
        Ok(())
    }

    fn read_meta(&mut self, name: &str) -> Fallible<u64> {
        self.read(&FieldRef::Meta(name.to_owned()))
    }

    fn write_meta(&mut self, name: &str, value: u64) -> Fallible<()> {
        self.write(&FieldRef::Meta(name.to_owned()), value)
    }

    fn operand(&mut self, operand: &Operand) -> Fallible<u64> {
        match operand {
            Operand::Field(field) => self.read(field),
            Operand::Immediate(value) => Ok(*value),
        }
    }

    /// Returns the index of a register. DPDK keeps the low 32 bits of a constant index.
    fn index(&mut self, index: &Operand) -> Fallible<u64> {
        match index {
            Operand::Immediate(value) => Ok(u64::from(*value as u32)),
            field @ Operand::Field(_) => self.operand(field),
        }
    }

    fn array(&mut self, name: &str) -> Fallible<&mut Registers> {
        self.registers.get_mut(name).ok_or_else(|| unknown(name))
    }

    fn step(&mut self, body: &[Instruction], op: &'a Op, world: &mut dyn World) -> Fallible<Next> {
        match op {
            Op::Transmit { port } if self.recirculates => {
                self.operand(port)?;
                self.return_to_start()?;
                self.again = true;
                return Ok(Next::End);
            }
            Op::Drop if self.recirculates => {
                return Err(RunFault::Unsupported("drop after recirculate".to_owned()));
            }
            Op::Recirculate => self.recirculates = true,
            Op::Transmit { port } => {
                self.output_port = Some(self.operand(port)?);
                self.output = Some(self.assembled()?);
                return Ok(Next::End);
            }
            Op::Drop => return Ok(Next::End),
            Op::Return => return Ok(Next::Return),
            Op::Jump { condition, target } => {
                if !self.holds(condition)? {
                    return Ok(Next::Step);
                }
                let to = body.iter().position(|one| one.label.as_ref() == Some(target));
                return to.map(Next::Jump).ok_or_else(|| unknown(target));
            }
            // DPDK writes the port only for a packet from a port, not for a recirculated packet.
            Op::Receive { port } if self.pass == 0 => self.write_meta(port, self.port)?,
            Op::Receive { .. } => {}
            Op::Mirror { .. }
            | Op::RegisterPrefetch { .. }
            | Op::MeterPrefetch { .. }
            | Op::Learn { .. }
            | Op::Rearm { .. }
            | Op::Forget => {}
            Op::RecirculationId { pass } => self.write_meta(pass, self.pass.into())?,
            Op::Extract { header, length } => {
                let (_, fixed) = sizes(self.header_kind(header)?)?;
                let bytes = match length {
                    None => fixed,
                    // DPDK adds modulo 2^32, so a negative length makes the header shorter.
                    Some(length) => {
                        (fixed as u32).wrapping_add(self.read_meta(length)? as u32) as usize
                    }
                };
                self.point(header, bytes.max(fixed))?;
                self.header(header)?.length = bytes;
                self.at += bytes;
            }
            Op::Lookahead { header } => {
                let (_, bytes) = sizes(self.header_kind(header)?)?;
                self.point(header, bytes)?;
            }
            Op::Emit { header } => {
                let found = self.header(header)?;
                if found.valid {
                    let part = (header.as_str(), found.location, found.length);
                    self.emitted.push(part);
                }
            }
            Op::Validate { header } => {
                let found = self.header(header)?;
                if !found.valid {
                    found.location = Location::Own;
                }
                found.valid = true;
            }
            Op::Invalidate { header } => self.header(header)?.valid = false,
            Op::Move { to, from: Operand::Field(from) }
                if self.bytes(to)?.len() > 8 || self.bytes(from)?.len() > 8 =>
            {
                let length = self.bytes(from)?.len();
                if self.bytes(to)?.len() != length {
                    return Err(unknown(to));
                }
                let mut at = 0;
                // The order of the pieces matters if headers overlap after `lookahead`.
                for piece in [8, 4, 2, 1] {
                    while length - at >= piece {
                        let bytes = self.bytes(from)?[at..at + piece].to_vec();
                        self.bytes(to)?[at..at + piece].copy_from_slice(&bytes);
                        at += piece;
                    }
                }
            }
            Op::Move { to, from } => {
                let value = self.operand(from)?;
                self.write(to, value)?;
            }
            Op::Alu { alu, to, from } => {
                let (left, right) = (self.read(to)?, self.operand(from)?);
                let value = match alu {
                    Alu::Add => left.wrapping_add(right),
                    Alu::Sub => left.wrapping_sub(right),
                    Alu::And => left & right,
                    Alu::Or => left | right,
                    Alu::Xor => left ^ right,
                    Alu::Shl => left.wrapping_shl(right as u32),
                    Alu::Shr => left.wrapping_shr(right as u32),
                };
                self.write(to, value)?;
            }
            Op::ChecksumAdd { to, from: Summand::Field(from) } => {
                let bytes = self.bytes(from)?.to_vec();
                self.checksum(to, &bytes, true)?;
            }
            Op::ChecksumAdd { to, from: Summand::Header(header) } => {
                let kind = self.header_kind(header)?;
                if kind.variable {
                    return Err(RunFault::Unsupported(op.to_string()));
                }
                // DPDK adds whole words of 4 bytes.
                let length = sizes(kind)?.0 / 4 * 4;
                let bytes = self.header_bytes(header, 0, length)?.to_vec();
                self.checksum(to, &bytes, true)?;
            }
            Op::ChecksumSub { to, from } => {
                let bytes = self.bytes(from)?.to_vec();
                self.checksum(to, &bytes, false)?;
            }
            Op::Hash { function, to, .. } => {
                let value = world.value(Source::Hash(function), self.now());
                self.write_meta(to, value)?;
            }
            Op::RegisterRead { to, array, index } => {
                let index = self.index(index)?;
                let value = self.array(array)?.get(index);
                self.write(to, value)?;
            }
            Op::RegisterWrite { array, index, from } => {
                let (index, value) = (self.index(index)?, self.operand(from)?);
                self.array(array)?.set(index, value);
            }
            Op::RegisterAdd { array, index, from } => {
                let (index, value) = (self.index(index)?, self.operand(from)?);
                let registers = self.array(array)?;
                registers.set(index, registers.get(index).wrapping_add(value));
            }
            Op::Meter { to, .. } => {
                let colour = world.value(Source::Meter, self.now());
                // DPDK writes colours in little-endian order, also to headers.
                for (index, byte) in self.bytes(to)?.iter_mut().enumerate() {
                    *byte = if index == 0 { colour as u8 } else { 0 };
                }
            }
            Op::EntryId { to } => self.write_meta(to, self.entry)?,
            Op::Table { .. } | Op::Extern { .. } => {
                return Err(RunFault::Unsupported(op.to_string()));
            }
        }
        Ok(Next::Step)
    }

    /// Makes a header refer to the next `bytes` bytes of the packet, and marks it as valid.
    fn point(&mut self, header: &str, bytes: usize) -> Fallible<()> {
        let (at, has) = (self.at, self.packet.len());
        if at + bytes > has {
            return Err(RunFault::ShortPacket { has, needs: (at + bytes) as u64 });
        }
        let found = self.header(header)?;
        (found.valid, found.location) = (true, Location::Packet(at));
        Ok(())
    }

    /// Adds bytes to a one's complement checksum, or subtracts them, as words of 16 bits in memory
    /// order.
    fn checksum(&mut self, to: &FieldRef, bytes: &[u8], add: bool) -> Fallible<()> {
        let target = self.bytes(to)?;
        let &mut [low, high] = target else { return Err(unknown(to)) };
        let mut sum = u64::from(!u16::from_le_bytes([low, high]));
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
        target.copy_from_slice(&result.to_le_bytes());
        Ok(())
    }

    fn holds(&mut self, condition: &Condition) -> Fallible<bool> {
        Ok(match condition {
            Condition::Always => true,
            Condition::Valid(header) => self.header(header)?.valid,
            Condition::Invalid(header) => !self.header(header)?.valid,
            Condition::Hit => self.hit,
            Condition::Miss => !self.hit,
            Condition::Action(action) => self.action == *action,
            Condition::NotAction(action) => self.action != *action,
            Condition::Compare { relation, left, right } => {
                let equality = matches!(relation, Relation::Eq | Relation::Ne);
                let header = matches!(left, FieldRef::Header { .. });
                let width = 8 * self.bytes(left)?.len() as u32;
                let (left, mut number) = (self.read(left)?, self.operand(right)?);
                // DPDK shortens the number to the width of a header field, but only here.
                if equality && header && matches!(right, Operand::Immediate(_)) {
                    number &= u64::MAX.checked_shr(64 - width).unwrap_or(0);
                }
                match relation {
                    Relation::Eq => left == number,
                    Relation::Ne => left != number,
                    Relation::Lt => left < number,
                    Relation::Gt => left > number,
                }
            }
        })
    }
}
