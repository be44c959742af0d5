//! Recordings of a solver's input.

use crate::programs::Case;
use crate::searches::{Limits, Strategy, search};
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, lift};
use slowpath_generate::{Features, Programs};
use slowpath_search::{Event as Step, Metric, Search, SearchOptions, UnrollLimits, unroll};
use slowpath_smt::{BitSolver, Event, Solver, Trace};
use slowpath_target::Target;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// The recorded input of one SAT solver: the clauses, and the queries between them.
#[derive(Default)]
pub struct Recording {
    pub steps: Vec<Asked>,
    /// Number of clauses that the solver learnt during the recording.
    pub learnt: usize,
}

/// One recorded input of a SAT solver: a clause, or a query with its answer.
pub enum Asked {
    Clause(Vec<i32>),
    Question { assumptions: Vec<i32>, relevant: Vec<i32>, satisfiable: bool },
}

impl Recording {
    pub fn clauses(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Asked::Clause(_))).count()
    }

    pub fn questions(&self) -> usize {
        self.steps.len() - self.clauses()
    }

    /// Converts the events that a solver reported into a recording. Drops queries that the solver
    /// did not finish.
    fn of(events: Vec<Event>) -> Recording {
        let mut recording = Recording::default();
        let mut open = None;
        for event in events {
            let satisfiable = match event {
                Event::Original(clause) => {
                    recording.steps.push(Asked::Clause(clause));
                    continue;
                }
                Event::Query { assumptions, relevant } => {
                    open = Some((assumptions, relevant));
                    continue;
                }
                Event::Learnt(_) => {
                    recording.learnt += 1;
                    continue;
                }
                Event::Sat => true,
                Event::Unsat(_) => false,
                Event::Deleted(_) | Event::Unknown => continue,
            };
            if let Some((assumptions, relevant)) = open.take() {
                recording.steps.push(Asked::Question { assumptions, relevant, satisfiable });
            }
        }
        recording
    }
}

/// A recorder of the input of one SAT solver; a forked solver gets its own recorder.
#[derive(Clone, Debug)]
struct Recorder {
    all: Arc<Mutex<Vec<Vec<Event>>>>,
    number: usize,
}

impl Recorder {
    fn of(all: Arc<Mutex<Vec<Vec<Event>>>>) -> Self {
        let mut recordings = all.lock().expect("nobody panicked");
        recordings.push(Vec::new());
        let number = recordings.len() - 1;
        drop(recordings);
        Recorder { all, number }
    }
}

impl Trace for Recorder {
    fn event(&mut self, event: Event) {
        self.all.lock().expect("nobody panicked")[self.number].push(event);
    }

    fn fork(&self) -> Box<dyn Trace> {
        Box::new(Recorder::of(Arc::clone(&self.all)))
    }
}

/// Records the input of all solvers that `run` creates.
fn recorded(run: impl FnOnce(&dyn Fn() -> BitSolver)) -> Vec<Recording> {
    let all = Arc::new(Mutex::new(Vec::new()));
    run(&|| BitSolver::traced(Box::new(Recorder::of(Arc::clone(&all)))));
    let events = std::mem::take(&mut *all.lock().expect("nobody panicked"));
    let recordings = events.into_iter().map(Recording::of);
    recordings.filter(|recording| recording.questions() > 0).collect()
}

/// Records the SAT queries of slowest-path searches with a strategy in programs. If `more` is
/// true, each search goes on for up to 4000 steps or 2000 queries; otherwise it ends with the first
/// path.
pub fn searched(cases: &[Case], strategy: Strategy, more: bool) -> Vec<Recording> {
    let (steps, queries) = if more { (4000, 2000) } else { (0, 0) };
    let limits = Limits { steps, queries, seconds: f64::INFINITY };
    recorded(|solver| {
        for case in cases {
            search(case, strategy, solver(), BitSolver::statistics, &limits);
        }
    })
}

/// Records the queries of searches for the largest number of instructions in random programs.
pub fn random(count: u64) -> Vec<Recording> {
    let target = Target::builtin("ebpf").expect("it is built in").expect("it is valid");
    let programs = Programs::new(Features { max_slots: 300, ..Features::all() }, 12);
    recorded(|solver| {
        for seed in 0..count {
            let object = Object::parse(&programs.from_seed(seed).object()).expect("an object");
            let linked = object.link(0, None).expect("it links");
            let lifted = lift(&object, &linked, &LiftOptions::default()).expect("it is supported");
            let program = Rc::new(lifted.program);
            let unrolled = unroll(
                Rc::clone(&program),
                &UnrollLimits::default(),
                &slowpath_stop::Stop::never(),
            );
            let unrolled = unrolled.expect("its loops are bounded");
            let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
            let (device, metric) = (target.clone(), Metric::Component(0));
            // Without shortcuts, every condition becomes a query.
            let options = SearchOptions { facts: false, guess: false, ..SearchOptions::default() };
            let mut search = Search::with_options(
                unrolled,
                &model,
                device,
                metric,
                (60, 1500),
                solver(),
                options,
            );
            loop {
                match search.step().expect("it is searched") {
                    Step::Working | Step::Bound(_) | Step::EarlyPath(_) => {}
                    Step::Path(_) | Step::Complete | Step::GaveUp(_) => break,
                }
            }
        }
    })
}
