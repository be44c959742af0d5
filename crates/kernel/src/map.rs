//! A map in the kernel, whose elements are read, written and deleted by key.
//!
//! Keys and values are bytes in the machine's order.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use slowpath_bpf::MapDef;

use crate::error::MapError;
use crate::sys::{Cpus, Elements, RawMap, is_per_cpu};

/// Maximum number of elements that one call reads or writes.
const BATCH: usize = 4096;

/// Maximum number of value bytes that one call reads.
const BATCH_BYTES: usize = 16 << 20;

/// A key with its values: one for each possible CPU in per-CPU maps, else one.
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

    /// Returns another handle of the same map.
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

    /// Returns the map's definition, with the sizes that the kernel uses.
    pub fn definition(&self) -> &MapDef {
        &self.def
    }

    /// Returns how many values each key has: one, or one for each possible CPU in per-CPU maps.
    pub fn values_per_key(&self) -> usize {
        if is_per_cpu(self.def.kind.0) { self.cpus.count() } else { 1 }
    }

    /// Returns the value of a key; `None` if the key is absent. Per-CPU maps give an error: use
    /// [`Map::lookup_all`].
    ///
    /// For a map of maps, the value is the kernel's id of the inner map.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, MapError> {
        self.check_count(1)?;
        Ok(self.lookup_all(key)?.and_then(|values| values.into_iter().next()))
    }

    /// Returns the values of a key: one for each possible CPU in per-CPU maps, else one. `None` if
    /// the key is absent.
    pub fn lookup_all(&self, key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, MapError> {
        self.check_key(key)?;
        match self.raw.lookup(key) {
            Ok(values) => Ok(Some(self.split(&values))),
            Err(cause) if absent(&cause) => Ok(None),
            Err(cause) => Err(self.refused("read", key, cause)),
        }
    }

    /// Sets the value of a key, for all CPUs.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), MapError> {
        let values = vec![value; self.values_per_key()];
        self.update_all(key, &values)
    }

    /// Sets the values of a key, one for each possible CPU.
    pub fn update_all<V: AsRef<[u8]>>(&self, key: &[u8], values: &[V]) -> Result<(), MapError> {
        self.check_key(key)?;
        self.check_count(values.len())?;
        let expected = self.def.value_size as usize;
        let padded =
            if is_per_cpu(self.def.kind.0) { expected.next_multiple_of(8) } else { expected };
        let mut bytes = Vec::with_capacity(padded * values.len());
        for (n, value) in values.iter().map(AsRef::as_ref).enumerate() {
            self.check("value", value.len(), expected)?;
            bytes.extend_from_slice(value);
            bytes.resize((n + 1) * padded, 0);
        }
        self.raw.update(key, &bytes).map_err(|cause| self.refused("write", key, cause))
    }

    /// Sets the same value for many keys, for all CPUs. `keys` is their concatenation. Batched
    /// calls make this faster than [`Map::update`] of each.
    pub fn update_each(&self, keys: &[u8], value: &[u8]) -> Result<(), MapError> {
        self.check("value", value.len(), self.def.value_size as usize)?;
        let count = BATCH.min(keys.len() / self.key_size());
        let values = value.repeat(count);
        keys.chunks(BATCH * self.key_size()).try_for_each(|keys| {
            let size = value.len() * (keys.len() / self.key_size());
            self.update_pairs(keys, values.get(..size).unwrap_or_default())
        })
    }

    /// Sets the values of many keys, for all CPUs. `keys` and `values` are concatenations in the
    /// same order. Batched calls make this faster than [`Map::update`] of each.
    pub fn update_pairs(&self, keys: &[u8], values: &[u8]) -> Result<(), MapError> {
        let (of_key, of_value) = (self.key_size(), self.def.value_size as usize);
        let count = keys.len() / of_key;
        self.check("key", keys.len(), count * of_key)?;
        self.check("value", values.len(), count * of_value)?;
        let pairs = keys.chunks(of_key).zip(values.chunks(of_value.max(1)));
        let pairs: Vec<(&[u8], &[u8])> = pairs.collect();
        for some in pairs.chunks(BATCH) {
            let keys: Vec<u8> = some.iter().flat_map(|(key, _)| *key).copied().collect();
            let values: Vec<u8> = some.iter().flat_map(|(_, value)| self.for_all(value)).collect();
            if self.raw.update_batch(&keys, &values).is_ok() {
                continue;
            }
            // The map type has no batches, or one key failed: single updates name the faulty key.
            some.iter().try_for_each(|(key, value)| self.update(key, value))?;
        }
        Ok(())
    }

    /// Encodes a value for the kernel: once, or once for each CPU, padded to 8 bytes.
    fn for_all(&self, value: &[u8]) -> Vec<u8> {
        let mut one = value.to_vec();
        if is_per_cpu(self.def.kind.0) {
            one.resize(value.len().next_multiple_of(8), 0);
        }
        one.repeat(self.values_per_key())
    }

    fn key_size(&self) -> usize {
        (self.def.key_size as usize).max(1)
    }

    /// Deletes a key, and returns true if it was present. Elements of arrays cannot be deleted.
    pub fn delete(&self, key: &[u8]) -> Result<bool, MapError> {
        self.check_key(key)?;
        match self.raw.delete(key) {
            Ok(()) => Ok(true),
            Err(cause) if absent(&cause) => Ok(false),
            Err(cause) => Err(self.refused("delete", key, cause)),
        }
    }

    /// Returns all keys, in the kernel's order; for arrays, all indices.
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

    /// Returns all elements in the kernel's order. Batched calls make this faster than a look-up of
    /// each key.
    pub fn elements(&self) -> Result<Vec<Element>, MapError> {
        // Not all map types have batches.
        self.batches().map_or_else(|_| self.one_by_one(), Ok)
    }

    fn batches(&self) -> io::Result<Vec<Element>> {
        let of_values = (self.def.value_size as usize).next_multiple_of(8) * self.values_per_key();
        let most =
            BATCH.min(BATCH_BYTES / of_values.max(1)).min(self.def.max_entries as usize).max(1);
        let mut elements = Vec::new();
        let mut from = None;
        loop {
            let Elements { keys, values, next_position: behind } =
                self.raw.lookup_batch(from.as_deref(), most)?;
            let count = keys.len() / self.key_size();
            let of_value = values.len().checked_div(count).unwrap_or(0).max(1);
            let pairs = keys.chunks(self.key_size()).zip(values.chunks(of_value));
            elements.extend(pairs.map(|(key, values)| (key.to_vec(), self.split(values))));
            let Some(behind) = behind else { return Ok(elements) };
            // A concurrent program can prolong the iteration; the limit ensures that it ends.
            if count == 0 || elements.len() > self.def.max_entries as usize {
                return Err(io::ErrorKind::Other.into());
            }
            from = Some(behind);
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

    /// Puts a map into a map of maps.
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
