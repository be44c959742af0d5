//! Prepares the analysis of a single program of a chain, for the packets that the programs before
//! it send. It is used for programs whose instruction set differs from that of the other programs.

use crate::facts::{ChainProgram, FactsOptions, Outgoing, facts_along};
use crate::{Chain, ChainError, KnownStart, Loaded};
use slowpath::{Arrivals, ArrivingProgram, ProgramFile};
use slowpath_bpf::{BpfProgram, Btf};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Chain {
    /// Returns the program with index `member` as a file that can be analysed alone. Reports call
    /// it `name`. Facts about the packets that arrive at the program are found first. The earlier
    /// programs with the indices in `compiled` run as code compiled for a SmartNIC, as in
    /// [`Chain::combine`]. Results hold for the packets and map contents that `known` describes.
    ///
    /// # Errors
    /// The same as those of [`Chain::dispatched`].
    pub fn isolated(
        &self,
        name: &str,
        loaded: &[Loaded],
        member: usize,
        compiled: &BTreeSet<usize>,
        known: &KnownStart,
    ) -> Result<ProgramFile, ChainError> {
        let conditions =
            self.compilation_conditions(loaded, &BTreeSet::from([member]), compiled)?;
        let mut chain = self.dispatched(loaded)?;
        let upstream = chain.upstream(member);
        chain.edges.retain(|edge| edge.to == member || upstream.contains(&edge.to));
        let pair = |number: usize| (Arc::clone(&loaded[number].object), loaded[number].program);
        let (object, program) = pair(member);
        let passed: Vec<(Arc<_>, usize)> = upstream.iter().map(|&number| pair(number)).collect();
        let contents = known.of_member(member);
        let (loaded, known) = (loaded.to_vec(), known.clone());
        let arrivals = move |kernel: Option<&Arc<Btf>>, stop: &Stop| {
            let mut found = arrivals(&chain, (&loaded, &upstream, &known), member, kernel, stop);
            found.assumptions.extend(conditions.iter().cloned());
            found
        };
        Ok(ProgramFile::arriving(ArrivingProgram {
            name: name.to_owned(),
            object,
            program,
            upstream: passed,
            arrivals: Arc::new(arrivals),
            contents,
        }))
    }
}

/// Finds the facts about packets that arrive at the program `member`. `chain` has only the edges
/// from which this program can be reached.
fn arrivals(
    chain: &Chain,
    (loaded, upstream, known): (&[Loaded], &BTreeSet<usize>, &KnownStart),
    member: usize,
    kernel: Option<&Arc<Btf>>,
    stop: &Stop,
) -> Arrivals {
    let mut arrivals =
        Arrivals { facts: Some(known.first.clone()), assumptions: Vec::new(), notes: Vec::new() };
    if upstream.is_empty() {
        return arrivals;
    }
    let mut programs = Vec::<BpfProgram>::new();
    for (number, Loaded { object, program }) in loaded.iter().enumerate() {
        match object.link(*program, kernel.map(AsRef::as_ref)) {
            Ok(linked) => programs.push(linked),
            Err(error) => {
                let name = &chain.members[number].name;
                arrivals.notes.push(format!("no facts about arriving packets: {name}: {error}"));
                return arrivals;
            }
        }
    }
    let options: Vec<FactsOptions> = (0..loaded.len())
        .map(|member| {
            let mut options = FactsOptions::default();
            options.lift.kernel_types = kernel.map(Arc::clone);
            options.lift.contents = known.of_member(member);
            options
        })
        .collect();
    let runs: Vec<ChainProgram<'_>> = loaded
        .iter()
        .zip(programs.iter().zip(&options))
        .map(|(loaded, (program, options))| ChainProgram {
            object: &loaded.object,
            program,
            options,
        })
        .collect();
    let reached = facts_along(chain, &runs, &known.first, stop);
    let mut assumptions = BTreeSet::new();
    for (number, reached) in reached.into_iter().enumerate() {
        if number != member && !upstream.contains(&number) {
            continue;
        }
        for (_, left) in &reached.by_edge {
            assumptions.extend(match left {
                Outgoing::Packets(found) => found.assumptions.clone(),
                Outgoing::Nothing(never) => never.assumptions.clone(),
            });
        }
        arrivals.notes.extend(reached.unknown.iter().map(|(edge, why)| {
            let from = &chain.members[chain.edges[*edge].from].name;
            format!("no facts about packets that {from} sends: {why}")
        }));
        if number == member {
            arrivals.facts = reached.facts;
        }
    }
    arrivals.assumptions.extend(assumptions);
    arrivals
}
