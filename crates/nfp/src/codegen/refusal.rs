//! What the card lacks for a program: all of it, each with the place, the cause and a way out.

use std::fmt;

use slowpath_bpf::BpfProgram;

/// What to do about what the card cannot run in any form.
pub(super) const OTHER_TARGET: &str =
    "the card cannot run it; --target ebpf counts instructions instead";

/// What is wrong with an instruction.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    /// What is missing.
    pub what: String,
    /// What may help.
    pub hint: String,
    /// Whether it may only be so because of a call that the card has not: of its result, nothing is
    /// known.
    pub may_follow: bool,
}

impl Cause {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Cause { what: what.into(), hint: hint.into(), may_follow: false }
    }

    /// What nothing helps against but another target.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Cause::new(what, OTHER_TARGET)
    }

    /// This cause, where it may be due to a call that the card has not.
    pub fn may_follow(self) -> Self {
        Cause { may_follow: true, ..self }
    }
}

/// Something that the card cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Slots of all instructions in the linked program that are refused for this reason; empty where
    /// it is the program as a whole.
    pub slots: Vec<usize>,
    /// Section, instruction and source line of the first; empty where it is the program as a whole.
    pub place: String,
    /// What is missing.
    pub what: String,
    /// What may help.
    pub hint: String,
}

impl Refusal {
    /// How many instructions are refused for this reason; 1 for the program as a whole.
    pub fn times(&self) -> usize {
        self.slots.len().max(1)
    }

    pub(super) fn of_program(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal { slots: Vec::new(), place: String::new(), what: what.into(), hint: hint.into() }
    }

    pub(super) fn at(program: &BpfProgram, slot: usize, cause: Cause) -> Self {
        let Cause { what, hint, .. } = cause;
        Refusal { slots: vec![slot], place: program.place_text(slot), what, hint }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { place, what, hint, .. } = self;
        f.write_str(place)?;
        match self.times() {
            0 | 1 => {}
            2 => f.write_str(" and 1 more instruction")?,
            times => write!(f, " and {} more instructions", times - 1)?,
        }
        let separator = if place.is_empty() { "" } else { ": " };
        write!(f, "{separator}{what}; {hint}")
    }
}

/// At least one refusal, each reason once, in the order in which they were found. Its text is that
/// of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    first: Refusal,
    others: Vec<Refusal>,
}

impl Refusals {
    pub(super) fn one(first: Refusal) -> Self {
        Refusals { first, others: Vec::new() }
    }

    /// `None` where nothing is refused.
    pub(super) fn of(all: Vec<Refusal>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut refusals = Refusals::one(all.next()?);
        // Places in `others` by reason: programs can have very many instructions of very many maps.
        let mut places = std::collections::HashMap::new();
        for refusal in all {
            let first = &mut refusals.first;
            if (&first.what, &first.hint) == (&refusal.what, &refusal.hint) {
                first.slots.extend(refusal.slots);
                continue;
            }
            let reason = (refusal.what.clone(), refusal.hint.clone());
            let place = *places.entry(reason).or_insert(refusals.others.len());
            match refusals.others.get_mut(place) {
                Some(known) => known.slots.extend(refusal.slots),
                None => refusals.others.push(refusal),
            }
        }
        Some(refusals)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Refusal> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)
    }
}
