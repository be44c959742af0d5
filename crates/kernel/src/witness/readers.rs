//! Simulates readers of the data that programs send to user space. A ring buffer is filled if no
//! record fits into it on the path of the witness. Perf events have a reader, unless sending one
//! must fail on the path.

use std::collections::BTreeSet;

use serde_json::Value;
use slowpath_bpf::MapKind;

use crate::error::InstallError;
use crate::loaded::LoadedProgram;
use crate::sys::Listener;

/// Readers of perf events. Dropping this value closes them.
#[derive(Debug, Default)]
pub struct Readers {
    _listeners: Vec<Listener>,
}

impl Readers {
    /// Fills the ring buffers that must be full on the path of the witness, and opens readers of
    /// perf events.
    pub fn new(loaded: &LoadedProgram, witness: &Value) -> Result<Readers, InstallError> {
        for ring in full_rings(witness) {
            if let Some(map) = loaded.map(ring) {
                map.ring()?.fill();
            }
        }
        if !needs_listeners(witness) {
            return Ok(Readers::default());
        }
        let mut listeners = Vec::new();
        let events = loaded.maps().filter(|map| map.definition().kind == MapKind::PERF_EVENT_ARRAY);
        for map in events {
            for cpu in 0..map.cpus().count().min(map.definition().max_entries as usize) {
                let made = Listener::new(cpu);
                let made = made.map_err(|cause| InstallError::Listener { cause })?;
                let Some(listener) = made else { continue };
                map.set_fd(cpu as u32, listener.fd())?;
                listeners.push(listener);
            }
        }
        Ok(Readers { _listeners: listeners })
    }
}

/// Returns the items of a witness's field `unknowns` that are results of helpers whose name starts
/// with `call`. Each item comes with its field `result`.
fn unknowns<'a>(
    witness: &'a Value,
    call: &'static str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let all = witness["unknowns"].as_array().into_iter().flatten();
    let found = all.filter(move |u| u["call"].as_str().is_some_and(|name| name.starts_with(call)));
    found.filter_map(|unknown| Some((unknown["result"].as_str()?, unknown)))
}

/// Returns the names of the ring buffers into which no record fits on the path of the witness.
fn full_rings(witness: &Value) -> BTreeSet<&str> {
    let (mut full, mut others) = (BTreeSet::new(), BTreeSet::new());
    for (result, unknown) in unknowns(witness, "bpf_ringbuf_") {
        let Some(name) = result.strip_prefix("room in ") else { continue };
        if unknown["meaning"] == "no" {
            full.insert(name)
        } else {
            others.insert(name)
        };
    }
    full.difference(&others).copied().collect()
}

/// Returns true if perf events need a reader, because sending one never fails on the path.
fn needs_listeners(witness: &Value) -> bool {
    let mut results = unknowns(witness, "bpf_perf_event_output");
    results.all(|(_, unknown)| unknown["value"] == 0)
}
