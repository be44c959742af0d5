//! Tracks the known content of the stack frame and of the packet, at known offsets.

use super::fact_set::FactSet;
use super::numbers::{Def, Location, Number, Numbers};
use super::value::{Kind, Value};
use slowpath_domain::Domain;
use std::collections::BTreeMap;

/// A range of memory with a known value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// Size in bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Value of the bytes, zero-extended.
    pub value: Value,
}

/// The known content of the stack frame or of the packet, by offset. Cells do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cells(BTreeMap<i64, Cell>);

impl Cells {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes all cells that contain a byte at `offset` or after it.
    pub fn clear_from(&mut self, offset: i64) {
        let keys: Vec<i64> = self.overlapping(offset, i64::MAX).collect();
        for key in keys {
            self.0.remove(&key);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, &Cell)> {
        self.0.iter().map(|(&offset, cell)| (offset, cell))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.values_mut().map(|cell| &mut cell.value)
    }

    /// Lists the offsets of all cells that overlap with the `bytes` bytes at `offset`.
    fn overlapping(&self, offset: i64, bytes: i64) -> impl Iterator<Item = i64> + use<'_> {
        let end = offset.saturating_add(bytes);
        let cells = self.0.range(offset.saturating_sub(7)..end);
        let reaches = move |(at, cell): &(&i64, &Cell)| **at + i64::from(cell.bytes) > offset;
        cells.filter(reaches).map(|(&at, _)| at)
    }

    /// Records a store to memory. If it overwrites only a part of a cell, the other bytes of the
    /// cell are kept if they are constant.
    pub fn write(&mut self, offset: i64, bytes: u8, value: Value, numbers: &mut Numbers) {
        let hit: Vec<i64> = self.overlapping(offset, bytes.into()).collect();
        for at in hit {
            let Some(cell) = self.0.remove(&at) else { continue };
            for place in at..at + i64::from(cell.bytes) {
                if place >= offset && place < offset + i64::from(bytes) {
                    continue;
                }
                let (domain, reason) = byte(&cell, (place - at) as u8);
                if let Some(byte) = domain.as_constant() {
                    let number = numbers.of(Def::Constant(byte));
                    let kind = Kind::Number(Domain::constant(64, byte));
                    let value = Value { kind, number, reason, copy_of: None };
                    self.0.insert(place, Cell { bytes: 1, value });
                }
            }
        }
        self.0.insert(offset, Cell { bytes, value });
    }

    /// Returns the value of the cell with exactly this offset and size, if there is one.
    pub fn read(&self, offset: i64, bytes: u8) -> Option<Value> {
        self.0.get(&offset).filter(|cell| cell.bytes == bytes).map(|cell| cell.value)
    }

    /// Returns a value number for the `bytes` bytes at `offset`, which are a part of a cell's
    /// value. Returns `None` unless one cell contains all these bytes and its value is a number,
    /// not an address.
    pub fn part(&self, offset: i64, bytes: u8, numbers: &mut Numbers) -> Option<Number> {
        let (&at, cell) = self.0.range(..=offset).next_back()?;
        let place = u8::try_from(offset - at).ok()?;
        let whole = u16::from(place) + u16::from(bytes) <= u16::from(cell.bytes);
        let number = whole && matches!(cell.value.kind, Kind::Number(_));
        number.then(|| numbers.part(cell.value.number, place, bytes))
    }

    /// Returns the known bits of the `bytes` bytes at `offset`, as a zero-extended 64-bit number,
    /// with the facts on which they depend.
    pub fn bits(&self, offset: i64, bytes: u8) -> (Domain, FactSet) {
        let (mut zeros, mut ones, mut reason) = (0, 0, FactSet::NONE);
        if bytes < 8 {
            zeros = u64::MAX << (8 * bytes);
        }
        let hit: Vec<i64> = self.overlapping(offset, bytes.into()).collect();
        for at in hit {
            let cell = &self.0[&at];
            for place in at.max(offset)..(at + i64::from(cell.bytes)).min(offset + i64::from(bytes))
            {
                let (domain, why) = byte(cell, (place - at) as u8);
                let shift = 8 * (place - offset);
                if domain.unknown_bits() != 0xff {
                    reason = reason | why;
                    zeros |= domain.zeros() << shift;
                    ones |= domain.ones() << shift;
                }
            }
        }
        (Domain::from_bits(64, zeros, ones), reason)
    }

    /// Returns the memory cells that both states know, after two paths have merged. `join` joins
    /// the values of a cell, and `place` converts the offset of a cell to a location.
    pub fn join(
        &self,
        other: &Cells,
        mut join: impl FnMut(Location, &Value, &Value) -> Value,
        place: impl Fn(i64) -> Location,
    ) -> Cells {
        let mut cells = BTreeMap::new();
        for (&offset, cell) in &self.0 {
            if let Some(same) = other.0.get(&offset).filter(|same| same.bytes == cell.bytes) {
                let value = join(place(offset), &cell.value, &same.value);
                if value.kind != Kind::Any || cell.value.number == same.value.number {
                    cells.insert(offset, Cell { bytes: cell.bytes, value });
                }
            }
        }
        Cells(cells)
    }
}

/// Returns the known bits of the byte with index `place` in a cell, with the facts on which they
/// depend.
fn byte(cell: &Cell, place: u8) -> (Domain, FactSet) {
    match cell.value.kind {
        Kind::Number(domain) => {
            (slowpath_domain::transfer::extract(domain, 8 * place, 8), cell.value.reason)
        }
        _ => (Domain::full(8), FactSet::NONE),
    }
}

/// Returns the value number for the result of a load of `bytes` bytes whose memory content is
/// unknown. `result` is the value number of the 64-bit register after the load.
pub(crate) fn loaded(numbers: &mut Numbers, result: Number, bytes: u8) -> Number {
    if bytes == 8 { result } else { numbers.of(Def::Low(8 * bytes, result)) }
}
