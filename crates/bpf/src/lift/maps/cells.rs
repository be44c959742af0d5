//! Stores numbers that the model keeps for a map, such as the number of updates: in a register or,
//! for inner maps of a map of maps, in memory.

use slowpath_ir::{Emit, Operand, Reg, RegionId, RegionKind};

use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MapOperand;

/// Storage of a 64-bit number that the lifted program keeps for a map, such as the number of
/// updates.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum Cell {
    Register(Reg),
    /// In memory, at this address.
    Word(Operand),
}

impl Lifter<'_> {
    /// Returns a memory region for one kind of numbers that the model keeps for a map. `map` is the
    /// map's name, and `quantity` that of the numbers. The numbers are zero at the start.
    pub(in crate::lift) fn zeroed(&mut self, map: &str, quantity: &str) -> RegionId {
        let region = self.ir.region(&format!("{map}.{quantity}"), RegionKind::Map);
        self.ir.regions[region.index()].content = Some(Vec::new());
        region
    }

    /// Returns the number that stands for an inner map of a map of maps. `map_address` is the
    /// address of the inner map.
    pub(in crate::lift) fn map_number(&mut self, map_address: Operand) -> Operand {
        self.ir.emit.interned(Some(map_address), &[])
    }

    /// Returns the address of one 8-byte number that the model keeps for a map: the number with
    /// index `number` in the memory region `quantity`. It is zero at the start.
    pub(in crate::lift) fn word_of(
        &mut self,
        map: &MapOperand,
        quantity: &str,
        number: Operand,
    ) -> Operand {
        let region = self.zeroed(&map.layout.name, quantity);
        self.ir.item(region, number, 3)
    }

    /// Returns the storage of a number that the model keeps for a map, such as the number of
    /// updates. `quantity` is the name of the number, which is zero at the start.
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

    pub(in crate::lift) fn write_if(&mut self, cond: Operand, cell: Cell, value: Operand) {
        let old = self.read(cell);
        let value = self.ir.emit.select(cond, value, old);
        self.write(cell, value);
    }
}
