//! Models interference: changes that other CPUs make to shared memory during a run.
//!
//! When a run accesses a map for the first time, the map's content is unknown, so earlier writes of
//! other CPUs need no model. Between two accesses of the run, another CPU may change the content,
//! and the second access is recorded. If [`crate::lift::LiftOptions::interleaved`] asks for
//! interleaved runs, the second access yields an unknown value. Values of per-CPU maps and
//! read-only maps are not shared. A lock (`bpf_spin_lock`) protects the values of its map from the
//! first access under the lock.

use slowpath_ir::{Operand, ValueFormat};

use crate::insn::helper;
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::uses::Access;
use crate::lift::state::accessed::Shared;
use crate::lift::state::value::{AbstractValue, MapId};
use crate::maps::{MapDef, MapKind};

/// Name that reports use for the map if a pointer may point into one of several maps.
const SOME_MAP: &str = "maps behind ambiguous pointers";

/// Name that reports use for an unknown value that another CPU wrote during the run.
const WRITTEN_BY_OTHER_CPU: &str = "what another CPU has written meanwhile";

/// Maximum number of bytes to which unknown values are assigned for one argument of a call.
const MAX_OVERWRITTEN: u32 = 512;

fn is_shared(map: &MapDef) -> bool {
    let per_cpu =
        matches!(map.kind, MapKind::PERCPU_ARRAY | MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH);
    !per_cpu && !map.read_only
}

impl Lifter<'_> {
    /// Returns the shared memory that an access to `bytes` bytes may touch; `None` if no other CPU
    /// can change the accessed memory.
    fn shared_bytes(&self, address: AbstractValue, bytes: i64) -> Option<Shared> {
        let shared = |map: u32| self.object.maps.get(map as usize).is_some_and(is_shared);
        match address {
            AbstractValue::MapValue { map, offset, .. } | AbstractValue::Data { map, offset }
                if shared(map) =>
            {
                let map = MapId::of_object(map);
                Some(match offset {
                    Some(from) => Shared::Bytes { map, from, end: from.saturating_add(bytes) },
                    None => Shared::Bytes { map, from: i64::MIN, end: i64::MAX },
                })
            }
            AbstractValue::MaybeMapValue | AbstractValue::Unknown => Some(Shared::AnyBytes),
            // This may be a pointer to a global variable, if the object has writable ones.
            AbstractValue::NotStack => {
                let mut maps = self.object.maps.iter();
                let globals = maps.any(|map| map.initial.is_some() && !map.read_only);
                globals.then_some(Shared::AnyBytes)
            }
            _ => None,
        }
    }

    /// Returns an unknown value for a load if another CPU may have written to the address since the
    /// last access. Returns `None` if no other CPU can have written, or if runs are not
    /// interleaved.
    pub(in crate::lift) fn interfered_load(
        &mut self,
        address: AbstractValue,
        bytes: u8,
    ) -> Option<Operand> {
        let access = self.shared_bytes(address, bytes.into())?;
        if !self.state.accessed.may_change(access) {
            return None;
        }
        self.note_interference(access);
        self.options.interleaved.then(|| self.any_bytes(bytes))
    }

    /// Records an access to `bytes` bytes at an address, if other CPUs can change this memory.
    pub(in crate::lift) fn note_shared(&mut self, address: AbstractValue, bytes: u8) {
        if let Some(access) = self.shared_bytes(address, bytes.into()) {
            self.state.accessed.note(access);
        }
    }

    /// Records the shared memory that a call of the helper `number` may read or write through its
    /// arguments.
    pub(in crate::lift) fn note_shared_arguments(&mut self, number: i32) {
        let pointer = self.state.regs[1];
        match number {
            helper::SPIN_LOCK => {
                let map = match pointer {
                    AbstractValue::MapValue { map, .. } | AbstractValue::Data { map, .. } => {
                        Some(MapId::of_object(map))
                    }
                    _ => None,
                };
                self.state.accessed.lock(map);
                return;
            }
            helper::SPIN_UNLOCK => {
                self.state.accessed.unlock();
                return;
            }
            // The callback makes the accesses.
            helper::LOOP | helper::FOR_EACH_MAP_ELEM => return,
            _ => {}
        }
        for &register in helper::memory_registers(number) {
            let known = self.state.regs[register];
            let (AbstractValue::MapValue { .. }
            | AbstractValue::Data { .. }
            | AbstractValue::MaybeMapValue
            | AbstractValue::Unknown) = known
            else {
                continue;
            };
            let Some(access) = self.shared_bytes(known, i64::MAX) else { continue };
            if self.state.accessed.may_change(access) {
                self.note_interference(access);
                if self.options.interleaved {
                    self.overwrite(register as u8, known, access);
                }
            }
            self.state.accessed.note(access);
        }
    }

    /// Assigns unknown values to the bytes from an argument's address to the end of the map value,
    /// because another CPU may have changed them. If the number of bytes is unknown or too large,
    /// records the assumption that no other CPU has changed the bytes that the call reads.
    fn overwrite(&mut self, register: u8, known: AbstractValue, access: Shared) {
        let bytes = match known {
            AbstractValue::MapValue { map, offset: Some(from), .. }
            | AbstractValue::Data { map, offset: Some(from) } => {
                let def = self.object.maps.get(map as usize);
                let rest = |def: &MapDef| i64::from(def.value_size).checked_sub(from);
                def.and_then(rest).and_then(|bytes| u32::try_from(bytes).ok())
            }
            _ => None,
        };
        match bytes.filter(|&bytes| bytes <= MAX_OVERWRITTEN) {
            Some(bytes) => {
                let address = self.ir.value(register);
                self.havoc(address, bytes, WRITTEN_BY_OTHER_CPU);
            }
            None => {
                let name = self.name_of(access);
                self.interference.read_by_calls.insert(name);
            }
        }
    }

    /// Records that a call reads or changes which elements a map contains. Also records whether
    /// another CPU may have inserted or deleted elements since an earlier call.
    pub(in crate::lift) fn note_elements(&mut self, map: &MapOperand, access: Access) {
        let writes = matches!(access, Access::Insert);
        if writes && is_shared(&map.def) {
            let any_value = Shared::Bytes { map: map.id, from: i64::MIN, end: i64::MAX };
            self.state.accessed.note(any_value);
        }
        let elements = Shared::Elements(map.id);
        let keeps_all = matches!(map.class, MapClass::Array | MapClass::Stream);
        let changes = !keeps_all && self.state.accessed.may_change(elements);
        self.open_elements = None;
        if changes {
            self.note_interference(elements);
            self.open_elements = self.options.interleaved.then_some(map.id);
        }
        if !keeps_all {
            self.state.accessed.note(elements);
        }
        // The iteration may visit elements again that other CPUs move.
        if access == Access::Walk {
            let name = map.layout.name.clone();
            let most = map.most_elements().unwrap_or(u32::MAX);
            self.interference.maps.insert(name.clone());
            self.interference.walks.insert(name, most);
        }
    }

    /// Records a call on a queue or stack. Other CPUs may push and pop elements before the call.
    pub(in crate::lift) fn note_queue(&mut self, map: &MapOperand) {
        let elements = Shared::Elements(map.id);
        self.open_elements = None;
        if self.state.accessed.may_change(elements) {
            self.note_interference(elements);
            self.open_elements = self.options.interleaved.then_some(map.id);
        }
        self.state.accessed.note(elements);
    }

    /// Returns true if other CPUs may have inserted or deleted elements of this map since earlier
    /// calls. The earlier calls then do not determine the result of the current call.
    pub(in crate::lift) fn has_unknown_elements(&self, map: &MapOperand) -> bool {
        self.open_elements == Some(map.id)
    }

    /// Returns an unknown value for `bytes` bytes of an element that another CPU may have changed.
    pub(in crate::lift) fn any_bytes(&mut self, bytes: u8) -> Operand {
        let max = u64::MAX >> (64 - 8 * u32::from(bytes));
        self.ir.emit.draw(WRITTEN_BY_OTHER_CPU, ValueFormat::Bytes, 8 * bytes, max)
    }

    /// Returns an unknown bit for the existence of an element that another CPU may have inserted or
    /// deleted.
    pub(in crate::lift) fn any_existence(&mut self) -> Operand {
        self.ir.emit.unknown_bit(
            "the element, which another CPU has inserted or deleted",
            &["absent", "there"],
        )
    }

    /// Returns an unknown 32-bit position for an element that another CPU may have moved.
    pub(in crate::lift) fn any_place(&mut self) -> Operand {
        self.ir.emit.draw("place of the element", ValueFormat::Number, 32, u32::MAX.into())
    }

    fn note_interference(&mut self, access: Shared) {
        let name = self.name_of(access);
        self.interference.maps.insert(name);
    }

    fn name_of(&self, access: Shared) -> String {
        let (Shared::Bytes { map, .. } | Shared::Elements(map)) = access else {
            return SOME_MAP.to_owned();
        };
        let name = self.object.maps.get(map.number() as usize).map(|map| map.name.clone());
        let name = name.unwrap_or_else(|| SOME_MAP.to_owned());
        if map.is_inner() { format!("the maps in {name}") } else { name }
    }
}
