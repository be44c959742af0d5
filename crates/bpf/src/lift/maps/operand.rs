//! The map that a call works on, and how the type of a map and its flags decide what calls do.

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
    /// For a map out of a map of maps: which one.
    pub which: Option<Operand>,
    pub id: MapId,
    pub tracking: Tracking,
}

impl MapOperand {
    /// How many elements it can hold, if the object says that: of maps in maps of maps, arrays alone
    /// have to be as large as the object says (`array_map_meta_equal`, `bpf_map_meta_equal`).
    pub fn fixed_size(&self) -> Option<u32> {
        let same = self.def.kind == MapKind::ARRAY && self.def.flags & INNER_MAP == 0;
        let open = self.def.max_entries == 0 || (self.which.is_some() && !same);
        (!open).then_some(self.def.max_entries)
    }

    /// How many elements there can be at the same time, if the object says that.
    pub fn most_elements(&self) -> Option<u32> {
        let size = self.fixed_size()?;
        Some(if self.per_cpu_lists() { size.saturating_add(MAX_CPUS - 1) } else { size })
    }

    /// Whether each CPU has a list of elements of its own (`BPF_F_NO_COMMON_LRU`): the number of
    /// elements is then rounded up to a multiple of the number of CPUs (`htab_map_alloc`).
    pub fn per_cpu_lists(&self) -> bool {
        const NO_COMMON_LRU: u32 = 1 << 1;
        self.evicts() && self.def.flags & NO_COMMON_LRU != 0
    }
}

/// Flag of arrays that need not be as large as others in the same map of maps (`BPF_F_INNER_MAP`).
pub(in crate::lift) const INNER_MAP: u32 = 1 << 12;

/// Largest `CONFIG_NR_CPUS`.
pub(in crate::lift) const MAX_CPUS: u32 = 8192;

impl MapOperand {
    /// Whether elements make room for others.
    pub fn evicts(&self) -> bool {
        self.def.kind.evicts()
    }

    /// Whether an update of an element that exists leaves the value where it is
    /// (`__htab_percpu_map_update_elem`): other maps whose elements come and go put another element
    /// in its place. Of arrays nobody asks, they have no other elements.
    pub fn overwrites_in_place(&self) -> bool {
        matches!(self.def.kind, MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH)
    }

    /// Whether elements are allocated when they are inserted.
    pub fn allocates(&self) -> bool {
        self.def.flags & NO_PREALLOC != 0
    }
}

/// Flag of hash maps that allocate elements when they are inserted (`BPF_F_NO_PREALLOC`).
pub(in crate::lift) const NO_PREALLOC: u32 = 1;
