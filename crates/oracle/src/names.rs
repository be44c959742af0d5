//! The oracles with their names, and the list of those that must be available.

use std::fmt;

/// An independent source of correct results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The running Linux kernel, if it lets this process load and run XDP programs.
    Kernel,
    /// Types and functions that the running kernel publishes (`CONFIG_DEBUG_INFO_BTF`).
    KernelTypes,
    /// The SMT solver Z3.
    Z3,
    /// The checker for proofs that the SAT solver in `crates/smt` writes; it shares no code with
    /// the solver.
    Proof,
    /// The program `rate`, a checker for proofs of SAT solvers by Altmanninger and Rebola-Pardo
    /// ("Frying the egg, roasting the chicken", CPP 2020).
    Rate,
    /// The compiler clang with its back end for BPF.
    Clang,
    /// The library libbpf, used through bpftool as a reader of objects.
    Libbpf,
    /// A disassembler for the Netronome flow processor.
    Disassembler,
    /// The library DPDK, used as a reader of `.spec` files and to run their pipelines.
    Dpdk,
    /// P4 programs of the compiler p4c with packets and expected packets (`.stf`), in the folder
    /// `SLOWPATH_P4C`.
    P4Samples,
    /// Listings of the programs that Krude et al. published (CoNEXT 2021), in the folder
    /// `SLOWPATH_LISTINGS`.
    Listings,
    /// BPF objects of the programs that Krude et al. published, beside their listings in the folder
    /// `SLOWPATH_LISTINGS`.
    Objects,
    /// Results that Krude et al. published for their programs, including measurements, in the
    /// folder `SLOWPATH_RESULTS`.
    Results,
    /// Published measurements of network functions that run beside competitors on a BlueField-2, in
    /// the folder `SLOWPATH_BLUEFIELD2`.
    BlueField2,
    /// Published measurements and optima of unported network functions on a Netronome Agilio CX, in
    /// the folder `SLOWPATH_INSIGHTS`.
    Insights,
}

/// All oracles with their names, in the order of the summary.
pub(crate) const NAMES: [(Oracle, &str); 15] = [
    (Oracle::Kernel, "kernel"),
    (Oracle::KernelTypes, "kernel-types"),
    (Oracle::Z3, "z3"),
    (Oracle::Proof, "proof"),
    (Oracle::Rate, "rate"),
    (Oracle::Clang, "clang"),
    (Oracle::Libbpf, "libbpf"),
    (Oracle::Disassembler, "disassembler"),
    (Oracle::Dpdk, "dpdk"),
    (Oracle::P4Samples, "p4-samples"),
    (Oracle::Listings, "listings"),
    (Oracle::Objects, "objects"),
    (Oracle::Results, "results"),
    (Oracle::BlueField2, "bluefield-2"),
    (Oracle::Insights, "insights"),
];

impl Oracle {
    /// Returns the oracle with a name, or `None` if the name is unknown.
    pub fn named(name: &str) -> Option<Oracle> {
        NAMES.iter().find(|(_, known)| *known == name).map(|&(oracle, _)| oracle)
    }

    /// Returns the name of the oracle that users write in [`REQUIRE`].
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|&&(oracle, _)| oracle == self).map_or("", |&(_, name)| name)
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Name of the environment variable that lists the required oracles.
pub const REQUIRE: &str = "SLOWPATH_REQUIRE";

/// The oracles that must be available. A test without one of them fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required(Vec<Oracle>);

impl Required {
    /// Reads the environment variable [`REQUIRE`]. The set is empty if the variable is not set.
    ///
    /// # Errors
    ///
    /// If a name is unknown; the error lists the known names.
    pub fn from_environment() -> Result<Required, String> {
        Required::parse(&std::env::var(REQUIRE).unwrap_or_default())
    }

    /// Parses a comma-separated list of names.
    ///
    /// # Errors
    ///
    /// If a name is unknown; the error lists the known names.
    pub fn parse(text: &str) -> Result<Required, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let named = names.map(|name| {
            Oracle::named(name).ok_or_else(|| {
                let known: Vec<&str> = NAMES.iter().map(|&(_, known)| known).collect();
                format!("{REQUIRE}: no oracle is called {name:?}; there are {}", known.join(", "))
            })
        });
        named.collect::<Result<_, _>>().map(Required)
    }

    /// Returns true if this oracle is required.
    pub fn contains(&self, oracle: Oracle) -> bool {
        self.0.contains(&oracle)
    }
}
