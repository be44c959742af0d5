//! Lifts the helpers that access maps (`kernel/bpf/helpers.c`, `arraymap.c`, `hashtab.c`,
//! `lpm_trie.c`).

use slowpath_codes as codes;
use slowpath_ir::{Emit, Operand};

use crate::errno::{E2BIG, EEXIST, EINVAL, ENOENT, ENOMEM};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::{XDP_ABORTED, XDP_REDIRECT};
use crate::lift::ir::emit::{errno, word};
use crate::lift::layout::memory::Keying;
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::locks::{Lock, lock_of};
use crate::lift::maps::operand::{MapOperand, NO_PREALLOC};
use crate::lift::maps::storage::Update;
use crate::lift::maps::uses::Access;
use crate::lift::state::value::AbstractValue;
use crate::maps::MapKind;

/// Flag with which an update fails if the key already has an element.
const BPF_NOEXIST: u64 = 1;
/// Flag with which an update fails if the key has no element.
const BPF_EXIST: u64 = 2;

/// Returns an error if the map's values are too large to copy. The size is limited because the
/// lifted program needs an operation for every 8 bytes.
pub(super) fn copied(map: &MapOperand) -> Result<(), Cause> {
    const LARGEST: u32 = 1 << 16;
    let size = map.def.value_size;
    if size <= LARGEST {
        return Ok(());
    }
    let text = format!("values of map {} have {size} bytes", map.def.name);
    Err(Cause::new(
        codes::UNSUPPORTED_MAP_TYPE,
        text,
        "slowpath copies values of at most 65536 bytes",
    ))
}

pub(super) fn cannot(map: &MapOperand, what: &str) -> Cause {
    let hint = "docs/reference/support.md lists the supported maps of each helper";
    Cause::new(
        codes::UNSUPPORTED_MAP_USE,
        format!("{what} map {} of type {}", map.def.name, map.def.kind),
        hint,
    )
}

/// Lifts `bpf_map_lookup_elem(map, key)`, which returns the address of the value, or null.
pub(super) fn lookup(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    let key = lifter.ir.value(2);
    let known = match (map.class, lifter.state.regs[1]) {
        (MapClass::Maps, AbstractValue::Map(outer)) => AbstractValue::InnerMap(outer),
        (MapClass::Maps | MapClass::Programs | MapClass::Stream | MapClass::Queue, _) => {
            return Err(cannot(&map, "lookups are not possible in"));
        }
        (_, AbstractValue::Map(map)) => {
            AbstractValue::MapValue { map, offset: Some(0), old: false }
        }
        _ => AbstractValue::MaybeMapValue,
    };
    lifter.note_access(&map, Access::LookUp);
    let in_trie = match map.class {
        MapClass::Trie if map.layout.prefix_lengths.is_some() => lifter.find_prefix(&map, key),
        MapClass::Trie => {
            lifter.look_up_alone(&map);
            lifter.find_in_trie(&map, key)
        }
        _ => None,
    };
    let (number, exists) = match in_trie {
        Some((_, found)) if lifter.has_unknown_elements(&map) => {
            let place = lifter.any_place();
            let exists = lifter.any_existence();
            // The lookup also fails if the key's prefix length is invalid.
            let fine =
                if map.class == MapClass::Trie { lifter.prefix_fits(&map, key) } else { found };
            (place, lifter.ir.emit.and(exists, fine))
        }
        Some(found) => found,
        None => {
            let element = lifter.element(&map, key);
            let mut exists = lifter.exists(&map, element);
            if map.class == MapClass::Trie {
                let fine = lifter.prefix_fits(&map, key);
                exists = lifter.ir.emit.and(exists, fine);
            }
            (lifter.value_slot(&map, element), exists)
        }
    };
    let (number, exists) = match map.class {
        MapClass::Trie if map.tracking.changed => {
            let fine = lifter.prefix_fits(&map, key);
            lifter.find_in_changed_trie(&map, (number, exists), fine)
        }
        _ => (number, exists),
    };
    let address = lifter.value_address(&map, number);
    let value = lifter.ir.emit.select(exists, address, word(0));
    lifter.result(value, known);
    Ok(())
}

/// Lifts `bpf_map_update_elem(map, key, value, flags)`, which returns 0 or a negative error.
pub(super) fn update(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if map.class == MapClass::Trie {
        lifter.note_access(&map, Access::Insert);
        let (key, flags) = (lifter.ir.value(2), lifter.ir.value(4));
        let error = lifter.update_trie(&map, key, flags);
        lifter.result(error, AbstractValue::NotStack);
        return Ok(());
    }
    if !matches!(map.class, MapClass::Array | MapClass::Hash) {
        return Err(cannot(&map, "slowpath does not support updates of"));
    }
    copied(&map)?;
    if map.class == MapClass::Hash && lifter.is_iterating_over(map.id) {
        let always =
            map.overwrites_in_place() && lifter.state.regs[4] == AbstractValue::Const(BPF_EXIST);
        if !always {
            let text = format!(
                "a callback of bpf_for_each_map_elem updates the map {} that it iterates over, so \
                 its number of calls is unbounded",
                map.def.name
            );
            return Err(Cause::new(
                codes::LOOP_UPDATES_ITS_MAP,
                text,
                "store the keys in the callback, and update the map after \
                 the call",
            ));
        }
    }
    lifter.note_access(&map, Access::Insert);
    let key = lifter.ir.value(2);
    let element = lifter.element(&map, key);
    match map.class {
        MapClass::Array => update_array(lifter, &map, element),
        _ => update_hash(lifter, &map, element),
    }
    Ok(())
}

/// Conditions on the flags that a program passes to a map update. Each is a 1-bit operand.
struct Flags {
    /// Set if maps of this type do not accept the flags.
    wrong: Operand,
    /// Set if `BPF_NOEXIST` is the only flag, apart from `BPF_F_LOCK`.
    new: Operand,
    /// Set if `BPF_EXIST` is the only flag, apart from `BPF_F_LOCK`.
    exist: Operand,
    /// Set if the flags contain `BPF_F_LOCK`.
    locked: Operand,
    /// Set if the flags contain `BPF_F_LOCK`, but the values of the map contain no lock.
    no_lock: Operand,
}

impl Flags {
    fn of(lifter: &mut Lifter<'_>, map: &MapOperand) -> Self {
        const LOCK: u64 = 4;
        let flags = lifter.ir.value(4);
        let lockable =
            matches!(map.def.kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY | MapKind::HASH);
        let absent =
            matches!(lifter.state.regs[4], AbstractValue::Const(flags) if flags & LOCK == 0);
        let lock = lock_of(lifter.object, &map.def);
        let emit = &mut lifter.ir.emit;
        let no = Operand::constant(1, 0);
        let (others, locked, no_lock) = if absent || !lockable {
            (flags, no, no)
        } else {
            let bit = emit.and(flags, word(LOCK));
            let unlocked = emit.eq(bit, word(0));
            let locked = emit.not(unlocked);
            let no_lock = match lock {
                Lock::Absent => locked,
                Lock::Present => no,
                Lock::Perhaps => {
                    let unknown =
                        emit.unknown_bit("whether values have a lock", &["yes", "no: -EINVAL"]);
                    emit.and(locked, unknown)
                }
            };
            (emit.and(flags, word(!LOCK)), locked, no_lock)
        };
        Flags {
            wrong: emit.ult(word(BPF_EXIST), others),
            new: emit.eq(others, word(BPF_NOEXIST)),
            exist: emit.eq(others, word(BPF_EXIST)),
            locked,
            no_lock,
        }
    }
}

/// Lifts `array_map_update_elem` and `bpf_percpu_array_update` (`arraymap.c`).
fn update_array(lifter: &mut Lifter<'_>, map: &MapOperand, element: ElementRef) {
    let flags = Flags::of(lifter, map);
    let value = lifter.ir.value(3);
    let exists = lifter.exists(map, element);
    let emit = &mut lifter.ir.emit;
    let error = emit.select(flags.no_lock, errno(EINVAL), word(0));
    let error = emit.select(flags.new, errno(EEXIST), error);
    let error = emit.select(exists, error, errno(E2BIG));
    let error = emit.select(flags.wrong, errno(EINVAL), error);
    let done = emit.eq(error, word(0));
    let address = lifter.value_address(map, element.number);
    lifter.copy_if(done, address, value, map.def.value_size);
    lifter.result(error, AbstractValue::NotStack);
}

/// Lifts `htab_map_update_elem` and its variants for LRU and per-CPU maps (`hashtab.c`).
fn update_hash(lifter: &mut Lifter<'_>, map: &MapOperand, element: ElementRef) {
    let (known_flags, value) = (lifter.state.regs[4], lifter.ir.value(3));
    let flags = Flags::of(lifter, map);
    // An LRU map evicts an element before it looks for the key, except in per-CPU updates with
    // `BPF_EXIST`. Eviction fails if other CPUs insert at the same time.
    let mut no_victim = Operand::constant(1, 0);
    if map.evicts() {
        let room = format!("room in {}", map.def.name);
        let emit = &mut lifter.ir.emit;
        let mut keeps_all = flags.wrong;
        if map.overwrites_in_place() {
            keeps_all = emit.or(keeps_all, flags.exist);
        }
        let evicts = emit.not(keeps_all);
        let failed = emit.unknown_bit(&room, &["yes", "no: -ENOMEM"]);
        no_victim = emit.and(evicts, failed);
        let succeeded = emit.not(failed);
        let evicted = emit.and(evicts, succeeded);
        lifter.evict(map, evicted);
    }
    let exists = lifter.exists(map, element);
    let full = if map.evicts() { no_victim } else { lifter.full(map) };
    let emit = &mut lifter.ir.emit;
    let mut no_room = word(0);
    let mut replaced = word(0);
    if map.def.flags & NO_PREALLOC != 0 {
        let failed = emit.unknown_bit("memory for the element", &["yes", "no: -ENOMEM"]);
        no_room = emit.select(failed, errno(ENOMEM), word(0));
        // In other map types and with `BPF_F_LOCK`, the kernel overwrites the old value in place.
        if map.def.kind == MapKind::HASH {
            let unlocked = emit.not(flags.locked);
            let failed = emit.and(failed, unlocked);
            replaced = emit.select(failed, errno(ENOMEM), word(0));
        }
    }
    let no_room = emit.select(full, errno(E2BIG), no_room);
    let inserted = emit.select(flags.exist, errno(ENOENT), no_room);
    let replaced = emit.select(flags.new, errno(EEXIST), replaced);
    let error = emit.select(exists, replaced, inserted);
    let error = emit.select(no_victim, errno(ENOMEM), error);
    let wrong = emit.or(flags.wrong, flags.no_lock);
    let error = emit.select(wrong, errno(EINVAL), error);
    let done = emit.eq(error, word(0));
    let absent = emit.not(exists);
    let inserted_new = emit.and(done, absent);
    lifter.count(map, inserted_new, Operand::constant(1, 0));
    lifter.disturb(map, element, done);
    // An LRU map writes the value of a new element before it checks the existence flags. The
    // evicted element is gone and overwritten even if the update fails. This is visible only if
    // slots are tracked.
    let early = map.evicts() && !map.overwrites_in_place() && map.layout.moved.is_some();
    let emit = &mut lifter.ir.emit;
    let fails = emit.or(wrong, full);
    let written = if early { emit.not(fails) } else { done };
    let update = Update { exists, done, in_place: flags.locked, written };
    let slot = lifter.slot_for_update(map, element, update);
    lifter.set_exists(map, element, done, true);
    if map.evicts() {
        lifter.keep(map, element, done);
    }
    let address = lifter.value_address(map, slot);
    lifter.copy_if(written, address, value, map.def.value_size);
    lifter.result(error, AbstractValue::NotStack);
    lifter.outdate(map, known_flags);
}

/// Lifts `bpf_map_delete_elem(map, key)`, which returns 0 or a negative error.
pub(super) fn delete(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    match map.class {
        MapClass::Array => {
            lifter.result(errno(EINVAL), AbstractValue::NotStack);
            Ok(())
        }
        MapClass::Hash => {
            lifter.note_access(&map, Access::Delete);
            let key = lifter.ir.value(2);
            let element = lifter.element(&map, key);
            let exists = lifter.exists(&map, element);
            lifter.set_exists(&map, element, exists, false);
            lifter.count(&map, Operand::constant(1, 0), exists);
            lifter.disturb(&map, element, exists);
            lifter.release_slot(&map, element, exists);
            lifter.state.replace_elements(map.id);
            let result = lifter.ir.emit.select(exists, word(0), errno(ENOENT));
            lifter.result(result, AbstractValue::NotStack);
            Ok(())
        }
        MapClass::Trie => {
            lifter.note_access(&map, Access::Delete);
            let key = lifter.ir.value(2);
            let error = lifter.delete_from_trie(&map, key);
            lifter.result(error, AbstractValue::NotStack);
            Ok(())
        }
        _ => Err(cannot(&map, "slowpath does not support deletions from")),
    }
}

/// Lifts `bpf_redirect_map(map, key, flags)`. It returns `XDP_REDIRECT`, or the action in the flags
/// if the map has no entry for the key (`__bpf_xdp_redirect_map` of `include/linux/filter.h`).
pub(super) fn redirect(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    const ACTIONS: u64 = 3;
    const BROADCAST: u64 = 8;
    const EXCLUDE_INGRESS: u64 = 16;
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if !matches!(map.class, MapClass::RedirectTargets | MapClass::RedirectTargetsByKey) {
        return Err(cannot(&map, "packets cannot be redirected with"));
    }
    let is_devmap = matches!(map.def.kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH);
    let allowed = if is_devmap { ACTIONS | BROADCAST | EXCLUDE_INGRESS } else { ACTIONS };
    let (key, flags) = (lifter.ir.value(2), lifter.ir.value(3));
    let index = lifter.ir.emit.extract(key, 0, 32);
    let element = match map.layout.keying {
        Keying::Interned => {
            return Err(cannot(
                &map,
                "slowpath supports only keys of 4 bytes for redirection, \
                unlike those of",
            ));
        }
        _ => lifter.element_of_number(&map, index),
    };
    lifter.note_access(&map, Access::LookUp);
    let exists = lifter.exists(&map, element);
    let emit = &mut lifter.ir.emit;
    let broadcast = emit.and(flags, word(BROADCAST));
    let single = emit.eq(broadcast, word(0));
    let broadcast = emit.not(single);
    let found = if is_devmap { emit.or(exists, broadcast) } else { exists };
    let fallback = emit.and(flags, word(ACTIONS));
    let action = emit.select(found, word(XDP_REDIRECT), fallback);
    let invalid_flags = emit.and(flags, word(!allowed));
    let flags_valid = emit.eq(invalid_flags, word(0));
    let result = emit.select(flags_valid, action, word(XDP_ABORTED));
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}
