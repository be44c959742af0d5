//! The programs that live runs need besides the one that is measured: a few instructions each.

use std::collections::BTreeMap;

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width,
};
use slowpath_bpf::{BpfProgram, MapDef, MapKind, ProgramKind};

use super::action::Action;
use crate::error::{LoadError, MapError};
use crate::sys::Cpus;
use crate::{Device, Loaded, create, program};

/// `bpf_redirect_map`.
const REDIRECT_MAP: i32 = 51;
/// The only key of the maps here.
const KEY: [u8; 4] = [0; 4];

/// A program that drops all packets and counts them.
#[derive(Debug)]
pub struct Counter {
    program: Loaded,
}

impl Counter {
    pub fn new(cpus: Cpus) -> Result<Counter, LoadError> {
        let value = Imm64::MapValue { map: 0, offset: 0 };
        let mut insns = vec![
            Insn::LoadImm64 { dst: Register::R1, value },
            Insn::SecondSlot,
            set(Register::R2, 1),
            Insn::Atomic {
                op: AtomicOp::Add { fetch: false },
                width: Width::W64,
                base: Register::R1,
                offset: 0,
                src: Register::R2,
            },
        ];
        insns.extend(exit(Action::Drop));
        let count = MapDef { value_size: 8, ..map(MapKind::ARRAY, "count") };
        load("count", insns, Some((&count, cpus))).map(|program| Counter { program })
    }

    pub fn program(&self) -> &Loaded {
        &self.program
    }

    /// How many there were until now.
    pub fn count(&self) -> Result<u64, MapError> {
        let count = self.program.map_at(0).map(|map| map.lookup(&KEY)).transpose()?.flatten();
        Ok(count.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes))
    }
}

/// A program that does nothing but return an action; for redirecting it asks a map that has no
/// device yet.
pub fn minimal(action: Action, cpus: Cpus) -> Result<Loaded, LoadError> {
    if action != Action::Redirect {
        return load(action.name(), exit(action).to_vec(), None);
    }
    let insns = vec![
        Insn::LoadImm64 { dst: Register::R1, value: Imm64::Map(0) },
        Insn::SecondSlot,
        set(Register::R2, 0),
        set(Register::R3, 0),
        Insn::Call(Call::Helper(REDIRECT_MAP)),
        Insn::Exit,
    ];
    load(action.name(), insns, Some((&map(MapKind::DEVMAP, "devices"), cpus)))
}

/// Says where the minimal program redirects to. To be called in the device's namespace.
pub fn lead_to(redirecting: &Loaded, device: Device) -> Result<(), MapError> {
    let index = device.index().to_ne_bytes();
    redirecting.map_at(0).map_or(Ok(()), |map| map.update(&KEY, &index))
}

/// A program that writes a packet and sends it out where it came in. It writes all of it each time,
/// as the memory of packets that were sent is used again with what became of them.
pub fn generator(packet: &[u8]) -> Result<Loaded, LoadError> {
    let mut insns = write(packet);
    insns.extend(exit(Action::Tx));
    load("generator", insns, None)
}

/// Writes a packet if there is room for it; the context is in `r1`, where it stays.
pub fn write(packet: &[u8]) -> Vec<Insn> {
    let (data, end, value) = (Register::R2, Register::R3, Register::R4);
    let load_field = |dst, offset| {
        let base = Register::R1;
        Insn::Load { size: Size::W, signed: false, dst, base, offset }
    };
    let mut writes = Vec::new();
    let mut offset = 0;
    let mut rest = packet;
    while !rest.is_empty() {
        let size = [Size::DW, Size::W, Size::H, Size::B];
        let size = size.into_iter().find(|size| usize::from(size.bytes()) <= rest.len());
        let size = size.unwrap_or(Size::B);
        let (word, after) = rest.split_at(size.bytes().into());
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        let word = Imm64::Value(u64::from_le_bytes(bytes).to_le());
        writes.extend([Insn::LoadImm64 { dst: value, value: word }, Insn::SecondSlot]);
        writes.push(Insn::Store { size, base: data, offset, src: Source::Reg(value) });
        (rest, offset) = (after, offset + i16::from(size.bytes()));
    }
    let length = i32::from(offset);
    let mut insns = vec![
        load_field(data, 0),
        load_field(end, 4),
        alu(AluOp::Mov, value, Source::Reg(data)),
        alu(AluOp::Add, value, Source::Imm(length)),
        Insn::Branch {
            width: Width::W64,
            cond: Condition::Gt,
            dst: value,
            src: Source::Reg(end),
            offset: writes.len() as i16,
        },
    ];
    insns.append(&mut writes);
    insns
}

fn alu(op: AluOp, dst: Register, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst, src }
}

/// Sets a register to a number.
pub fn set(dst: Register, value: i32) -> Insn {
    alu(AluOp::Mov, dst, Source::Imm(value))
}

/// Ends with an action.
pub fn exit(action: Action) -> [Insn; 2] {
    [set(Register::R0, action as i32), Insn::Exit]
}

/// Copies a register.
pub fn alu_move(dst: Register, src: Register) -> Insn {
    alu(AluOp::Mov, dst, Source::Reg(src))
}

/// A map of one element with a number of 4 bytes.
pub fn map(kind: MapKind, name: &str) -> MapDef {
    MapDef { kind, key_size: 4, value_size: 4, max_entries: 1, ..MapDef::new(name) }
}

/// Loads a program with at most one map.
pub fn load(
    name: &str,
    insns: Vec<Insn>,
    map: Option<(&MapDef, Cpus)>,
) -> Result<Loaded, LoadError> {
    let map = map.map(|(def, cpus)| create::map(def, cpus, None)).transpose()?;
    let maps: BTreeMap<_, _> = map.into_iter().map(|map| (0, map)).collect();
    let program = BpfProgram {
        name: name.to_owned(),
        section: "xdp".to_owned(),
        kind: ProgramKind::Xdp,
        lines: Vec::new(),
        insns,
        subprograms: Vec::new(),
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
    };
    let fd = program::load(&program, "GPL", &maps, None)?;
    Ok(Loaded::new(fd, BTreeMap::new(), maps))
}
