//! Installs a witness in the kernel: the packet, context and map content with which a program takes
//! a certain path (`docs/reference/json.md`, "A witness"). The option `--maps` reads the same
//! format.
//!
//! A witness leaves some details open: bytes on which the path does not depend, and the targets of
//! redirect maps. This module chooses them. It ignores unknown or malformed JSON without an error;
//! the run may then take another path.

mod answers;
mod readers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

pub use answers::answers;
use serde_json::Value;
use slowpath_bpf::lift::{EntryKeys, entry_keys};
use slowpath_bpf::{MapDef, MapKind, SCHED_CLS};

use crate::context::{Context, SETTABLE};
use crate::error::InstallError;
use crate::loaded::LoadedProgram;
use crate::map::Map;
use crate::namespace::Device;
use crate::sys::xdp_socket;
use readers::Readers;

/// Value of packet and map bytes on which the path of a witness does not depend.
pub const ANY: u8 = 0x5a;
/// Smallest EtherType (`ETH_P_802_3_MIN`); smaller numbers are lengths.
const ETHERTYPE_MIN: u16 = 0x600;
/// Largest length that test runs accept in the field `wire_len` (`GSO_LEGACY_MAX_SIZE`).
const WIRE_LEN_MAX: u64 = 65536;
/// Values of the field `pkt_type` (`uapi/linux/if_packet.h`).
const PACKET_HOST: u64 = 0;
const PACKET_MULTICAST: u64 = 2;
const PACKET_OTHERHOST: u64 = 3;
/// Queue size, in packets, of the entries that are written to CPU maps.
const QUEUE: u32 = 64;

/// Decodes pairs of hexadecimal digits. The pair `--`, which stands for any byte, becomes [`ANY`].
pub fn bytes(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap_or_default().as_bytes().as_chunks::<2>().0;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    digits.iter().map(|pair| byte(pair).unwrap_or(ANY)).collect()
}

/// Returns the context of the witness's packet: its device and queue, or 0 if it does not name
/// them.
pub fn context(witness: &Value) -> Context {
    let number = |name: &str| {
        let all = witness["environment"].as_array().into_iter().flatten();
        let value = all.filter(|item| item["name"] == *name).find_map(|i| i["value"].as_u64());
        value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    };
    let (ingress_ifindex, rx_queue_index) = (number("ingress_ifindex"), number("rx_queue_index"));
    // The kernel accepts a queue only together with a device.
    let ingress_ifindex = if rx_queue_index > 0 { ingress_ifindex.max(1) } else { ingress_ifindex };
    Context { ingress_ifindex, rx_queue_index, ..Context::default() }
}

/// Returns the context of a tc program's packet. The fields `protocol` and `pkt_type` follow from
/// the packet. If the witness leaves open the bytes that determine these fields, writes suitable
/// bytes into `packet`.
///
/// Also returns the fields that a test run cannot set to their numbers in the witness, with these
/// numbers. The program may take the path even if these fields contain other numbers.
pub fn skb_context(witness: &Value, packet: &mut [u8]) -> (Context, BTreeMap<&'static str, u64>) {
    let (mut context, mut unset) = (Context::default(), BTreeMap::new());
    let open = |range: Range<usize>| {
        let text = witness["packet"].as_str().unwrap_or_default();
        text.get(2 * range.start..2 * range.end).is_some_and(|pairs| !pairs.contains(|c| c != '-'))
    };
    for item in witness["environment"].as_array().into_iter().flatten() {
        let name = item["name"].as_str().unwrap_or_default();
        let (Some(field), Some(value)) = (SCHED_CLS.field(name), item["value"].as_u64()) else {
            continue;
        };
        let fits = match name {
            "protocol" => {
                let number = (value as u16).to_le_bytes();
                let is_type = u16::from_be_bytes(number) >= ETHERTYPE_MIN;
                match packet.get_mut(12..14) {
                    Some(bytes) if is_type && open(12..14) => bytes.copy_from_slice(&number),
                    _ => {}
                }
                !is_type || packet.get(12..14) == Some(&number)
            }
            "pkt_type" => {
                let first = match value {
                    PACKET_HOST => 0,
                    PACKET_MULTICAST => 1,
                    _ => 2,
                };
                match packet.get_mut(..6) {
                    Some(bytes) if open(0..6) => bytes.copy_from_slice(&[first, 0, 0, 0, 0, 0]),
                    _ => {}
                }
                value == PACKET_HOST || value == PACKET_MULTICAST || value == PACKET_OTHERHOST
            }
            // A test run finds no other device in its namespace.
            "ifindex" => value <= 1,
            "wire_len" => value >= packet.len() as u64 && value <= WIRE_LEN_MAX,
            name => value == 0 || SETTABLE.contains(&name),
        };
        if !fits {
            unset.insert(field.name, value);
        } else if SETTABLE.contains(&name) && value > 0 {
            context.fields.insert(name.to_owned(), value);
        }
    }
    (context, unset)
}

/// Returns the names of the values that decide the path of a witness, except for packet, maps and
/// context. Such values are results of calls, and conditions at the program's start. The names do
/// not include the names of the program's maps.
pub fn open_dependencies(witness: &Value) -> BTreeSet<String> {
    let unknowns = witness["unknowns"].as_array().into_iter().flatten();
    let called = unknowns.filter_map(|unknown| {
        let (call, result) = (unknown["call"].as_str()?, unknown["result"].as_str()?);
        let result = result.split(" of ").next().unwrap_or(result);
        let result = result.split(" in ").next().unwrap_or(result);
        Some(format!("{call} ({result})"))
    });
    let environment = witness["environment"].as_array().into_iter().flatten();
    let initial = environment.filter_map(|item| {
        let name = item["name"].as_str().or_else(|| item["memory"].as_str())?;
        // These are part of the maps or the context, or chosen by the caller that runs the packet.
        let arranged = ["ingress_ifindex", "rx_queue_index", "bpf_get_smp_processor_id"];
        let arranged = arranged.contains(&name)
            || SETTABLE.contains(&name)
            || name.starts_with("free elements of ")
            || name.starts_with("max_entries of ");
        (!arranged).then(|| name.to_owned())
    });
    called.chain(initial).collect()
}

/// Returns the map entries that the witness lists for a map.
pub fn entries<'a>(witness: &'a Value, map: &str) -> impl Iterator<Item = &'a Value> + Clone {
    witness["maps"][map].as_array().into_iter().flatten()
}

/// Returns the value of a map entry of a witness. If the witness has only some byte ranges of the
/// value, fills the rest with [`ANY`] up to `size` bytes. Returns `None` if the entry has no value.
pub fn value(entry: &Value, size: u32) -> Option<Vec<u8>> {
    let Some(pieces) = entry["value"].as_object() else {
        return entry["value"].is_string().then(|| bytes(&entry["value"]));
    };
    let mut all = vec![ANY; size as usize];
    for (offset, piece) in pieces {
        let (offset, piece) = (offset.parse().unwrap_or(all.len()), bytes(piece));
        if let Some(target) = all.get_mut(offset..offset + piece.len()) {
            target.copy_from_slice(&piece);
        }
    }
    Some(all)
}

/// Returns the `max_entries` of the inner map `within` if it differs from the map's definition,
/// else `None`. If the witness does not state this number, a hash map with more elements than its
/// definition allows gets as many entries as elements.
fn inner_size(outer: &MapDef, witness: &Value, within: &str) -> Option<u32> {
    let inside = format!("{}.inner", outer.name);
    let inside = || entries(witness, &inside).filter(|entry| entry["map"] == *within);
    let stated = inside().find_map(|entry| entry["max_entries"].as_u64());
    let elements = |entry: &Value| {
        entry["others"].as_u64().unwrap_or_else(|| u64::from(!entry["value"].is_null()))
    };
    let count: u64 = inside().map(elements).sum();
    let inner = outer.inner.as_deref()?;
    let keyed = matches!(inner.kind, MapKind::HASH | MapKind::PERCPU_HASH);
    let excess = (keyed && count > inner.max_entries.into()).then_some(count);
    stated.or(excess).and_then(|size| u32::try_from(size).ok())
}

/// Returns the elements of a queue or stack in the order in which they must be pushed.
pub fn push_order(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> =
        entries(witness, &map.name).filter_map(|entry| value(entry, map.value_size)).collect();
    for entry in entries(witness, &map.name) {
        let others = entry["others"].as_u64().unwrap_or(0);
        values.extend((0..others).map(|_| vec![ANY; map.value_size as usize]));
    }
    if map.kind == MapKind::STACK {
        values.reverse();
    }
    values
}

/// Returns arbitrary keys for additional elements that make the map as full as in the witness. The
/// program does not look up these keys on the path.
pub fn extra_keys(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
    other_keys(entries(witness, &map.name), map)
}

/// Returns new keys that differ from the keys of `entries`. Their number is the sum of the fields
/// `others` of the entries.
fn other_keys<'a>(entries: impl Iterator<Item = &'a Value> + Clone, map: &MapDef) -> Vec<Vec<u8>> {
    let count: u64 = entries.clone().filter_map(|entry| entry["others"].as_u64()).sum();
    if count == 0 {
        return Vec::new();
    }
    let mentioned: BTreeSet<Vec<u8>> = entries.map(|entry| bytes(&entry["key"])).collect();
    let key = |number: u64| {
        let number = (0x3a5c_9e17_0000_0000 | number).to_le_bytes();
        let word = if map.key_size < 8 { number.map(|byte| byte ^ 0x5a) } else { number };
        word.into_iter().cycle().take(map.key_size as usize).collect::<Vec<u8>>()
    };
    let free = (0..).map(key).filter(|key| !mentioned.contains(key));
    free.take(count as usize).collect()
}

/// Returns true if the map is an array and the key is an index beyond its end.
pub fn out_of_range(map: &Map, key: &[u8]) -> bool {
    let definition = map.definition();
    let array = matches!(definition.kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY);
    let index: Option<[u8; 4]> = key.try_into().ok();
    array && index.is_some_and(|index| u32::from_le_bytes(index) >= definition.max_entries)
}

/// Elements of a map that are collected to be written in one batch.
struct ElementBatch<'a> {
    map: &'a Map,
    /// Sizes of keys and values in bytes. `None` for types of maps whose values are not plain bytes
    /// to the kernel.
    sizes: Option<(usize, usize)>,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl ElementBatch<'_> {
    fn new(map: &Map) -> ElementBatch<'_> {
        let definition = map.definition();
        let plain = !definition.kind.holds_maps() && !redirects(definition.kind);
        let sizes = plain.then_some((definition.key_size as usize, definition.value_size as usize));
        ElementBatch { map, sizes, keys: Vec::new(), values: Vec::new() }
    }

    /// Adds an element to the batch if its key and value have the right sizes. Otherwise returns
    /// false, and the caller writes the element separately, so that the error names it.
    fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        let fits = self.sizes == Some((key.len(), value.len()));
        if fits {
            self.keys.extend_from_slice(key);
            self.values.extend_from_slice(value);
        }
        fits
    }

    fn write(self) -> Result<(), InstallError> {
        Ok(self.map.update_pairs(&self.keys, &self.values)?)
    }
}

/// Returns true if the values of this type of map are targets of redirects.
fn redirects(kind: MapKind) -> bool {
    matches!(kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH | MapKind::CPUMAP | MapKind::XSKMAP)
}

/// A guard that keeps installed map content alive. Dropping it closes the sockets, inner maps and
/// event readers that maps refer to.
#[derive(Debug)]
pub struct Installed {
    /// Device to which device maps redirect.
    device: Device,
    /// Inner maps of maps of maps, by the names that the witness uses for them.
    inner: BTreeMap<String, Map>,
    /// Sockets to which redirect maps refer.
    sockets: Vec<OwnedFd>,
    /// Readers of perf events. Without a reader, sending an event fails.
    readers: Readers,
}

/// Fills the maps of a program with the content of a witness. Also fills ring buffers and opens
/// readers of perf events, as the path of the witness requires. Device maps redirect to the
/// loopback device.
///
/// # Errors
/// If the program does not have a map of the witness, or the kernel rejects an element.
pub fn install(loaded: &LoadedProgram, witness: &Value) -> Result<Installed, InstallError> {
    install_towards(loaded, witness, Device::LOOPBACK)
}

/// Like [`install`], but device maps redirect to `device`. The calling thread must be in the
/// device's namespace ([`crate::Namespace::enter`]).
///
/// # Errors
/// If the program does not have a map of the witness, or the kernel rejects an element.
pub fn install_towards(
    loaded: &LoadedProgram,
    witness: &Value,
    device: Device,
) -> Result<Installed, InstallError> {
    let mut installed = Installed {
        device,
        inner: BTreeMap::new(),
        sockets: Vec::new(),
        readers: Readers::default(),
    };
    let names = witness["maps"].as_object().into_iter().flatten().map(|(name, _)| name);
    for name in names.clone().filter(|name| !name.ends_with(".inner")) {
        let map = loaded.map(name).ok_or_else(|| InstallError::NoMap { map: name.clone() })?;
        installed.fill(map, witness)?;
    }
    for name in names.filter(|name| name.ends_with(".inner")) {
        for entry in entries(witness, name) {
            let within = entry["map"].as_str().unwrap_or_default();
            let map = installed.inner.get(within);
            let map = map.ok_or_else(|| InstallError::NoMap { map: within.to_owned() })?;
            let size = map.definition().value_size;
            if let Some(value) = value(entry, size) {
                map.update(&bytes(&entry["key"]), &value)?;
            } else if entry["others"].is_u64() {
                let same = entries(witness, name).filter(|other| other["map"] == entry["map"]);
                for key in other_keys(same, map.definition()) {
                    map.update(&key, &vec![ANY; size as usize])?;
                }
            }
        }
    }
    installed.readers = Readers::new(loaded, witness)?;
    Ok(installed)
}

impl Installed {
    /// Returns the inner map that has this name in the witness.
    pub fn inner(&self, name: &str) -> Option<&Map> {
        self.inner.get(name)
    }

    /// Fills one map with the entries of the witness.
    fn fill(&mut self, map: &Map, witness: &Value) -> Result<(), InstallError> {
        let definition = map.definition();
        if entry_keys(definition.kind) == EntryKeys::Order {
            for value in push_order(witness, definition) {
                map.update(&[], &value)?;
            }
            return Ok(());
        }
        let mut pairs = ElementBatch::new(map);
        for entry in entries(witness, &definition.name) {
            let key = bytes(&entry["key"]);
            if let Some(within) = entry["map"].as_str() {
                if !self.inner.contains_key(within) {
                    let made = match inner_size(definition, witness, within) {
                        Some(size) => map.create_inner_for(size)?,
                        None => map.create_inner()?,
                    };
                    self.inner.insert(within.to_owned(), made);
                }
                map.set_map(&key, &self.inner[within])?;
            } else if let Some(value) = value(entry, definition.value_size)
                && !out_of_range(map, &key)
                && !pairs.add(&key, &value)
            {
                self.put(map, &key, &value)?;
            }
        }
        for key in extra_keys(witness, definition) {
            let value = vec![ANY; definition.value_size as usize];
            if !pairs.add(&key, &value) {
                self.put(map, &key, &value)?;
            }
        }
        pairs.write()
    }

    /// Writes an element. Redirect maps refer to objects in the kernel, so the value of the witness
    /// is replaced: by an existing device, by a new socket, or by the queue size of a CPU. No
    /// program runs on the target.
    fn put(&mut self, map: &Map, key: &[u8], value: &[u8]) -> Result<(), InstallError> {
        let target = match map.definition().kind {
            MapKind::DEVMAP | MapKind::DEVMAP_HASH => self.device.index(),
            MapKind::CPUMAP => QUEUE,
            MapKind::XSKMAP => {
                let socket = xdp_socket().map_err(|cause| InstallError::Socket { cause })?;
                let number = socket.as_raw_fd() as u32;
                self.sockets.push(socket);
                number
            }
            _ => return Ok(map.update(key, value)?),
        };
        let mut value = target.to_ne_bytes().to_vec();
        value.resize(map.definition().value_size as usize, 0);
        Ok(map.update(key, &value)?)
    }
}
