//! Applies loads and stores to a state. Bytes at known offsets from the base of a region have value
//! numbers, as registers do. Facts about a value therefore survive when it is spilled and loaded
//! again.

use slowpath_domain::sign_extend;
use slowpath_ir::{BinaryOp, RegionId, RegionKind};

use crate::options::{MemoryModel, Setting};
use crate::state::{AbstractState, Cell};
use crate::value::Value;
use crate::value_number::{Arg, Def, ValueNumber};

/// Maximum distance of tracked bytes from a region's base, in bytes.
const REACH: i64 = 1 << 28;

/// Maximum number of memory cells that a state tracks.
const MAX_CELLS: usize = 512;

impl AbstractState {
    /// Returns the region that an address points into, and the minimum and maximum offset in bytes,
    /// as signed numbers. `None` if the region is unknown.
    fn location(&self, addr: Arg) -> Option<(RegionId, i64, i64)> {
        let origin = self.value_of(addr).address()?;
        let (lo, hi) = origin.offset.signed_range();
        Some((origin.region, lo, hi))
    }

    /// Loads `bytes` bytes at an address and returns their value number.
    pub(crate) fn load(&mut self, setting: &Setting, addr: Arg, bytes: u8) -> ValueNumber {
        let width = 8 * bytes;
        let location = self.location(addr).filter(|&(_, lo, hi)| lo == hi && near(lo));
        let Some((region, offset, _)) = location else {
            return self.fresh(Value::full(width));
        };
        let pieces = self.pieces(region, offset, bytes);
        if pieces.iter().map(|piece| piece.bytes).sum::<u8>() == bytes {
            return self.assembled(setting, region, &pieces, width);
        }
        let number = self.fresh(Value::full(width));
        let cell = Cell { region, offset, bytes, number };
        if pieces.is_empty() && self.tracks(setting, &cell) {
            self.remember(cell);
        }
        number
    }

    /// Returns the tracked memory cells, or parts of them, among the `bytes` bytes at an offset of
    /// a region, in order.
    fn pieces(&self, region: RegionId, offset: i64, bytes: u8) -> Vec<Piece> {
        let end = offset + i64::from(bytes);
        let cells = self
            .cells
            .iter()
            .filter(|cell| cell.region == region && cell.offset < end && cell.end() > offset);
        let pieces = cells.map(|cell| {
            let first = offset.max(cell.offset);
            Piece {
                cell: *cell,
                first: (first - cell.offset) as u8,
                bytes: (end.min(cell.end()) - first) as u8,
            }
        });
        pieces.collect()
    }

    /// Returns the value number of the bytes in adjacent memory cells, given as pieces: cells or
    /// parts of cells.
    fn assembled(
        &mut self,
        setting: &Setting,
        region: RegionId,
        pieces: &[Piece],
        width: u8,
    ) -> ValueNumber {
        let whole = pieces.len() == 1 && pieces[0].bytes == pieces[0].cell.bytes;
        let slots = setting.memory == MemoryModel::Slots
            && setting.program.regions[region.index()].kind == RegionKind::Stack;
        let zero = pieces.iter().all(|piece| self.is_zero(piece.cell.number));
        if slots && !whole && !zero {
            return self.fresh(Value::full(width));
        }
        let mut value: Option<(ValueNumber, u8)> = None;
        for piece in pieces {
            let number = self.bytes_of(piece.cell.number, piece.first, piece.bytes);
            value = Some(match value {
                None => (number, piece.bytes),
                Some((low, bytes)) => {
                    let def = Def::Binary(BinaryOp::Concat, Arg::Number(number), Arg::Number(low));
                    let bytes = bytes + piece.bytes;
                    (self.define(def, 8 * bytes), bytes)
                }
            });
        }
        value.map_or_else(|| self.fresh(Value::full(width)), |(number, _)| number)
    }

    /// Returns the value number of a part of a value: `bytes` bytes from byte `first` on.
    fn bytes_of(&mut self, number: ValueNumber, first: u8, bytes: u8) -> ValueNumber {
        self.define(Def::Extract(Arg::Number(number), 8 * first), 8 * bytes)
    }

    fn is_zero(&self, number: ValueNumber) -> bool {
        self.values[number as usize].value.domain.as_constant() == Some(0)
    }

    /// Applies a store to the tracked memory: forgets the bytes that it may overwrite, and tracks
    /// the stored value.
    pub(crate) fn store(&mut self, setting: &Setting, addr: Arg, value: ValueNumber) {
        let bytes = self.values[value as usize].value.domain.width() / 8;
        let Some((region, lo, hi)) = self.location(addr) else {
            self.cells.clear();
            return;
        };
        let end = i128::from(hi) + i128::from(bytes);
        let (kept, hit): (Vec<Cell>, Vec<Cell>) = self.cells.iter().partition(|cell| {
            cell.region != region
                || i128::from(cell.end()) <= lo.into()
                || i128::from(cell.offset) >= end
        });
        self.cells = kept;
        if lo != hi || !near(lo) {
            return;
        }
        let end = lo + i64::from(bytes);
        for cell in hit {
            // Keep the parts of overlapping cells that the store does not overwrite.
            for (from, to) in [(cell.offset, lo), (end, cell.end())] {
                if from < to {
                    let (first, bytes) = ((from - cell.offset) as u8, (to - from) as u8);
                    let number = self.bytes_of(cell.number, first, bytes);
                    self.remember_if(setting, Cell { region, offset: from, bytes, number });
                }
            }
        }
        self.remember_if(setting, Cell { region, offset: lo, bytes, number: value });
    }

    /// Forgets all facts about the bytes of the region that an address points into.
    pub(crate) fn forget(&mut self, addr: Arg) {
        match self.location(addr) {
            Some((region, ..)) => self.cells.retain(|cell| cell.region != region),
            None => self.cells.clear(),
        }
    }

    fn remember_if(&mut self, setting: &Setting, cell: Cell) {
        if self.tracks(setting, &cell) {
            self.remember(cell);
        }
    }

    fn remember(&mut self, cell: Cell) {
        if self.cells.len() < MAX_CELLS {
            let at = self.cells.partition_point(|other| other.location() < cell.location());
            self.cells.insert(at, cell);
        }
    }

    /// Returns true if the memory model tracks the value of the bytes in a cell.
    fn tracks(&self, setting: &Setting, cell: &Cell) -> bool {
        match (setting.program.regions[cell.region.index()].kind, setting.memory) {
            // Other cores may change maps at any time.
            (RegionKind::Map, _) => false,
            (RegionKind::Context, _) | (_, MemoryModel::Every) => true,
            (RegionKind::Stack, MemoryModel::Slots) => {
                cell.bytes == 8 && cell.offset % 8 == 0 || self.is_zero(cell.number)
            }
            (RegionKind::Packet, MemoryModel::Slots) => false,
        }
    }
}

/// A part of a memory cell that an access touches.
#[derive(Clone, Copy, Debug)]
struct Piece {
    cell: Cell,
    /// Index of the first byte within the cell.
    first: u8,
    bytes: u8,
}

fn near(offset: i64) -> bool {
    (-REACH..=REACH).contains(&offset)
}

/// Returns true if offsets of `width` bits can be tracked: sums of offsets within `REACH` must not
/// wrap around.
pub(crate) fn can_track(width: u8) -> bool {
    sign_extend(1u64 << (width - 1), width) <= -4 * REACH
}
