//! Sets up the memory regions and registers of a run, with their values when a packet arrives.

use slowpath_ir::{
    Emit, Input, InputId, InputKind, Op as MicroOp, Operand, Program, Reg, RegInfo, Region,
    RegionId, RegionKind,
};

use super::emit::Emitter;
use super::options::LiftOptions;
use crate::code::{Code, Resolved};
use crate::spec::Spec;

/// `LOWEST` and `HIGHEST`: smallest and largest address of a region. They leave space for all
/// offsets.
const LOWEST: u64 = 0x10_0000;
const HIGHEST: u64 = 0x7fff_0000_0000;

/// `PACKET` to `EARLIER`: indices of the regions that every program has.
pub const PACKET: usize = 0;
pub const META: usize = 1;
pub const HEADERS: usize = 2;
pub const EARLIER: usize = 3;
/// Index of the region of the first register array.
pub const ARRAYS: usize = 4;

/// Input with the length of the packet.
const LENGTH: InputId = InputId(0);
/// Input with the number of the input port.
pub const PORT: InputId = InputId(1);
/// `HIT`, `ACTION` and `ENTRY_NUMBER`: inputs with the result of the last lookup for an earlier
/// packet.
pub const HIT: InputId = InputId(2);
pub const ACTION: InputId = InputId(3);
pub const ENTRY_NUMBER: InputId = InputId(4);

/// Registers that store the state of a header.
#[derive(Clone, Copy)]
pub struct HeaderRegs {
    /// 1-bit register: 1 if the header is valid.
    pub valid: Reg,
    /// Two registers: the address of the header, and a flag that is 1 if this address was set for
    /// the current packet. `None` for a header that always stays outside of the packet.
    pub moving: Option<(Reg, Reg)>,
    /// Offset of the header in the region `headers`.
    pub room: u64,
}

/// Registers and regions of a lifted pipeline.
pub struct Start {
    pub regs: Vec<RegInfo>,
    pub regions: Vec<Region>,
    pub headers: Vec<HeaderRegs>,
    /// Register with the number of bytes extracted so far, plus `before_packet`.
    pub next: Reg,
    /// Register with the smallest packet length that the run needs so far, in bytes.
    pub need: Reg,
    /// Register with the length of the packet in bytes.
    pub length: Reg,
    /// Register that is 1 after a hit in the last table.
    pub hit: Reg,
    /// Register with the index of the action that the last table selected.
    pub action: Reg,
    /// Register with the number of the entry that the last table found; 0 after a miss.
    pub entry: Reg,
    /// Register with the index of the current lookup's result.
    pub choice: Reg,
    /// Value at which the count of extracted bytes starts.
    pub before_packet: u64,
}

impl Start {
    pub fn new(spec: &Spec, resolved: &Resolved, before_packet: u64) -> Start {
        let mut regs = Vec::new();
        let mut reg = |name: String, width| {
            regs.push(RegInfo { name, width });
            Reg::from(regs.len() - 1)
        };
        let mut regions = Vec::new();
        let mut region = |name: String, kind, base| {
            regions.push(Region { name, kind, base, content: None });
        };
        for (name, kind) in [
            ("packet", RegionKind::Packet),
            ("metadata", RegionKind::Context),
            ("headers", RegionKind::Context),
            ("earlier packets", RegionKind::Context),
        ] {
            region(name.to_owned(), kind, reg(format!("address of {name}"), 64));
        }
        for array in &spec.register_arrays {
            let base = reg(format!("address of {}", array.name), 64);
            region(array.name.clone(), RegionKind::Map, base);
        }
        let moves = |header: usize| {
            resolved.apply.code.iter().any(
                |code| matches!(code, Code::Extract(h, _) | Code::Lookahead(h) if *h == header),
            )
        };
        let mut room = 0;
        let headers = spec.headers.iter().enumerate().map(|(index, header)| {
            let valid = reg(format!("h.{} is valid", header.name), 1);
            let moving = moves(index).then(|| {
                let address = reg(format!("address of h.{}", header.name), 64);
                (address, reg(format!("h.{} is of this packet", header.name), 1))
            });
            let own = room;
            room += u64::from(resolved.header_room[index]).next_multiple_of(8);
            HeaderRegs { valid, moving, room: own }
        });
        let headers = headers.collect();
        let mut named = |name: &str, width| reg(name.to_owned(), width);
        Start {
            headers,
            next: named("extracted bytes", 64),
            need: named("needed bytes", 64),
            length: named("packet length", 16),
            hit: named("hit", 1),
            action: named("action", 16),
            entry: named("entry", 64),
            choice: named("outcome", 16),
            before_packet,
            regions,
            regs,
        }
    }

    /// Adds inputs and the prologue to a program. Its regions must be complete; `actions` is the
    /// number of the pipeline's actions.
    pub fn prologue(&self, program: &mut Program, options: &LiftOptions, actions: usize) {
        let last_action = actions.saturating_sub(1) as u64;
        let length = (u64::from(options.min_packet), u64::from(options.max_packet));
        program.inputs = vec![
            input("packet length", 16, length, InputKind::PacketLength),
            input("input port", 32, (0, u32::MAX.into()), InputKind::Unknown),
            input("hit of the last table for an earlier packet", 1, (0, 1), InputKind::Unknown),
            input("action for an earlier packet", 16, (0, last_action), InputKind::Unknown),
            input("entry for an earlier packet", 64, (0, u64::MAX), InputKind::Unknown),
        ];
        program.packet_length = Some(LENGTH);
        let mut emit = Emitter::new(std::mem::take(&mut program.regs));
        let read = |emit: &mut Emitter, dst, input| emit.push(MicroOp::Input { dst, input });
        for (index, region) in program.regions.iter().enumerate() {
            let kind = InputKind::BaseAddress(RegionId::from(index));
            let name = format!("address of {}", region.name);
            read(&mut emit, region.base, InputId::from(program.inputs.len()));
            program.inputs.push(input(&name, 64, (LOWEST, HIGHEST), kind));
        }
        read(&mut emit, self.length, LENGTH);
        read(&mut emit, self.hit, HIT);
        read(&mut emit, self.action, ACTION);
        read(&mut emit, self.entry, ENTRY_NUMBER);
        for dst in [self.next, self.need] {
            emit.copy(dst, Operand::constant(64, self.before_packet));
        }
        emit.copy(self.choice, Operand::constant(16, 0));
        for header in &self.headers {
            emit.copy(header.valid, Operand::constant(1, 0));
            if let Some((address, own)) = header.moving {
                let earlier = program.regions[EARLIER].base;
                let place = emit.offset(earlier.into(), header.room);
                emit.copy(address, place);
                emit.copy(own, Operand::constant(1, 0));
            }
        }
        (program.regs, program.prologue) = emit.into_parts();
    }
}

fn input(name: &str, width: u8, (min, max): (u64, u64), kind: InputKind) -> Input {
    Input { name: name.to_owned(), width, min, max, kind }
}
