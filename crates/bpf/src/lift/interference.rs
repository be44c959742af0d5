//! Other CPUs, which change shared memory of maps while a run is under way.
//!
//! A first access finds any content: a run cannot tell when another CPU wrote it. What a run has
//! accessed before may be something else at the next access. Such a second access is noted, and
//! yields anything where [`crate::lift::LiftOptions::interleaved`] asks for runs of several CPUs.
//! Values of per-CPU maps and read-only maps are not shared. A lock (`bpf_spin_lock`) protects the
//! values of its map from the first access under it on.

use slowpath_ir::{Operand, Reading};

use crate::insn::helper;
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::uses::Access;
use crate::lift::state::accessed::Shared;
use crate::lift::state::value::{AbstractValue, MapId};
use crate::maps::{MapDef, MapKind};

/// Stands for a map that is not known.
const SOME_MAP: &str = "maps that pointers from several places lead to";

/// The name of values that others write.
const MEANWHILE: &str = "what another CPU has written meanwhile";

/// Bytes behind an argument that are followed, at most.
const MAX_OVERWRITTEN: u32 = 512;

fn is_shared(map: &MapDef) -> bool {
    let per_cpu =
        matches!(map.kind, MapKind::PERCPU_ARRAY | MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH);
    !per_cpu && !map.read_only
}

impl Lifter<'_> {
    /// The shared bytes that an access of so many bytes is to, if it may be to some.
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
            // A global variable, if there are any to choose from.
            AbstractValue::NotStack => {
                let mut maps = self.object.maps.iter();
                let globals = maps.any(|map| map.initial.is_some() && !map.read_only);
                globals.then_some(Shared::AnyBytes)
            }
            _ => None,
        }
    }

    /// Any value for a load at an address, if another CPU may have written there since the last access.
    /// `None` where the load finds what the run knows, or no other CPU runs.
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

    /// Notes that a run has accessed bytes at an address.
    pub(in crate::lift) fn note_shared(&mut self, address: AbstractValue, bytes: u8) {
        if let Some(access) = self.shared_bytes(address, bytes.into()) {
            self.state.accessed.note(access);
        }
    }

    /// Notes that a call may read or write shared memory behind its arguments.
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
            // The callback accesses what it is given.
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

    /// Makes anything of the bytes that a call may read behind an argument, up to the end of the
    /// value, or notes that it finds what the run knows of them.
    fn overwrite(&mut self, register: u8, known: AbstractValue, access: Shared) {
        let bytes = match known {
            AbstractValue::MapValue { map, offset: Some(from), .. }
            | AbstractValue::Data { map, offset: Some(from) } => {
                let def = self.object.maps.get(map as usize);
                let behind = |def: &MapDef| i64::from(def.value_size).checked_sub(from);
                def.and_then(behind).and_then(|bytes| u32::try_from(bytes).ok())
            }
            _ => None,
        };
        match bytes.filter(|&bytes| bytes <= MAX_OVERWRITTEN) {
            Some(bytes) => {
                let address = self.ir.value(register);
                self.havoc(address, bytes, MEANWHILE);
            }
            None => {
                let name = self.name_of(access);
                self.interference.read_by_calls.insert(name);
            }
        }
    }

    /// Notes that a call finds out or changes which elements a map has, and whether another CPU may
    /// have changed them since an earlier call.
    pub(in crate::lift) fn note_elements(&mut self, map: &MapOperand, access: Access) {
        let writes = matches!(access, Access::Insert);
        if writes && is_shared(&map.def) {
            let all = Shared::Bytes { map: map.id, from: i64::MIN, end: i64::MAX };
            self.state.accessed.note(all);
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
        // Elements that move while a callback goes through them may have another round.
        if access == Access::Walk {
            let name = map.layout.name.clone();
            let most = map.most_elements().unwrap_or(u32::MAX);
            self.interference.maps.insert(name.clone());
            self.interference.walks.insert(name, most);
        }
    }

    /// Notes a call on a queue, whose other ends move.
    pub(in crate::lift) fn note_queue(&mut self, map: &MapOperand) {
        let elements = Shared::Elements(map.id);
        self.open_elements = None;
        if self.state.accessed.may_change(elements) {
            self.note_interference(elements);
            self.open_elements = self.options.interleaved.then_some(map.id);
        }
        self.state.accessed.note(elements);
    }

    /// Whether the current call finds any elements of this map, whatever earlier calls found.
    pub(in crate::lift) fn finds_any_element(&self, map: &MapOperand) -> bool {
        self.open_elements == Some(map.id)
    }

    /// Any bytes of an element: other CPUs have had a turn.
    pub(in crate::lift) fn any_bytes(&mut self, bytes: u8) -> Operand {
        let max = u64::MAX >> (64 - 8 * u32::from(bytes));
        self.ir.emit.draw(MEANWHILE, Reading::Bytes, 8 * bytes, max)
    }

    /// Either answer to the question whether an element exists: other CPUs have had a turn.
    pub(in crate::lift) fn any_existence(&mut self) -> Operand {
        self.ir
            .emit
            .coin("the element, which another CPU has inserted or deleted", &["absent", "there"])
    }

    /// Any place of an element, 32 bits: other CPUs have had a turn.
    pub(in crate::lift) fn any_place(&mut self) -> Operand {
        self.ir.emit.draw("place of the element", Reading::Number, 32, u32::MAX.into())
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
