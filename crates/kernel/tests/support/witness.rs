//! Witnesses in the kernel: what one says about maps is installed, and its packet runs.

use serde_json::Value;

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
        }
    }
    Ok(twin.compare(&packet)?.costs.len())
}
