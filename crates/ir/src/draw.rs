//! Describes the values that a program draws: values that no operation computes, such as times and
//! random numbers. Reports use these descriptions, which do not affect the meaning or cost of a
//! program.

use crate::{DrawId, InputId};
use std::collections::HashMap;
use std::sync::Arc;

/// Description of a value that an [`Op::Unknown`](crate::Op::Unknown) yields, for reports: its
/// origin and its format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Draw {
    /// Origin of the value: the name of a function outside the program, or an instruction.
    pub call: String,
    /// Name of the value, which distinguishes it from other values with the same `call`.
    pub result: String,
    /// Format of the value in reports.
    pub reading: ValueFormat,
    /// True if the value depends only on the arguments of the call, as a checksum does. Because the
    /// program does not compute the value, the analysis also considers values that cannot occur. It
    /// may then find a path that no run takes.
    pub determined: bool,
}

/// Format in reports of a value that a program draws, such as a time or a random number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValueFormat {
    /// Unsigned number.
    #[default]
    Number,
    /// Signed 64-bit number. Reports show small negative numbers as names of errors.
    Signed,
    /// Bytes in memory order; the width of the register determines their number.
    Bytes,
    /// 0, or a positive error number. The program sees the negative of this number.
    Error,
    /// Time of a clock in nanoseconds. Each drawn value is the time since the previous reading.
    /// Reports show the sum of the value of this input and of all values drawn from the clock so
    /// far.
    Time(InputId),
    /// Index into this list of signed numbers. Reports show the number at the index, or the name of
    /// the error if the number is an error code.
    OneOf(&'static [i64]),
    /// Index into this fixed list of names, from 0; reports show the selected name.
    Names(&'static [&'static str]),
    /// Index into this list of names, from 0, which depends on the program; reports show the
    /// selected name.
    Choices(Arc<[String]>),
}

/// A table of [`Draw`]s for front ends that build a program; equal draws have one entry.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    ids: HashMap<Draw, DrawId>,
}

impl Draws {
    /// Returns the number of a draw in the table. Adds the draw if it is new.
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
