//! Translates further passes of a packet. Each pass has its own copy of the blocks, so the number
//! of the pass is known in each block.

use std::collections::BTreeSet;

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, Operand, Reg, Region, RegionKind};

use super::emit::Emitter;
use super::start::{EARLIER, HEADERS, PACKET, Start};
use crate::code::{Base, Code, Place, Resolved};
use crate::error::SpecError;
use crate::spec::{Line, Relation, Spec};

/// Largest number of passes of a packet.
const MOST_PASSES: u32 = 32;

/// Value at which the counts of extracted and needed bytes start. It keeps the counts from becoming
/// negative when a pass puts headers in front of the packet.
const BEFORE_PACKET: u64 = 1 << 16;

/// State of a pass: its number, and whether the packet takes another pass after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pass {
    /// Number of earlier passes.
    pub number: u32,
    /// True if an instruction `recirculate` was executed, so that the next `tx` starts another
    /// pass.
    pub recirculates: bool,
}

/// An instruction `emit` in a pipeline with further passes.
struct Emission {
    /// Index of the instruction in `apply`.
    at: usize,
    /// 1-bit register: 1 if the header is part of the output packet.
    done: Reg,
    /// Register with the address of the header.
    address: Reg,
    bytes: u32,
    /// Offset of the header in the region of emitted headers.
    room: u64,
}

/// Emitted headers, and fields with the pass number, of a pipeline with further passes. Empty for
/// other pipelines.
#[derive(Default)]
pub struct Passes {
    emissions: Vec<Emission>,
    /// Index of the region for emitted headers.
    region: usize,
    /// Metadata fields that contain the number of the pass throughout the pass.
    known: Vec<Place>,
    /// Value at which the count of extracted bytes starts.
    pub before_packet: u64,
}

/// Returns true if a packet can take further passes: the pipeline contains `recirculate`.
pub fn has_passes(resolved: &Resolved) -> bool {
    let bodies = resolved.actions.iter().chain([&resolved.apply]);
    bodies.flat_map(|body| &body.code).any(|code| *code == Code::Recirculate)
}

/// Returns the value at which the count of extracted bytes starts.
pub fn before_packet(resolved: &Resolved) -> u64 {
    if has_passes(resolved) { BEFORE_PACKET } else { 0 }
}

/// Returns the field that an instruction writes; `None` if it writes none.
fn written(code: &Code) -> Option<Place> {
    match *code {
        Code::Receive(to)
        | Code::Move(to, _)
        | Code::CopyBytes(to, _)
        | Code::Alu(_, to, _)
        | Code::Checksum(_, to, _)
        | Code::Hash(to, _)
        | Code::RegisterRead(to, ..)
        | Code::Meter(to)
        | Code::Select(_, to)
        | Code::EntryId(to) => Some(to),
        _ => None,
    }
}

/// Returns the metadata fields that `recircid` sets at the start of each pass, and that no other
/// instruction writes.
fn known(resolved: &Resolved) -> Vec<Place> {
    let bodies = || resolved.actions.iter().chain([&resolved.apply]).flat_map(|body| &body.code);
    let targets: BTreeSet<usize> = resolved
        .apply
        .code
        .iter()
        .filter_map(|code| match code {
            Code::Jump(_, target) => Some(*target),
            _ => None,
        })
        .collect();
    let start = resolved.apply.code.iter().enumerate().take_while(|(at, code)| {
        !targets.contains(at) && !matches!(code, Code::Jump(..) | Code::Table(_) | Code::Finish(_))
    });
    let overlaps = |one: Place, other: Place| {
        one.base == other.base
            && one.offset < other.offset + other.bytes
            && other.offset < one.offset + one.bytes
    };
    let fields = start.filter_map(|(_, code)| match *code {
        Code::Pass(place) if place.base == Base::Meta => Some(place),
        _ => None,
    });
    let changes = |place: Place| {
        bodies().any(|code| match *code {
            // A selector writes 4 bytes.
            Code::Select(_, to) => overlaps(place, Place { bytes: to.bytes.max(4), ..to }),
            Code::Pass(other) => other != place && overlaps(place, other),
            ref code => written(code).is_some_and(|to| overlaps(place, to)),
        })
    };
    fields.filter(|place| !changes(*place)).collect()
}

impl Passes {
    /// Collects the `emit` instructions of a pipeline with further passes.
    ///
    /// # Errors
    /// Returns [`SpecError`] if the order or the length of the emitted headers depends on more than
    /// their validity.
    pub fn new(
        spec: &Spec,
        resolved: &Resolved,
        regions: &mut Vec<Region>,
        mut reg: impl FnMut(u8) -> Reg,
    ) -> Result<Passes, SpecError> {
        if !has_passes(resolved) {
            return Ok(Passes::default());
        }
        let fault = |line, what: &str| {
            let what =
                format!("a pipeline with 'recirculate' has {what}; slowpath cannot analyse it");
            Err(SpecError::new(codes::SWX_UNSUPPORTED, line, what))
        };
        for (body, action) in resolved.actions.iter().zip(&spec.actions) {
            if let Some(at) = body.code.iter().position(|code| matches!(code, Code::Emit(_))) {
                return fault(action.instructions[at].line, "'emit' in an action");
            }
        }
        let code = &resolved.apply.code;
        let (mut emissions, mut room) = (Vec::new(), 0);
        for (at, one) in code.iter().enumerate() {
            let Code::Emit(header) = *one else { continue };
            let line = spec.apply[at].line;
            let loops = code.iter().enumerate().any(|(from, code)| match code {
                Code::Jump(_, target) => *target <= at && at < from,
                _ => false,
            });
            if loops {
                return fault(line, "'emit' in a loop");
            }
            let bytes = resolved.header_bytes[header];
            if bytes != resolved.header_room[header] {
                return fault(line, "'emit' of a header with a varbit field");
            }
            emissions.push(Emission { at, done: reg(1), address: reg(64), bytes, room });
            room += u64::from(bytes).next_multiple_of(8);
        }
        let region = regions.len();
        let name = "emitted headers".to_owned();
        regions.push(Region { name, kind: RegionKind::Context, base: reg(64), content: None });
        let known = known(resolved);
        Ok(Passes { emissions, region, known, before_packet: BEFORE_PACKET })
    }

    /// Returns the result of comparing a field with a constant in a pass, if it is known because
    /// the field contains the number of the pass; otherwise `None`.
    pub fn decided(
        &self,
        pass: Pass,
        relation: Relation,
        field: Place,
        number: u64,
    ) -> Option<bool> {
        let pass = u64::from(pass.number);
        self.known.contains(&field).then_some(match relation {
            Relation::Eq => pass == number,
            Relation::Ne => pass != number,
            Relation::Lt => pass < number,
            Relation::Gt => pass > number,
        })
    }

    /// Emits code that starts a new output packet, without headers.
    pub fn start_emissions(&self, emit: &mut Emitter, start: &Start) {
        for one in &self.emissions {
            emit.copy(one.done, Operand::constant(1, 0));
            emit.copy(one.address, start.regions[self.region].base);
        }
    }

    /// Emits the instruction `emit` with index `at` in `apply`.
    pub fn emission(&self, emit: &mut Emitter, start: &Start, at: usize, header: usize) {
        let Some(one) = self.emissions.iter().find(|one| one.at == at) else { return };
        let regs = start.headers[header];
        emit.copy(one.done, regs.valid);
        let address = match regs.moving {
            Some((address, _)) => address.into(),
            None => {
                let base = start.regions[HEADERS].base;
                emit.offset(base.into(), regs.room)
            }
        };
        emit.copy(one.address, address);
    }

    /// Emits the start of another pass, whose packet begins with the emitted headers.
    ///
    /// # Errors
    /// Returns [`SpecError`] if a packet may take more than [`MOST_PASSES`] passes.
    pub fn return_to_start(
        &self,
        emit: &mut Emitter,
        start: &Start,
        (pass, line): (Pass, Line),
    ) -> Result<Pass, SpecError> {
        let next = Pass { number: pass.number + 1, recirculates: false };
        if next.number >= MOST_PASSES {
            let what = format!(
                "a packet may take more than {MOST_PASSES} passes; compare the number from \
                 'recircid', read after rx, with a limit before 'recirculate'"
            );
            return Err(SpecError::new(codes::SWX_UNSUPPORTED, line, what));
        }
        let base = start.regions[self.region].base;
        let (zero, next_byte) = (Operand::constant(64, 0), start.next);
        // The headers may overlap their new places, so they are copied twice.
        let mut total = zero;
        for one in &self.emissions {
            let room = emit.offset(base.into(), one.room);
            emit.copy_bytes(room, one.address.into(), one.bytes);
            let bytes = Operand::constant(64, one.bytes.into());
            let part = emit.select(one.done, bytes, zero);
            total = emit.binary(BinaryOp::Add, total, part);
        }
        let first = emit.binary(BinaryOp::Sub, next_byte, total);
        let before = Operand::constant(64, self.before_packet);
        let mut at = emit.binary(BinaryOp::Sub, first, before);
        let packet = start.regions[PACKET].base;
        for one in &self.emissions {
            let room = emit.offset(base.into(), one.room);
            let place = emit.binary(BinaryOp::Add, packet, at);
            let to = emit.select(one.done, place, room);
            emit.copy_bytes(to, room, one.bytes);
            let bytes = Operand::constant(64, one.bytes.into());
            let part = emit.select(one.done, bytes, zero);
            at = emit.binary(BinaryOp::Add, at, part);
        }
        emit.copy(next_byte, first);
        for header in &start.headers {
            emit.copy(header.valid, Operand::constant(1, 0));
            if let Some((address, own)) = header.moving {
                let earlier = start.regions[EARLIER].base;
                let place = emit.offset(earlier.into(), header.room);
                emit.copy(address, place);
                emit.copy(own, Operand::constant(1, 0));
            }
        }
        Ok(next)
    }
}
