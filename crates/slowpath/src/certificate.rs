//! Makes and checks certificates of guarantees ([`slowpath_certificate`]).

use crate::error::Error;
use crate::frontend::{self, Lifted};
use crate::interleaved;
use crate::job::SearchContext;
use crate::loops;
use crate::options::ProgramRequest;
use crate::stages;
use serde::Serialize;
use slowpath_certificate::{self as certificate, Certificate, Checked, Problem, TRUSTED};
use slowpath_codes as codes;
use slowpath_exec::ArcId;
use slowpath_ir::Op;
use slowpath_search::{
    Certification, Metric, Search, UnrollLimits, Unrolled, certificate_graph, certify, unroll,
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
    stop: &Stop,
    context: &SearchContext<'_>,
    search: &mut Search<BitSolver>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    claims: Certification,
) -> Result<String, String> {
    stop.enter(stages::CERTIFYING);
    search.set_stop(stop);
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

/// A program with the question that its certificate answers.
struct Question {
    lifted: Lifted,
    target: Target,
    model: CostModel,
    unrolled: Unrolled,
    metric: Metric,
    packets: (u32, u32),
    claims: Certificate,
    /// Conditions of all results about the program, one sentence each.
    assumptions: Vec<String>,
}

fn refused(reason: String) -> Error {
    Error::Input(codes::CERTIFICATE_REFUSED, reason)
}

impl Question {
    /// Reads and unrolls a program again, with the options of the request.
    fn of(request: &ProgramRequest, claims: &str, stop: &Stop) -> Result<Question, Error> {
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
        let unrolled = unroll(program, &limits, stop).map_err(located)?;
        let mut assumptions: Vec<String> =
            interleaved::exclusive_access_condition(&lifted, &target).into_iter().collect();
        assumptions.extend(condition);
        assumptions.extend(lifted.program.assumptions.iter().cloned());
        let classes = &lifted.program.cost_classes;
        let used = assumed.into_iter().filter(|one| classes.contains(&one.class));
        assumptions.extend(used.map(|assumption| assumption.sentence));
        let with_lines = |sentence: &String| loops::with_lines(&lifted, sentence);
        assumptions.extend(unrolled.assumptions.iter().map(with_lines));
        Ok(Question { lifted, target, model, unrolled, metric, packets, claims, assumptions })
    }

    fn problem(&mut self) -> Problem<'_> {
        let (components, per_byte) = components(&self.target, self.metric);
        Problem {
            graph: certificate_graph(&self.unrolled.dag),
            executor: &mut self.unrolled.executor,
            model: &self.model,
            target: &self.target,
            components,
            per_byte,
            packets: self.packets,
        }
    }
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
    let mut question = Question::of(request, claims, stop)?;
    stop.enter(stages::CHECKING);
    let claims = question.claims.clone();
    let checked = certificate::check(&mut question.problem(), &claims).map_err(refused)?;
    let Question { lifted, target, unrolled, mut assumptions, .. } = question;
    if let Some(claim) = &claims.witness {
        let reliances = &lifted.program.reliances;
        let relied = claim.relies.iter().filter_map(|&on| reliances.get(on as usize));
        assumptions.extend(relied.cloned());
        let dag = &unrolled.dag;
        let blocks = claim.path.iter().map(|&arc| dag[dag[ArcId(arc)].tail].block);
        assumptions.extend(uncomputed(&lifted, blocks));
    }
    if let Some(reason) = &lifted.inexact_reason {
        assumptions.push(format!("the witness: {reason}"));
    }
    Ok(report(&lifted, &target, &checked, assumptions))
}

/// Returns the clauses and the proof of each nogood of a certificate, as texts in the formats
/// DIMACS and LRAT for other checkers.
///
/// # Errors
/// If the program cannot be read or unrolled, or if the certificate does not fit it.
pub fn export_proofs(
    request: &ProgramRequest,
    claims: &str,
    stop: &Stop,
) -> Result<Vec<(String, String)>, Error> {
    let mut question = Question::of(request, claims, stop)?;
    let claims = question.claims.clone();
    certificate::export_proofs(&mut question.problem(), &claims).map_err(refused)
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
