//! Generates the auxiliary BPF programs of live runs, which have a few instructions each.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::REDIRECT_MAP;
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source};

use super::action::Action;
use super::error::LiveError;
use crate::generated::{Assembly, GeneratedError, KEY, load, map};
use crate::program::Variant;
use crate::sys::{Cpus, RawMap};
use crate::{Device, LoadedProgram, Namespace};

/// A program that drops all packets and counts them.
#[derive(Debug)]
pub struct Counter {
    program: LoadedProgram,
    count: RawMap,
}

impl Counter {
    pub fn new(cpus: Cpus) -> Result<Counter, GeneratedError> {
        let count = map("count", MapKind::ARRAY, 8, cpus)?;
        let mut code = Assembly::default();
        code.map_value(Register::R1, count.fd(), 0);
        code.set(Register::R2, 1);
        code.count(Register::R1, 0, Register::R2);
        code.exit(Action::Drop as i32);
        Ok(Counter { program: load("count", &code, Variant::xdp(false))?, count })
    }

    pub fn program(&self) -> &LoadedProgram {
        &self.program
    }

    /// Returns the number of packets counted so far.
    pub fn count(&self) -> Result<u64, GeneratedError> {
        let refused = |cause| GeneratedError::Refused { what: "a count", cause };
        let bytes = self.count.lookup(&KEY).map_err(refused)?;
        Ok(bytes.try_into().map_or(0, u64::from_ne_bytes))
    }
}

/// Loads a program that does nothing but return this action.
pub fn minimal(action: Action) -> Result<LoadedProgram, GeneratedError> {
    let mut code = Assembly::default();
    code.exit(action as i32);
    load(action.name(), &code, Variant::xdp(false))
}

/// Loads a program that redirects every packet to a device of a namespace, through a map.
pub fn redirecting(
    namespace: &Namespace,
    device: Device,
    cpus: Cpus,
) -> Result<LoadedProgram, LiveError> {
    let devices = map("devices", MapKind::DEVMAP, 4, cpus)?;
    let index = device.index().to_ne_bytes();
    let updated = namespace.enter(|| devices.update(&KEY, &index))?;
    updated.map_err(|cause| GeneratedError::Refused { what: "a device in a map", cause })?;
    let mut code = Assembly::default();
    code.map(Register::R1, devices.fd());
    code.set(Register::R2, 0);
    code.set(Register::R3, 0);
    code.call(REDIRECT_MAP);
    code.leave();
    Ok(load(Action::Redirect.name(), &code, Variant::xdp(false))?)
}

/// Loads a program that writes `packet` into each packet and sends it back on the device that it
/// came from. It writes the whole packet each time, because the kernel reuses the memory of sent
/// packets with all changes.
pub fn generator(packet: &[u8]) -> Result<LoadedProgram, LiveError> {
    let mut code = Assembly::default();
    write(&mut code, packet)?;
    code.exit(Action::Tx as i32);
    Ok(load("generator", &code, Variant::xdp(false))?)
}

/// Generates code that overwrites the packet with `packet`, unless the packet is shorter. The code
/// expects the context in `r1` and leaves it there.
pub fn write(code: &mut Assembly, packet: &[u8]) -> Result<(), LiveError> {
    let long = || LiveError::TooLong { len: packet.len() };
    let length = i32::try_from(packet.len()).map_err(|_| long())?;
    let (data, end, value) = (Register::R2, Register::R3, Register::R4);
    code.load(Size::W, data, Register::R1, 0);
    code.load(Size::W, end, Register::R1, 4);
    code.mov(value, Source::Reg(data));
    code.alu(AluOp::Add, value, Source::Imm(length));
    let no_room = code.jump_if(Condition::Gt, value, Source::Reg(end));
    let (mut rest, mut offset) = (packet, 0);
    while !rest.is_empty() {
        let size = [Size::DW, Size::W, Size::H, Size::B];
        let size = size.into_iter().find(|size| usize::from(size.bytes()) <= rest.len());
        let size = size.unwrap_or(Size::B);
        let (word, after) = rest.split_at(size.bytes().into());
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        code.number(value, u64::from_le_bytes(bytes).to_le());
        code.store(size, data, i16::try_from(offset).map_err(|_| long())?, Source::Reg(value));
        (rest, offset) = (after, offset + word.len());
    }
    if code.land(no_room) { Ok(()) } else { Err(long()) }
}
