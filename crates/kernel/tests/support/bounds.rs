//! Tests bounds against the kernel. No packet may execute more instructions than the bound. With a
//! witness, the kernel must execute exactly as many instructions as the witness states.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use slowpath::{
    Analysis, Event, Options, Poll, ProgramFile, ProgramRequest, as_witnessed, with_stated,
};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::witness::{bytes, context, install, open_dependencies};

use super::tally::{Class, Tally};

/// Number of witnesses that are checked for each program.
const PATHS: u64 = 2;
/// Minimum packet length of the kernel's test runs, in bytes. Some devices accept shorter packets.
const ETHERNET_HEADER: usize = 14;
/// Time limit in seconds for the analysis of a program. The bound that is found by then is valid,
/// too, and is compared.
const DEADLINE: f64 = 10.0;

/// Analyses the first program of an object. Returns the result as JSON, or null if there is none.
pub fn analyse(data: Vec<u8>) -> Value {
    analyse_with(&data, Options::default())
}

/// Like [`analyse`], but with the given options. The target and the number of paths are fixed, and
/// the deadline has a default.
pub fn analyse_with(data: &[u8], options: Options) -> Value {
    let Ok(object) = ProgramFile::read(data) else { return Value::Null };
    let request = ProgramRequest {
        options: Options {
            target: "ebpf".into(),
            paths: Some(PATHS),
            deadline_seconds: options.deadline_seconds.or(Some(DEADLINE)),
            ..options
        },
        ..ProgramRequest::of("generated.o", object)
    };
    let analysis = Analysis::start(request);
    loop {
        match analysis.next(Duration::from_secs(1)) {
            Poll::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).unwrap_or_default();
            }
            Poll::Event(_) | Poll::Pending => {}
            Poll::Finished => return Value::Null,
        }
    }
}

/// Counts how many instructions the kernel executes with the packet and the maps of a witness.
fn replay(kernel: &Kernel, original: &Arc<Object>, witness: &Value) -> Result<u64, String> {
    let object = as_witnessed(original, witness);
    let mut witness = witness.clone();
    with_stated(original, &mut witness);
    let witness = &witness;
    let counted = kernel.load_counted(&object, 0).map_err(|e| e.to_string())?;
    let installed = install(counted.loaded(), witness).map_err(|e| e.to_string())?;
    let run = counted.run(&bytes(&witness["packet"]), &context(witness));
    drop(installed);
    run.map(|(_, count)| count).map_err(|e| e.to_string())
}

/// Returns the names of values on which a witness's path depends, but which a test run in the
/// kernel cannot set.
fn unknown_dependencies(result: &Value, witness: &Value) -> String {
    let mut dependencies: Vec<String> = open_dependencies(witness).into_iter().collect();
    let assumed = result["assumptions"].as_array().is_some_and(|list| !list.is_empty());
    dependencies.extend(assumed.then(|| "assumptions".to_owned()));
    dependencies.join(", ")
}

/// Checks the bound and the witnesses of the only program of an object. `max` is the largest number
/// of instructions that a packet executed.
pub fn bound_holds(
    kernel: &Kernel,
    data: Vec<u8>,
    max: u64,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    let object = Object::parse(&data).map_err(|e| (Class::Refused, e.to_string()))?;
    result_holds(kernel, &Arc::new(object), &analyse(data), max, tally)
}

/// Like [`bound_holds`], but takes the result of an earlier analysis. The variables of `object`
/// must be set as in that analysis.
pub fn result_holds(
    kernel: &Kernel,
    object: &Arc<Object>,
    result: &Value,
    max: u64,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    let bound = result["guarantee"]["counts"]["instructions"].as_u64();
    let Some(bound) = bound else { return Err((Class::NoBound, result["error"].to_string())) };
    let reached = tally.bound(&result["guarantee"]);
    let exceeds = |count: u64| {
        let assumed = &result["assumptions"];
        (Class::Bound, format!("{count} instructions, bound {bound}, {assumed}"))
    };
    if max > bound {
        return Err(exceeds(max));
    }
    if !reached {
        return Ok(());
    }
    for path in result["paths"].as_array().into_iter().flatten() {
        let witness = &path["witness"];
        if bytes(&witness["packet"]).len() < ETHERNET_HEADER {
            *tally.open.entry("packets too short for test runs".into()).or_default() += 1;
            continue;
        }
        let faulty = |fault: String| (Class::Witness, format!("{fault}; {witness}"));
        let count = replay(kernel, object, witness).map_err(faulty)?;
        let expected = path["cost"]["instructions"].as_u64();
        if Some(count) == expected {
            tally.replayed += 1;
            continue;
        }
        if count > bound {
            return Err(exceeds(count));
        }
        let dependencies = unknown_dependencies(result, witness);
        if dependencies.is_empty() {
            return Err(faulty(format!("{count} instructions, not {expected:?}")));
        }
        *tally.open.entry(dependencies).or_default() += 1;
    }
    Ok(())
}
