//! Compares a rewritten program with the original in the running kernel.

use crate::errors;
use crate::kernel::Kernel;
use crate::objects::Object;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use serde_json::{Value, json};
use slowpath::{Error, ProgramFile};
use slowpath_codes as codes;
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{InstallError, LoadError, LoadedProgram};
use slowpath_rehearsal::{
    Cover, Devices, OnDevice, Options, Packets, RehearsalError, Role, Stage, Subject, cover,
    rehearse as run,
};

/// An upstream program: its object, its index in the object, the return codes with which it passes
/// packets on, and the content of its maps as JSON text.
type Upstream = (Py<Object>, usize, Vec<u32>, String);

/// Runs packets through the `upstream` programs. Runs the packets that these programs pass on
/// through the original program and through the rewritten program, and compares the effects.
/// Returns the result as JSON text (`slowpath_rehearsal::Rehearsal`). If the verifier rejects the
/// rewritten program, the result has only `refused`, with the reason.
///
/// `rewritten` is the content of an object. If it has several XDP programs, the one with the
/// original's name is used. `seeds` are packets as they arrive at the chain. `maps` is the JSON
/// text of the `maps` of a witness, or empty; the content of the upstream programs' maps has the
/// same form. `more` is the content of maps that only the rewritten program has.
///
/// `covers` is the JSON text of a list of packets, in hexadecimal, each with the `maps` of a
/// witness. Both programs get these packets first; their result is `covered`
/// (`slowpath_rehearsal::Covered`). `rounds` is the number of timed rounds. `assumed` has facts, in
/// words, about all packets that arrive at the chain. `frames` is the number of frames for each XDP
/// mode of virtual Ethernet that delivers packets as `receive` says. The result lists other modes
/// as left out.
///
/// Raises an `Error` if a program cannot be loaded or an argument is invalid. `stop` ends the work
/// with the results so far.
#[pyfunction]
#[pyo3(signature = (kernel, upstream, original, rewritten, seeds, maps, covers, packets, arbitrary, rounds, stop, more="", assumed=Vec::new(), frames=0, receive=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
pub fn rehearse(
    py: Python<'_>,
    kernel: &Kernel,
    upstream: Vec<Upstream>,
    original: (Py<Object>, usize),
    rewritten: &[u8],
    seeds: Vec<Vec<u8>>,
    maps: &str,
    covers: &str,
    packets: u64,
    arbitrary: bool,
    rounds: u32,
    stop: &Stop,
    more: &str,
    assumed: Vec<String>,
    frames: u64,
    receive: Option<&str>,
) -> PyResult<String> {
    let fail = |error: Error| errors::exception(py, &error);
    let facts = (!assumed.is_empty()).then(|| slowpath_chain::parse_facts(&assumed)).transpose();
    let facts = facts.map_err(|why| fail(Error::Input(codes::INVALID_FACTS, why)))?;
    let object = |file: &ProgramFile| {
        let what = "it is a listing; the kernel runs BPF objects";
        file.object().ok_or_else(|| Error::Input(codes::LISTING_IN_KERNEL, what.to_owned()))
    };
    let kernel = kernel.shared();
    let mut stages = Vec::new();
    let mut contents = Vec::new();
    for (content, program, results, maps) in upstream {
        stages.push(Stage {
            object: object(&content.get().shared()).map_err(fail)?,
            program,
            results,
        });
        contents.push(content_of(&maps).map_err(fail)?);
    }
    let own = content_of(maps).map_err(fail)?;
    let groups = grouped(covers).map_err(fail)?;
    let of_rewritten = joined(&own, &content_of(more).map_err(fail)?);
    let (content, program) = original;
    let object_of_original = object(&content.get().shared()).map_err(fail)?;
    let rewritten = py.detach(|| ProgramFile::read(rewritten)).map_err(fail)?;
    let name = object_of_original.programs.get(program).map(|entry| entry.name.clone());
    let number = rewritten_program(&rewritten, name.as_deref().unwrap_or_default());
    let number = number.map_err(fail)?;
    let rewritten = object(&rewritten).map_err(fail)?;
    let receive = receive.unwrap_or("any");
    let devices = Devices::delivering(receive, frames, &stages);
    let devices = devices
        .map_err(|why| fail(Error::Input(codes::INVALID_VALUE, format!("--receive: {why}"))))?;
    let options = Options { packets, arbitrary, rounds, devices, ..Options::default() };
    let done = worker::run(py, stop, move |stop| {
        let install = move |place: Role, loaded: &LoadedProgram| match place {
            Role::Upstream(number) => {
                contents.get(number).map_or(Ok(None), |maps| fill(loaded, maps))
            }
            Role::Original => fill(loaded, &own),
            // The rewritten program may lack some of the maps.
            Role::Rewritten => fill(loaded, &within(loaded, &of_rewritten)),
        };
        let original = (&*object_of_original, program);
        let subject = Subject { upstream: &stages, original, rewritten: (&*rewritten, number) };
        let fillers: Vec<_> = groups.iter().map(|group| filler(&group.maps)).collect();
        let each = groups.iter().zip(&fillers);
        let covers: Vec<Cover<'_>> = each
            .map(|(group, install)| Cover { packets: group.packets.clone(), install })
            .collect();
        let covered = cover(&kernel, &subject, &covers, stop)?;
        let packets = Packets { seeds: &seeds, facts: facts.as_ref() };
        let rehearsal = run(&kernel, &subject, packets, &install, &options, stop)?;
        Ok((covered, rehearsal))
    })?;
    let (covered, mut rehearsal) = match done {
        Ok(found) => found,
        Err(RehearsalError::Load { role: Role::Rewritten, cause })
            if matches!(*cause, LoadError::Rejected { .. }) =>
        {
            return Ok(json!({ "refused": cause.to_string() }).to_string());
        }
        Err(error) => return Err(fail(Error::Input(error.code(), error.to_string()))),
    };
    rehearsal.devices.extend(left_out(&devices, receive));
    let text = serde_json::to_value(&rehearsal).and_then(|mut all| {
        all["covered"] = serde_json::to_value(&covered)?;
        serde_json::to_string(&all)
    });
    text.map_err(|error| errors::defect(py, &error))
}

/// Returns notes about devices that do not deliver packets in the requested environment.
fn left_out(devices: &Devices, receive: &str) -> Vec<OnDevice> {
    let modes = [("native", devices.native), ("generic", devices.generic)];
    let without = modes.into_iter().filter(|(_, arrives)| devices.frames > 0 && !arrives);
    let why = format!("packets do not arrive there as --receive {receive} says");
    let one = |(mode, _)| OnDevice { mode, frames: 0, lengths: None, why_not: Some(why.clone()) };
    without.map(one).collect()
}

/// Test packets that run with the same map content.
struct Group {
    maps: Value,
    packets: Vec<Vec<u8>>,
}

/// Groups packets by the map content they need, in order of their first packets.
fn grouped(covers: &str) -> Result<Vec<Group>, Error> {
    let mut groups = Vec::<Group>::new();
    if covers.trim().is_empty() {
        return Ok(groups);
    }
    let covers: Vec<(Value, Value)> = serde_json::from_str(covers).map_err(|error| {
        Error::Input(codes::INTERNAL_ERROR, format!("packets to try cannot be read: {error}"))
    })?;
    for (packet, maps) in covers {
        let packet = witness::bytes(&packet);
        match groups.iter_mut().find(|group| group.maps == maps) {
            Some(group) => group.packets.push(packet),
            None => groups.push(Group { maps, packets: vec![packet] }),
        }
    }
    groups.iter_mut().for_each(|group| group.maps = json!({ "maps": group.maps.take() }));
    Ok(groups)
}

/// Returns a function that fills a program's maps with the content `maps`. Content of maps that the
/// program does not have is ignored.
fn filler(
    maps: &Value,
) -> impl Fn(Role, &LoadedProgram) -> Result<Option<Installed>, InstallError> + Sync + '_ {
    move |_, loaded| fill(loaded, &within(loaded, maps))
}

/// Returns the index of the XDP program called `name`; or of the only XDP program of the file.
fn rewritten_program(file: &ProgramFile, name: &str) -> Result<usize, Error> {
    let programs = file.programs().unwrap_or_default();
    let xdp: Vec<_> = programs.iter().filter(|program| program.kind == "xdp").collect();
    let named = xdp.iter().find(|program| program.name == name);
    match (named, xdp.as_slice()) {
        (Some(program), _) | (None, [program]) => Ok(program.index),
        _ => {
            let what = format!("the rewritten object has no XDP program {name}");
            Err(Error::Input(codes::NO_SUCH_PROGRAM, what))
        }
    }
}

/// Parses map content, given as JSON text, and returns it as the field `maps` of an object, as in a
/// witness. Returns null for an empty text.
fn content_of(maps: &str) -> Result<Value, Error> {
    if maps.trim().is_empty() {
        return Ok(Value::Null);
    }
    let maps: Value = serde_json::from_str(maps).map_err(|error| {
        Error::Input(codes::INTERNAL_ERROR, format!("the content of maps cannot be read: {error}"))
    })?;
    Ok(json!({ "maps": maps }))
}

/// Merges the map content `content` and `more`. If both contain a map, the result has the content
/// from `more`.
fn joined(content: &Value, more: &Value) -> Value {
    let maps = [content, more].map(|content| content["maps"].as_object().cloned());
    json!({ "maps": maps.into_iter().flatten().flatten().collect::<serde_json::Map<_, _>>() })
}

/// Restricts map content to the maps that a program has.
fn within(loaded: &LoadedProgram, content: &Value) -> Value {
    let maps = content["maps"].as_object().into_iter().flatten();
    let own =
        maps.filter(|(name, _)| loaded.map(name.strip_suffix(".inner").unwrap_or(name)).is_some());
    let own: serde_json::Map<String, Value> =
        own.map(|(name, entries)| (name.clone(), entries.clone())).collect();
    json!({ "maps": own })
}

fn fill(loaded: &LoadedProgram, content: &Value) -> Result<Option<Installed>, InstallError> {
    if content.is_null() {
        return Ok(None);
    }
    witness::install(loaded, content).map(Some)
}
