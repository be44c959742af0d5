//! Sets variables of programs, as a loader does before it loads them.

use crate::frozen::joined;
use crate::{Chain, Loaded};
use slowpath::Error;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use std::sync::Arc;

/// Returns the assumptions about the values of variables that a loader sets and the program reads,
/// one sentence each. Results about the program hold only under these assumptions. The sentences
/// are in the order of the object's symbols and call the program `name`.
pub(crate) fn settings(name: &str, object: &Object, program: &BpfProgram) -> Vec<String> {
    let variables = object.loader_variables_in(&program.insns).into_iter();
    variables.flat_map(|variable| object.settings_of(variable, Some(name))).collect()
}

/// Sets variables of the programs of a chain, as [`slowpath::configured`] does for one object. If
/// several programs have a variable of the same name, it is called `PROGRAM:NAME`.
///
/// # Errors
/// If [`slowpath::configured`] fails, or if shared maps have different definitions.
pub fn configured(
    chain: &Chain,
    loaded: &[Loaded],
    set: &[String],
    maps: Option<&str>,
) -> Result<Vec<Loaded>, Error> {
    let joined = joined(chain, loaded)
        .map_err(|error| Error::Input(codes::CHAIN_OBJECTS_UNFIT, error.to_string()))?;
    let whole = slowpath::configured(&Arc::new(joined.object), set, maps)?;
    let mut configured = loaded.to_vec();
    for (member, places) in configured.iter_mut().zip(&joined.maps) {
        let changed = |own: usize, at: usize| {
            member.object.maps[own].initial != whole.maps[at].initial
                || !whole.maps[at].stated.is_empty()
        };
        if !places.iter().enumerate().any(|(own, &at)| changed(own, at)) {
            continue;
        }
        let object = Arc::make_mut(&mut member.object);
        for (map, &at) in object.maps.iter_mut().zip(places) {
            map.initial.clone_from(&whole.maps[at].initial);
            map.stated.clone_from(&whole.maps[at].stated);
        }
    }
    Ok(configured)
}
