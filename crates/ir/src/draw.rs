//! What a program draws: values that nothing in the program computes, and how reports name
//! them. Meaning and cost of a program depend on none of it.

use crate::{DrawId, InputId};
use std::collections::HashMap;

/// Where the value of an [`Op::Unknown`](crate::Op::Unknown) comes from, and how people write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    /// What yields it: a function outside of the program, or an instruction.
    pub call: String,
    /// Which of its results it is.
    pub result: String,
    /// How people write the value.
    pub reading: Reading,
    /// Whether what the program gives determines it, but the front end does not compute it: no run
    /// needs to have a value that is drawn, so that a path which depends on it relies on that.
    pub computed: bool,
}

/// How people write a value that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// As a number.
    Number,
    /// As a signed number of 64 bits, or the error that it stands for.
    Signed,
    /// As bytes in the order of memory, as many as the register has.
    Bytes,
    /// As 0, or as the error of this number; what the program sees is the number's negative.
    Error,
    /// As the time in nanoseconds that a clock shows: what the input holds, and all that the program
    /// has drawn of this clock up to here, which is how much time went by.
    Time(InputId),
    /// As the one of these signed numbers that it is the index of, or as the error that it stands for.
    OneOf(&'static [i64]),
    /// By the name of the number, from 0.
    Names(&'static [&'static str]),
}

/// The table of draws while a front end builds it: equal ones are one.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    ids: HashMap<Draw, DrawId>,
}

impl Draws {
    /// The number of a draw.
    pub fn id(&mut self, draw: Draw) -> DrawId {
        let next = DrawId::from(self.ids.len());
        *self.ids.entry(draw).or_insert(next)
    }

    /// All draws, for [`Program::draws`](crate::Program::draws).
    pub fn into_table(self) -> Vec<Draw> {
        let mut all: Vec<(Draw, DrawId)> = self.ids.into_iter().collect();
        all.sort_unstable_by_key(|&(_, id)| id);
        all.into_iter().map(|(draw, _)| draw).collect()
    }
}
