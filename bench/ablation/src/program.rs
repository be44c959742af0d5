//! Prepares a program for the search: lifts it to the intermediate representation, and selects the
//! cost model and the metric. All variants of the search share the result.

use slowpath_bpf::lift::{LiftOptions as ObjectOptions, Receive};
use slowpath_bpf::{BpfProgram, Object, ProgramKind};
use slowpath_nfp::{CompileOptions, LiftOptions};
use slowpath_search::{Metric, UnrollLimits, Unrolled, unroll};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, InstructionSet, Target, TargetKind};
use std::fmt::Display;
use std::path::Path;
use std::rc::Rc;

/// Name of a SmartNIC's target description. It is the default target of NFP listings, and one of
/// the two default targets of BPF objects.
const CARD: &str = "agilio-cx-2x40";

/// Name of the default target that counts the instructions of BPF objects.
const COUNTING: &str = "ebpf";

/// Settings of the analysis. They have the meaning of the options of `slowpath bound`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name of the target. If `None`, BPF objects are searched for two targets, listings for the
    /// SmartNIC.
    pub target: Option<String>,
    /// `bitrate` (the default) or `packetrate`, or a metric of a counting target.
    pub metric: Option<String>,
    /// Number of cores that run the program; all by default.
    pub cores: Option<u32>,
    /// Iteration limit of every loop; `None` for limits derived by the analysis.
    pub unroll: Option<u32>,
}

/// A program that is ready to be searched for its slowest path.
#[derive(Debug)]
pub struct Program {
    /// Name of the file. If the file has several programs, also that of the program.
    pub name: String,
    pub metric: Metric,
    pub target: Target,
    /// Costs of the program's instructions on the target, by cost class.
    pub model: CostModel,
    lifted: Rc<slowpath_ir::Program>,
    limits: UnrollLimits,
}

impl Program {
    /// Reads the programs of a file, once for each target. The error of an unusable program
    /// contains the program's name.
    pub fn read(path: &Path, settings: &Settings) -> Vec<Result<Self, String>> {
        let named = |error: &dyn Display| format!("{}: {error}", path.display());
        let data = match std::fs::read(path) {
            Ok(data) => data,
            Err(error) => return vec![Err(named(&error))],
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let stem = stem.unwrap_or_default();
        if !data.starts_with(b"\x7fELF") {
            let target = settings.target.as_deref().unwrap_or(CARD);
            let program = Program::of_listing(&stem, &data, target, settings);
            return vec![program.map_err(|error| named(&error))];
        }
        let object = match Object::parse(&data) {
            Ok(object) => object,
            Err(error) => return vec![Err(named(&error))],
        };
        let stem = stem.trim_end_matches(".bpf");
        let targets = match &settings.target {
            Some(target) => vec![target.as_str()],
            None => vec![CARD, COUNTING],
        };
        let mut programs = Vec::new();
        for target in targets {
            for (index, entry) in object.programs.iter().enumerate() {
                let mut name = stem.to_owned();
                if object.programs.len() > 1 {
                    name = format!("{name}:{}", entry.name);
                }
                if target != CARD {
                    name = format!("{name} ({target})");
                }
                let program = Program::of_object(&name, &object, index, target, settings);
                programs.push(program.map_err(|error| named(&format!("{name}: {error}"))));
            }
        }
        programs
    }

    /// Executes all paths of the program symbolically.
    ///
    /// # Errors
    /// If a loop has no limit, or execution fails.
    pub fn unroll(&self) -> Result<Unrolled, String> {
        unroll(Rc::clone(&self.lifted), &self.limits, &Stop::never())
            .map_err(|error| error.to_string())
    }

    /// Returns the least and the greatest packet length in bytes.
    pub fn packets(&self) -> (u32, u32) {
        (self.target.min_packet, self.target.max_packet)
    }

    fn of_listing(
        name: &str,
        data: &[u8],
        target: &str,
        settings: &Settings,
    ) -> Result<Self, String> {
        let target = find(target, settings)?;
        if target.instruction_set != InstructionSet::Nfp {
            return Err(format!("a listing has no instructions of target {}", target.name));
        }
        let listing = slowpath_nfp::parse_bytes(data).map_err(|error| error.to_string())?;
        let lifted = slowpath_nfp::lift(&listing, name, &listing_options(&target));
        Program::priced(name, lifted.map_err(|error| error.to_string())?, target, settings)
    }

    fn of_object(
        name: &str,
        object: &Object,
        index: usize,
        target: &str,
        settings: &Settings,
    ) -> Result<Self, String> {
        let target = find(target, settings)?;
        let kind = object.programs.get(index).map(|entry| entry.kind);
        if !matches!(kind, Some(ProgramKind::Xdp | ProgramKind::Unknown)) {
            return Err("no XDP program".into());
        }
        let linked = object.link(index, None).map_err(|error| error.to_string())?;
        let lifted = match target.instruction_set {
            InstructionSet::Nfp => compiled(name, object, &linked, &target),
            InstructionSet::Swx => return Err("the target is for pipelines of DPDK".into()),
            InstructionSet::Bpf => {
                let options = ObjectOptions {
                    receive: Receive::PAGE
                        .with_length(target.min_packet as u16, target.max_packet as u16),
                    ..ObjectOptions::default()
                };
                let lifted = slowpath_bpf::lift::lift(object, &linked, &options);
                lifted.map(|lifted| lifted.program).map_err(|error| error.to_string())
            }
        };
        Program::priced(name, lifted?, target, settings)
    }

    fn priced(
        name: &str,
        lifted: slowpath_ir::Program,
        target: Target,
        settings: &Settings,
    ) -> Result<Self, String> {
        let model = target.cost_model(&lifted.cost_classes).map_err(|error| error.to_string())?;
        let limits = UnrollLimits { every: settings.unroll, ..UnrollLimits::default() };
        let (name, metric) = (name.to_owned(), metric(&target, settings.metric.as_deref())?);
        Ok(Program { name, metric, target, model, lifted: Rc::new(lifted), limits })
    }
}

fn find(name: &str, settings: &Settings) -> Result<Target, String> {
    let target = Target::builtin(name).ok_or_else(|| {
        format!("unknown target {name}: known are {}", Target::builtin_names().join(", "))
    })?;
    let target = target.map_err(|error| error.to_string())?;
    match settings.cores {
        Some(cores) if target.kind == TargetKind::Rates => {
            target.with_cores(cores).map_err(|error| error.to_string())
        }
        _ => Ok(target),
    }
}

fn listing_options(target: &Target) -> LiftOptions {
    LiftOptions {
        min_packet: target.min_packet as u16,
        max_packet: target.max_packet as u16,
        ..LiftOptions::default()
    }
}

/// Compiles a BPF program for the SmartNIC, and lifts the compiled program.
fn compiled(
    name: &str,
    object: &Object,
    linked: &BpfProgram,
    target: &Target,
) -> Result<slowpath_ir::Program, String> {
    let compiled = slowpath_nfp::compile(object, linked, &CompileOptions::default())
        .map_err(|error| error.to_string())?;
    slowpath_nfp::lift(&compiled.listing, name, &listing_options(target))
        .map_err(|error| error.to_string())
}

fn metric(target: &Target, name: Option<&str>) -> Result<Metric, String> {
    let counters = target.metrics().unwrap_or_default();
    match (target.kind, name) {
        (TargetKind::Rates, None | Some("bitrate")) => Some(Metric::BitRate),
        (TargetKind::Rates, Some("packetrate")) => Some(Metric::PacketRate),
        (TargetKind::Rates, Some(_)) => None,
        (TargetKind::Counts, name) => name
            .or(counters.first().map(String::as_str))
            .and_then(|name| target.counter(name))
            .map(Metric::Component),
    }
    .ok_or_else(|| format!("target {} has no such metric", target.name))
}
