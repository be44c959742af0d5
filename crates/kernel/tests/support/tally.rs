//! Counts comparisons between the kernel and the analysis, and collects the faults that they find.

use std::collections::BTreeMap;

use serde_json::Value;
use slowpath_oracle::Oracle;

/// The kind of a fault that a differential test found in a randomly generated program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The compiler rejects the program: a fault of the test's program generator.
    Compiler,
    /// The kernel's verifier rejects the program.
    Verifier,
    /// The program cannot be parsed, or translated for the analysis. This is a fault of the
    /// generator, or a missing feature.
    Refused,
    /// A packet has another result in the kernel than in the concrete interpreter.
    Meaning,
    /// The kernel executes another number of instructions for a packet than the interpreter.
    Count,
    /// The analysis gives no upper bound on the program's instruction count.
    NoBound,
    /// A packet executes more instructions than the computed bound.
    Bound,
    /// The witness packet of a path does not execute the number of instructions stated for that
    /// path.
    Witness,
}

/// Counts of the programs, packets, bounds and witnesses that were compared, and the faults found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub programs: usize,
    pub packets: usize,
    /// Number of packets without a verdict. No tried choice of values such as times or random
    /// numbers gave the kernel's results, but not all choices were tried.
    pub undecided: usize,
    /// Number of compared bounds on instruction counts. `exact` counts those that some packet
    /// reaches, and `conditional` those that some packet reaches if stated assumptions hold.
    pub bounds: usize,
    pub exact: usize,
    pub conditional: usize,
    /// Number of witness packets that executed exactly the stated number of instructions. The other
    /// witnesses are counted in `open`, by the names of the values on which their paths depend,
    /// such as the time.
    pub replayed: usize,
    pub open: BTreeMap<String, usize>,
    /// Descriptions of the faults, by kind.
    pub faults: BTreeMap<Class, Vec<String>>,
}

/// Returns the number in the environment variable `name`, or `default` if it is not set.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Tally {
    pub fn fault(&mut self, class: Class, fault: String) {
        self.faults.entry(class).or_default().push(fault);
    }

    /// Counts a bound by the verdict in `guarantee`, a JSON object. Returns false if the verdict is
    /// `bound`: it is not known whether a packet reaches the bound.
    pub fn bound(&mut self, guarantee: &Value) -> bool {
        self.bounds += 1;
        self.exact += usize::from(guarantee["verdict"] == "exact");
        self.conditional += usize::from(guarantee["verdict"] == "conditional");
        guarantee["verdict"] != "bound"
    }

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

    /// Panics if there are faults, if too many packets are without a verdict, or if nothing was
    /// compared.
    pub fn assert_no_faults(&self, subject: &str) {
        assert!(self.faults.is_empty(), "{} classes of faults", self.faults.len());
        let few = 500 * self.undecided <= self.packets.max(500);
        assert!(few, "{} of {} packets are undecided", self.undecided, self.packets);
        Oracle::Kernel.compared(self.packets, &format!("packets through {subject}"));
        Oracle::Kernel.compared(self.bounds, &format!("bounds of {subject}"));
        Oracle::Kernel.compared(self.replayed, &format!("witnesses of {subject}"));
    }

    /// Adds the counts of another thread to this tally.
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
