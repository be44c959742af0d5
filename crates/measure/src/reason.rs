//! Describes possible reasons why a path cannot be repeated, if the actual reason is unknown.

use std::collections::BTreeSet;

use slowpath_replay::Effects;

/// Describes possible reasons why a path cannot be repeated. `effects` are the changes that a run
/// makes. `depends` contains the names of inputs other than packet and maps that decide the path,
/// such as the time.
pub fn unknown(effects: &Effects, depends: &[String]) -> String {
    let maps: BTreeSet<&str> = effects.maps.iter().map(|change| change.map.as_str()).collect();
    let mut changed: Vec<String> = maps.into_iter().map(|map| format!("map {map}")).collect();
    if !effects.packet.is_empty() || effects.moved.head != 0 || effects.moved.tail != 0 {
        changed.insert(0, "packet".to_owned());
    }
    let taken_back = if changed.is_empty() {
        "a run changes neither packet nor maps".to_owned()
    } else {
        format!("undoing the changes of a run ({}) is not enough", changed.join(", "))
    };
    let differs = if depends.is_empty() {
        "the remaining difference is unknown".to_owned()
    } else {
        format!("the path depends on {}, which may differ each time", depends.join(", "))
    };
    format!("{taken_back}, and {differs}")
}

#[cfg(test)]
mod tests {
    use slowpath_replay::{MapChange, PacketChange};

    use super::*;

    #[test]
    fn changes_and_inputs_are_named() {
        let mut effects = Effects::default();
        assert_eq!(
            unknown(&effects, &[]),
            "a run changes neither packet nor maps, and the remaining difference is unknown"
        );
        let inner = None;
        for key in [vec![0], vec![1]] {
            let map = "flows".to_owned();
            effects.maps.push(MapChange { map, inner, key, before: None, after: Some(vec![1]) });
        }
        effects.packet.push(PacketChange { offset: 0, before: vec![0], after: vec![1] });
        assert_eq!(
            unknown(&effects, &["bpf_get_prandom_u32 (result)".to_owned()]),
            "undoing the changes of a run (packet, map flows) is not enough, and the path depends \
             on bpf_get_prandom_u32 (result), which may differ each time"
        );
    }
}
