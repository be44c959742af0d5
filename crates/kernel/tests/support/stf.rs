//! Parses files of p4c's simple test framework (`.stf`): table entries, packets, and expected
//! packets.
//!
//! p4c's `backends/bmv2/bmv2stf.py` and `backends/ebpf/targets/ebpfstf.py` define the commands.
//! Entries count from the start, even if they are added after the first packet.

use num_bigint::BigInt;
use slowpath_p4::xdp::entries::{ActionCall, Entry, KeyValue, Setting};
use slowpath_p4::xdp::layout::TableLayout;

/// An expected packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub port: u32,
    /// Hexadecimal digits of the packet, or `*` for any digit. Unless `is_whole`, the sent packet
    /// may be longer.
    pub digits: String,
    pub is_whole: bool,
}

/// The content of an `.stf` file.
#[derive(Clone, Debug, Default)]
pub struct Stf {
    entries: Vec<Entry>,
    /// Packets to send, each with its port and bytes.
    pub packets: Vec<(u32, Vec<u8>)>,
    pub expected: Vec<Expected>,
    /// Name of the first command that table entries and packets cannot express; `None` if there is
    /// none.
    pub unknown: Option<String>,
}

impl Stf {
    /// Returns the table entries with the names that tables and actions have in the P4 program.
    /// p4c's compiler for eBPF joins names with `_`, and sets missing arguments to 0.
    pub fn entries_for(&self, tables: &[TableLayout]) -> Vec<Entry> {
        let joined = |name: &str| name.replace('.', "_");
        let mut entries = self.entries.clone();
        for entry in &mut entries {
            let suffix = |table: &&TableLayout| joined(&table.name) == entry.table;
            let Some(table) = tables.iter().find(suffix) else { continue };
            let control = table.name.rsplit_once('.').map_or("", |one| one.0);
            entry.table.clone_from(&table.name);
            let calls = match &mut entry.setting {
                Setting::Entry { actions, .. } => actions.as_mut_slice(),
                Setting::Default(action) => std::slice::from_mut(action),
                Setting::Member(_) => &mut [],
            };
            for call in calls {
                let name = call.name.strip_prefix(&format!("{}_", joined(control)));
                let name = name.unwrap_or(&call.name).trim_start_matches('_').to_owned();
                let Some(action) = table.actions.iter().find(|one| *one.name == *name) else {
                    continue;
                };
                call.name = name;
                if call.args.is_empty() {
                    call.args = action.params.iter().map(|_| (None, BigInt::ZERO)).collect();
                }
            }
        }
        entries
    }

    /// Parses the text of an `.stf` file.
    ///
    /// # Errors
    ///
    /// The number and text of the first malformed line.
    pub fn read(text: &str) -> Result<Stf, String> {
        let mut found = Stf::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let fault = || format!("line {number}: {line}");
            match command {
                "" | "wait" | "register_read" | "meter_get_rates" => {}
                "packet" => {
                    let (port, digits) = split(rest);
                    let port = port.parse().map_err(|_| fault())?;
                    found.packets.push((port, bytes(&digits).ok_or_else(fault)?));
                }
                "expect" => {
                    let (port, digits) = split(rest);
                    let is_whole = digits.ends_with('$');
                    let digits = digits.trim_end_matches('$').to_lowercase();
                    let port = port.parse().map_err(|_| fault())?;
                    found.expected.push(Expected { port, digits, is_whole });
                }
                "add" => found.entries.push(entry(number, rest).ok_or_else(fault)?),
                "setdefault" => {
                    let (table, call) = rest.split_once(char::is_whitespace).ok_or_else(fault)?;
                    let setting = Setting::Default(action(call).ok_or_else(fault)?);
                    found.entries.push(Entry { line: number, table: table.to_owned(), setting });
                }
                other => {
                    found.unknown.get_or_insert_with(|| other.to_owned());
                }
            }
        }
        Ok(found)
    }
}

/// Splits a text into its first word and the rest. Removes spaces from the rest.
fn split(text: &str) -> (&str, String) {
    let text = text.trim_start();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.split_whitespace().collect())
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    // A last digit without a partner is the lower half of a byte of its own.
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn entry(line: u32, text: &str) -> Option<Entry> {
    let start = text.find('(').map_or(text.len(), |at| at);
    let action_at = text[..start].trim_end().rfind(char::is_whitespace)?;
    let call = action(text[action_at..].trim())?;
    let mut words = text[..action_at].split_whitespace();
    let table = words.next()?.to_owned();
    let (mut keys, mut priority) = (Vec::new(), None);
    for word in words {
        match word.split_once(':') {
            None => priority = Some(word.parse().ok()?),
            Some((name, value)) => {
                // Compilers for eBPF number the keys.
                let name = if name.starts_with("key.") { None } else { Some(indexed(name)) };
                keys.push((name, key(value)?));
            }
        }
    }
    Some(Entry { line, table, setting: Setting::Entry { keys, priority, actions: vec![call] } })
}

/// Converts the indices in a name from p4c's `stack$1` to `stack[1]`.
fn indexed(name: &str) -> String {
    let mut parts = name.split('.').map(|part| match part.split_once('$') {
        Some((stack, at)) => format!("{stack}[{at}]"),
        None => part.to_owned(),
    });
    let first = parts.next().unwrap_or_default();
    parts.fold(first, |all, part| format!("{all}.{part}"))
}

fn action(text: &str) -> Option<ActionCall> {
    let (name, args) = text.split_once('(').unwrap_or((text, ")"));
    let args = args.trim_end().strip_suffix(')')?;
    let name = name.trim().rsplit('.').next()?.to_owned();
    let args = args.split(',').map(str::trim).filter(|one| !one.is_empty());
    let args = args.map(|one| {
        let (name, value) = one.split_once(':').unwrap_or(("", one));
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        Some((name, number(value.trim())?))
    });
    Some(ActionCall { name, args: args.collect::<Option<_>>()? })
}

fn radix(text: &str) -> (&str, u32) {
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return (digits, radix);
        }
    }
    (text, 10)
}

fn number(text: &str) -> Option<BigInt> {
    let (digits, radix) = radix(text);
    BigInt::parse_bytes(digits.as_bytes(), radix)
}

fn key(text: &str) -> Option<KeyValue> {
    if let Some((value, length)) = text.split_once('/') {
        return Some(KeyValue::Prefix(number(value)?, length.parse().ok()?));
    }
    if let Some((value, mask)) = text.split_once("&&&") {
        return Some(KeyValue::Mask(number(value)?, number(mask)?));
    }
    if text == "*" {
        return Some(KeyValue::Any);
    }
    let (digits, radix) = radix(text);
    if !digits.contains('*') {
        return number(text).map(KeyValue::Exact);
    }
    let (mut value, mut mask) = (BigInt::ZERO, BigInt::ZERO);
    for digit in digits.chars() {
        let (one, all) = match digit {
            '*' => (0, 0),
            _ => (digit.to_digit(radix)?, radix - 1),
        };
        value = value * radix + one;
        mask = mask * radix + all;
    }
    Some(KeyValue::Mask(value, mask))
}
