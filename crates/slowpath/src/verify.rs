//! Translation validation of one program: does what runs on the card do what the BPF program does?
//!
//! Path by path: for every satisfiable path of the BPF program, and every path of the compiled one
//! that some packet of it takes, the solver shows that the result, the packet and the maps are the
//! same at the end, for all packets and all contents of maps. What cannot be shown is listed; a
//! difference is a result only after both programs have been run on it (`replay`).
//!
//! Not looked at: what follows the program's end on the card, where a common stretch of code turns
//! the result into what the firmware does with the packet.
//!
//! Both programs are executed over the same terms (`product`): what they compute alike is the same
//! term, and most paths need no solver but for the question which of them there are ([`slowpath_product`]).
//! No costs here, and no search order.
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
    Equivalence, NextPath, Path, PathEnumerator, Queries, Sequence, difference, leave_open,
};
use slowpath_stop::Stop;
use std::time::Instant;

pub use replay::{Counterexample, ElementByte, FinalState};

/// What is known about the equivalence of a BPF program and the one for the card.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verification {
    /// Whether, on every path, and whatever the packet and the maps contain, the card does what the
    /// kernel does, but for the `assumptions`.
    pub proved: bool,
    /// How many paths of the BPF program are proved.
    pub paths_proved: u64,
    /// How many paths it has; null when not all were found.
    pub paths_total: Option<u64>,
    /// How many pairs of a path of the BPF program and one of the card's some packet takes.
    pub pairs: u64,
    /// What the two programs differ on; null when nothing is known.
    pub counterexample: Option<Counterexample>,
    /// Why not all is proved, one sentence each.
    pub undecided: Vec<String>,
    /// Cases that are left out because card and kernel differ in them whatever the program, and what
    /// the meaning of either program relies on.
    pub assumptions: Vec<String>,
    /// Where the card does something else than the kernel because of how the driver compiles: what
    /// explains a counterexample.
    pub deviations: Vec<String>,
    /// Questions to the solver.
    pub checks: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Compiles the program that a request is about for the card, and verifies the result. What is
/// known by the time that `stop` says so is the result.
///
/// # Errors
/// When the object cannot be read, or the card cannot run the program.
pub fn verify(request: &ProgramRequest, stop: &Stop) -> Result<Verification, Error> {
    let object = request.object.bpf()?;
    match Compilation::of(request, object, stop) {
        Ok(compilation) => {
            let listing = &compilation.compiled.listing;
            Validation::new(request, stop).run(object, &compilation, listing)
        }
        Err(Error::Stopped { .. }) => {
            let undecided = Queries::new(stop).over().map(str::to_owned).into_iter().collect();
            Ok(Verification { undecided, ..Verification::default() })
        }
        Err(error) => Err(error),
    }
}

/// Verifies another listing than the one that is compiled here, such as one that a driver dumped.
///
/// # Errors
/// As [`verify`], and when the listing cannot be read.
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
            self.gap("the program calls the firmware, whose code is not known here".into());
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

    /// Goes through the paths of the BPF program; returns whether these were all.
    fn paths(
        &mut self,
        product: &mut Product,
        preconditions: &mut CardPreconditions,
        queries: &mut Queries<'_>,
    ) -> Result<bool, Error> {
        let mut paths = PathEnumerator::new(&product.bpf, product.inputs(), Vec::new());
        let mut drawn = Sequence(Vec::new());
        let (mut total, mut complete) = (0, true);
        loop {
            match paths.next(&mut product.bpf, Some(&mut *preconditions), &mut drawn, queries)? {
                NextPath::Done => break,
                NextPath::Gap(why) => {
                    complete = false;
                    self.gap(why);
                }
                NextPath::Stopped(why) => {
                    self.ended(why);
                    return Ok(false);
                }
                NextPath::Path(path) => {
                    total += 1;
                    match self.path(product, &path, queries)? {
                        Equivalence::Proved => self.found.paths_proved += 1,
                        Equivalence::Undecided => {}
                        Equivalence::Differs => return Ok(false),
                        Equivalence::Stopped => return Ok(false),
                    }
                }
            }
        }
        if complete {
            self.found.paths_total = Some(total);
        }
        Ok(complete)
    }

    /// One path of the BPF program against all of the card's that its packets take.
    fn path(
        &mut self,
        product: &mut Product,
        path: &Path,
        queries: &mut Queries<'_>,
    ) -> Result<Equivalence, Error> {
        let expected = match compare::bpf_outcome(product, path) {
            Ok(outcome) => outcome,
            Err(why) => {
                self.gap(why);
                return Ok(Equivalence::Undecided);
            }
        };
        let (mut paths, mut drawn) = product.following(path);
        let mut equivalence = Equivalence::Proved;
        loop {
            product.swap_terms();
            let step = paths.next(&mut product.card, None, &mut drawn, queries);
            product.swap_terms();
            let other = match step? {
                NextPath::Done => return Ok(equivalence),
                NextPath::Gap(why) => {
                    self.gap(format!("on the card: {why}"));
                    equivalence = Equivalence::Undecided;
                    continue;
                }
                NextPath::Stopped(why) => {
                    self.ended(why);
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
            Err(why) => {
                self.gap(why);
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
                Err(why) => {
                    self.gap(why);
                    equivalence = Equivalence::Undecided;
                }
            }
        }
        Ok(equivalence)
    }

    /// Notes why there is an end, however much else is open.
    fn ended(&mut self, why: &str) {
        if !self.found.undecided.iter().any(|known| known == why) {
            self.found.undecided.push(why.to_owned());
        }
    }

    fn gap(&mut self, why: String) {
        leave_open(&mut self.found.undecided, why);
    }
}
