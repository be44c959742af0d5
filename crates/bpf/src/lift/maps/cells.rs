//! Stores the numbers that are tracked for a map: in a register, or in memory for the inner maps of
//! a map of maps.

use slowpath_ir::{Emit, Operand, Reg, RegionId, RegionKind};

use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MapOperand;

/// The place where a tracked 64-bit number is stored.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum Cell {
    /// In a register.
    Register(Reg),
    /// At an address.
    Word(Operand),
}

impl Lifter<'_> {
    /// Returns a memory region for a map that is zero at the start; `quantity` names what it
    /// contains.
    pub(in crate::lift) fn zeroed(&mut self, map: &str, quantity: &str) -> RegionId {
        let region = self.ir.region(&format!("{map}.{quantity}"), RegionKind::Map);
        self.ir.regions[region.index()].content = Some(Vec::new());
        region
    }

    /// Returns the number that represents the inner map at an address.
    pub(in crate::lift) fn map_number(&mut self, map_address: Operand) -> Operand {
        self.ir.emit.interned(Some(map_address), &[])
    }

    /// Returns the address of the 8-byte word for an element or slot in the region `quantity` of a
    /// map, which is zero at the start.
    pub(in crate::lift) fn word_of(
        &mut self,
        map: &MapOperand,
        quantity: &str,
        number: Operand,
    ) -> Operand {
        let region = self.zeroed(&map.layout.name, quantity);
        self.ir.item(region, number, 3)
    }

    /// Returns the place that stores the tracked number `quantity` of a map, which is zero at the
    /// start.
    pub(in crate::lift) fn cell(&mut self, map: &MapOperand, quantity: &str) -> Cell {
        match map.map_address {
            None => {
                let name = format!("{}.{quantity}", map.layout.name);
                Cell::Register(self.ir.start_zero(&name, 64))
            }
            Some(map_address) => {
                let number = self.map_number(map_address);
                Cell::Word(self.word_of(map, quantity, number))
            }
        }
    }

    pub(in crate::lift) fn read(&mut self, cell: Cell) -> Operand {
        match cell {
            Cell::Register(reg) => reg.into(),
            Cell::Word(address) => self.ir.emit.load(address, 8),
        }
    }

    pub(in crate::lift) fn write(&mut self, cell: Cell, value: Operand) {
        match cell {
            Cell::Register(reg) => self.ir.emit.copy(reg, value),
            Cell::Word(address) => self.ir.emit.store(address, value),
        }
    }

    /// Writes a tracked number if the condition holds.
    pub(in crate::lift) fn write_if(&mut self, cond: Operand, cell: Cell, value: Operand) {
        let old = self.read(cell);
        let value = self.ir.emit.select(cond, value, old);
        self.write(cell, value);
    }
}
