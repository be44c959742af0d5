//! Register conventions between programs, the driver's compiler and the firmware of the card (`enum
//! static_regs` of the driver's `bpf/main.h`). The code generator writes these registers. The
//! analysis of listings reads them, and so does the firmware.
//!
//! The 64-bit BPF register `rn` is in registers 2n (low word) and 2n + 1 (high word), as copies in
//! both register banks, A and B.

use crate::{Bank, Operand};

/// Numbers of the scratch registers, which hold addresses and constants. Each number stands for a
/// register in bank A and one in bank B. Values in them are lost after the BPF instruction for
/// which they are set.
pub(crate) const SCRATCH: [u8; 2] = [20, 21];
/// Register in which the caller of a function passes the index of the instruction to return to.
pub(crate) const RETURN_ADDRESS: Operand = Operand::Gpr(Bank::A, 21);
/// Register in which a caller passes the index of the called function's first instruction. Only
/// calls through the subroutine that saves `r6` to `r9` use it.
pub(crate) const CALLEE_ADDRESS: Operand = Operand::Gpr(Bank::B, 21);
/// Register in which a program that calls the firmware passes the index of the instruction to
/// return to.
pub(crate) const FIRMWARE_RETURN: Operand = Operand::Gpr(Bank::B, 0);
/// Register that contains the address of the stack's first byte in local memory.
pub(crate) const STACK: Operand = Operand::Gpr(Bank::A, 22);
/// Register that contains the packet's length in bytes.
pub(crate) const PACKET_LENGTH: Operand = Operand::Gpr(Bank::B, 22);
/// Register that contains the address of the array map in units of 256 bytes, for the firmware of
/// Krude et al. (CoNEXT 2021).
pub(crate) const ARRAY_MAP: Operand = Operand::Gpr(Bank::B, 23);

/// Index of the base register of local memory that points to the stack frame.
pub(crate) const FRAME_BASE: u8 = 0;
/// Index of the base register of local memory that points to the packet vector (`enum pkt_vec` of
/// the driver). The packet vector contains the packet's length and address.
pub(crate) const PACKET_VECTOR_BASE: u8 = 1;

/// Number of transfer registers that receive data from memory. The same number of other transfer
/// registers hold data for writes to memory.
pub(crate) const XFER_COUNT: u8 = 32;
