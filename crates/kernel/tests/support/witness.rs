//! Witnesses in the kernel: what one says about maps is installed, and its packet runs.

use serde_json::Value;
use slowpath_bpf::lift::MapLayout;

use super::contents::Entry;
use super::twin::Twin;

/// Look-ups whose keys depend on earlier look-ups, one after the other.
const ROUNDS: usize = 6;
/// What stands for bytes that a path does not depend on.
const ANY: u8 = 0x5a;

/// Bytes from hexadecimal digits; `--` is any byte.
pub fn bytes(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap_or_default();
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or(ANY);
    (0..digits.len() / 2).map(|n| pair(2 * n)).collect()
}

/// Elements beside those that a witness lists, with keys that it does not mention.
fn others(layout: &MapLayout, entries: &[Value]) -> Vec<Entry> {
    let listed: Vec<Vec<u8>> = entries.iter().map(|entry| bytes(&entry["key"])).collect();
    let count = entries.iter().find_map(|entry| entry["others"].as_u64()).unwrap_or(0);
    if layout.key_size == 0 {
        return Vec::new(); // nothing is read behind what a queue has to hold
    }
    let key = |number: u64| {
        let mut key = vec![0xee; layout.key_size as usize];
        for (byte, of) in key.iter_mut().rev().zip(number.to_le_bytes()) {
            *byte ^= of;
        }
        key
    };
    let value = vec![ANY; layout.value_size as usize];
    let keys = (0..).map(key).filter(|key| !listed.contains(key));
    keys.take(count as usize).map(|key| Entry { key, value: value.clone() }).collect()
}

/// Installs what a witness says about maps and runs its packet through both; the number of
/// instructions.
pub fn replay(twin: &mut Twin, witness: &Value) -> Result<usize, String> {
    let packet = bytes(&witness["packet"]);
    let layouts = twin.lifted.layout.maps.clone();
    for _ in 0..ROUNDS {
        for layout in &layouts {
            // Learns the numbers that stand for the keys that are looked for.
            twin.keys(layout, &packet);
            let entries = witness["maps"][&layout.name].as_array().cloned().unwrap_or_default();
            for entry in entries.iter().filter(|entry| entry["value"].is_string()) {
                let entry = Entry { key: bytes(&entry["key"]), value: bytes(&entry["value"]) };
                twin.install(layout, &entry)?;
            }
            for entry in others(layout, &entries) {
                twin.install(layout, &entry)?;
            }
        }
    }
    Ok(twin.compare(&packet)?.costs.len())
}
