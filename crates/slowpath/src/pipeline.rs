//! Analyses one program, from its file to the guarantee.

use crate::certificate;
use crate::error::Error;
use crate::estimation::{estimation, no_estimate};
use crate::events::{Control, Event, Report};
use crate::failure::{ErrorKind, Failure};
use crate::frontend::{self, Lifted};
use crate::interleaved::{self, Device};
use crate::intermediate::IntermediateResults;
use crate::job::{
    Job, SearchContext, detailed_path_count, replayed_witness, requested_branches,
    wants_code_of_paths,
};
use crate::loops;
use crate::options::ProgramRequest;
use crate::panics;
use crate::report::{self, Measure};
use crate::result::{
    Bound, Detail, PathBranch, PathDetail, PathResult, ProgramResult, Stats, Verdict,
};
use crate::stages;
use crate::structural::{StructuralBound, unroll_and_count};
use crate::unreached_programs::note_unreached;
use slowpath_codes as codes;
use slowpath_exec::ArcId;
use slowpath_search::{BoundClaim, Certification, Event as Found, Search, SearchError, Unrolled};
use slowpath_smt::{BitSolver, Solver};
use slowpath_stop::Stop;
use slowpath_target::{Assumption, CostVector, Slowness, TargetError, TargetKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Number of paths that the search checks, slowest first, before it also looks for an arbitrary
/// path that some packet takes, to have a witness early.
const CHECKED_ALONE: u64 = 4;

/// A found path with its cost and its branches, for computing the details that reports show.
struct PathOf {
    arcs: Vec<ArcId>,
    cost: CostVector,
    branches: Vec<PathBranch>,
}

/// Creates a result that contains the names in a request, but no bounds, paths or assumptions.
fn empty_result(request: &ProgramRequest) -> ProgramResult {
    let names = frontend::names(request);
    ProgramResult {
        file: request.file.clone(),
        section: names.section,
        program: names.name,
        kind: names.kind,
        target: request.options.target.name().to_owned(),
        metric: request.options.metric.clone().unwrap_or_default(),
        cores: Some(request.options.cores.unwrap_or(0)),
        guarantee: None,
        interleaved: None,
        naive: None,
        paths: Vec::new(),
        estimate: None,
        profile: None,
        assumptions: Vec::new(),
        cuts: Vec::new(),
        notes: Vec::new(),
        stats: Stats::default(),
        refusals: Vec::new(),
        error: None,
        code: None,
    }
}

/// Returns the stop condition of the search. If the request asks for a certificate, the search may
/// take two thirds of the time, so that some remains for proofs.
fn time_for_search(request: &ProgramRequest, stop: &Stop) -> Stop {
    let time = stop.remaining().filter(|_| request.options.certificate);
    stop.within(time.map(|time| time * 2 / 3))
}

/// Creates the report of an analysis that could not start, for the given reason.
pub(crate) fn not_started(request: &ProgramRequest, reason: &dyn std::fmt::Display) -> Report {
    let mut result = empty_result(request);
    result.error = Some(format!("the analysis could not start: {reason}"));
    result.code = Some(codes::SYSTEM_RESOURCES.to_string());
    serialise(&result, &Detail::default(), None, false)
}

fn serialise(
    result: &ProgramResult,
    detail: &Detail,
    certificate: Option<Result<String, String>>,
    complete: bool,
) -> Report {
    let as_json = |value: serde_json::Result<String>| value.unwrap_or_else(|e| e.to_string());
    Report {
        json: as_json(serde_json::to_string(result)),
        detail: as_json(serde_json::to_string(detail)),
        certificate,
        complete,
    }
}

/// Returns true if the error may not occur again for the same program: a defect, a stop, or a
/// missing requirement of the machine.
fn has_defect(detail: &Detail) -> bool {
    let kind = detail.failure.as_ref().map(|failure| failure.kind);
    matches!(kind, Some(ErrorKind::Defect | ErrorKind::Stopped | ErrorKind::Unavailable))
}

/// Analyses one program and sends events to the caller. The last event contains the result.
pub(crate) fn run(request: &ProgramRequest, control: &Control) {
    let started = Instant::now();
    let mut result = empty_result(request);
    let mut detail = Detail::default();
    let mut certificate = None;
    control.stop.enter(stages::READING);
    let analysed = AssertUnwindSafe(|| {
        let request = request.configured()?;
        let search = Control { stop: time_for_search(&request, &control.stop), ..control.clone() };
        let job = Job { request: &request, control: &search, started };
        let certificate = (&mut certificate, &control.stop);
        let analysed = job.analyse(&mut result, &mut detail, certificate);
        control.note_end(&search.stop);
        analysed
    });
    let done =
        catch_unwind(analysed).unwrap_or_else(|panic| Err(Error::Panic(panics::describe(&*panic))));
    if let Err(error) = done {
        certificate = request.options.certificate.then(|| Err(error.to_string()));
        detail.failure = Some(Failure::of(&error));
        result.refusals = error.refusals().to_vec();
        result.error = Some(error.to_string());
        result.code = Some(error.code().to_string());
        (result.guarantee, result.naive, result.profile) = (None, None, None);
        result.paths.clear();
        detail.paths.clear();
        detail.code.clear();
        detail.blocks.clear();
    }
    result.stats.seconds = started.elapsed().as_secs_f64();
    let complete = control.is_unlimited() && !has_defect(&detail);
    control.send(Event::Result(Box::new(serialise(&result, &detail, certificate, complete))));
}

/// Sets the guarantee and the naive bound of a result to the structural bound, which was found from
/// loop limits and block costs, without unrolling the program. `stopped` is the reason why there is
/// no better bound.
fn apply_structural_bound(
    result: &mut ProgramResult,
    structural: &StructuralBound,
    measure: Measure<'_>,
    stopped: String,
) {
    let bound = measure.any_packet(&structural.cost);
    result.naive = Some(bound.clone());
    result.guarantee = Some(Bound { stopped: Some(stopped), ..bound });
    result.assumptions.extend(structural.conditions.iter().cloned());
    result.cuts.extend(structural.cuts.iter().cloned());
}

/// Changes the verdict of a result's guarantee from exact to bound, and removes the paths. `reason`
/// says why it is uncertain that some packet takes the slowest path.
fn downgrade_to_bound(result: &mut ProgramResult, reason: &str) {
    result.paths.clear();
    if let Some(found) = result.guarantee.take() {
        let stopped = found.stopped.clone().unwrap_or_else(|| reason.to_owned());
        result.guarantee = Some(Bound { stopped: Some(stopped), ..found.into_bound() });
    }
}

/// Sorts paths by how slow they are, slowest first. Equally slow paths keep their order.
fn slowest_first<T>(slowness: &[Slowness], paths: Vec<T>) -> Vec<T> {
    let mut order: Vec<(&Slowness, T)> = slowness.iter().zip(paths).collect();
    order.sort_by(|a, b| b.0.cmp(a.0));
    order.into_iter().map(|(_, path)| path).collect()
}

/// Adds the source line, or the line of the listing, to an error of the search that names an
/// instruction.
fn located(lifted: &Lifted, error: SearchError) -> Error {
    let mut place = error.location().map_or_else(String::new, |insn| lifted.place(insn));
    let about_loops = matches!(
        error,
        SearchError::UnboundedLoop { .. }
            | SearchError::LoopTooLarge { .. }
            | SearchError::NoLoopAt { .. }
    );
    if let Some(header) = error.location().filter(|_| about_loops)
        && let Some(line) = loops::line(lifted, header)
    {
        place = format!("{}:{}: ", line.file, line.line);
    }
    let hint = if about_loops { loops::hint(lifted) } else { String::new() };
    Error::Search { place, error, hint }
}

/// Converts an error about missing prices. Adds the first instruction without a price, and advice
/// for the user.
fn unpriced(lifted: &Lifted, error: TargetError, unused: &[Assumption]) -> Error {
    let mut place = String::new();
    if let TargetError::Unpriced { classes, .. } = &error
        && let Some(insn) = classes.first().and_then(|(class, _)| lifted.first_of_class(class))
    {
        place = format!("{}instruction .{insn}: ", lifted.place(insn));
    }
    let mut hint = unused.first().map_or_else(String::new, |assumption| {
        format!(" (--assume prices `{}`, which the program does not use)", assumption.class)
    });
    if let TargetError::Unpriced { classes, .. } = &error
        && classes.iter().any(|(class, _)| class.starts_with("helper."))
    {
        hint += " (the costs of calls of the stock firmware are not published; --map-abi \
                 array-pointer compiles for the firmware whose costs are)";
    }
    if let TargetError::Unpriced { classes, .. } = &error
        && classes.iter().any(|(class, _)| class.contains(".add_xfer"))
    {
        hint += " (an atomic addition of a number that may need more than 16 bits: nothing is \
                 published about its cost; mask the number to 16 bits, or --target ebpf counts \
                 instructions)";
    }
    Error::Target { place, error, hint }
}

impl Job<'_> {
    /// Analyses the program. If the request asks for a certificate, makes it until its stop
    /// condition holds.
    fn analyse(
        &self,
        result: &mut ProgramResult,
        detail: &mut Detail,
        (certificate, certificate_stop): (&mut Option<Result<String, String>>, &Stop),
    ) -> Result<(), Error> {
        let options = &self.request.options;
        let mut target = options.target.description()?;
        result.target = target.name.clone();
        let (metric, name) = options.metric(&target)?;
        result.metric = name;
        let assumed = match &options.assume {
            Some(text) => target
                .apply_assumptions(text, "--assume")
                .map_err(|error| Error::in_file_of("--assume", error))?,
            None => Vec::new(),
        };
        if let Some(cores) = options.cores {
            target = target.with_cores(cores)?;
        }
        result.cores = (target.kind == TargetKind::Rates).then_some(target.cores);
        let (receive, mut condition) = options.arrivals(&target)?;
        let packets = (receive.length.0.into(), receive.length.1.into());
        let stop = &self.control.stop;
        let lifted = frontend::lift(self.request, &target, receive, stop)?;
        let (limits, unmatched) = loops::limits(&options.unroll, &lifted)?;
        detail.unmatched = unmatched;
        let program = &lifted.program;
        if options.code {
            detail.code = report::code(&lifted);
            detail.blocks = report::blocks(&lifted);
        }
        result.program = program.name.clone();
        // `interleave` removes this assumption if it makes no difference.
        result.assumptions.extend(interleaved::exclusive_access_condition(&lifted, &target));
        let is_tc = lifted.layout.as_ref().is_some_and(|one| one.program_type.length().is_some());
        if let Some(text) = condition.as_mut().filter(|_| is_tc) {
            text.push_str(" (after GRO, and before segmentation)");
        }
        result.assumptions.extend(condition);
        result.assumptions.extend(program.assumptions.iter().cloned());
        result.notes.extend(lifted.notes.iter().cloned());
        if lifted.code.is_none() && target.timing.is_some() {
            let of = lifted.layout.as_ref().map_or("such", |one| one.program_type.family());
            let none = "estimates: none, because this target has no calibration for";
            result.notes.push(format!("{none} {of} programs"));
        }
        let (used, unused): (Vec<Assumption>, _) =
            assumed.into_iter().partition(|a| program.cost_classes.contains(&a.class));
        result.assumptions.extend(used.into_iter().map(|assumption| assumption.sentence));
        let model = target
            .cost_model(&program.cost_classes)
            .map_err(|error| unpriced(&lifted, error, &unused))?;
        stop.enter(stages::UNROLLING);
        let measure = Measure { target: &target, metric, least_size: packets.0 };
        let context = SearchContext { lifted: &lifted, model: &model, measure };
        let device = Device { target: &target, receive };
        let mut structural = StructuralBound::of(&lifted, &limits, &model, &[]);
        if let Some(bound) = &structural {
            let mut known = result.clone();
            apply_structural_bound(&mut known, bound, measure, "by force".into());
            IntermediateResults::send_complete(self.control, self.started, &known);
        }
        let unrolled = match unroll_and_count(program, &limits, stop) {
            (Ok(unrolled), _) => unrolled,
            (Err(error), counted) => {
                structural = StructuralBound::of(&lifted, &limits, &model, &counted);
                let stopped = structural.as_ref().and_then(|bound| match error {
                    SearchError::Stopped(reason) => Some(self.stopped(reason)),
                    _ => bound.stopped_by(&lifted, &error),
                });
                let (Some(bound), Some(stopped)) = (structural, stopped) else {
                    return Err(match error {
                        SearchError::Stopped(reason) => Error::stopped(reason, stop),
                        error => located(&lifted, error),
                    });
                };
                if estimation(&target, &lifted, options)?.is_some() {
                    result.notes.push(no_estimate(&stopped));
                }
                apply_structural_bound(result, &bound, measure, stopped.clone());
                if options.certificate {
                    *certificate = Some(Err(format!("the program was not unrolled: {stopped}")));
                }
                self.interleave_structurally(&context, device, stopped, result);
                return Ok(());
            }
        };
        let named = |sentence: &String| loops::with_lines(&lifted, sentence);
        result.assumptions.extend(unrolled.assumptions.iter().map(named));
        result.cuts.extend(unrolled.cuts.iter().map(named));
        stop.enter(stages::SEARCHING);
        let solver = BitSolver::new();
        let mut search = Search::new(unrolled, &model, target.clone(), metric, packets, solver);
        search.request_early_path(BitSolver::new(), CHECKED_ALONE);
        let estimation = estimation(&target, &lifted, options)?;
        // With estimates, the guarantee needs only one path: the estimation finds the paths to
        // report.
        let requested = match estimation {
            Some(_) => 1,
            // The paths are removed below.
            None if lifted.inexact_reason.is_some() => 1,
            None => options.paths.unwrap_or(u64::MAX),
        };
        let done = self.search(&mut search, &context, requested, result, detail);
        let done = done.map_err(|error| match error {
            Error::Search { error, .. } => located(&lifted, error),
            other => other,
        });
        let (statistics, solver) = (search.statistics(), search.solver().statistics());
        result.stats = Stats {
            seconds: 0.0,
            candidates: statistics.candidates,
            sat: statistics.satisfiable,
            unsat: statistics.unsatisfiable,
            nogoods: search.nogoods() as u64,
            solver_checks: solver.checks,
            solver_seconds: solver.seconds,
        };
        let claims = done?;
        self.interleave(&context, device, structural.as_ref(), result)?;
        if let (Some(structural), Some(guarantee)) = (&structural, &mut result.guarantee)
            && guarantee.verdict == Verdict::Bound
            && structural.conditions.is_empty()
        {
            let other = measure.any_packet(&structural.cost);
            if measure.is_tighter(&other, guarantee) {
                // The structural bound is tighter, and would be the result without unrolling.
                *guarantee = Bound { stopped: guarantee.stopped.clone(), ..other };
                result.profile = None;
            }
        }
        if let Some(reason) = &lifted.inexact_reason {
            downgrade_to_bound(result, reason);
            detail.paths.clear();
        }
        if result.guarantee.as_ref().is_some_and(|bound| bound.verdict != Verdict::Bound) {
            note_unreached(self, &context, &limits, packets, result)?;
        }
        if options.certificate {
            let made = certificate::make(
                certificate_stop,
                &context,
                &mut search,
                &limits,
                packets,
                claims,
            );
            *certificate = Some(made);
        }
        let Some(estimation) = estimation else { return Ok(()) };
        let is_found = |bound: &Bound| bound.verdict != Verdict::Bound;
        if !result.guarantee.as_ref().is_some_and(is_found) || result.paths.is_empty() {
            let stopped = result.guarantee.as_ref().and_then(|bound| bound.stopped.clone());
            result.notes.push(no_estimate(&stopped.unwrap_or_default()));
            return Ok(());
        }
        // The result without an estimate, in case the caller has to kill the estimation.
        let mut known = result.clone();
        known.notes.push(no_estimate("by force"));
        IntermediateResults::send_found(self.control, self.started, &known);
        let ranked = estimation.rank(self, search, &context, (result, detail));
        ranked.map_err(|error| match error {
            Error::Search { error, .. } => located(&lifted, error),
            other => other,
        })
    }

    /// Searches for paths until `requested` paths are found, no more exist, or the analysis has to
    /// stop. Adds them to `result`, slowest first. Returns the bound and the path that a certificate
    /// can prove.
    fn search(
        &self,
        search: &mut Search<BitSolver>,
        context: &SearchContext<'_>,
        requested: u64,
        result: &mut ProgramResult,
        detail: &mut Detail,
    ) -> Result<Certification, Error> {
        let &SearchContext { lifted, model, measure } = context;
        let mut claims = Certification::default();
        let (mut slowness, mut arcs) = (Vec::new(), Vec::new());
        let mut intermediate = IntermediateResults::default();
        let mut reached: Option<(PathResult, PathOf)> = None;
        let stopped = loop {
            if result.paths.len() as u64 >= requested {
                break None;
            }
            if let Some(reason) = self.reason_to_stop() {
                break Some(reason);
            }
            let step = match search.step() {
                Err(SearchError::Stopped(reason)) => break Some(self.stopped(reason)),
                // A failure in the search for further, faster paths does not affect the guarantee.
                Err(error) if result.guarantee.is_some() => break Some(error.to_string()),
                step => step?,
            };
            match step {
                Found::Working => {}
                Found::Bound(bound) => {
                    let bound = measure.found_bound(search.unrolled(), &bound);
                    self.progress(measure.value(&bound), search);
                    result.naive.get_or_insert_with(|| bound.clone());
                    if result.guarantee.is_none() {
                        let reached = reached.as_ref().map(|(path, _)| path);
                        intermediate.send((self.control, self.started), result, &bound, reached);
                    }
                }
                Found::EarlyPath(mut found) => {
                    let (shown, relies_on) =
                        match replayed_witness(search, lifted, model, &mut found) {
                            Err(error) => break Some(self.ended_by(error)?),
                            Ok(shown) => shown,
                        };
                    claims.witness = Some((*found).clone());
                    let mut path = measure.path(lifted, search.unrolled(), &found, shown);
                    path.relies_on = relies_on;
                    let branches = requested_branches(search, &self.request.options, &found)?;
                    let of = PathOf { arcs: found.path, cost: found.cost, branches };
                    reached = Some((path, of));
                }
                Found::Path(mut found) => {
                    self.control.stop.enter(stages::REPORTING);
                    let (shown, relies_on) =
                        match replayed_witness(search, lifted, model, &mut found) {
                            Err(error) => break Some(self.ended_by(error)?),
                            Ok(shown) => shown,
                        };
                    let unrolled = search.unrolled();
                    if result.paths.is_empty() {
                        result.assumptions.extend(relies_on.iter().cloned());
                    }
                    let mut path = measure.path(lifted, unrolled, &found, shown);
                    path.relies_on = relies_on;
                    if result.paths.is_empty() {
                        claims.witness = Some((*found).clone());
                        let exact = measure.bound(&found.cost, found.length);
                        let exact = exact.found(!result.assumptions.is_empty());
                        if let Some(naive) = &mut result.naive {
                            measure.cap_at_guarantee(naive, &exact);
                        }
                        let (path, cost) = (&found.path, &found.cost);
                        let profile = measure.profile(lifted, unrolled, model, path, cost)?;
                        (result.guarantee, result.profile) = (Some(exact), Some(profile));
                    }
                    slowness.push(search.slowness(&found.cost, found.length).1);
                    if slowness.last() > slowness.first() {
                        let what = "a path is slower than the one that was found to be the slowest";
                        return Err(SearchError::Internal(what.into()).into());
                    }
                    let branches = requested_branches(search, &self.request.options, &found)?;
                    arcs.push(PathOf { arcs: found.path, cost: found.cost, branches });
                    result.paths.push(path);
                    if requested == u64::MAX {
                        search.enumerate_all();
                    }
                    self.control.stop.enter(stages::SEARCHING);
                    if requested > 1 && result.paths.len() == 1 {
                        IntermediateResults::send_found(self.control, self.started, result);
                    }
                    self.control.send(Event::Path { index: result.paths.len() as u64 });
                }
                Found::Complete => break None,
                Found::GaveUp(reason) => {
                    let gave_up = || format!("the solver gave up on a path ({reason})");
                    break Some(self.reason_to_stop().unwrap_or_else(gave_up));
                }
            }
        };
        if let Some(guarantee) = &mut result.guarantee {
            guarantee.stopped = stopped;
            result.paths = slowest_first(&slowness, std::mem::take(&mut result.paths));
            let described = detailed_path_count(&self.request.options);
            let described = slowest_first(&slowness, arcs).into_iter().take(described);
            let unrolled = search.unrolled();
            for path in described {
                detail.paths.push(self.path_detail(unrolled, context, path)?);
            }
            return Ok(claims);
        }
        let Some(bound) = search.bound() else {
            return Err(Error::Input(
                codes::NO_PACKET_ENDS,
                "no packet reaches the end of the program (within the limits of --unroll)".into(),
            ));
        };
        let (path, cost) = (&bound.path, search.path_cost(&bound.path));
        claims.bound = Some(BoundClaim {
            component: bound.component,
            ticks: bound.cost[bound.component],
            length: bound.length,
        });
        result.profile = Some(measure.profile(lifted, search.unrolled(), model, path, &cost)?);
        let mut bound: Bound = measure.found_bound(search.unrolled(), &bound);
        bound.stopped = Some(stopped.unwrap_or_else(|| "no path was asked for".into()));
        result.naive.get_or_insert_with(|| bound.clone()).stopped = None;
        result.guarantee = Some(bound);
        if let Some((path, of)) = reached {
            if detailed_path_count(&self.request.options) > 0 {
                detail.paths = vec![self.path_detail(search.unrolled(), context, of)?];
            }
            result.paths = vec![path];
        }
        Ok(claims)
    }

    /// Returns the details of a path, with its branches and costs if they were requested.
    fn path_detail(
        &self,
        unrolled: &Unrolled,
        context: &SearchContext<'_>,
        path: PathOf,
    ) -> Result<PathDetail, Error> {
        let &SearchContext { lifted, model, measure } = context;
        let mut detail = report::detail(lifted, unrolled, &path.arcs);
        if wants_code_of_paths(&self.request.options) {
            let profile = measure.profile(lifted, unrolled, model, &path.arcs, &path.cost)?;
            (detail.branches, detail.profile) = (path.branches, Some(profile));
        }
        Ok(detail)
    }

    fn progress(&self, value: f64, search: &Search<BitSolver>) {
        self.control.send(Event::Bound {
            value,
            seconds: self.started.elapsed().as_secs_f64(),
            candidates: search.statistics().candidates,
            nogoods: search.nogoods() as u64,
        });
    }
}
