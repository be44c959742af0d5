//! Values that a program draws: nothing in the program computes them. This module defines their
//! names and formats in reports; the meaning and the cost of a program do not depend on these.

use crate::{DrawId, InputId};
use std::collections::HashMap;

/// Origin of the value of an [`Op::Unknown`](crate::Op::Unknown), and its format in reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    /// Source of the value: a function outside of the program, or an instruction.
    pub call: String,
    /// Name of the result among those of the source.
    pub result: String,
    /// Format of the value.
    pub reading: ValueFormat,
    /// True if the arguments determine the value but the front end does not compute it, such as a
    /// checksum. Not every drawn value can then occur, so a path that depends on it relies on the
    /// value being possible.
    pub determined: bool,
}

/// Format of a drawn value in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueFormat {
    /// Unsigned number.
    Number,
    /// Signed 64-bit number, or the error that it stands for.
    Signed,
    /// Bytes in memory order, as many as the register has.
    Bytes,
    /// 0, or the error with this number; the program sees the number negated.
    Error,
    /// Time of a clock in nanoseconds. Each draw is the time elapsed since the previous draw; the
    /// reported time is the input's value plus all draws from this clock so far.
    Time(InputId),
    /// Index into these signed numbers; printed as the number, or as the error that it stands for.
    OneOf(&'static [i64]),
    /// Index into these names, from 0.
    Names(&'static [&'static str]),
}

/// Table of draws for a front end that builds a program; equal draws share one entry.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    ids: HashMap<Draw, DrawId>,
}

impl Draws {
    /// Returns the number of a draw; adds the draw if it is new.
    pub fn id(&mut self, draw: Draw) -> DrawId {
        let next = DrawId::from(self.ids.len());
        *self.ids.entry(draw).or_insert(next)
    }

    /// Returns all draws in order, for [`Program::draws`](crate::Program::draws).
    pub fn into_table(self) -> Vec<Draw> {
        let mut all: Vec<(Draw, DrawId)> = self.ids.into_iter().collect();
        all.sort_unstable_by_key(|&(_, id)| id);
        all.into_iter().map(|(draw, _)| draw).collect()
    }
}
