//! Counts comparisons with the kernel, and collects the faults that they find.

use std::collections::BTreeMap;

use serde_json::Value;
use slowpath_oracle::Oracle;

/// The kind of a fault that a test found in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The compiler rejects the program: a fault of the generator.
    Compiler,
    /// The verifier rejects the program.
    Verifier,
    /// The program cannot be parsed or lifted: a fault of the generator, or a missing feature.
    Refused,
    /// A packet has other results in the kernel than in the lifted program.
    Meaning,
    /// The kernel executes another number of instructions than the path has.
    Count,
    /// The analysis gives no bound.
    NoBound,
    /// A packet executes more instructions than the bound.
    Bound,
    /// A witness does not execute the stated number of instructions.
    Witness,
}

/// Counts of what was compared, and the faults that were found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub programs: usize,
    pub packets: usize,
    /// Number of packets for which no tried choice of open values had the kernel's results, but not
    /// all choices were tried.
    pub undecided: usize,
    /// Numbers of bounds that were compared: all bounds, exact ones, and bounds under conditions.
    pub bounds: usize,
    pub exact: usize,
    pub conditional: usize,
    /// Numbers of witnesses: those with exactly the stated number of instructions, and those that
    /// took another path. The latter are counted by the open values that their path depends on.
    pub replayed: usize,
    pub open: BTreeMap<String, usize>,
    /// Descriptions of the faults, by their class.
    pub faults: BTreeMap<Class, Vec<String>>,
}

/// Returns the number in an environment variable, or the default if it is not set.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Tally {
    /// Records a fault of a program.
    pub fn fault(&mut self, class: Class, fault: String) {
        self.faults.entry(class).or_default().push(fault);
    }

    /// Records the verdict that an analysis gives on a bound. Returns true if some packet reaches
    /// the bound.
    pub fn bound(&mut self, guarantee: &Value) -> bool {
        self.bounds += 1;
        self.exact += usize::from(guarantee["verdict"] == "exact");
        self.conditional += usize::from(guarantee["verdict"] == "conditional");
        guarantee["verdict"] != "bound"
    }

    /// Prints the counts and some faults of each class.
    pub fn report(&self, subject: &str) {
        let Tally { programs, packets, bounds, exact, conditional, replayed, open, .. } = self;
        let depend: usize = open.values().sum();
        eprintln!(
            "{programs} {subject}, {packets} packets, {bounds} bounds, {exact} of them exact, \
             {conditional} under conditions; {replayed} witnesses replayed, {depend} depend on open values"
        );
        for (dependency, count) in open {
            eprintln!("open: {count} on {dependency}");
        }
        eprintln!("{} packets undecided", self.undecided);
        for (class, faults) in &self.faults {
            eprintln!("{class:?}: {}", faults.len());
            for fault in faults.iter().take(3) {
                eprintln!("{fault}");
            }
        }
    }

    /// Panics if there are faults, or if nothing was compared.
    pub fn assert_no_faults(&self, subject: &str) {
        assert!(self.faults.is_empty(), "{} classes of faults", self.faults.len());
        let few = 500 * self.undecided <= self.packets.max(500);
        assert!(few, "{} of {} packets are undecided", self.undecided, self.packets);
        Oracle::Kernel.compared(self.packets, &format!("packets through {subject}"));
        Oracle::Kernel.compared(self.bounds, &format!("bounds of {subject}"));
        Oracle::Kernel.compared(self.replayed, &format!("witnesses of {subject}"));
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, other: Tally) {
        self.programs += other.programs;
        self.packets += other.packets;
        self.undecided += other.undecided;
        self.bounds += other.bounds;
        self.exact += other.exact;
        self.conditional += other.conditional;
        self.replayed += other.replayed;
        for (dependency, count) in other.open {
            *self.open.entry(dependency).or_default() += count;
        }
        for (class, faults) in other.faults {
            self.faults.entry(class).or_default().extend(faults);
        }
    }
}
