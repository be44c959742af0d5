//! The reasons why the SmartNIC cannot run a program, each with the location in the program, the
//! cause and a hint.

use slowpath_codes as codes;
use std::fmt;

use slowpath_bpf::BpfProgram;

/// Hint to analyse the program on another target, for instructions that the SmartNIC cannot run in
/// any form.
pub(super) const OTHER_TARGET: &str =
    "the card cannot run it; --target ebpf counts instructions instead";

/// Reason why the SmartNIC cannot run an instruction, without the location of the instruction.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    /// Code of the cause.
    pub code: codes::Code,
    /// The feature that the SmartNIC does not support, in words.
    pub reason: String,
    /// Advice for the user.
    pub hint: String,
    /// True if this error may be caused by an unsupported helper call, whose result is unknown. The
    /// error then need not be reported in addition to the call.
    pub follows_from_call: bool,
}

impl Cause {
    pub fn new(code: codes::Code, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Cause { code, reason: what.into(), hint: hint.into(), follows_from_call: false }
    }

    /// Creates a cause for a feature that the SmartNIC lacks in any form, with [`OTHER_TARGET`] as
    /// hint.
    pub fn unsupported(code: codes::Code, what: impl Into<String>) -> Self {
        Cause::new(code, what, OTHER_TARGET)
    }

    /// Returns the cause, marked as one that an unsupported helper call may have caused.
    pub fn follows_from_call(self) -> Self {
        Cause { follows_from_call: true, ..self }
    }
}

/// A reason why the SmartNIC cannot run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Code of the cause.
    pub code: codes::Code,
    /// Indices, in the linked program, of all instructions with this cause; empty if the cause
    /// concerns the program as a whole.
    pub slots: Vec<usize>,
    /// Section, instruction and source line of the first instruction; empty if the cause concerns
    /// the program as a whole.
    pub location: String,
    /// The feature that the SmartNIC does not support, in words.
    pub reason: String,
    /// Advice for the user.
    pub hint: String,
}

impl Refusal {
    /// Returns the number of instructions that are refused for this reason. Returns 1 if the reason
    /// concerns the whole program.
    pub fn times(&self) -> usize {
        self.slots.len().max(1)
    }

    pub(super) fn of_program(
        code: codes::Code,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Refusal {
            code,
            slots: Vec::new(),
            location: String::new(),
            reason: what.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn at(program: &BpfProgram, slot: usize, cause: Cause) -> Self {
        let Cause { code, reason: what, hint, .. } = cause;
        Refusal { code, slots: vec![slot], location: program.place_text(slot), reason: what, hint }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { location: place, reason: what, hint, .. } = self;
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

/// One or more refusals, which all have different reasons. They are in the order in which they were
/// found. `Display` prints the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    first: Refusal,
    others: Vec<Refusal>,
}

impl Refusals {
    pub(super) fn one(first: Refusal) -> Self {
        Refusals { first, others: Vec::new() }
    }

    /// Combines refusals that have the same reason. Returns `None` if there are none.
    pub(super) fn of(all: Vec<Refusal>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut refusals = Refusals::one(all.next()?);
        // Index into `others` by cause: programs can have very many instructions that use very many
        // maps.
        let mut places = std::collections::HashMap::new();
        for refusal in all {
            let first = &mut refusals.first;
            if (&first.reason, &first.hint) == (&refusal.reason, &refusal.hint) {
                first.slots.extend(refusal.slots);
                continue;
            }
            let reason = (refusal.reason.clone(), refusal.hint.clone());
            let place = *places.entry(reason).or_insert(refusals.others.len());
            match refusals.others.get_mut(place) {
                Some(known) => known.slots.extend(refusal.slots),
                None => refusals.others.push(refusal),
            }
        }
        Some(refusals)
    }

    /// Returns the code of the first refusal.
    pub fn code(&self) -> codes::Code {
        self.first.code
    }

    /// Iterates over all refusals.
    pub fn iter(&self) -> impl Iterator<Item = &Refusal> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)
    }
}
