//! Generates random packets and random map content.

mod layers;

use rand::RngExt;
use rand::rngs::StdRng;
use slowpath_bpf::MapKind;
use slowpath_bpf::lift::MapLayout;

use super::replay_pair::ReplayPair;
use slowpath_replay::Entry;

/// Maximum number of elements that are put into a map.
const ENTRIES: usize = 24;

/// Returns a packet of a common kind in which some bytes or the length were changed.
pub fn mutated(rng: &mut StdRng, seeds: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut packet = match rng.random_range(0..4) {
        0 => layers::packet(rng),
        1 => layers::syn(rng),
        _ => seeds[rng.random_range(0..seeds.len())].1.clone(),
    };
    match rng.random_range(0..8) {
        0 => packet.truncate(rng.random_range(14..=packet.len())),
        1 => {
            let more = rng.random_range(0..600);
            packet.extend((0..more).map(|_| rng.random::<u8>()));
        }
        _ => {}
    }
    for _ in 0..rng.random_range(0..6) {
        let near = if rng.random_bool(0.8) { packet.len().min(80) } else { packet.len() };
        let at = rng.random_range(0..near);
        packet[at] = match rng.random_range(0..4) {
            0 => rng.random(),
            1 => packet[at] ^ (1 << rng.random_range(0..8)),
            2 => rng.random_range(0..16),
            _ => [0, 1, 4, 6, 8, 17, 44, 53, 58, 64, 0x45, 0x60, 0x81, 0x86, 0xdd, 0xff]
                [rng.random_range(0..16)],
        };
    }
    packet
}

/// Fills the maps of a program with elements that it looks up for packets similar to `seeds`.
pub fn fill(
    replay_pair: &mut ReplayPair,
    rng: &mut StdRng,
    seeds: &[(&str, Vec<u8>)],
) -> Result<(), String> {
    for layout in replay_pair.lifted.layout.maps.clone() {
        let Some(definition) =
            replay_pair.loaded().map(&layout.name).map(|map| map.definition().clone())
        else {
            continue;
        };
        let keys: Vec<Vec<u8>> = match layout.kind {
            // Global data stays as it is.
            _ if definition.initial.is_some() => continue,
            MapKind::ARRAY | MapKind::PERCPU_ARRAY => {
                let all = definition.max_entries;
                let some = (0..ENTRIES.min(all as usize)).map(|_| rng.random_range(0..all));
                some.map(|index| index.to_le_bytes().to_vec()).collect()
            }
            MapKind::HASH | MapKind::LRU_HASH | MapKind::PERCPU_HASH | MapKind::LPM_TRIE => {
                let mut keys = Vec::new();
                for _ in 0..4 * ENTRIES {
                    let packet = mutated(rng, seeds);
                    keys.extend(replay_pair.keys(&layout, &packet));
                }
                keys.sort();
                keys.dedup();
                while keys.len() > ENTRIES {
                    keys.swap_remove(rng.random_range(0..keys.len()));
                }
                keys
            }
            _ => continue,
        };
        for mut key in keys {
            if layout.kind == MapKind::LPM_TRIE {
                let most = 8 * (key.len() as u32 - 4);
                let length = rng.random_range(0..=most);
                key[..4].copy_from_slice(&length.to_le_bytes());
            }
            let entry = Entry { key, value: value(rng, &layout) };
            replay_pair.install(&layout, &entry)?;
        }
    }
    Ok(())
}

/// Returns a random value of a map element. It consists of random bytes or of small 4-byte numbers.
fn value(rng: &mut StdRng, layout: &MapLayout) -> Vec<u8> {
    let mut value = vec![0; layout.value_size as usize];
    if rng.random_bool(0.3) {
        rng.fill(&mut value[..]);
        return value;
    }
    for word in value.chunks_mut(4) {
        word[0] = rng.random_range(0..8);
    }
    value
}
