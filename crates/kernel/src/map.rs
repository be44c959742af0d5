//! Reads, writes and deletes elements of a map in the kernel.
//!
//! Keys and values are passed as bytes. Numbers in them have the machine's byte order.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use slowpath_bpf::MapDef;

use crate::error::MapError;
use crate::sys::{Cpus, Elements, RawMap, is_per_cpu};

/// Maximum number of elements that one system call reads or writes.
const BATCH: usize = 4096;

/// Maximum number of bytes of values that one system call reads.
const BATCH_BYTES: usize = 16 << 20;

/// A key with its values. Per-CPU maps have one value for each possible CPU, other maps have one.
pub type Element = (Vec<u8>, Vec<Vec<u8>>);

/// A map in the kernel.
#[derive(Debug)]
pub struct Map {
    def: MapDef,
    raw: RawMap,
    cpus: Cpus,
}

impl Map {
    pub(crate) fn new(def: &MapDef, raw: RawMap, cpus: Cpus) -> Map {
        Map { def: def.clone(), raw, cpus }
    }

    /// Returns a second handle for the same map.
    pub(crate) fn share(&self) -> io::Result<Map> {
        Ok(Map { def: self.def.clone(), raw: self.raw.share()?, cpus: self.cpus })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }

    pub(crate) fn cpus(&self) -> Cpus {
        self.cpus
    }

    pub(crate) fn freeze(&self) -> io::Result<()> {
        self.raw.freeze()
    }

    /// Returns the definition of the map, with the sizes that it actually has.
    pub fn definition(&self) -> &MapDef {
        &self.def
    }

    /// Returns how many values each key has: the number of possible CPUs in per-CPU maps, else 1.
    pub fn values_per_key(&self) -> usize {
        if is_per_cpu(self.def.kind.0) { self.cpus.count() } else { 1 }
    }

    /// Returns the value of a key, or `None` if the map does not contain the key. Per-CPU maps
    /// return an error: use [`Map::lookup_all`].
    ///
    /// For a map of maps, the value is the kernel's id of the inner map.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, MapError> {
        self.check_count(1)?;
        Ok(self.lookup_all(key)?.and_then(|values| values.into_iter().next()))
    }

    /// Returns the values of a key. Per-CPU maps return one for each possible CPU, other maps
    /// return one. Returns `None` if the map does not contain the key.
    pub fn lookup_all(&self, key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, MapError> {
        self.check_key(key)?;
        match self.raw.lookup(key) {
            Ok(values) => Ok(Some(self.split(&values))),
            Err(cause) if absent(&cause) => Ok(None),
            Err(cause) => Err(self.refused("read", key, cause)),
        }
    }

    /// Sets the value of a key. In per-CPU maps, sets the same value for all CPUs.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), MapError> {
        let values = vec![value; self.values_per_key()];
        self.update_all(key, &values)
    }

    /// Sets the values of a key: one for each possible CPU in per-CPU maps, otherwise one.
    pub fn update_all<V: AsRef<[u8]>>(&self, key: &[u8], values: &[V]) -> Result<(), MapError> {
        self.check_key(key)?;
        self.check_count(values.len())?;
        let expected = self.def.value_size as usize;
        let mut bytes = Vec::new();
        for value in values.iter().map(AsRef::as_ref) {
            self.check("value", value.len(), expected)?;
            bytes.extend(self.padded(value));
        }
        self.raw.update(key, &bytes).map_err(|cause| self.refused("write", key, cause))
    }

    /// Sets the same value for many keys, and for all CPUs in per-CPU maps. `keys` contains the
    /// keys one after the other. Writing them in batches is faster than one [`Map::update`] for
    /// each key.
    pub fn update_each(&self, keys: &[u8], value: &[u8]) -> Result<(), MapError> {
        self.check("value", value.len(), self.def.value_size as usize)?;
        let count = BATCH.min(keys.len() / self.key_size());
        let values = value.repeat(count);
        keys.chunks(BATCH * self.key_size()).try_for_each(|keys| {
            let size = value.len() * (keys.len() / self.key_size());
            self.update_pairs(keys, values.get(..size).unwrap_or_default())
        })
    }

    /// Sets the values of many keys, and for all CPUs in per-CPU maps. `keys` and `values` contain
    /// the keys and their values one after the other, in the same order. Writing them in batches is
    /// faster than one [`Map::update`] for each key.
    pub fn update_pairs(&self, keys: &[u8], values: &[u8]) -> Result<(), MapError> {
        let (key_size, value_size) = (self.key_size(), self.def.value_size as usize);
        let count = keys.len() / key_size;
        self.check("key", keys.len(), count * key_size)?;
        self.check("value", values.len(), count * value_size)?;
        let pairs = keys.chunks(key_size).zip(values.chunks(value_size.max(1)));
        let pairs: Vec<(&[u8], &[u8])> = pairs.collect();
        for batch in pairs.chunks(BATCH) {
            let keys: Vec<u8> = batch.iter().flat_map(|(key, _)| *key).copied().collect();
            let for_all_cpus = |value| self.padded(value).repeat(self.values_per_key());
            let values: Vec<u8> = batch.iter().flat_map(|(_, value)| for_all_cpus(value)).collect();
            if self.raw.update_batch(&keys, &values).is_ok() {
                continue;
            }
            // The map type has no batches, or one key failed: single updates name the faulty key.
            batch.iter().try_for_each(|(key, value)| self.update(key, value))?;
        }
        Ok(())
    }

    /// Encodes the value of one CPU for the kernel. In per-CPU maps, it is padded to a multiple of
    /// 8 bytes.
    fn padded(&self, value: &[u8]) -> Vec<u8> {
        let mut bytes = value.to_vec();
        if is_per_cpu(self.def.kind.0) {
            bytes.resize(value.len().next_multiple_of(8), 0);
        }
        bytes
    }

    fn key_size(&self) -> usize {
        (self.def.key_size as usize).max(1)
    }

    /// Deletes a key. Returns true if the map contained it. Elements of arrays cannot be deleted.
    pub fn delete(&self, key: &[u8]) -> Result<bool, MapError> {
        self.check_key(key)?;
        match self.raw.delete(key) {
            Ok(()) => Ok(true),
            Err(cause) if absent(&cause) => Ok(false),
            Err(cause) => Err(self.refused("delete", key, cause)),
        }
    }

    /// Returns all keys in the order of the kernel. For arrays, these are all indices.
    pub fn keys(&self) -> Result<Vec<Vec<u8>>, MapError> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            match self.raw.next_key(keys.last().map(Vec::as_slice)) {
                // A concurrent program can restart the iteration; the limit ensures that it ends.
                Ok(_) if keys.len() > self.def.max_entries as usize => return Ok(keys),
                Ok(key) => keys.push(key),
                Err(cause) if absent(&cause) => return Ok(keys),
                Err(cause) => return Err(self.refused("list", &[], cause)),
            }
        }
    }

    /// Returns all elements in the order of the kernel. Reading them in batches is faster than one
    /// lookup for each key.
    pub fn elements(&self) -> Result<Vec<Element>, MapError> {
        // Not all map types have batches.
        self.batches().map_or_else(|_| self.one_by_one(), Ok)
    }

    fn batches(&self) -> io::Result<Vec<Element>> {
        let size = (self.def.value_size as usize).next_multiple_of(8) * self.values_per_key();
        let most = BATCH.min(BATCH_BYTES / size.max(1)).min(self.def.max_entries as usize).max(1);
        let mut elements = Vec::new();
        let mut from = None;
        loop {
            let Elements { keys, values, next_position } =
                self.raw.lookup_batch(from.as_deref(), most)?;
            let count = keys.len() / self.key_size();
            let size = values.len().checked_div(count).unwrap_or(0).max(1);
            let pairs = keys.chunks(self.key_size()).zip(values.chunks(size));
            elements.extend(pairs.map(|(key, values)| (key.to_vec(), self.split(values))));
            let Some(next_position) = next_position else { return Ok(elements) };
            // A concurrent program can prolong the iteration; the limit ensures that it ends.
            if count == 0 || elements.len() > self.def.max_entries as usize {
                return Err(io::ErrorKind::Other.into());
            }
            from = Some(next_position);
        }
    }

    fn one_by_one(&self) -> Result<Vec<Element>, MapError> {
        let mut elements = Vec::new();
        for key in self.keys()? {
            if let Some(values) = self.lookup_all(&key)? {
                elements.push((key, values));
            }
        }
        Ok(elements)
    }

    /// Puts a map into this map of maps.
    pub fn set_map(&self, key: &[u8], map: &Map) -> Result<(), MapError> {
        if !self.def.kind.holds_maps() {
            return Err(MapError::NoInner { map: self.def.name.clone() });
        }
        self.update(key, &map.fd().as_raw_fd().to_ne_bytes())
    }

    pub(crate) fn set_fd(&self, slot: u32, fd: BorrowedFd) -> Result<(), MapError> {
        self.update(&slot.to_ne_bytes(), &fd.as_fd().as_raw_fd().to_ne_bytes())
    }

    fn split(&self, values: &[u8]) -> Vec<Vec<u8>> {
        let size = self.def.value_size as usize;
        let count = self.values_per_key();
        let padded = values.len() / count;
        (0..count).map(|n| values[n * padded..][..size.min(padded)].to_vec()).collect()
    }

    fn check_key(&self, key: &[u8]) -> Result<(), MapError> {
        self.check("key", key.len(), self.def.key_size as usize)
    }

    fn check(&self, what: &'static str, len: usize, expected: usize) -> Result<(), MapError> {
        if len == expected {
            return Ok(());
        }
        Err(MapError::Length { map: self.def.name.clone(), what, len, expected })
    }

    fn check_count(&self, count: usize) -> Result<(), MapError> {
        let expected = self.values_per_key();
        if count == expected {
            return Ok(());
        }
        Err(MapError::Count { map: self.def.name.clone(), count, expected })
    }

    fn refused(&self, action: &'static str, key: &[u8], cause: io::Error) -> MapError {
        MapError::Kernel { map: self.def.name.clone(), action, key: key.to_owned(), cause }
    }
}

fn absent(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound
}
