//! Reads and writes packet addresses. These are the current start and end of the packet, which are
//! fields of the context, and the address at which the received packet started.

use slowpath_ir::{Emit, Operand, Reg};

use crate::context::Content;
use crate::lift::ir::builder::StartValue;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;

impl Lifter<'_> {
    /// Loads a packet address from a context field. `content` selects the field, such as the
    /// packet's start.
    pub fn context_pointer(&mut self, content: Content) -> Operand {
        let base = self.ir.base(self.ir.context);
        let field = self.program_type.offset(content);
        let address = self.ir.emit.add(base, word(field));
        let low = self.ir.emit.load(address, 4);
        self.ir.emit.zero_extend(low, 64)
    }

    /// Returns the address of the byte at an offset of the context.
    pub fn context_address(&mut self, offset: u64) -> Operand {
        let base = self.ir.base(self.ir.context);
        self.ir.emit.add(base, word(offset))
    }

    pub fn set_context_pointer(&mut self, content: Content, pointer: Operand) {
        let base = self.ir.base(self.ir.context);
        let field = self.program_type.offset(content);
        let address = self.ir.emit.add(base, word(field));
        let low = self.ir.emit.extract(pointer, 0, 32);
        self.ir.emit.store(address, low);
    }

    /// Returns the address of the first byte of the packet as it was received. Head room and tail
    /// room are measured from this address.
    pub fn received(&mut self) -> Operand {
        if self.is_sent() { self.received_register().into() } else { self.ir.base(self.ir.packet) }
    }

    /// Returns the register with the address at which the received packet started. It is needed if
    /// packets are sent to other devices.
    pub fn received_register(&mut self) -> Reg {
        self.ir.start("packet as received", 64, StartValue::Packet)
    }
}
