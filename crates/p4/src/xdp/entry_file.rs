//! Files that list entries.
//!
//! A file has one entry on a line: the table, its keys, and the action. `#` starts a comment.
//!
//! ```text
//! ipv4_lpm 10.0.0.0/8 -> forward(port=2, mac=00:11:22:33:44:55)
//! acl 10.0.0.1 &&& 0xffffffff, 80..90, * priority 5 -> drop()
//! acl hdr.tcp.dst=22 priority 9 -> drop()
//! ipv4_lpm default -> drop()
//! known_types 0x0800
//! ```
//!
//! - A table is given by its name. Where tables share a name, the names of the enclosing controls
//!   precede it. The last line adds a member to a value set, without action.
//! - Keys are in the order of the table, or have names. A named key that the line omits matches all
//!   values.
//! - A value is a number (`80`, `0x50`, `0b101`, `-1`), `true`, `false`, an IPv4, IPv6 or MAC
//!   address. A key is a value, `value/length`, `value &&& mask`, `low..high` or `*`.
//! - A table with a selector takes actions with `|` between them, the members of a group:
//!   `ecmp 10.0.0.0/8 -> forward(port=1) | forward(port=2)`.
//! - Among entries that match a packet, the one with the highest priority wins, then the first one
//!   in the file. Priorities have no effect if all keys are exact, or all except one with a prefix.

use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::{BigInt, Sign};

use super::entry::{ActionCall, Entry, KeyValue, Result, Setting, brief, fault};

/// Parses a file of entries.
///
/// # Errors
///
/// Returns an error for the first line that is not an entry.
pub fn parse(text: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            entries.push(parse_line(line, text)?);
        }
    }
    Ok(entries)
}

fn parse_line(line: u32, text: &str) -> Result<Entry> {
    let (left, actions) = match text.split_once("->") {
        Some((left, actions)) => {
            let actions = actions.split('|').map(|one| parse_action(line, one.trim()));
            (left.trim(), Some(actions.collect::<Result<Vec<_>>>()?))
        }
        None if text.contains('(') => {
            return fault(line, "'->' is missing in front of the action".to_owned());
        }
        None => (text, None),
    };
    let (table, keys) = left.split_once(char::is_whitespace).unwrap_or((left, ""));
    if table.is_empty() {
        return fault(line, "the name of a table is missing in front of '->'".to_owned());
    }
    let (table, keys) = (table.to_owned(), keys.trim());
    let setting = match actions {
        None => Setting::Member(parse_keys(line, keys)?),
        Some(mut actions) if keys == "default" => match (actions.pop(), actions.len()) {
            (Some(action), 0) => Setting::Default(action),
            _ => return fault(line, "a default entry takes one action".to_owned()),
        },
        Some(actions) => {
            let (keys, priority) = parse_priority(line, keys)?;
            Setting::Entry { keys: parse_keys(line, keys)?, priority, actions }
        }
    };
    Ok(Entry { line, table, setting })
}

/// Splits `keys priority number` into keys and priority; `None` if the text states no priority.
fn parse_priority(line: u32, text: &str) -> Result<(&str, Option<u32>)> {
    let Some((before, number)) = text.rsplit_once(char::is_whitespace) else {
        return Ok((text, None));
    };
    let before = before.trim_end();
    let Some(keys) = before.strip_suffix("priority") else { return Ok((text, None)) };
    if !keys.is_empty() && !keys.ends_with(char::is_whitespace) {
        return Ok((text, None));
    }
    match number.parse() {
        Ok(number) => Ok((keys.trim_end(), Some(number))),
        Err(_) => {
            let number = brief(number);
            fault(line, format!("priority '{number}' is not a number up to 4294967295"))
        }
    }
}

fn parse_action(line: u32, text: &str) -> Result<ActionCall> {
    let (name, args) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(args) => (name.trim(), args.trim()),
            None => return fault(line, format!("')' is missing at the end of '{}'", brief(text))),
        },
    };
    if name.is_empty() {
        return fault(line, "an action is missing after '->'".to_owned());
    }
    let mut found = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|_| !args.is_empty()) {
        let (name, value) = named(arg);
        found.push((name, parse_value(line, value)?));
    }
    Ok(ActionCall { name: name.to_owned(), args: found })
}

/// Splits `name=value` into name and value; the name is `None` if it is missing.
fn named(text: &str) -> (Option<String>, &str) {
    match text.split_once('=') {
        Some((name, value)) => (Some(name.trim().to_owned()), value.trim()),
        None => (None, text),
    }
}

fn parse_keys(line: u32, text: &str) -> Result<Vec<(Option<String>, KeyValue)>> {
    let mut keys = Vec::new();
    for key in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
        let (name, value) = named(key);
        keys.push((name, parse_key(line, value)?));
    }
    Ok(keys)
}

fn parse_key(line: u32, text: &str) -> Result<KeyValue> {
    let value = |text: &str| parse_value(line, text.trim());
    if matches!(text, "*" | "_") {
        return Ok(KeyValue::Any);
    }
    if let Some((first, mask)) = text.split_once("&&&") {
        return Ok(KeyValue::Mask(value(first)?, value(mask)?));
    }
    if let Some((low, high)) = text.split_once("..") {
        return Ok(KeyValue::Range(value(low)?, value(high)?));
    }
    if let Some((first, length)) = text.split_once('/') {
        return match length.trim().parse() {
            Ok(length) => Ok(KeyValue::Prefix(value(first)?, length)),
            Err(_) => {
                fault(line, format!("prefix length '{}' is not a number", brief(length.trim())))
            }
        };
    }
    Ok(KeyValue::Exact(value(text)?))
}

/// Parses a number, a truth value, or an IPv4, IPv6 or MAC address.
pub(super) fn parse_value(line: u32, text: &str) -> Result<BigInt> {
    match text {
        "true" => return Ok(1.into()),
        "false" => return Ok(0.into()),
        _ => {}
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(u32::from(address).into());
    }
    let parts: Vec<_> = text.split(':').collect();
    if parts.len() == 6 && parts.iter().all(|part| part.len() == 2) {
        let bytes: Option<Vec<u8>> =
            parts.iter().map(|part| u8::from_str_radix(part, 16).ok()).collect();
        if let Some(bytes) = bytes {
            return Ok(BigInt::from_bytes_be(Sign::Plus, &bytes));
        }
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok(u128::from(address).into());
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (Sign::Minus, digits),
        None => (Sign::Plus, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        _ => (10, digits),
    };
    let is_plain = digits.starts_with(|first: char| first.is_digit(radix));
    match num_bigint::BigUint::parse_bytes(digits.as_bytes(), radix).filter(|_| is_plain) {
        Some(number) => Ok(BigInt::from_biguint(sign, number)),
        None if text.is_empty() => fault(line, "a number or address is missing".to_owned()),
        None => fault(line, format!("'{}' is neither a number nor an address", brief(text))),
    }
}
