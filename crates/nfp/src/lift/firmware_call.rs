//! Models the effects of firmware calls on the state of the core.
//!
//! The result can be any value; the result of a look-up is null or the address of any element.
//! Registers that calls of BPF helpers do not preserve become undefined. So do condition codes,
//! transfer registers and the bases of local memory that the compiler sets again after a call.
//! Programs that read them are rejected.

use slowpath_ir::{Draw, Emit, Operand as Value, ValueFormat};

use super::core_state::{ArchReg, CoreState};
use super::flow::FirmwareCall;
use crate::Bank;
use crate::abi::{self, SCRATCH, XFER_COUNT};

/// Numbers of the registers that contain the words of BPF's `r0`.
const RESULT: [u8; 2] = [0, 1];
/// Numbers of the registers that contain the words of BPF's `r1` to `r5`.
const ARGUMENTS: [u8; 10] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

impl CoreState {
    /// Applies the effects of a call of the firmware to registers and condition codes.
    pub(super) fn call_firmware(&mut self, called: FirmwareCall) {
        let result = match called {
            FirmwareCall::MapLookup => self.element_or_null(called.name()),
            _ => ["low word", "high word"].map(|word| self.unknown_word(called.name(), word)),
        };
        for (number, word) in RESULT.into_iter().zip(result) {
            self.set(ArchReg::Gpr(Bank::A, number), word);
            self.set(ArchReg::Gpr(Bank::B, number), word);
        }
        for number in ARGUMENTS.into_iter().chain(SCRATCH) {
            for bank in [Bank::A, Bank::B] {
                self.undefine(
                    ArchReg::Gpr(bank, number),
                    "a register behind a call of the firmware",
                );
            }
        }
        for number in 0..XFER_COUNT {
            let what = "a transfer register behind a call of the firmware";
            self.undefine(ArchReg::XferIn(number), what);
            self.undefine(ArchReg::XferOut(number), what);
        }
        for index in [2, 3] {
            let what = "a base of local memory behind a call of the firmware";
            self.undefine(ArchReg::LocalBase(index), what);
        }
        use ArchReg::{Carry, Less, Negative, Overflow, Previous, ShiftAmount, Zero};
        for state in [Zero, Negative, Carry, Overflow, Less, Previous, ShiftAmount] {
            self.undefine(state, "the state of the ALU behind a call of the firmware");
        }
        self.low_half = None;
        self.multiplication = None;
    }

    /// Returns a value that is null or the address of any map element, low word first. Map elements
    /// are in DRAM.
    fn element_or_null(&mut self, call: &str) -> [Value; 2] {
        let coin = self.unknown_word(call, "whether it finds an element, in the lowest bit");
        let found = self.emit.extract(coin, 0, 1);
        let null = Value::constant(32, 0);
        let offset = self.unknown_word(call, "offset of the element");
        let base = self.source(abi::ARRAY_MAP);
        [offset, base].map(|word| self.emit.select(found, word, null))
    }

    /// Returns a new 32-bit value that can be any number. Witnesses describe the value as the
    /// `result` of `call`.
    pub(super) fn unknown_word(&mut self, call: &str, result: &str) -> Value {
        let (call, result) = (call.to_owned(), result.to_owned());
        let draw = self.emit.draws.id(Draw {
            call,
            result,
            reading: ValueFormat::Number,
            determined: false,
        });
        self.emit.unknown(draw, 32, 0, u32::MAX.into())
    }
}
