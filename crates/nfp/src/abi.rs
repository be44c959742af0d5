//! Which registers programs, the driver's compiler and the firmware agree on (`enum static_regs` of
//! the driver's `bpf/main.h`): the code generator writes what lifting and the firmware read.
//!
//! BPF register n is the pair (2n, 2n + 1) of both banks, low word first.

use crate::{Bank, Operand};

/// Registers of both banks that no instruction of the BPF program outlives: addresses, constants.
pub(crate) const SCRATCH: [u8; 2] = [20, 21];
/// Where callers put the number of the instruction to return to.
pub(crate) const RETURN_ADDRESS: Operand = Operand::Gpr(Bank::A, 21);
/// Where they put the number of a function that is called by way of the code that saves registers.
pub(crate) const ONWARD_ADDRESS: Operand = Operand::Gpr(Bank::B, 21);
/// Where callers of the firmware put the number of the instruction to return to.
pub(crate) const FIRMWARE_RETURN: Operand = Operand::Gpr(Bank::B, 0);
/// Address of the stack's first byte in local memory.
pub(crate) const STACK: Operand = Operand::Gpr(Bank::A, 22);
/// The packet's length in bytes.
pub(crate) const PACKET_LENGTH: Operand = Operand::Gpr(Bank::B, 22);
/// Address of the array map in units of 256 bytes (the paper's firmware).
pub(crate) const ARRAY: Operand = Operand::Gpr(Bank::B, 23);

/// The base register of local memory that points to the frame.
pub(crate) const FRAME_BASE: u8 = 0;
/// The base register of local memory that points to what the firmware knows of the packet.
pub(crate) const PACKET_BASE: u8 = 1;

/// Transfer registers of one file.
pub(crate) const XFERS: u8 = 32;
