//! Sets global variables of BPF objects, as loaders do. Also lists the conditions on these
//! variables under which results hold.

use crate::object::{Content, ProgramFile};
use crate::{Error, contents};
use serde_json::Value;
use slowpath_bpf::lift::{EntryValue, LiftOptions, Lifted, path_deciding_variables};
use slowpath_bpf::{BpfProgram, Object, Variable};
use slowpath_codes as codes;
use std::collections::BTreeMap;
use std::sync::Arc;

impl ProgramFile {
    /// Returns a copy of the file in which global variables have the values that `set` states
    /// (`NAME=VALUE`, `NAME=any`). Also fills read-only data sections from `maps`, the text of
    /// `--maps`. If a variable gets several values, the last one counts.
    ///
    /// # Errors
    /// If a variable or map does not exist, or a value does not fit.
    pub fn configured(&self, set: &[String], maps: Option<&str>) -> Result<ProgramFile, Error> {
        Ok(ProgramFile(match &self.0 {
            Content::Bpf(object) => Content::Bpf(configured(object, set, maps)?),
            // The objects of chains are configured before the chain is built.
            other @ (Content::Chain(_) | Content::Arriving(_)) => other.clone(),
            Content::Listing(..) if !set.is_empty() => {
                let what = "a listing does not name its variables; use --set only for BPF objects";
                return Err(Error::Input(codes::OPTION_WITHOUT_EFFECT, what.into()));
            }
            Content::Pipeline(_) if !set.is_empty() => {
                let what = "a .spec file has no variables; use --set only for BPF objects";
                return Err(Error::Input(codes::OPTION_WITHOUT_EFFECT, what.into()));
            }
            other @ (Content::Listing(..) | Content::Pipeline(_)) => other.clone(),
        }))
    }
}

/// Returns a copy of the object with the given values of variables and read-only data, as
/// [`ProgramFile::configured`] does for a file.
///
/// # Errors
/// The same as those of [`ProgramFile::configured`].
pub fn configured(
    object: &Arc<Object>,
    set: &[String],
    maps: Option<&str>,
) -> Result<Arc<Object>, Error> {
    let mut object = Arc::clone(object);
    if let Some(text) = maps {
        let contents = contents::map_contents(text, &object)?;
        for number in 0..object.maps.len() {
            let map = &object.maps[number];
            let Some(content) = contents.get(&map.name) else { continue };
            if !map.read_only || map.initial.is_none() {
                continue;
            }
            let value = content.entries.first().map(|entry| &entry.value);
            let Some(EntryValue::Bytes(bytes)) = value else { continue };
            let bytes = bytes.clone();
            Arc::make_mut(&mut object).set_section(number, &bytes);
        }
    }
    for text in set {
        let stated = Arc::make_mut(&mut object).set(text);
        stated.map_err(|what| Error::Input(codes::INVALID_VALUE, format!("--set {what}")))?;
    }
    Ok(object)
}

/// Returns the object with a fixed value for each variable that the user has set to `any`: the
/// value with which a packet takes the path of the witness. `witness` is the witness in JSON.
pub fn as_witnessed(object: &Arc<Object>, witness: &Value) -> Arc<Object> {
    let mut object = Arc::clone(object);
    if !has_open(&object) {
        return object;
    }
    let requirements = witness["environment"].as_array().into_iter().flatten();
    let values: BTreeMap<&str, u64> = requirements
        .filter_map(|value| Some((value["name"].as_str()?, value["value"].as_u64()?)))
        .collect();
    for map in &mut Arc::make_mut(&mut object).maps {
        map.fix(|name| values.get(name).copied());
    }
    object
}

/// Adds the values that users set for writable variables to the map content of the witness, which
/// is JSON. Only data sections (maps of global data) that the witness contains are changed.
pub fn with_stated(object: &Object, witness: &mut Value) {
    for map in object.maps.iter().filter(|map| !map.read_only && !map.stated.is_empty()) {
        let Some(initial) = map.initial.as_deref() else { continue };
        let Some(value) = witness.pointer_mut(&format!("/maps/{}/0/value", map.name)) else {
            continue;
        };
        for stated in map.stated.iter().filter(|stated| stated.value.is_some()) {
            let (start, size) = (stated.offset as usize, stated.size as usize);
            let bytes = contents::digits(initial.get(start..start + size).unwrap_or_default());
            match value {
                Value::String(whole) if whole.len() >= 2 * (start + size) => {
                    whole.replace_range(2 * start..2 * (start + size), &bytes);
                }
                Value::Object(pieces) => {
                    pieces.insert(start.to_string(), bytes.into());
                }
                _ => {}
            }
        }
    }
}

/// Returns true if the user has set some variable of the object to `any`. Analyses then cover all
/// values of this variable.
pub fn has_open(object: &Object) -> bool {
    object.maps.iter().flat_map(|map| &map.stated).any(|stated| stated.value.is_none())
}

/// Returns the conditions on variables that a loader may set, as far as the paths of a program
/// depend on these variables. Each condition is one sentence.
///
/// A read-only variable is included if the program can reach an instruction with its address, and a
/// branch can depend on it. A variable is also included if this cannot be decided.
pub(crate) fn conditions(
    object: &Object,
    linked: &BpfProgram,
    lifted: &Lifted,
    options: &LiftOptions,
) -> Vec<String> {
    let insns = lifted.program.blocks.iter().flat_map(|block| &block.insns);
    let reached: Vec<_> = insns.filter_map(|insn| lifted.code.get(insn.index()).copied()).collect();
    let conditions = |variable: &Variable| object.settings_of(variable, None);
    let mut variables = object.loader_variables_in(&reached);
    variables.retain(|variable| !conditions(variable).is_empty());
    let read_only: Vec<&Variable> =
        variables.iter().copied().filter(|variable| object.maps[variable.map].read_only).collect();
    if !read_only.is_empty()
        && let Ok(deciding) = path_deciding_variables(object, linked, options, &read_only)
    {
        variables
            .retain(|variable| !object.maps[variable.map].read_only || deciding.contains(variable));
    }
    variables.into_iter().flat_map(conditions).collect()
}
