//! Reads the settings of programs for loaders that run several programs on one network interface.
//! In the section `.xdp_run_config`, a structure named `_` followed by the program's name contains
//! these settings: the priority, and a member for each return code. The lengths of arrays encode
//! the values.
//!
//! Source: "Processing program metadata" of libxdp's `protocol.org`.

use super::parsed::Object;
use crate::btf::{Kind, RawMember};
use crate::{Btf, ObjectError, XDP_ACTIONS};

const SECTION: &str = ".xdp_run_config";
const HINT: &str = "define it as libxdp's xdp_helpers.h shows (XDP_RUN_CONFIG)";
/// Default priority of a program, if its object does not state one.
const PRIORITY: u32 = 50;
const PASS: u32 = 2;

/// Settings of a program for loaders: its priority on an interface, and the return codes after
/// which the next program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunConfig {
    /// Priority of the program; loaders run programs in ascending order of priority.
    pub priority: u32,
    /// Return codes after which the next program runs, in ascending order.
    pub continues_on: Vec<u32>,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig { priority: PRIORITY, continues_on: vec![PASS] }
    }
}

impl Object {
    /// Returns the settings of the program with this index. If the object has no settings for the
    /// program, returns the defaults.
    ///
    /// # Errors
    /// Fails if the settings are invalid or the program does not exist.
    pub fn run_config(&self, program: usize) -> Result<RunConfig, ObjectError> {
        let mut config = RunConfig::default();
        let available = self.programs.len();
        let missing = ObjectError::NoProgram { number: program, available };
        let name = &self.programs.get(program).ok_or(missing)?.name;
        let members = self.btf.as_ref().and_then(|btf| Some((btf, members(btf, name)?)));
        let Some((btf, members)) = members else { return Ok(config) };
        for member in members {
            let field = btf.string(member.name);
            let fault = |what: String| ObjectError::section(SECTION, what, HINT);
            let value = number(btf, member)
                .ok_or_else(|| fault(format!("`{field}` of program {name} is not a number")))?;
            if field == "priority" {
                config.priority = value;
            } else if let Some(action) = XDP_ACTIONS.iter().position(|action| *action == field) {
                let action = action as u32;
                config.continues_on.retain(|other| *other != action);
                if value != 0 {
                    config.continues_on.push(action);
                }
            } else {
                return Err(fault(format!("program {name} has an unknown parameter `{field}`")));
            }
        }
        config.continues_on.sort_unstable();
        Ok(config)
    }
}

/// Returns the members of the structure with the settings of a program; `None` if the object has no
/// such structure.
fn members<'a>(btf: &'a Btf, program: &str) -> Option<&'a [RawMember]> {
    let vars = btf.types().find_map(|(id, ty)| match &ty.kind {
        Kind::DataSec { vars, .. } if btf.type_name(id) == SECTION => Some(vars),
        _ => None,
    })?;
    vars.iter().find_map(|var| {
        let Kind::Var { ty, .. } = btf.kind(var.ty) else { return None };
        let Kind::Struct { members, .. } = btf.kind(btf.resolve(*ty)) else { return None };
        (btf.type_name(var.ty).strip_prefix('_') == Some(program)).then_some(members.as_slice())
    })
}

/// Returns the number that a member encodes, which is the length of the array that it points to.
fn number(btf: &Btf, member: &RawMember) -> Option<u32> {
    let Kind::Ptr(to) = btf.kind(btf.resolve(member.ty)) else { return None };
    match btf.kind(btf.resolve(*to)) {
        Kind::Array { len, .. } => Some(*len),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
