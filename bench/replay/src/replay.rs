//! One witness in the kernel.

use crate::outcome::Outcome;
use crate::result::{Entry, Guarantee, Surveyed};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use slowpath_bpf::{MapKind, Object};
use slowpath_kernel::{Context, Counted, Kernel, Loaded, witness};

/// Replays the witness of a program's guarantee.
pub fn replay(kernel: &Kernel, entry: &Entry, surveyed: &Surveyed) -> Outcome {
    let loaded = load(kernel, entry);
    let counted = match loaded {
        Ok(counted) => counted,
        Err(outcome) => return outcome,
    };
    match surveyed {
        Surveyed::Guarantee(guarantee) => {
            compare(kernel, &counted, guarantee).unwrap_or_else(|outcome| outcome)
        }
        Surveyed::Bound | Surveyed::Refused => Outcome::NoWitness,
    }
}

/// The program, with counters, if the kernel takes it as it is.
fn load(kernel: &Kernel, entry: &Entry) -> Result<Counted, Outcome> {
    let rejected = |why: &dyn std::fmt::Display| Outcome::Rejected(why.to_string());
    let data = std::fs::read(&entry.object).map_err(|e| rejected(&e))?;
    let object = Object::parse(&data).map_err(|e| rejected(&e))?;
    let named =
        |p: &slowpath_bpf::ProgramEntry| p.name == entry.program && p.section == entry.section;
    let number = object.programs.iter().position(named);
    let number = number.ok_or_else(|| rejected(&"there is no such program"))?;
    kernel.load(&object, number).map_err(|e| rejected(&e))?;
    kernel.load_counted(&object, number).map_err(|e| Outcome::NotRun(e.to_string()))
}

/// Makes everything as the witness says, and runs its packet.
fn compare(kernel: &Kernel, counted: &Counted, guarantee: &Guarantee) -> Result<Outcome, Outcome> {
    let Guarantee { instructions: expected, witness, .. } = guarantee;
    let different = |why: &dyn std::fmt::Display| Outcome::Different(why.to_string());
    let _installed = witness::install(counted.loaded(), witness).map_err(|e| different(&e))?;
    fill_slots(kernel, counted.loaded(), witness).map_err(|e| different(&e))?;
    pin(witness);
    let (packet, context) = (witness::bytes(&witness["packet"]), witness::context(witness));
    let run = counted.run(&packet, &context);
    let (_, executed) = run.map_err(|e| match context == Context::default() {
        true => Outcome::NotRun(e.to_string()),
        // Only a device that is there, and its queues, can be given.
        false => {
            Outcome::Open { on: vec!["ingress_ifindex, rx_queue_index".to_owned()], executed: 0 }
        }
    })?;
    if executed == *expected {
        return Ok(Outcome::Replayed);
    }
    let on: Vec<String> = witness::open(witness).into_iter().collect();
    if executed > *expected || on.is_empty() {
        let how = format!("{executed} instructions in the kernel, not {expected}");
        return Ok(Outcome::Different(how));
    }
    Ok(Outcome::Open { on, executed })
}

/// Puts a program into the empty slots of those program arrays in which the witness wants one.
fn fill_slots(kernel: &Kernel, loaded: &Loaded, witness: &Value) -> Result<(), String> {
    let unknowns = witness["unknowns"].as_array().into_iter().flatten();
    let wanted = unknowns
        .filter(|unknown| unknown["value"] == 1)
        .filter_map(|unknown| unknown["result"].as_str()?.strip_prefix("program in the slot of "));
    for name in wanted {
        let Some(map) = loaded.map(name).filter(|m| m.definition().kind == MapKind::PROG_ARRAY)
        else {
            continue;
        };
        let passing = kernel.passing().map_err(|e| e.to_string())?;
        for slot in 0..map.definition().max_entries {
            if let Ok(None) = map.lookup_all(&slot.to_ne_bytes()) {
                map.set_program(slot, &passing).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

/// Runs on the CPU that the witness names, or on the first. Where it may not, the run shows it.
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
