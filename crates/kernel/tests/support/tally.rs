//! What was compared with the kernel, and what was wrong.

use std::collections::BTreeMap;

use serde_json::Value;
use slowpath_oracle::Oracle;

/// What is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The compiler refuses it: the generator's fault.
    Compiler,
    /// The verifier refuses it.
    Verifier,
    /// It is not read or lifted: the generator's fault, or a missing ability.
    Refused,
    /// A packet does something that the lifted program does not.
    Meaning,
    /// Another number of instructions is executed than the path has.
    Count,
    /// There is no bound.
    NoBound,
    /// A packet executes more than the bound.
    Bound,
    /// A witness does not do what it says.
    Witness,
}

/// What was compared.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub programs: usize,
    pub packets: usize,
    /// Packets for which not all choices among what is open were tried, and none of those that were
    /// did what the kernel did.
    pub undecided: usize,
    /// Of programs whose bound was compared: all, those that are exact, and those that are under
    /// conditions.
    pub bounds: usize,
    pub exact: usize,
    pub conditional: usize,
    /// Witnesses: replayed with exactly their instructions, and those that took another path, by
    /// what theirs depends on besides packet and maps.
    pub replayed: usize,
    pub open: BTreeMap<String, usize>,
    /// By class, the first lines of what is wrong.
    pub faults: BTreeMap<Class, Vec<String>>,
}

/// A number in the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Tally {
    /// Notes a fault.
    pub fn fault(&mut self, class: Class, fault: String) {
        self.faults.entry(class).or_default().push(fault);
    }

    /// Notes what a bound is worth; whether some packet has it.
    pub fn bound(&mut self, guarantee: &Value) -> bool {
        self.bounds += 1;
        self.exact += usize::from(guarantee["verdict"] == "exact");
        self.conditional += usize::from(guarantee["verdict"] == "conditional");
        guarantee["verdict"] != "bound"
    }

    /// Says what was compared, and some faults of each class.
    pub fn report(&self, what: &str) {
        let Tally { programs, packets, bounds, exact, conditional, replayed, open, .. } = self;
        let depend: usize = open.values().sum();
        eprintln!(
            "{programs} {what}, {packets} packets, {bounds} bounds, {exact} of them exact, \
             {conditional} under conditions; {replayed} witnesses replayed, {depend} depend on what is open"
        );
        for (on, count) in open {
            eprintln!("open: {count} on {on}");
        }
        eprintln!("{} packets undecided", self.undecided);
        for (class, faults) in &self.faults {
            eprintln!("{class:?}: {}", faults.len());
            for fault in faults.iter().take(3) {
                eprintln!("{fault}");
            }
        }
    }

    /// Fails if there are faults, or nothing was compared.
    pub fn judge(&self, what: &str) {
        assert!(self.faults.is_empty(), "{} classes of faults", self.faults.len());
        let few = 500 * self.undecided <= self.packets.max(500);
        assert!(few, "{} of {} packets are undecided", self.undecided, self.packets);
        Oracle::Kernel.compared(self.packets, &format!("packets through {what}"));
        Oracle::Kernel.compared(self.bounds, &format!("bounds of {what}"));
        Oracle::Kernel.compared(self.replayed, &format!("witnesses of {what}"));
    }

    /// Adds what another thread has.
    pub fn add(&mut self, other: Tally) {
        self.programs += other.programs;
        self.packets += other.packets;
        self.undecided += other.undecided;
        self.bounds += other.bounds;
        self.exact += other.exact;
        self.conditional += other.conditional;
        self.replayed += other.replayed;
        for (on, count) in other.open {
            *self.open.entry(on).or_default() += count;
        }
        for (class, faults) in other.faults {
            self.faults.entry(class).or_default().extend(faults);
        }
    }
}
