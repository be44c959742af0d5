//! Reads table entries from files of control planes: the JSON files of p4lang's tutorials, and
//! messages of P4Runtime in text format (P4Runtime specification 1.4, section 9.1).

use num_bigint::{BigInt, Sign};
use slowpath_codes as codes;

use super::entries::{EntryError, key_kinds};
use super::entry::{ActionCall, Entry, KeyValue, Setting, brief};
use super::entry_file::parse_value;
use super::layout::{Layout, MatchKind};
use crate::records::{Content, Node, read_json, read_message};

type Result<T> = std::result::Result<T, EntryError>;

fn fault<T>(line: u32, message: impl Into<String>) -> Result<T> {
    Err(EntryError { code: codes::P4_ENTRY, line, message: message.into() })
}

fn read(result: std::result::Result<Node, crate::records::Fault>) -> Result<Node> {
    result.or_else(|(line, message)| fault(line, message))
}

/// Returns a required field of a message. `of` names the message in the error.
fn need<'n>(node: &'n Node, name: &str, of: &str) -> Result<&'n Node> {
    match node.get(name) {
        Some(found) => Ok(found),
        None => fault(node.line, format!("{of} has no '{name}'")),
    }
}

fn text(node: &Node, name: &str) -> Result<String> {
    match node.text() {
        Some(text) => Ok(text),
        None => fault(node.line, format!("'{name}' must be a text or number")),
    }
}

fn number(node: &Node, name: &str) -> Result<u32> {
    let text = text(node, name)?;
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => fault(
            node.line,
            format!("'{name}' must be a number up to {}, not '{}'", u32::MAX, brief(text)),
        ),
    }
}

/// Returns an error if a message has a field outside of `names`. `of` names the message in the
/// error.
fn known(node: &Node, names: &[&str], of: &str) -> Result<()> {
    match node.fields().iter().find(|one| !names.contains(&&*one.0)) {
        None => Ok(()),
        Some((name, value)) => fault(
            value.line,
            format!(
                "{of} has the unknown field '{}'; known are: {}",
                brief(name),
                names.join(", ")
            ),
        ),
    }
}

/// Returns `keys`. If it is empty, returns keys that match all values instead, one for each key of
/// the table.
fn all_keys(
    layout: &Layout,
    line: u32,
    table: &str,
    keys: Vec<(Option<String>, KeyValue)>,
) -> Result<Vec<(Option<String>, KeyValue)>> {
    if !keys.is_empty() {
        return Ok(keys);
    }
    let kinds = key_kinds(layout, line, table)?.into_iter();
    Ok(kinds.map(|(name, _)| (Some(name.to_string()), KeyValue::Any)).collect())
}

// --- JSON --------------------------------------------------------------------------------------

/// Reads entries from a JSON file with the list `table_entries`, the format of p4lang's tutorials.
///
/// # Errors
///
/// Returns the first fault of the file, or the first entry for an unknown table.
pub fn from_json(layout: &Layout, file: &str) -> Result<Vec<Entry>> {
    let root = read(read_json(file))?;
    known(&root, &["target", "p4info", "bmv2_json", "table_entries"], "the file")?;
    let list = need(&root, "table_entries", "the file")?;
    let Content::List(items) = &list.value else {
        return fault(list.line, "'table_entries' must be a list");
    };
    items.iter().map(|item| json_entry(layout, item)).collect()
}

fn json_entry(layout: &Layout, node: &Node) -> Result<Entry> {
    let fields = ["table", "match", "action_name", "action_params", "priority", "default_action"];
    known(node, &fields, "the entry")?;
    let table = text(need(node, "table", "the entry")?, "table")?;
    let name = text(need(node, "action_name", "the entry")?, "action_name")?;
    let mut args = Vec::new();
    for (param, value) in node.get("action_params").map_or(&[][..], Node::fields) {
        args.push((Some(param.clone()), json_value(value)?));
    }
    let action = ActionCall { name, args };
    let is_default = match node.get("default_action") {
        None => false,
        Some(value) => match &*text(value, "default_action")? {
            "true" => true,
            "false" => false,
            other => {
                return fault(
                    value.line,
                    format!("'default_action' is true or false, not {other}"),
                );
            }
        },
    };
    if is_default {
        return Ok(Entry { line: node.line, table, setting: Setting::Default(action) });
    }
    let kinds = key_kinds(layout, node.line, &table)?;
    let mut keys = Vec::new();
    for (key, value) in node.get("match").map_or(&[][..], Node::fields) {
        let key = key.replace("$valid$", "isValid()");
        let kind = kinds.iter().find(|one| *one.0 == *key).map(|one| one.1);
        keys.push((Some(key), json_key(value, kind)?));
    }
    let keys = all_keys(layout, node.line, &table, keys)?;
    let priority = node.get("priority").map(|one| number(one, "priority")).transpose()?;
    Ok(Entry {
        line: node.line,
        table,
        setting: Setting::Entry { keys, priority, actions: vec![action] },
    })
}

fn json_value(node: &Node) -> Result<BigInt> {
    match &node.value {
        Content::List(items) if items.len() == 1 => json_value(&items[0]),
        _ => parse_value(node.line, &text(node, "the value")?),
    }
}

fn json_key(node: &Node, kind: Option<MatchKind>) -> Result<KeyValue> {
    let Content::List(items) = &node.value else {
        return Ok(KeyValue::Exact(json_value(node)?));
    };
    Ok(match &items[..] {
        [one] => KeyValue::Exact(json_value(one)?),
        [first, second] => {
            let value = json_value(first)?;
            match kind {
                Some(MatchKind::Ternary) => KeyValue::Mask(value, json_value(second)?),
                Some(MatchKind::Range) => KeyValue::Range(value, json_value(second)?),
                _ => KeyValue::Prefix(value, number(second, "the prefix length")?),
            }
        }
        _ => return fault(node.line, "a key has one value, or two of a prefix, mask or range"),
    })
}

// --- P4Runtime ---------------------------------------------------------------------------------

/// Content of a P4Info message: names of tables, keys, actions and parameters by their numbers.
struct Info {
    tables: Vec<Identified>,
    actions: Vec<Identified>,
}

/// Number and name of a table or action, and of its keys or parameters.
type Identified = (u32, String, Vec<(u32, String)>);

impl Info {
    fn read(file: &str) -> Result<Info> {
        let root = read_message(file).or_else(|(line, message)| in_info(line, message))?;
        let named = |kind: &str, parts: &str| {
            let mut found = Vec::new();
            for node in root.all(kind) {
                let preamble =
                    need(node, "preamble", kind).or_else(|one| in_info(one.line, one.message))?;
                let mut names = Vec::new();
                for part in node.all(parts) {
                    names.push(identified(part)?);
                }
                let (id, name) = identified(preamble)?;
                found.push((id, name, names));
            }
            Ok(found)
        };
        Ok(Info { tables: named("tables", "match_fields")?, actions: named("actions", "params")? })
    }
}

fn in_info<T>(line: u32, message: String) -> Result<T> {
    fault(1, format!("the P4Info file, line {line}: {message}"))
}

fn identified(node: &Node) -> Result<(u32, String)> {
    let found = need(node, "id", "the object")
        .and_then(|id| number(id, "id"))
        .and_then(|id| Ok((id, text(need(node, "name", "the object")?, "name")?)));
    found.or_else(|one| in_info(one.line, one.message))
}

/// Returns the name in the field `name_field`, or the name that P4Info gives for the number in
/// `id_field`.
fn name_of(
    node: &Node,
    of: &str,
    (id_field, name_field): (&str, &str),
    names: Option<&[(u32, &str)]>,
) -> Result<String> {
    if let Some(name) = node.get(name_field) {
        return text(name, name_field);
    }
    let Some(id) = node.get(id_field) else {
        return fault(node.line, format!("{of} has no '{id_field}'"));
    };
    let Some(names) = names else {
        return fault(
            id.line,
            format!(
                "'{id_field}' is a number of a P4Info file, which is missing; write it with p4c \
                 --p4runtime-files p4info.txtpb, beside this file, or state '{name_field}' instead"
            ),
        );
    };
    let number = number(id, id_field)?;
    match names.iter().find(|one| one.0 == number) {
        Some((_, name)) => Ok((*name).to_owned()),
        None => fault(id.line, format!("{id_field} {number} is not in the P4Info file")),
    }
}

/// Reads entries from messages of P4Runtime in text format: `table_entry` alone, in `entities`, or
/// in `updates`. Tables, keys, actions and parameters have the numbers of a P4Info message, or
/// names in the fields `table_name`, `field_name`, `action_name` and `param_name`.
///
/// # Errors
///
/// Returns the first fault of the file, or the first entry for an unknown table.
pub fn from_messages(layout: &Layout, file: &str, info: Option<&str>) -> Result<Vec<Entry>> {
    let root = read(read_message(file))?;
    let info = info.map(Info::read).transpose()?;
    let mut entries = Vec::new();
    for (name, node) in root.fields() {
        let mut modifies = false;
        let entity = match &**name {
            "table_entry" => {
                add(&mut entries, message_entry(layout, node, info.as_ref())?, false)?;
                continue;
            }
            "entities" => node,
            "updates" => {
                known(node, &["type", "entity"], "the update")?;
                if let Some(kind) = node.get("type") {
                    modifies = match &*text(kind, "type")? {
                        "INSERT" => false,
                        "MODIFY" => true,
                        _ => {
                            let wanted = "the type of an update must be INSERT or MODIFY";
                            return fault(kind.line, wanted);
                        }
                    };
                }
                need(node, "entity", "the update")?
            }
            "device_id" | "role" | "role_id" | "election_id" | "atomicity" => continue,
            other => {
                return fault(
                    node.line,
                    format!("'{}' is unknown; use table_entry, entities or updates", brief(other)),
                );
            }
        };
        for (kind, node) in entity.fields() {
            if kind != "table_entry" {
                return fault(
                    node.line,
                    format!("'{}' cannot be set; only table_entry can", brief(kind)),
                );
            }
            add(&mut entries, message_entry(layout, node, info.as_ref())?, modifies)?;
        }
    }
    Ok(entries)
}

/// Adds an entry. If `modifies` is true, it replaces the entry with the same keys and priority.
fn add(entries: &mut Vec<Entry>, new: Option<Entry>, modifies: bool) -> Result<()> {
    let Some(new) = new else { return Ok(()) };
    let is_default = matches!(new.setting, Setting::Default(_));
    match (entries.iter().position(|old| has_keys_of(&new, old)), modifies || is_default) {
        (Some(at), true) => entries[at] = new,
        (Some(at), false) => {
            let (line, of) = (entries[at].line, &new.table);
            return fault(new.line, format!("table '{of}' has this entry already, in line {line}"));
        }
        (None, true) if !is_default => {
            return fault(
                new.line,
                format!(
                    "MODIFY changes an entry of table '{}' that this file does not insert; \
                     write INSERT",
                    new.table
                ),
            );
        }
        (None, _) => entries.push(new),
    }
    Ok(())
}

fn has_keys_of(new: &Entry, old: &Entry) -> bool {
    let same = match (&new.setting, &old.setting) {
        (Setting::Default(_), Setting::Default(_)) => true,
        (
            Setting::Entry { keys: new, priority: one, .. },
            Setting::Entry { keys: old, priority: other, .. },
        ) => one == other && new.len() == old.len() && new.iter().all(|key| old.contains(key)),
        _ => false,
    };
    same && new.table == old.table
}

/// Converts a `table_entry` message to an entry; `None` for an entry that is part of the program.
fn message_entry(layout: &Layout, node: &Node, info: Option<&Info>) -> Result<Option<Entry>> {
    let fields = [
        "table_id",
        "table_name",
        "match",
        "action",
        "priority",
        "is_default_action",
        "is_const",
        "metadata",
        "controller_metadata",
    ];
    known(node, &fields, "the table_entry")?;
    let is_set = |name: &str| match node.get(name) {
        None => Ok(false),
        Some(value) => match &*text(value, name)? {
            "true" | "True" | "t" | "1" => Ok(true),
            "false" | "False" | "f" | "0" => Ok(false),
            other => {
                fault(value.line, format!("{name} must be true or false, not '{}'", brief(other)))
            }
        },
    };
    if is_set("is_const")? {
        return Ok(None);
    }
    let tables: Option<Vec<(u32, &str)>> =
        info.map(|info| info.tables.iter().map(|one| (one.0, &*one.1)).collect());
    let table = name_of(node, "the table_entry", ("table_id", "table_name"), tables.as_deref())?;
    let action = node.get("action").map(|one| need(one, "action", "the action")).transpose()?;
    let action = match action {
        Some(action) => message_action(action, info)?,
        None => {
            return fault(
                node.line,
                format!("the entry of table '{}' has no action", brief(table)),
            );
        }
    };
    if is_set("is_default_action")? {
        return Ok(Some(Entry { line: node.line, table, setting: Setting::Default(action) }));
    }
    let names: Option<Vec<(u32, &str)>> = info.map(|info| {
        let found = info.tables.iter().find(|one| one.1 == table);
        found.map_or(Vec::new(), |one| one.2.iter().map(|key| (key.0, &*key.1)).collect())
    });
    let mut keys = Vec::new();
    for one in node.all("match") {
        known(
            one,
            &["field_id", "field_name", "exact", "lpm", "ternary", "range", "optional"],
            "the match",
        )?;
        let name = name_of(one, "the match", ("field_id", "field_name"), names.as_deref())?;
        keys.push((Some(name.replace("$valid$", "isValid()")), message_key(one)?));
    }
    let keys = all_keys(layout, node.line, &table, keys)?;
    let priority = node.get("priority").map(|one| number(one, "priority")).transpose()?;
    let setting = Setting::Entry { keys, priority, actions: vec![action] };
    Ok(Some(Entry { line: node.line, table, setting }))
}

fn message_action(node: &Node, info: Option<&Info>) -> Result<ActionCall> {
    known(node, &["action_id", "action_name", "params"], "the action")?;
    let actions: Option<Vec<(u32, &str)>> =
        info.map(|info| info.actions.iter().map(|one| (one.0, &*one.1)).collect());
    let name = name_of(node, "the action", ("action_id", "action_name"), actions.as_deref())?;
    let names: Option<Vec<(u32, &str)>> = info.map(|info| {
        let found = info.actions.iter().find(|one| one.1 == name);
        found.map_or(Vec::new(), |one| one.2.iter().map(|key| (key.0, &*key.1)).collect())
    });
    let mut args = Vec::new();
    for param in node.all("params") {
        known(param, &["param_id", "param_name", "value"], "the parameter")?;
        let name = name_of(param, "the parameter", ("param_id", "param_name"), names.as_deref())?;
        args.push((Some(name), bytes(need(param, "value", "the parameter")?)?));
    }
    Ok(ActionCall { name, args })
}

fn message_key(node: &Node) -> Result<KeyValue> {
    let part = |of: &str, name: &str| {
        let inner = need(node, of, "the match")?;
        bytes(need(inner, name, of)?)
    };
    for (kind, inner) in node.fields() {
        return Ok(match &**kind {
            "exact" | "optional" => KeyValue::Exact(part(kind, "value")?),
            "ternary" => KeyValue::Mask(part(kind, "value")?, part(kind, "mask")?),
            "range" => KeyValue::Range(part(kind, "low")?, part(kind, "high")?),
            "lpm" => {
                let length = need(inner, "prefix_len", "lpm")?;
                KeyValue::Prefix(part(kind, "value")?, number(length, "prefix_len")?)
            }
            _ => continue,
        });
    }
    fault(node.line, "the match has no value: exact, lpm, ternary, range or optional")
}

/// Returns the number that a field contains as bytes in network byte order.
fn bytes(node: &Node) -> Result<BigInt> {
    match &node.value {
        Content::Text(bytes) => Ok(BigInt::from_bytes_be(Sign::Plus, bytes)),
        _ => fault(node.line, "a value must be bytes in quotes, such as \"\\012\\000\\000\\001\""),
    }
}
