//! Register conventions between programs, the driver's compiler and the firmware (`enum
//! static_regs` of the driver's `bpf/main.h`). The code generator writes these registers; the
//! lifter and the firmware read them.
//!
//! BPF register n is the pair (2n, 2n + 1) of both banks, low word first.

use crate::{Bank, Operand};

/// Numbers of scratch registers, which exist in both banks and hold addresses and constants. Their
/// values are lost after the BPF instruction that sets them.
pub(crate) const SCRATCH: [u8; 2] = [20, 21];
/// Register in which a caller of a function passes the number of the instruction to return to.
pub(crate) const RETURN_ADDRESS: Operand = Operand::Gpr(Bank::A, 21);
/// Register in which a caller passes the number of the called function's first instruction, if the
/// call goes through the code that saves registers.
pub(crate) const CALLEE_ADDRESS: Operand = Operand::Gpr(Bank::B, 21);
/// Register in which a caller of the firmware passes the number of the instruction to return to.
pub(crate) const FIRMWARE_RETURN: Operand = Operand::Gpr(Bank::B, 0);
/// Register that contains the address of the stack's first byte in local memory.
pub(crate) const STACK: Operand = Operand::Gpr(Bank::A, 22);
/// Register that contains the packet's length in bytes.
pub(crate) const PACKET_LENGTH: Operand = Operand::Gpr(Bank::B, 22);
/// Register that contains the address of the array map in units of 256 bytes (the paper's
/// firmware).
pub(crate) const ARRAY_MAP: Operand = Operand::Gpr(Bank::B, 23);

/// Index of the base register of local memory that points to the stack frame.
pub(crate) const FRAME_BASE: u8 = 0;
/// Index of the base register of local memory that points to the packet vector (`enum pkt_vec` of
/// the driver). The packet vector contains the packet's length and address.
pub(crate) const PACKET_VECTOR_BASE: u8 = 1;

/// Number of transfer registers in the read file, and in the write file.
pub(crate) const XFER_COUNT: u8 = 32;
