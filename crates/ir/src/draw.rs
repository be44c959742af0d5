//! Describes the values that a program draws, such as times and random numbers, because no
//! operation computes them. The names and formats here are used in reports and do not affect the
//! meaning or cost of a program.

use crate::{DrawId, InputId};
use std::collections::HashMap;

/// Describes the value of an [`Op::Unknown`](crate::Op::Unknown) for reports: where it comes from,
/// and how it is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Draw {
    /// Origin of the value: the name of a function outside of the program, or an
    /// instruction.
    pub call: String,
    /// Name of the result, to distinguish it from other results of the same source.
    pub result: String,
    /// Format of the value.
    pub reading: ValueFormat,
    /// True if the value depends only on the arguments, as a checksum does, but the front end does
    /// not compute it. Some drawn values are then impossible, so a path that depends on the value
    /// relies on it being possible.
    pub determined: bool,
}

/// Format of a drawn value in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValueFormat {
    /// Unsigned number.
    #[default]
    Number,
    /// Signed 64-bit number; small negative numbers are shown as errors.
    Signed,
    /// Bytes in memory order; the width of the register determines their number.
    Bytes,
    /// 0, or a positive error number. The program sees the negative of this number.
    Error,
    /// Time of a clock in nanoseconds. Each drawn value is the time since the previous one. The
    /// reported time is the value of this input plus all values drawn from this clock so far.
    Time(InputId),
    /// Index into these signed numbers; reports show the number, or the error that it stands for.
    OneOf(&'static [i64]),
    /// Index into these names, from 0.
    Names(&'static [&'static str]),
}

/// Table of draws for front ends that build a program; equal draws share one entry.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    ids: HashMap<Draw, DrawId>,
}

impl Draws {
    /// Returns the number of a draw, adding the draw if it is new.
    pub fn id(&mut self, draw: Draw) -> DrawId {
        let next = DrawId::from(self.ids.len());
        *self.ids.entry(draw).or_insert(next)
    }

    /// Returns all draws in the order of their numbers, for
    /// [`Program::draws`](crate::Program::draws).
    pub fn into_table(self) -> Vec<Draw> {
        let mut all: Vec<(Draw, DrawId)> = self.ids.into_iter().collect();
        all.sort_unstable_by_key(|&(_, id)| id);
        all.into_iter().map(|(draw, _)| draw).collect()
    }
}
