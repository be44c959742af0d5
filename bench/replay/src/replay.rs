//! Replays the witness packet of one program's guarantee in the kernel.

#[cfg(test)]
mod tests;

use crate::outcome::Outcome;
use crate::packets::packets;
use crate::result::{Entry, Guarantee, Surveyed};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use slowpath_bpf::{MapKind, Object};
use slowpath_kernel::{Answer, Context, CountingProgram, Kernel, LoadedProgram, witness};
use std::collections::BTreeSet;

/// Replays the witness packet of a program's guarantee. Then runs other packets, none of which may
/// execute more instructions.
pub fn replay(kernel: &Kernel, entry: &Entry, surveyed: &Surveyed) -> Outcome {
    let (mut object, number) = match read(entry) {
        Ok(program) => program,
        Err(reason) => return Outcome::Rejected(reason),
    };
    choose_sizes(&mut object, surveyed);
    if let Err(error) = kernel.load(&object, number) {
        return Outcome::Rejected(error.to_string());
    }
    let outcome = match surveyed {
        Surveyed::Guarantee(guarantee) => replay_witness(kernel, &object, number, guarantee),
        _ => Outcome::NoWitness,
    };
    if matches!(outcome, Outcome::Different(_) | Outcome::NotRun(_)) {
        return outcome;
    }
    match exceeding(kernel, &object, number, surveyed) {
        Ok(None) => outcome,
        Ok(Some(how)) => Outcome::Different(how),
        Err(reason) => Outcome::NotRun(reason),
    }
}

/// Replays a witness packet. If the outcome is [`Outcome::Open`], replays the packet again, with
/// the results of helper calls that the witness states.
fn replay_witness(
    kernel: &Kernel,
    object: &Object,
    number: usize,
    guarantee: &Guarantee,
) -> Outcome {
    let with = |answers: &[Answer]| match kernel.load_counted_with_answers(object, number, answers)
    {
        Ok(counted) => compare(kernel, &counted, guarantee).unwrap_or_else(|outcome| outcome),
        Err(error) => Outcome::NotRun(error.to_string()),
    };
    let outcome = with(&[]);
    let answers = match object.link(number, None) {
        Ok(program) => witness::answers(&program, &guarantee.witness),
        Err(_) => Vec::new(), // the kernel did not load it either
    };
    if !matches!(outcome, Outcome::Open { .. }) || answers.is_empty() {
        return outcome;
    }
    match with(&answers) {
        Outcome::Replayed => {
            let helpers: BTreeSet<String> = answers.into_iter().map(|a| a.helper).collect();
            Outcome::Answered(helpers.into_iter().collect())
        }
        different @ Outcome::Different(_) => different,
        _ => outcome,
    }
}

/// Looks for a packet that executes more instructions than guaranteed: first with the initial maps,
/// then with the content of the witness. Returns a description of the first such packet; `None` if
/// there is none.
fn exceeding(
    kernel: &Kernel,
    object: &Object,
    number: usize,
    surveyed: &Surveyed,
) -> Result<Option<String>, String> {
    let Some(max) = surveyed.max_instructions() else { return Ok(None) };
    let witness = match surveyed {
        Surveyed::Guarantee(guarantee) => Some(&guarantee.witness),
        _ => None,
    };
    let packets = packets(witness.map(|witness| witness::bytes(&witness["packet"])));
    for content in [Some(&Value::Null), witness].into_iter().flatten() {
        let counted = kernel.load_counted(object, number).map_err(|e| e.to_string())?;
        let _installed = witness::install(counted.loaded(), content).map_err(|e| e.to_string())?;
        for packet in &packets {
            let run = counted.run(packet, &Context::default());
            let (_, executed) = run.map_err(|e| e.to_string())?;
            if executed > max {
                let packet: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
                return Ok(Some(format!("{executed} instructions, more than {max}: {packet}")));
            }
        }
    }
    Ok(None)
}

/// Reads the object of a program. Returns it with the index of the program in it.
fn read(entry: &Entry) -> Result<(Object, usize), String> {
    let data = std::fs::read(&entry.object).map_err(|e| e.to_string())?;
    let object = Object::parse(&data).map_err(|e| e.to_string())?;
    let named =
        |p: &slowpath_bpf::ProgramEntry| p.name == entry.program && p.section == entry.section;
    let number = object.programs.iter().position(named).ok_or("there is no such program")?;
    Ok((object, number))
}

/// Sets the sizes of maps that the object leaves open. Takes the sizes from the witness, if it
/// states them, or else a default.
fn choose_sizes(object: &mut Object, surveyed: &Surveyed) {
    const DEFAULT: u64 = 64;
    let witness = match surveyed {
        Surveyed::Guarantee(guarantee) => &guarantee.witness,
        _ => &Value::Null,
    };
    let own = [MapKind::PERF_EVENT_ARRAY, MapKind::RINGBUF];
    for map in object.maps.iter_mut().filter(|m| m.max_entries == 0 && !own.contains(&m.kind)) {
        let name = format!("max_entries of {}", map.name);
        let mut given = witness["environment"].as_array().into_iter().flatten();
        let stated = given.find(|given| given["name"] == name);
        let size = stated.and_then(|given| given["value"].as_u64()).unwrap_or(DEFAULT);
        map.max_entries = u32::try_from(size).unwrap_or(u32::MAX).max(1);
    }
}

/// Installs the map content of the witness, runs its packet, and compares the number of executed
/// instructions with the guarantee.
fn compare(
    kernel: &Kernel,
    counted: &CountingProgram,
    guarantee: &Guarantee,
) -> Result<Outcome, Outcome> {
    let Guarantee { instructions: expected, witness, .. } = guarantee;
    let different = |error: &dyn std::fmt::Display| Outcome::Different(error.to_string());
    let _installed = witness::install(counted.loaded(), witness).map_err(|e| different(&e))?;
    fill_slots(kernel, counted.loaded(), witness).map_err(|e| different(&e))?;
    pin(witness);
    let (packet, context) = (witness::bytes(&witness["packet"]), witness::context(witness));
    let run = counted.run(&packet, &context);
    let (_, executed) = run.map_err(|e| match context == Context::default() {
        true => Outcome::NotRun(e.to_string()),
        // A test run accepts only existing devices and queues.
        false => {
            Outcome::Open { on: vec!["ingress_ifindex, rx_queue_index".to_owned()], executed: 0 }
        }
    })?;
    if executed == *expected {
        return Ok(Outcome::Replayed);
    }
    let on: Vec<String> = witness::open_dependencies(witness).into_iter().collect();
    if executed > *expected || on.is_empty() {
        let how = format!("{executed} instructions in the kernel, not {expected}");
        return Ok(Outcome::Different(how));
    }
    Ok(Outcome::Open { on, executed })
}

/// Fills the empty slots of program arrays in which the witness needs a program.
fn fill_slots(kernel: &Kernel, loaded: &LoadedProgram, witness: &Value) -> Result<(), String> {
    let unknowns = witness["unknowns"].as_array().into_iter().flatten();
    let wanted = unknowns
        .filter(|unknown| unknown["value"] == 1)
        .filter_map(|unknown| unknown["result"].as_str()?.strip_prefix("program in the slot of "));
    for name in wanted {
        let Some(map) = loaded.map(name).filter(|m| m.definition().kind == MapKind::PROG_ARRAY)
        else {
            continue;
        };
        let passing = kernel.load_pass().map_err(|e| e.to_string())?;
        for slot in 0..map.definition().max_entries {
            if let Ok(None) = map.lookup_all(&slot.to_ne_bytes()) {
                map.set_program(slot, &passing).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

/// Pins the thread to the CPU that the witness states, or else to the first one. Ignores errors,
/// because a wrong CPU shows in the outcome.
fn pin(witness: &Value) {
    let given = witness["environment"].as_array().into_iter().flatten();
    let mut named = given.filter(|given| given["name"] == "bpf_get_smp_processor_id");
    let cpu = named.find_map(|given| given["value"].as_u64()).unwrap_or(0);
    let mut one = CpuSet::new();
    if let Some(cpu) = usize::try_from(cpu).ok().filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        one.set(cpu);
        let _ = sched_setaffinity(None, &one);
    }
}
