//! Derives test inputs from a proof that two programs do the same, so that both programs can also
//! be compared in the kernel. Each pair of paths gives one packet with the content of the maps.

use super::facts::Packets;
use super::pair::Pair;
use super::replay::{complete, interned, shared_memory};
use serde_json::{Map, Value, json};
use slowpath_bpf::lift::{Bytes, Element, EntryKeys, MapLayout, PartialValue, entry_keys};
use slowpath_product::{Path, Side};
use slowpath_smt::Evaluator;

/// Maximum number of test inputs of a proof.
pub(super) const MAX_TEST_INPUTS: usize = 512;
/// Maximum size in bytes of map values that a test input contains completely. Of larger values, it
/// contains only the known bytes.
const WHOLE: u32 = 256;

/// A packet and map content for which both programs are run, to compare them in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestInput {
    /// The packet before the program runs. It satisfies the facts for which the programs were
    /// compared.
    pub packet: Vec<u8>,
    /// Content of maps with which the packet takes the intended pair of paths, in the same form as
    /// `maps` of a witness (`docs/reference/json.md`).
    pub maps: Value,
}

/// Derives a test input from the solver's model for a pair of paths. The original program must hold
/// the term pool. Returns `None` if there is no model, or if the facts do not hold for its packet.
pub(super) fn test_input(pair: &Pair, packets: Packets<'_>, path: &Path) -> Option<TestInput> {
    let Side { executor, .. } = &pair.original.side;
    let model = path.model.as_ref()?;
    let mut evaluator = Evaluator::new(&executor.pool, model);
    let input = executor.program().packet_length?;
    let length = evaluator.value(*executor.inputs().get(input.index())?);
    let mut memory = shared_memory(pair, model);
    let content = memory.entry((false, "packet".to_owned())).or_default();
    let packet = complete(content, packets, usize::try_from(length).ok()?).ok()?;
    let numbers = interned(&executor.pool, &path.conditions, model);
    let mut bytes = Bytes::new();
    for (key, content) in &memory {
        let Some(&region) = pair.original.regions.get(key).filter(|_| !pair.notes.contains(key))
        else {
            continue;
        };
        bytes.extend(content.iter().map(|(&at, &byte)| ((region, at), byte)));
    }
    let mut maps = Map::new();
    for map in pair.original.layout.maps.iter().filter(|map| is_plain(map)) {
        let known = map.present.or(map.prefix_lengths).unwrap_or(map.values);
        if executor.program().regions[known.index()].content.is_some() {
            continue;
        }
        let elements = map.elements(&bytes, &numbers);
        let entries: Vec<Value> = elements.iter().filter_map(entry).collect();
        if !entries.is_empty() {
            maps.insert(map.name.clone(), Value::Array(entries));
        }
    }
    Some(TestInput { packet, maps: Value::Object(maps) })
}

/// Returns true if a test input can state a map's content as pairs of keys and values. This
/// excludes queues, stacks, maps of maps, and the inner maps of these.
fn is_plain(map: &MapLayout) -> bool {
    !map.inner && !map.holds_maps() && entry_keys(map.kind) != EntryKeys::Order
}

/// Returns an entry of a map as JSON. The value is null if the map must not contain the key.
/// Returns `None` if the key is not known, or not known to be present or absent.
fn entry(element: &Element) -> Option<Value> {
    let key = digits(element.key.as_ref()?);
    let there = element.present?;
    Some(json!({ "key": key, "value": there.then(|| value(&element.value)) }))
}

fn value(value: &PartialValue) -> Value {
    if value.size() > WHOLE {
        let pieces = value.runs().into_iter();
        let pieces = pieces.map(|(at, bytes)| (at.to_string(), Value::from(digits(&bytes))));
        return Value::Object(pieces.collect());
    }
    let byte = |byte: Option<u8>| byte.map_or_else(|| "--".to_owned(), |byte| digits(&[byte]));
    value.iter().map(byte).collect::<String>().into()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
