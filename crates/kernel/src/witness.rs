//! What a witness says, in the kernel: its packet, what comes with it, and its map content
//! (`docs/json.md`, "A witness"), which is also what `--maps` reads.
//!
//! Where a witness leaves a choice, one is made: bytes that a path does not depend on, and what is
//! behind entries of maps that redirect. Reading JSON that says something else than a
//! witness is no error: what is not understood is left out, and the run shows it.

mod answers;
mod readers;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};

pub use answers::answers;
use serde_json::Value;
use slowpath_bpf::lift::{EntryKeys, entry_keys};
use slowpath_bpf::{MapDef, MapKind};

use crate::context::Context;
use crate::error::InstallError;
use crate::loaded::Loaded;
use crate::map::Map;
use crate::namespace::Device;
use crate::sys::xdp_socket;
use readers::Readers;

/// What stands for bytes that a path does not depend on.
pub const ANY: u8 = 0x5a;
/// How many packets wait for a CPU.
const QUEUE: u32 = 64;

/// Bytes from hexadecimal digits; `--` is any byte.
pub fn bytes(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap_or_default().as_bytes().as_chunks::<2>().0;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    digits.iter().map(|pair| byte(pair).unwrap_or(ANY)).collect()
}

/// What the packet comes with, as far as the witness says.
pub fn context(witness: &Value) -> Context {
    let given = |name: &str| {
        let all = witness["environment"].as_array().into_iter().flatten();
        let value = all.filter(|given| given["name"] == *name).find_map(|g| g["value"].as_u64());
        value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    };
    let (ingress_ifindex, rx_queue_index) = (given("ingress_ifindex"), given("rx_queue_index"));
    // A queue belongs to a device.
    let ingress_ifindex = if rx_queue_index > 0 { ingress_ifindex.max(1) } else { ingress_ifindex };
    Context { ingress_ifindex, rx_queue_index, ..Context::default() }
}

/// What a path depends on besides packet, maps and context, without names that differ from program
/// to program: results of calls, and what has to be so at the start.
pub fn open(witness: &Value) -> BTreeSet<String> {
    let unknowns = witness["unknowns"].as_array().into_iter().flatten();
    let called = unknowns.filter_map(|unknown| {
        let (call, result) = (unknown["call"].as_str()?, unknown["result"].as_str()?);
        let result = result.split(" of ").next().unwrap_or(result);
        let result = result.split(" in ").next().unwrap_or(result);
        Some(format!("{call} ({result})"))
    });
    let given = witness["environment"].as_array().into_iter().flatten();
    let given = given.filter_map(|given| {
        let name = given["name"].as_str().or_else(|| given["memory"].as_str())?;
        // In the maps, in the context, or chosen by whoever runs the packet.
        let arranged = ["ingress_ifindex", "rx_queue_index", "bpf_get_smp_processor_id"];
        let arranged = arranged.contains(&name)
            || name.starts_with("free elements of ")
            || name.starts_with("max_entries of ");
        (!arranged).then(|| name.to_owned())
    });
    called.chain(given).collect()
}

/// The entries of a map.
pub fn entries<'a>(witness: &'a Value, map: &str) -> impl Iterator<Item = &'a Value> + Clone {
    witness["maps"][map].as_array().into_iter().flatten()
}

/// The value of an entry, given as a whole or in pieces.
pub fn value(entry: &Value, size: u32) -> Option<Vec<u8>> {
    let Some(pieces) = entry["value"].as_object() else {
        return entry["value"].is_string().then(|| bytes(&entry["value"]));
    };
    let mut all = vec![ANY; size as usize];
    for (offset, piece) in pieces {
        let (offset, piece) = (offset.parse().unwrap_or(all.len()), bytes(piece));
        if let Some(place) = all.get_mut(offset..offset + piece.len()) {
            place.copy_from_slice(&piece);
        }
    }
    Some(all)
}

/// `max_entries` of a map in a map of maps, if it is another than the definition says: what the
/// witness says, or as many as it has elements.
fn inner_size(outer: &MapDef, witness: &Value, within: &str) -> Option<u32> {
    let inside = format!("{}.inner", outer.name);
    let inside = || entries(witness, &inside).filter(|entry| entry["map"] == *within);
    let told = inside().find_map(|entry| entry["max_entries"].as_u64());
    let elements = |entry: &Value| {
        entry["others"].as_u64().unwrap_or_else(|| u64::from(!entry["value"].is_null()))
    };
    let there: u64 = inside().map(elements).sum();
    let inner = outer.inner.as_deref()?;
    let keyed = matches!(inner.kind, MapKind::HASH | MapKind::PERCPU_HASH);
    let more = (keyed && there > inner.max_entries.into()).then_some(there);
    told.or(more).and_then(|size| u32::try_from(size).ok())
}

/// Elements of a queue or stack in the order in which they are put in.
pub fn queued(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
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

/// Keys of elements that a program does not look for.
pub fn others(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
    other_keys(entries(witness, &map.name), map)
}

/// As many keys as some entries say, other than theirs.
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

/// Whether a key is an index that an array has not.
pub fn out_of_range(map: &Map, key: &[u8]) -> bool {
    let definition = map.definition();
    let array = matches!(definition.kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY);
    let index: Option<[u8; 4]> = key.try_into().ok();
    array && index.is_some_and(|index| u32::from_le_bytes(index) >= definition.max_entries)
}

/// Elements of a map that are written together.
struct Pairs<'a> {
    map: &'a Map,
    /// Bytes of keys and values; `None` where what is written depends on more than these.
    sizes: Option<(usize, usize)>,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl Pairs<'_> {
    fn new(map: &Map) -> Pairs<'_> {
        let definition = map.definition();
        let plain = !definition.kind.holds_maps() && !redirects(definition.kind);
        let sizes = plain.then_some((definition.key_size as usize, definition.value_size as usize));
        Pairs { map, sizes, keys: Vec::new(), values: Vec::new() }
    }

    /// Whether it takes an element: it does not where a size is wrong, which is said of that one.
    fn take(&mut self, key: &[u8], value: &[u8]) -> bool {
        let takes = self.sizes == Some((key.len(), value.len()));
        if takes {
            self.keys.extend_from_slice(key);
            self.values.extend_from_slice(value);
        }
        takes
    }

    fn write(self) -> Result<(), InstallError> {
        Ok(self.map.update_pairs(&self.keys, &self.values)?)
    }
}

/// Whether values of a map are what packets are redirected to.
fn redirects(kind: MapKind) -> bool {
    matches!(kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH | MapKind::CPUMAP | MapKind::XSKMAP)
}

/// What installed map content needs to stay as it is.
#[derive(Debug)]
pub struct Installed {
    /// The device that packets are redirected to.
    device: Device,
    /// Maps in maps of maps, by the names that the witness has for them.
    inner: BTreeMap<String, Map>,
    /// What redirecting maps lead to.
    sockets: Vec<OwnedFd>,
    /// Who reads what programs write for user space.
    readers: Readers,
}

/// Installs what a witness says about maps, and about who reads ring buffers and events. What
/// redirects to devices leads to the loopback device.
///
/// # Errors
/// If the program has no such map, or the kernel does not take an element.
pub fn install(loaded: &Loaded, witness: &Value) -> Result<Installed, InstallError> {
    install_towards(loaded, witness, Device::LOOPBACK)
}

/// The same with another device that packets are redirected to. It is one of the calling thread's
/// network namespace: [`crate::Namespace::enter`].
///
/// # Errors
/// If the program has no such map, or the kernel does not take an element.
pub fn install_towards(
    loaded: &Loaded,
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
    /// The map in a map of maps that the witness calls so.
    pub fn inner(&self, name: &str) -> Option<&Map> {
        self.inner.get(name)
    }

    /// Installs the entries of one map.
    fn fill(&mut self, map: &Map, witness: &Value) -> Result<(), InstallError> {
        let definition = map.definition();
        if entry_keys(definition.kind) == EntryKeys::Order {
            for value in queued(witness, definition) {
                map.update(&[], &value)?;
            }
            return Ok(());
        }
        let mut pairs = Pairs::new(map);
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
                && !pairs.take(&key, &value)
            {
                self.put(map, &key, &value)?;
            }
        }
        for key in others(witness, definition) {
            let value = vec![ANY; definition.value_size as usize];
            if !pairs.take(&key, &value) {
                self.put(map, &key, &value)?;
            }
        }
        pairs.write()
    }

    /// Writes an element. Of what packets are redirected to, a device, CPU or socket that there is:
    /// the kernel takes no other, and none of them with a program.
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
