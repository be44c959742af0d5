//! Reports a packet that kernel and interpreter treat differently.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use slowpath_bpf::lift::{Bytes, Element, EntryKeys, MapLayout, entry_keys};
use slowpath_kernel::Context;

use crate::outcome::Outcome;
use crate::pair::{Pair, hex, is_queue};

/// Maximum number of elements of each map in a report.
const MAX_ELEMENTS: usize = 10_000;

/// A run of the kernel that the interpreter did not reproduce. The cause is a defect of slowpath,
/// or an influence on the program that the model of BPF does not contain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Name of the program.
    pub program: String,
    /// Difference between the results of kernel and interpreter, in one sentence.
    pub difference: String,
    /// Packet, context and maps before the run, as JSON in the format of a witness.
    /// [`Replay::install`](crate::Replay::install) accepts it, to reproduce the run.
    pub reproducer: Value,
    /// Return value and packet of the kernel's run.
    pub kernel: Outcome,
    /// Return value and packet of the interpreter's run; `None` if the interpreter did not complete
    /// the run.
    pub interpreter: Option<Outcome>,
    /// Reason why other clock times or random numbers, which were not tried, might reproduce the
    /// kernel's run. `None` if all values were tried.
    pub undecided: Option<&'static str>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { program, difference, undecided, .. } = self;
        match undecided {
            None => write!(f, "program {program}: kernel and interpreter disagree: {difference}"),
            Some(reason) => write!(
                f,
                "program {program}: whether kernel and interpreter agree is not decided, because \
                 {reason}: {difference}"
            ),
        }
    }
}

impl Disagreement {
    /// Returns a text for a bug report, with all data to reproduce the disagreement except the
    /// object file.
    pub fn report(&self) -> String {
        let details = serde_json::to_string_pretty(self).unwrap_or_else(|_| format!("{self:?}"));
        format!(
            "{self}\n\nThis is a defect of slowpath: its model of BPF does not do what the kernel \
             does. Please report it with the object file, the version of the kernel (uname -r) and \
             what follows.\n\n{details}\n"
        )
    }
}

impl Pair {
    /// Returns the packet, the context and the maps before a run as JSON, in the format of a
    /// witness. The run can be repeated with it.
    pub fn reproducer(&self, packet: &[u8], context: &Context) -> Value {
        let environment = json!([
            {"name": "ingress_ifindex", "value": context.ingress_ifindex},
            {"name": "rx_queue_index", "value": context.rx_queue_index},
        ]);
        let bytes: Bytes = self.environment.memory.iter().map(|(&k, &v)| (k, v)).collect();
        let mut maps = Map::new();
        // Skip read-only data, which the object defines, and maps that pass data to user space,
        // which cannot be restored.
        let restorable = |layout: &&MapLayout| {
            entry_keys(layout.kind) != EntryKeys::None
                && self.loaded.map(&layout.name).is_none_or(|map| !map.definition().read_only)
        };
        for layout in self.lifted.layout.maps.iter().filter(restorable) {
            let entries = self.entries(layout, &bytes);
            if !entries.is_empty() {
                maps.insert(layout.name.clone(), entries.into());
            }
        }
        json!({"packet": hex(packet), "environment": environment, "maps": maps})
    }

    fn entries(&self, layout: &MapLayout, bytes: &Bytes) -> Vec<Value> {
        let value = |element: &Element| {
            let bytes: Vec<u8> = element.value.iter().map(|byte| byte.unwrap_or(0)).collect();
            hex(&bytes)
        };
        if layout.identity.is_some() && !layout.holds_maps() {
            // For a trie, memory has only results of earlier lookups; the elements are in `tries`.
            let size = u64::from(layout.value_size);
            let entry = |(place, key): (u64, &[u8])| {
                let start = place << layout.element_bits;
                let byte = |at| self.byte(None, (layout.values, start.wrapping_add(at)));
                let value: Vec<u8> = (0..size).map(byte).collect();
                json!({"key": hex(key), "value": hex(&value)})
            };
            return self.tries.all(layout).take(MAX_ELEMENTS).map(entry).collect();
        }
        let elements = layout.elements(bytes, &self.environment.interned);
        let present = elements.into_iter().filter(|element| element.present == Some(true));
        if is_queue(layout) {
            let free =
                layout.free_elements.and_then(|room| self.environment.inputs.get(&room.free));
            let count = u64::from(layout.max_entries).saturating_sub(free.copied().unwrap_or(0));
            let queued = present.filter(|element| element.number < count).take(MAX_ELEMENTS);
            return queued.map(|element| json!({"value": value(&element)})).collect();
        }
        let map = |number: Option<usize>| number.map(|number| format!("map {number}"));
        let entry = |element: Element| {
            let key = hex(element.key.as_ref()?);
            if layout.holds_maps() {
                let number = element.inner_map.and_then(|number| usize::try_from(number).ok());
                return Some(json!({"key": key, "map": map(number)?}));
            }
            let mut entry = json!({"key": key, "value": value(&element)});
            if let Some(map_address) = element.map_address {
                entry["map"] = map(self.inner_map_number(layout, map_address))?.into();
            }
            Some(entry)
        };
        present.filter_map(entry).take(MAX_ELEMENTS).collect()
    }
}
