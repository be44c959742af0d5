//! Witnesses in both the kernel and the interpreter: what one says about maps is installed, and its
//! packet runs.

use serde_json::Value;
use slowpath_bpf::MapKind;
use slowpath_kernel::witness::{ANY, bytes, entries, others, queued, value};

use super::contents::Entry;
use super::twin::Twin;

/// Look-ups whose keys depend on earlier look-ups, one after the other.
const ROUNDS: usize = 6;

/// Installs what a witness says about maps and runs its packet through both; the number of
/// instructions.
pub fn replay(twin: &mut Twin, witness: &Value) -> Result<usize, String> {
    let packet = bytes(&witness["packet"]);
    let layouts = twin.lifted.layout.maps.clone();
    for _ in 0..ROUNDS {
        for layout in &layouts {
            // Learns the numbers that stand for the keys that are looked for.
            twin.keys(layout, &packet);
            for entry in entries(witness, &layout.name).filter(|entry| entry["key"].is_string()) {
                if let Some(value) = value(entry, layout.value_size) {
                    twin.install(layout, &Entry { key: bytes(&entry["key"]), value })?;
                }
            }
        }
    }
    for layout in &layouts {
        let Some(map) = twin.loaded.map(&layout.name) else { continue };
        let definition = map.definition().clone();
        if matches!(layout.kind, MapKind::QUEUE | MapKind::STACK) {
            for value in queued(witness, &definition) {
                twin.enqueue(layout, &value)?;
            }
            continue;
        }
        for key in others(witness, &definition) {
            let value = vec![ANY; definition.value_size as usize];
            map.update(&key, &value).map_err(|e| e.to_string())?;
        }
    }
    Ok(twin.compare(&packet)?.costs.len())
}
