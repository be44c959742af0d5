//! Creates maps from their definitions in the same way as libbpf. Chooses the sizes that an object
//! leaves to its loader, passes the BTF types of keys and values where the kernel accepts them, and
//! fills in global data. Pinning is not supported: every load has its own maps.

use std::io;
use std::os::fd::BorrowedFd;

use slowpath_bpf::{MapDef, MapKind};

use crate::Map;
use crate::error::LoadError;
use crate::sys::{Cpus, MapSpec, RawMap};

/// Types of maps for which the kernel does not accept types (BTF) of keys and values.
const UNTYPED: [MapKind; 15] = [
    MapKind::PROG_ARRAY,
    MapKind::PERF_EVENT_ARRAY,
    MapKind::STACK_TRACE,
    MapKind::CGROUP_ARRAY,
    MapKind::ARRAY_OF_MAPS,
    MapKind::HASH_OF_MAPS,
    MapKind::DEVMAP,
    MapKind::DEVMAP_HASH,
    MapKind::SOCKMAP,
    MapKind::CPUMAP,
    MapKind::XSKMAP,
    MapKind::SOCKHASH,
    MapKind::QUEUE,
    MapKind::STACK,
    MapKind::RINGBUF,
];

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// Creates a map. Global data is filled in, and frozen if it is read-only.
pub fn map(def: &MapDef, cpus: Cpus, btf: Option<BorrowedFd>) -> Result<Map, LoadError> {
    let def = completed(def, cpus);
    let inner = if def.kind.holds_maps() { Some(inner(&def, cpus, None)?) } else { None };
    let btf = btf.filter(|_| !UNTYPED.contains(&def.kind)).zip(def.value_type);
    let spec = MapSpec {
        name: &def.name,
        kind: def.kind.0,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.flags,
        extra: def.extra,
        inner: inner.as_ref().map(Map::fd),
        btf: btf.map(|(fd, value)| (fd, def.key_type.unwrap_or_default().0, value.0)),
        cpus,
    };
    // As in libbpf: if the kernel rejects the map with BTF, create it without.
    let raw = RawMap::create(&spec).or_else(|cause| match spec.btf {
        Some(_) => RawMap::create(&MapSpec { btf: None, ..spec }),
        None => Err(cause),
    });
    let raw = raw.map_err(|cause| failed(&def, "create", cause))?;
    let map = Map::new(&def, raw, cpus);
    if let Some(content) = &def.initial {
        map.update(&0u32.to_ne_bytes(), content)
            .map_err(|e| failed(&def, "fill", io::Error::other(e.to_string())))?;
        if def.read_only {
            map.freeze().map_err(|cause| failed(&def, "freeze", cause))?;
        }
    }
    Ok(map)
}

/// Creates an inner map for the map of maps `outer`. `max_entries` replaces the number of elements
/// in the definition; `None` keeps it.
fn inner(outer: &MapDef, cpus: Cpus, max_entries: Option<u32>) -> Result<Map, LoadError> {
    match &outer.inner {
        // No kernel supports maps of maps of maps; report it here.
        Some(inner) if !inner.kind.holds_maps() => {
            let max_entries = max_entries.unwrap_or(inner.max_entries);
            map(&MapDef { max_entries, ..MapDef::clone(inner) }, cpus, None)
        }
        _ => Err(failed(outer, "create", io::ErrorKind::InvalidInput.into())),
    }
}

impl Map {
    /// Creates an inner map that [`Map::set_map`] can put into this map of maps.
    pub fn create_inner(&self) -> Result<Map, LoadError> {
        inner(self.definition(), self.cpus(), None)
    }

    /// Like [`Map::create_inner`], but for `max_entries` elements. A map of maps accepts inner hash
    /// maps of any size (`bpf_map_meta_equal` of `kernel/bpf/map_in_map.c`).
    pub fn create_inner_for(&self, max_entries: u32) -> Result<Map, LoadError> {
        inner(self.definition(), self.cpus(), Some(max_entries))
    }
}

/// Completes a map's definition with the values that an object leaves to its loader.
fn completed(def: &MapDef, cpus: Cpus) -> MapDef {
    let mut def = def.clone();
    match def.kind {
        MapKind::PERF_EVENT_ARRAY => {
            if def.max_entries == 0 {
                def.max_entries = u32::try_from(cpus.count()).unwrap_or(u32::MAX);
            }
            (def.key_size, def.value_size) = (4, 4);
        }
        // The kernel accepts no other sizes, so objects may omit them.
        MapKind::PROG_ARRAY if (def.key_size, def.value_size) == (0, 0) => {
            (def.key_size, def.value_size) = (4, 4);
        }
        // The kernel requires this flag, so objects may omit it.
        MapKind::LPM_TRIE => def.flags |= NO_PREALLOC,
        MapKind::RINGBUF | MapKind::USER_RINGBUF => {
            // The kernel requires a power of two of whole pages; objects need not comply.
            const PAGE: u32 = 4096;
            let size = def.max_entries.max(PAGE);
            def.max_entries = size.checked_next_power_of_two().unwrap_or(1 << 31);
        }
        _ => {}
    }
    def
}

/// Builds the error for a failed step of creating a map, with the map's definition and advice.
/// `action` names the step.
pub fn failed(def: &MapDef, action: &'static str, cause: io::Error) -> LoadError {
    let hint = match cause.kind() {
        _ if action == "fill" && !def.slots.is_empty() => {
            "check what the object puts into its slots"
        }
        io::ErrorKind::PermissionDenied => "run as root, or with CAP_BPF and CAP_NET_ADMIN",
        io::ErrorKind::ArgumentListTooLong | io::ErrorKind::OutOfMemory => "make the map smaller",
        _ if def.kind.name().is_none() => "try a newer kernel, which may have this type",
        _ if def.kind.holds_maps() && def.inner.is_none() => {
            "a map of maps needs the definition of its inner maps"
        }
        _ if def.max_entries == 0 => "its own loader chooses the number of elements; set it first",
        _ => "check its type, sizes and flags",
    };
    let MapDef { kind, key_size, value_size, max_entries, flags, .. } = def;
    let definition = format!(
        "{kind}, key {key_size} bytes, value {value_size}, max_entries {max_entries}, flags {flags:#x}"
    );
    LoadError::Map { map: def.name.clone(), definition, action, cause, hint }
}
