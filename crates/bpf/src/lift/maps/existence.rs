//! Decides whether map elements exist. This depends on the content of memory, the number of
//! elements, and evictions.

use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::lift::lifter::Lifter;
use crate::lift::maps::class::{EntryKeys, entry_keys};
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Returns a 1-bit operand that is set if an element exists.
    pub(in crate::lift) fn exists(&mut self, map: &MapOperand, element: ElementRef) -> Operand {
        let Some(present) = map.layout.present else {
            return element.in_range.unwrap_or(Operand::constant(1, 1));
        };
        if self.has_unknown_elements(map) {
            let exists = self.any_existence();
            let in_range = element.in_range.unwrap_or(Operand::constant(1, 1));
            return self.ir.emit.and(in_range, exists);
        }
        let emit = &mut self.ir.emit;
        let offset = emit.zero_extend(element.number, 64);
        let base = self.ir.regions[present.index()].base;
        let address = emit.binary(BinaryOp::Add, base, offset);
        let byte = emit.load(address, 1);
        let absent = emit.eq(byte, Operand::constant(8, 0));
        let exists = emit.not(absent);
        match element.in_range {
            Some(in_range) => {
                // Maps without fixed indices may evict elements, which only the other arm handles.
                debug_assert_eq!(entry_keys(map.def.kind), EntryKeys::Indices);
                emit.and(in_range, exists)
            }
            None => {
                let exists = self.first_access(map, element, exists);
                self.survives(map, element, exists)
            }
        }
    }

    /// Marks an element as existing or absent, if `cond` is set. `exists` selects between the two.
    pub(in crate::lift) fn set_exists(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        cond: Operand,
        exists: bool,
    ) {
        let Some(present) = map.layout.present else { return };
        let offset = self.ir.emit.zero_extend(element.number, 64);
        let base = self.ir.base(present);
        let address = self.ir.emit.add(base, offset);
        let value = Operand::constant(8, exists.into());
        self.ir.emit.store_if(cond, address, value);
    }
}
