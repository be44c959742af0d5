//! Translation validation: proves that a program compiled for a SmartNIC (the card) does the same
//! as the BPF program that it was compiled from.
//!
//! The proof covers all pairs of a satisfiable path of the BPF program and a path of the compiled
//! program that the same packet can take. For each pair, the solver shows that result, packet and
//! maps are equal at the end, for all packets and all contents of maps. Failed proofs are listed. A
//! difference is reported only if running both programs confirms it (`replay`).
//!
//! The code after the program's end on the card is not verified. It is the same for all programs
//! and translates the result into an action of the firmware.
//!
//! Both programs are executed over the same terms (`product`). Equal computations yield the same
//! term, so most paths need the solver only to decide if the path exists ([`slowpath_product`]).
//! Costs and search order play no role here.
//!
//! After Pnueli, Siegel and Singerman, "Translation validation" (TACAS 1998).

mod compare;
mod preconditions;
mod product;
mod replay;

use crate::Error;
use crate::frontend::Compilation;
use crate::options::ProgramRequest;
use crate::stages;
use preconditions::CardPreconditions;
use product::Product;
use serde::Serialize;
use slowpath_nfp::{Listing, MapAbi};
use slowpath_product::{
    Equivalence, FixedDraws, NextPath, Path, PathEnumerator, Queries, add_reason, difference,
};
use slowpath_stop::Stop;
use std::time::Instant;

pub use replay::{Counterexample, ElementByte, FinalState};

/// Result of the equivalence check of a BPF program and its compiled version for the SmartNIC.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verification {
    /// True if the SmartNIC does the same as the kernel on every path, for all packets and map
    /// contents, under the `assumptions`.
    pub proved: bool,
    /// Number of paths of the BPF program on which both programs are proved to do the same.
    pub paths_proved: u64,
    /// Number of paths of the BPF program; null if not all were found.
    pub paths_total: Option<u64>,
    /// Number of pairs of a path of the BPF program and a path of the compiled program that the
    /// same packet takes.
    pub pairs: u64,
    /// An input on which the two programs differ; null if none is known.
    pub counterexample: Option<Counterexample>,
    /// Reasons why the proof is incomplete, one sentence each.
    pub undecided: Vec<String>,
    /// Cases excluded from the proof because SmartNIC and kernel differ in them for every program,
    /// one sentence each. Also the assumptions under which either program was translated.
    pub assumptions: Vec<String>,
    /// Differences between SmartNIC and kernel that the driver's compiler causes, one sentence
    /// each. They can explain a counterexample.
    pub deviations: Vec<String>,
    /// Number of solver calls.
    pub checks: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Compiles the program of a request for the SmartNIC, and tries to prove that the compiled program
/// does the same as the BPF program. When `stop` holds, returns the result so far.
///
/// # Errors
/// If the object cannot be read, or the SmartNIC cannot run the program.
pub fn verify(request: &ProgramRequest, stop: &Stop) -> Result<Verification, Error> {
    let object = request.object.bpf()?;
    match Compilation::of(request, object, stop) {
        Ok(compilation) => {
            let listing = &compilation.compiled.listing;
            Validation::new(request, stop).run(object, &compilation, listing)
        }
        Err(Error::Stopped { .. }) => {
            let undecided =
                Queries::new(stop).stop_reason().map(str::to_owned).into_iter().collect();
            Ok(Verification { undecided, ..Verification::default() })
        }
        Err(error) => Err(error),
    }
}

/// Tries to prove that an NFP listing does the same as the BPF program of a request. The listing
/// comes from another compiler, for example as a dump of the driver.
///
/// # Errors
/// The same as those of [`verify`]; also if the listing cannot be read.
pub fn verify_listing(
    request: &ProgramRequest,
    listing: &[u8],
    stop: &Stop,
) -> Result<Verification, Error> {
    let object = request.object.bpf()?;
    let compilation = Compilation::of(request, object, stop)?;
    let listing = slowpath_nfp::parse_bytes(listing)?;
    Validation::new(request, stop).run(object, &compilation, &listing)
}

struct Validation<'a> {
    request: &'a ProgramRequest,
    stop: &'a Stop,
    started: Instant,
    found: Verification,
}

impl<'a> Validation<'a> {
    fn new(request: &'a ProgramRequest, stop: &'a Stop) -> Self {
        let started = Instant::now();
        stop.enter(stages::VERIFYING);
        Validation { request, stop, started, found: Verification::default() }
    }

    fn run(
        mut self,
        object: &slowpath_bpf::Object,
        compilation: &Compilation,
        listing: &Listing,
    ) -> Result<Verification, Error> {
        self.found.deviations.clone_from(&compilation.compiled.deviations);
        if compilation.abi == MapAbi::Call
            && compilation.linked.insns.iter().any(preconditions::uses_firmware)
        {
            self.add_gap("the program calls the firmware, whose code is not known here".into());
            return Ok(self.found);
        }
        let options = &self.request.options;
        let packets = options.packets(&options.target.description()?)?;
        let mut product = Product::new(object, &compilation.linked, listing, packets, self.stop)?;
        let mut queries = Queries::new(self.stop);
        let mut preconditions =
            CardPreconditions::of(&compilation.linked, product.layout.packet, product.values());
        let complete = self.paths(&mut product, &mut preconditions, &mut queries)?;
        let undecided = !self.found.undecided.is_empty();
        self.found.proved = complete && !undecided && self.found.counterexample.is_none();
        for side in [&product.bpf, &product.card] {
            preconditions.excluded.extend(side.executor.program().assumptions.iter().cloned());
        }
        self.found.assumptions = preconditions.excluded.into_iter().collect();
        self.found.checks = queries.checks();
        self.found.seconds = self.started.elapsed().as_secs_f64();
        Ok(self.found)
    }

    /// Compares all paths of the BPF program with the paths of the compiled program. Returns false
    /// if some path could not be compared, or the comparison ended early.
    fn paths(
        &mut self,
        product: &mut Product,
        preconditions: &mut CardPreconditions,
        queries: &mut Queries<'_>,
    ) -> Result<bool, Error> {
        let mut paths = PathEnumerator::new(&product.bpf, product.inputs(), Vec::new());
        let mut drawn = FixedDraws(Vec::new());
        let (mut total, mut complete) = (0, true);
        loop {
            match paths.next(&mut product.bpf, Some(&mut *preconditions), &mut drawn, queries)? {
                NextPath::Done => break,
                NextPath::Gap(reason) => {
                    complete = false;
                    self.add_gap(reason);
                }
                NextPath::Stopped(reason) => {
                    self.add_stop_reason(reason);
                    return Ok(false);
                }
                NextPath::Path(path) => {
                    total += 1;
                    match self.path(product, &path, queries)? {
                        Equivalence::Proved => self.found.paths_proved += 1,
                        Equivalence::Undecided => {}
                        Equivalence::Differs | Equivalence::Stopped => return Ok(false),
                    }
                }
            }
        }
        if complete {
            self.found.paths_total = Some(total);
        }
        Ok(complete)
    }

    /// Compares one path of the BPF program with all paths of the compiled program that its packets
    /// take.
    fn path(
        &mut self,
        product: &mut Product,
        path: &Path,
        queries: &mut Queries<'_>,
    ) -> Result<Equivalence, Error> {
        let expected = match compare::bpf_outcome(product, path) {
            Ok(outcome) => outcome,
            Err(reason) => {
                self.add_gap(reason);
                return Ok(Equivalence::Undecided);
            }
        };
        let (mut paths, mut drawn) = product.compatible_card_paths(path);
        let mut equivalence = Equivalence::Proved;
        loop {
            product.swap_terms();
            let step = paths.next(&mut product.card, None, &mut drawn, queries);
            product.swap_terms();
            let other = match step? {
                NextPath::Done => return Ok(equivalence),
                NextPath::Gap(reason) => {
                    self.add_gap(format!("on the card: {reason}"));
                    equivalence = Equivalence::Undecided;
                    continue;
                }
                NextPath::Stopped(reason) => {
                    self.add_stop_reason(reason);
                    return Ok(Equivalence::Stopped);
                }
                NextPath::Path(other) => other,
            };
            self.found.pairs += 1;
            match self.pair(product, path, &other, &expected, queries)? {
                Equivalence::Proved => {}
                Equivalence::Undecided => equivalence = Equivalence::Undecided,
                end => return Ok(end),
            }
        }
    }

    fn pair(
        &mut self,
        product: &mut Product,
        path: &Path,
        other: &Path,
        expected: &compare::Outcome,
        queries: &mut Queries<'_>,
    ) -> Result<Equivalence, Error> {
        let differences = match compare::differences(product, expected, path, other) {
            Ok(differences) => differences,
            Err(reason) => {
                self.add_gap(reason);
                return Ok(Equivalence::Undecided);
            }
        };
        let mut equivalence = Equivalence::Proved;
        for (what, differs) in differences {
            let mut conditions = other.conditions.clone();
            conditions.push(differs);
            let answer = queries.check(&mut product.bpf.executor.pool, &conditions)?;
            match difference(&what, answer, |model| replay::confirm(product, path, other, model)) {
                Ok(None) => {}
                Ok(Some(counterexample)) => {
                    self.found.counterexample = Some(counterexample);
                    return Ok(Equivalence::Differs);
                }
                Err(reason) => {
                    self.add_gap(reason);
                    equivalence = Equivalence::Undecided;
                }
            }
        }
        Ok(equivalence)
    }

    /// Adds the reason why the verification ended early to the reasons why the proof is incomplete,
    /// even if the list already has its maximum length.
    fn add_stop_reason(&mut self, reason: &str) {
        if !self.found.undecided.iter().any(|known| known == reason) {
            self.found.undecided.push(reason.to_owned());
        }
    }

    /// Adds a reason why the proof is incomplete, unless the list already has its maximum length.
    fn add_gap(&mut self, reason: String) {
        add_reason(&mut self.found.undecided, reason);
    }
}
