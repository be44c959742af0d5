//! Encodes and decodes memory commands.

use super::error::{WordError, in_range};
use super::field::mem;
use super::field::narrow;
use super::operand::{Form, Sources};
use crate::{Address, Insn, MemCommand, Operand};

const FORM: Form = Form::Restricted;

/// The memory commands, each with its values of the word's two fields `command` and `token`.
const COMMANDS: [(MemCommand, u64, u64); 6] = [
    (MemCommand::Write8Swap, 0x42, 2),
    (MemCommand::Write32Swap, 0x5f, 2),
    (MemCommand::Read8, 0x43, 1),
    (MemCommand::Read32Swap, 0x5c, 2),
    (MemCommand::Add, 0x47, 0),
    (MemCommand::AddImm, 0x47, 2),
];

/// Value of the mode field for a 40-bit address whose shifted part is the source in field A.
const DRAM_A_HIGH: u64 = 0;
/// Value of the mode field for a 40-bit address whose shifted part is the source in field B.
const DRAM_B_HIGH: u64 = 1;
/// Value of the mode field for a 32-bit address.
const SRAM: u64 = 4;
const NO_WAIT: u64 = 3;

/// Encodes `mem[command, $xfer_n, address, count]` with `indirect_ref` and
/// `ctx_swap[sigN], defer[n]`.
pub(super) fn encode(
    command: MemCommand,
    xfer: u8,
    address: Address,
    (count, indirect): (u8, bool),
    (signal, defer): (Option<u8>, u8),
) -> Result<u64, WordError> {
    // A larger count makes `add_imm` 64 bits wide; the disassembler then prints another name.
    let most = if command == MemCommand::AddImm { 4 } else { 8 };
    let (sources, mode) = address_fields(address)?;
    let found = COMMANDS.iter().find(|&&(known, ..)| known == command);
    let (code, token) = found.map_or((0, 0), |&(_, code, token)| (code, token));
    let (wait, signal) = match signal {
        Some(signal) => {
            (in_range("number of delay slots", defer, 0, 2)?, in_range("signal", signal, 1, 15)?)
        }
        None => (NO_WAIT, in_range("number of delay slots", defer, 0, 0)?),
    };
    Ok(narrow::A.put(sources.a)
        | narrow::B.put(sources.b)
        | mem::WAIT.put(wait)
        | mem::TOKEN.put(token)
        | mem::XFER.put(in_range("transfer register", xfer, 0, 31)?)
        | mem::COUNT.put(in_range("count", count, 1, most)? - 1)
        | mem::SIGNAL.put(signal)
        | mem::COMMAND.put(code)
        | mem::INDIRECT.flag(indirect)
        | mem::MODE.put(mode))
}

/// Encodes an address: its two operands as sources, and its mode. The operands of a 32-bit address
/// cannot be swapped.
fn address_fields(address: Address) -> Result<(Sources, u64), WordError> {
    let (x, y) = match address {
        Address::Sram(x, y) | Address::Dram(x, y) => (x, y),
    };
    for operand in [x, y] {
        if !matches!(operand, Operand::Gpr(..) | Operand::Immediate(_)) {
            return Err(WordError::Misplaced { operand, place: "part of an address" });
        }
    }
    let sources = FORM.sources(x, y)?;
    match (address, sources.swap) {
        (Address::Dram(..), false) => Ok((sources, DRAM_A_HIGH)),
        (Address::Dram(..), true) => Ok((sources, DRAM_B_HIGH)),
        (Address::Sram(..), false) => Ok((sources, SRAM)),
        (Address::Sram(Operand::Gpr(..), _), true) => {
            let place = "the first part of an address, which is in bank A or a constant";
            Err(WordError::Misplaced { operand: x, place })
        }
        (Address::Sram(..), true) => {
            let place = "the second part of an address, which is in bank B or a constant";
            Err(WordError::Misplaced { operand: y, place })
        }
    }
}

pub(super) fn read(word: u64) -> Option<Insn> {
    let (code, token) = (mem::COMMAND.get(word), mem::TOKEN.get(word));
    let &(command, ..) = COMMANDS.iter().find(|&&(_, c, t)| (c, t) == (code, token))?;
    let mode = mem::MODE.get(word);
    let (x, y) = FORM.read_sources(Sources {
        a: narrow::A.get(word),
        b: narrow::B.get(word),
        swap: mode == DRAM_B_HIGH,
        local_high: false,
        constant_high: false,
    })?;
    let address = match mode {
        SRAM => Address::Sram(x, y),
        DRAM_A_HIGH | DRAM_B_HIGH => Address::Dram(x, y),
        _ => return None,
    };
    let (signal, defer) = match mem::WAIT.get(word) {
        NO_WAIT => (None, 0),
        defer => (Some(mem::SIGNAL.get(word) as u8), defer as u8),
    };
    Some(Insn::Mem {
        command,
        xfer: mem::XFER.get(word) as u8,
        address,
        count: mem::COUNT.get(word) as u8 + 1,
        indirect: mem::INDIRECT.is_set(word),
        signal,
        defer,
    })
}
