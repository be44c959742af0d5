//! Makes and checks certificates of guarantees ([`slowpath_certificate`]).

use crate::error::Error;
use crate::frontend::{self, Lifted};
use crate::interleaved;
use crate::job::{Job, SearchContext};
use crate::loops;
use crate::options::ProgramRequest;
use crate::stages;
use serde::Serialize;
use slowpath_certificate::{self as certificate, Certificate, Checked, Problem, TRUSTED};
use slowpath_codes as codes;
use slowpath_ir::Op;
use slowpath_search::{
    Certification, Metric, Search, UnrollLimits, certificate_graph, certify, unroll,
};
use slowpath_smt::BitSolver;
use slowpath_stop::Stop;
use slowpath_target::{CostModel, Target};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Result of checking a certificate.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedCertificate {
    /// Name of the program.
    pub program: String,
    /// Component of the target that limits the program, such as `instructions`.
    pub component: String,
    /// Proved bound: work per packet on the component, in its unit, with the fixed cost per packet.
    pub bound: f64,
    /// Work of the path that some packet takes, on the same component; null if the certificate has
    /// no such path.
    pub reached: Option<f64>,
    /// Packet length in bytes for which the bound on a bit rate holds with equality.
    pub length: u32,
    /// True if a packet reaches the bound.
    pub exact: bool,
    /// Conditions of the result, one sentence each.
    pub assumptions: Vec<String>,
    /// Parts of slowpath that the check trusts, one phrase each.
    pub trusted: Vec<&'static str>,
    /// Number of verified nogoods: sets of branches that no packet takes together.
    pub nogoods: usize,
    /// Number of verified steps in the proofs of the nogoods.
    pub steps: usize,
}

impl CheckedCertificate {
    /// Returns the result as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| error.to_string())
    }
}

/// Returns the indices of the components that count for a metric, and true if slowness is per byte.
fn components(target: &Target, metric: Metric) -> (Vec<usize>, bool) {
    match metric {
        Metric::PacketRate => ((0..target.components.len()).collect(), false),
        Metric::BitRate => ((0..target.components.len()).collect(), true),
        Metric::Component(component) => (vec![component], false),
    }
}

/// Makes a certificate of the claims of a search, as JSON.
///
/// # Errors
/// The text is the reason why there is none.
pub(crate) fn make(
    job: &Job<'_>,
    context: &SearchContext<'_>,
    search: &mut Search<BitSolver>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    claims: Certification,
) -> Result<String, String> {
    let stop = &job.control.stop;
    stop.enter(stages::CERTIFYING);
    let program = Rc::new(context.lifted.program.clone());
    // Proofs depend on the order of terms, so the program is unrolled again.
    let mut unrolled = unroll(program, limits, stop).map_err(|error| error.to_string())?;
    let (components, per_byte) = components(context.measure.target, context.measure.metric);
    let mut problem = Problem {
        graph: certificate_graph(&unrolled.dag),
        executor: &mut unrolled.executor,
        model: context.model,
        target: context.measure.target,
        components,
        per_byte,
        packets,
    };
    let claims = Certification { nogoods: search.learnt_nogoods().to_vec(), ..claims };
    let made = certify(&mut problem, claims, |path, length| search.refute(path, length))?;
    serde_json::to_string(&made).map_err(|error| error.to_string())
}

/// Checks the certificate of a program. `claims` is the JSON text of a [`Certificate`].
///
/// # Errors
/// If the program cannot be read or unrolled, or if the certificate does not prove its claims. The
/// error states the reason.
pub fn check_certificate(
    request: &ProgramRequest,
    claims: &str,
    stop: &Stop,
) -> Result<CheckedCertificate, Error> {
    let refused = |reason: String| Error::Input(codes::CERTIFICATE_REFUSED, reason);
    let claims: Certificate = serde_json::from_str(claims)
        .map_err(|error| refused(format!("the certificate is damaged: {error}")))?;
    let request = &request.configured()?;
    let options = &request.options;
    let mut target = options.target.description()?;
    let (metric, _) = options.metric(&target)?;
    let assumed = match &options.assume {
        Some(text) => target
            .apply_assumptions(text, "--assume")
            .map_err(|error| Error::in_file_of("--assume", error))?,
        None => Vec::new(),
    };
    if let Some(cores) = options.cores {
        target = target.with_cores(cores)?;
    }
    let (receive, condition) = options.arrivals(&target)?;
    let packets = (receive.length.0.into(), receive.length.1.into());
    let lifted = frontend::lift(request, &target, receive, stop)?;
    let (limits, _) = loops::limits(&options.unroll, &lifted)?;
    let model = model(&target, &lifted)?;
    stop.enter(stages::UNROLLING);
    let program = Rc::new(lifted.program.clone());
    let located = |error| Error::Search { place: String::new(), error, hint: String::new() };
    let mut unrolled = unroll(program, &limits, stop).map_err(located)?;
    let mut assumptions: Vec<String> =
        interleaved::exclusive_access_condition(&lifted, &target).into_iter().collect();
    assumptions.extend(condition);
    assumptions.extend(lifted.program.assumptions.iter().cloned());
    let used = assumed.into_iter().filter(|one| lifted.program.cost_classes.contains(&one.class));
    assumptions.extend(used.map(|assumption| assumption.sentence));
    assumptions.extend(unrolled.assumptions.iter().map(|one| loops::with_lines(&lifted, one)));
    stop.enter(stages::CHECKING);
    let (components, per_byte) = components(&target, metric);
    let mut problem = Problem {
        graph: certificate_graph(&unrolled.dag),
        executor: &mut unrolled.executor,
        model: &model,
        target: &target,
        components,
        per_byte,
        packets,
    };
    let checked = certificate::check(&mut problem, &claims).map_err(refused)?;
    if let Some(claim) = &claims.witness {
        let reliances = &lifted.program.reliances;
        let relied = claim.relies.iter().filter_map(|&on| reliances.get(on as usize));
        assumptions.extend(relied.cloned());
        let blocks = claim
            .path
            .iter()
            .map(|&arc| problem.graph.nodes[problem.graph.arcs[arc as usize].tail as usize].block);
        assumptions.extend(uncomputed(&lifted, blocks));
    }
    if let Some(reason) = &lifted.inexact_reason {
        assumptions.push(format!("the witness: {reason}"));
    }
    Ok(report(&lifted, &target, &checked, assumptions))
}

/// Returns a condition for each call in these blocks whose result the model does not compute.
fn uncomputed(
    lifted: &Lifted,
    blocks: impl Iterator<Item = slowpath_ir::BlockId>,
) -> BTreeSet<String> {
    let program = &lifted.program;
    let mut found = BTreeSet::new();
    for block in blocks.collect::<BTreeSet<_>>() {
        for origin in &program.block(block).ops {
            let Op::Unknown { draw, .. } = origin.op else { continue };
            let draw = &program.draws[draw.index()];
            if draw.determined {
                let call = &draw.call;
                found.insert(format!(
                    "{call} at instruction {} yields what the proof assumes",
                    origin.insn.0
                ));
            }
        }
    }
    found
}

fn model(target: &Target, lifted: &Lifted) -> Result<CostModel, Error> {
    let model = target.cost_model(&lifted.program.cost_classes);
    model.map_err(|error| Error::Target { place: String::new(), error, hint: String::new() })
}

fn report(
    lifted: &Lifted,
    target: &Target,
    checked: &Checked,
    assumptions: Vec<String>,
) -> CheckedCertificate {
    let (component, ticks) = checked.work;
    let per_unit = target.components[component].kind.ticks_per_cycle() as f64;
    let amount = |ticks: u64| ticks as f64 / per_unit;
    CheckedCertificate {
        program: lifted.program.name.clone(),
        component: target.component_name(component).to_owned(),
        bound: amount(ticks),
        reached: checked.witness.map(|cost| amount(cost[component])),
        length: checked.length,
        exact: checked.exact,
        assumptions,
        trusted: TRUSTED.to_vec(),
        nogoods: checked.nogoods,
        steps: checked.steps,
    }
}
