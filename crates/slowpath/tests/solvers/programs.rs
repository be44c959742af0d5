//! Finds programs for the searches: the examples and, if they are available, published listings.

use slowpath_bpf::Object;
use slowpath_bpf::lift::LiftOptions as ObjectOptions;
use slowpath_ir::Program;
use slowpath_nfp::{CompileOptions, LiftOptions};
use slowpath_oracle::published_listings;
use slowpath_search::{Metric, UnrollLimits, Unrolled, unroll};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, Target};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A program with its target device and cost model.
pub struct Case {
    pub name: String,
    pub target: Target,
    pub model: CostModel,
    pub metric: Metric,
    program: Rc<Program>,
    limits: UnrollLimits,
}

impl Case {
    fn new(name: String, target: Target, program: Program, iterations: Option<u32>) -> Self {
        let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
        let metric = match target.metrics() {
            Some(_) => Metric::Component(0),
            None => Metric::BitRate,
        };
        let limits = UnrollLimits { every: iterations, ..UnrollLimits::default() };
        Case { name, target, model, metric, program: Rc::new(program), limits }
    }

    pub fn unroll(&self) -> Unrolled {
        let unrolled = unroll(Rc::clone(&self.program), &self.limits, &Stop::never());
        unrolled.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns the minimum and maximum packet length in bytes.
    pub fn packets(&self) -> (u32, u32) {
        (self.target.min_packet, self.target.max_packet)
    }
}

fn target(name: &str) -> Target {
    Target::builtin(name).expect("it is built in").expect("it is valid")
}

fn card() -> (Target, LiftOptions) {
    let target = target("agilio-cx-2x40");
    let (min_packet, max_packet) = (target.min_packet as u16, target.max_packet as u16);
    (target, LiftOptions { min_packet, max_packet, ..LiftOptions::default() })
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// Returns the sorted files of a folder with an extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    assert!(!paths.is_empty(), "{} has no .{extension} files", folder.display());
    paths.sort();
    paths
}

/// Returns the programs of the example objects as BPF instructions. If the SmartNIC can run a
/// program, its compiled listing follows.
pub fn examples() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut cases = Vec::new();
    for path in files(&folder, "o") {
        let object = Object::parse(&std::fs::read(&path).expect("the example exists"));
        let object = object.expect("the example is an object");
        for index in 0..object.programs.len() {
            let name = file_name(&path);
            let linked = object.link(index, None).expect("the example links");
            let counts = target("ebpf");
            let (min_packet, max_packet) = (counts.min_packet as u16, counts.max_packet as u16);
            let receive = slowpath_bpf::lift::Receive::PAGE.with_length(min_packet, max_packet);
            let options = ObjectOptions { receive, ..ObjectOptions::default() };
            let lifted = slowpath_bpf::lift::lift(&object, &linked, &options);
            let program = lifted.expect("the example is supported").program;
            cases.push(Case::new(format!("{name} (ebpf)"), counts, program, None));
            if let Ok(compiled) =
                slowpath_nfp::compile(&object, &linked, &CompileOptions::default())
            {
                let (target, options) = card();
                let program = slowpath_nfp::lift(&compiled.listing, &name, &options);
                cases.push(Case::new(name, target, program.expect("it is supported"), None));
            }
        }
    }
    cases
}

/// Returns the published listings with these names, each with a maximum number of loop iterations.
/// Returns an empty list, and reports the reason, if they are not available.
pub fn published(programs: &[(&str, Option<u32>)]) -> Vec<Case> {
    let Some(folder) = published_listings() else { return Vec::new() };
    let mut cases = Vec::new();
    for (name, iterations) in programs {
        let path = folder.join(format!("{name}.asm"));
        let data = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let listing = slowpath_nfp::parse_bytes(&data).expect("the listing can be read");
        let (target, options) = card();
        let program = slowpath_nfp::lift(&listing, name, &options).expect("it is supported");
        cases.push(Case::new((*name).to_owned(), target, program, *iterations));
    }
    cases
}
