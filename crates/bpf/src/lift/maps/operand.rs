//! Describes the map that a call uses, with the properties that its type and flags determine.

use slowpath_ir::Operand;

use crate::lift::layout::memory::MapLayout;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::tracking::Tracking;
use crate::lift::state::value::MapId;
use crate::maps::{MapDef, MapKind};

/// A map that an instruction uses.
#[derive(Clone, Debug)]
pub(in crate::lift) struct MapOperand {
    pub def: MapDef,
    pub class: MapClass,
    pub layout: MapLayout,
    /// Address of the map if it is an inner map of a map of maps, otherwise `None`.
    pub map_address: Option<Operand>,
    pub id: MapId,
    pub tracking: Tracking,
}

impl MapOperand {
    /// Returns the maximum number of elements; `None` if the object does not determine it. The
    /// loader may give an inner map of a map of maps another size than the object defines. Arrays
    /// without the flag `BPF_F_INNER_MAP` are an exception (`array_map_meta_equal`,
    /// `bpf_map_meta_equal`).
    pub fn fixed_size(&self) -> Option<u32> {
        let same = self.def.kind == MapKind::ARRAY && self.def.flags & INNER_MAP == 0;
        let open = self.def.max_entries == 0 || (self.map_address.is_some() && !same);
        (!open).then_some(self.def.max_entries)
    }

    /// Returns the maximum number of elements that can exist at the same time; `None` if the object
    /// does not determine it.
    pub fn most_elements(&self) -> Option<u32> {
        let size = self.fixed_size()?;
        Some(if self.per_cpu_lists() { size.saturating_add(MAX_CPUS - 1) } else { size })
    }

    /// Returns true if each CPU has its own list of elements (`BPF_F_NO_COMMON_LRU`). The number of
    /// elements is then rounded up to a multiple of the number of CPUs (`htab_map_alloc`).
    pub fn per_cpu_lists(&self) -> bool {
        const NO_COMMON_LRU: u32 = 1 << 1;
        self.evicts() && self.def.flags & NO_COMMON_LRU != 0
    }
}

/// Flag of arrays (`BPF_F_INNER_MAP`). With it, an array may have another size than other arrays in
/// the same map of maps.
pub(in crate::lift) const INNER_MAP: u32 = 1 << 12;

/// Upper bound on `CONFIG_NR_CPUS`.
pub(in crate::lift) const MAX_CPUS: u32 = 8192;

impl MapOperand {
    /// Returns true if a full map evicts elements to make room for new ones.
    pub fn evicts(&self) -> bool {
        self.def.kind.evicts()
    }

    /// Returns true if an update of an existing element overwrites its value in place
    /// (`__htab_percpu_map_update_elem`). In other hash maps, the update replaces the element with
    /// a new one. The result is meaningless for arrays.
    pub fn overwrites_in_place(&self) -> bool {
        matches!(self.def.kind, MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH)
    }

    /// Returns true if the kernel allocates elements on insertion.
    pub fn allocates(&self) -> bool {
        self.def.flags & NO_PREALLOC != 0
    }
}

/// Flag of hash maps that allocate elements on insertion (`BPF_F_NO_PREALLOC`).
pub(in crate::lift) const NO_PREALLOC: u32 = 1;
