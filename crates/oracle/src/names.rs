//! The oracles that there are, and what they are called.

use std::fmt;

/// Something that knows better, or at least independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The running Linux kernel, where it lets us load and run XDP programs.
    Kernel,
    /// Types and functions that the running kernel tells (`CONFIG_DEBUG_INFO_BTF`).
    KernelTypes,
    /// The solver Z3.
    Z3,
    /// The proof checker for clauses (`crates/smt`), which shares no code with the solver.
    Proof,
    /// The compiler clang with its back end for BPF.
    Clang,
    /// The library libbpf, by way of bpftool: its reader of objects.
    Libbpf,
    /// A disassembler for the Netronome flow processor.
    Disassembler,
    /// The library DPDK: its reader of `.spec` files, and the pipelines that it runs.
    Dpdk,
    /// Listings of the published programs, in the folder `SLOWPATH_LISTINGS`.
    Listings,
    /// The published objects that these listings were compiled from, beside them.
    Objects,
    /// What was published about these programs, measurements too, in the folder `SLOWPATH_RESULTS`.
    Results,
    /// Published measurements beside competitors on BlueField-2, in the folder
    /// `SLOWPATH_BLUEFIELD2`.
    BlueField2,
    /// Published measurements and optima of unported network functions on a Netronome Agilio CX, in
    /// the folder `SLOWPATH_INSIGHTS`.
    Insights,
}

/// All of them with their names, in the order in which they are printed.
pub(crate) const NAMES: [(Oracle, &str); 13] = [
    (Oracle::Kernel, "kernel"),
    (Oracle::KernelTypes, "kernel-types"),
    (Oracle::Z3, "z3"),
    (Oracle::Proof, "proof"),
    (Oracle::Clang, "clang"),
    (Oracle::Libbpf, "libbpf"),
    (Oracle::Disassembler, "disassembler"),
    (Oracle::Dpdk, "dpdk"),
    (Oracle::Listings, "listings"),
    (Oracle::Objects, "objects"),
    (Oracle::Results, "results"),
    (Oracle::BlueField2, "bluefield-2"),
    (Oracle::Insights, "insights"),
];

impl Oracle {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Oracle> {
        NAMES.iter().find(|(_, known)| *known == name).map(|&(oracle, _)| oracle)
    }

    /// How [`REQUIRE`](crate::REQUIRE) calls it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|&&(oracle, _)| oracle == self).map_or("", |&(_, name)| name)
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
