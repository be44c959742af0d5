//! Helpers that look into maps and change them (`kernel/bpf/helpers.c`, `arraymap.c`, `hashtab.c`,
//! `lpm_trie.c`, `queue_stack_maps.c`).

use slowpath_ir::{Emit, Operand};

use crate::lift::emit::{errno, word};
use crate::lift::error::Cause;
use crate::lift::frame::Place;
use crate::lift::lifter::Lifter;
use crate::lift::maps::{Class, Keying, MapUse};
use crate::lift::value::Known;
use crate::maps::MapKind;

const ENOENT: i64 = 2;
const E2BIG: i64 = 7;
const ENOMEM: i64 = 12;
const EEXIST: i64 = 17;
const EINVAL: i64 = 22;

/// Flags of updates: only if absent, only if present.
const BPF_NOEXIST: u64 = 1;
const BPF_EXIST: u64 = 2;

/// Flag of hash maps that allocate elements when they are inserted (`BPF_F_NO_PREALLOC`).
const NO_PREALLOC: u32 = 1;

/// Values that are copied have to be small: every 8 bytes of them are an operation.
fn copied(map: &MapUse) -> Result<(), Cause> {
    const LARGEST: u32 = 1 << 16;
    let size = map.def.value_size;
    if size <= LARGEST {
        return Ok(());
    }
    let what = format!("values of map {} have {size} bytes", map.def.name);
    Err(Cause::new(what, "up to 65536 can be copied"))
}

fn cannot(map: &MapUse, what: &str) -> Cause {
    let hint = "docs/support.md lists what is supported";
    Cause::new(format!("{what} map {} of type {}", map.def.name, map.def.kind), hint)
}

/// `bpf_map_lookup_elem(map, key)`: the address of the value, or null.
pub(super) fn lookup(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    let key = lifter.machine.value(2);
    let known = match (map.class, lifter.state.regs[1]) {
        (Class::Maps, Known::Map(outer)) => Known::Inner(outer),
        (
            Class::Array | Class::Hash | Class::Trie | Class::Places | Class::PlacesByKey,
            Known::Map(map),
        ) => Known::MapValue { map, offset: Some(0) },
        (Class::Array | Class::Hash | Class::Trie | Class::Places | Class::PlacesByKey, _) => {
            Known::NoStack
        }
        _ => return Err(cannot(&map, "nothing can be looked up in")),
    };
    let in_trie = match map.class {
        Class::Trie => lifter.find_in_trie(&map, key),
        _ => None,
    };
    let (number, exists) = match in_trie {
        Some(found) => found,
        None => {
            let element = lifter.element(&map, key);
            let exists = lifter.exists(&map, element);
            (lifter.place(&map, element), exists)
        }
    };
    let address = lifter.value_address(&map, number);
    let value = lifter.machine.emit.select(exists, address, word(0));
    lifter.result(value, known);
    Ok(())
}

/// `bpf_map_update_elem(map, key, value, flags)`: 0 or a negative error.
pub(super) fn update(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if !matches!(map.class, Class::Array | Class::Hash) {
        return Err(cannot(&map, "no program can update"));
    }
    copied(&map)?;
    let (key, value, flags) =
        (lifter.machine.value(2), lifter.machine.value(3), lifter.machine.value(4));
    let element = lifter.element(&map, key);
    let exists = lifter.exists(&map, element);
    let (flags, unlockable) = locking(lifter, &map, flags);
    let lru = matches!(map.def.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
    let emit = &mut lifter.machine.emit;
    let wrong_flags = emit.ult(word(BPF_EXIST), flags);
    let must_be_new = emit.eq(flags, word(BPF_NOEXIST));
    let must_exist = emit.eq(flags, word(BPF_EXIST));
    let mut error = if map.class == Class::Array {
        let error = emit.select(must_be_new, errno(EEXIST), word(0));
        emit.select(exists, error, errno(E2BIG))
    } else {
        if matches!(map.def.kind, MapKind::HASH | MapKind::LRU_HASH) {
            // The kernel replaces the element; a pointer from before keeps the old value.
            let sentence = format!(
                "pointers to values of {} are not used after an update of the same key",
                map.def.name
            );
            lifter.assumptions.insert(sentence);
        }
        let room = format!("room in {}", map.def.name);
        let emit = &mut lifter.machine.emit;
        // Whether there is room for one more is up to what else is in the map.
        let answers = if lru { &["yes", "no: -ENOMEM"] } else { &["yes", "no: -E2BIG"] };
        let full = emit.coin(&room, answers);
        let number = if lru { ENOMEM } else { E2BIG };
        let mut no_room = emit.select(full, errno(number), word(0));
        let mut replaced = word(0);
        if map.def.flags & NO_PREALLOC != 0 {
            let failed = emit.coin("memory for the element", &["yes", "no: -ENOMEM"]);
            no_room = emit.select(failed, errno(ENOMEM), no_room);
            // Values of other types are overwritten in place.
            if map.def.kind == MapKind::HASH {
                replaced = emit.select(failed, errno(ENOMEM), replaced);
            }
        }
        let inserted = emit.select(must_exist, errno(ENOENT), no_room);
        let replaced = emit.select(must_be_new, errno(EEXIST), replaced);
        emit.select(exists, replaced, inserted)
    };
    let emit = &mut lifter.machine.emit;
    let wrong_flags = emit.or(wrong_flags, unlockable);
    error = emit.select(wrong_flags, errno(EINVAL), error);
    let done = emit.eq(error, word(0));
    lifter.set_exists(&map, element, done, true);
    let address = lifter.value_address(&map, element.number);
    lifter.copy_if(done, address, value, map.def.value_size);
    lifter.result(error, Known::NoStack);
    Ok(())
}

/// The flags of an update without `BPF_F_LOCK`, and whether it is there for a map whose values have
/// no lock; whether they have one is open here.
fn locking(lifter: &mut Lifter<'_>, map: &MapUse, flags: Operand) -> (Operand, Operand) {
    const LOCK: u64 = 4;
    let lockable = matches!(map.def.kind, MapKind::ARRAY | MapKind::HASH);
    let absent = matches!(lifter.state.regs[4], Known::Const(flags) if flags & LOCK == 0);
    if absent || !lockable {
        return (flags, Operand::constant(1, 0));
    }
    let emit = &mut lifter.machine.emit;
    let bit = emit.and(flags, word(LOCK));
    let unlocked = emit.eq(bit, word(0));
    let locked = emit.not(unlocked);
    let no_lock = emit.coin("whether values have a lock", &["yes", "no: -EINVAL"]);
    (emit.and(flags, word(!LOCK)), emit.and(locked, no_lock))
}

/// `bpf_map_delete_elem(map, key)`: 0 or a negative error.
pub(super) fn delete(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    match map.class {
        Class::Array => {
            lifter.result(errno(EINVAL), Known::NoStack);
            Ok(())
        }
        Class::Hash => {
            let key = lifter.machine.value(2);
            let element = lifter.element(&map, key);
            let exists = lifter.exists(&map, element);
            lifter.set_exists(&map, element, exists, false);
            let result = lifter.machine.emit.select(exists, word(0), errno(ENOENT));
            lifter.result(result, Known::NoStack);
            Ok(())
        }
        _ => Err(cannot(&map, "no program can delete from")),
    }
}

/// `bpf_map_push_elem(map, value, flags)`: 0, or an error when there is no room, unless the oldest
/// element makes room (`BPF_EXIST`).
pub(super) fn push(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if map.class != Class::Queue {
        return Err(cannot(&map, "nothing can be pushed to"));
    }
    let flags = lifter.machine.value(3);
    let room = format!("room in {}", map.def.name);
    let emit = &mut lifter.machine.emit;
    let full = emit.coin(&room, &["yes", "no: -E2BIG"]);
    let no_room = emit.select(full, errno(E2BIG), word(0));
    let none = emit.eq(flags, word(0));
    let replaces = emit.eq(flags, word(BPF_EXIST));
    let otherwise = emit.select(replaces, word(0), errno(EINVAL));
    let result = emit.select(none, no_room, otherwise);
    lifter.result(result, Known::NoStack);
    Ok(())
}

/// `bpf_map_pop_elem(map, value)` and `bpf_map_peek_elem`: any value, or an error when there is
/// none; the kernel clears the value then.
pub(super) fn pop(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if map.class != Class::Queue {
        return Err(cannot(&map, "nothing can be popped from"));
    }
    copied(&map)?;
    let (value, known) = (lifter.machine.value(2), lifter.state.regs[2]);
    lifter.havoc(value, map.def.value_size, "value");
    lifter.state.clobber(known);
    let element = format!("element in {}", map.def.name);
    let empty = lifter.machine.emit.coin(&element, &["yes", "no: -ENOENT"]);
    let result = lifter.machine.emit.select(empty, errno(ENOENT), word(0));
    lifter.result(result, Known::NoStack);
    Ok(())
}

/// `bpf_redirect_map(map, key, flags)`: `XDP_REDIRECT`, or the action in the flags if there is
/// nothing at the key (`__bpf_xdp_redirect_map` of `include/linux/filter.h`).
pub(super) fn redirect(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    const ACTIONS: u64 = 3;
    const BROADCAST: u64 = 8;
    const EXCLUDE_INGRESS: u64 = 16;
    let map = lifter.map_in(1)?;
    lifter.call_cost(at, Some(map.def.kind));
    if !matches!(map.class, Class::Places | Class::PlacesByKey) {
        return Err(cannot(&map, "packets cannot be redirected with"));
    }
    let many = matches!(map.def.kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH);
    let allowed = if many { ACTIONS | BROADCAST | EXCLUDE_INGRESS } else { ACTIONS };
    let (key, flags) = (lifter.machine.value(2), lifter.machine.value(3));
    let index = lifter.machine.emit.extract(key, 0, 32);
    let element = match map.layout.keying {
        Keying::Interned => {
            return Err(cannot(&map, "the key of a redirection has 4 bytes, not so"));
        }
        _ => lifter.element_of_number(&map, index),
    };
    let exists = lifter.exists(&map, element);
    let emit = &mut lifter.machine.emit;
    let broadcast = emit.and(flags, word(BROADCAST));
    let single = emit.eq(broadcast, word(0));
    let broadcast = emit.not(single);
    let found = if many { emit.or(exists, broadcast) } else { exists };
    let fallback = emit.and(flags, word(ACTIONS));
    let action = emit.select(found, word(super::XDP_REDIRECT), fallback);
    let strange = emit.and(flags, word(!allowed));
    let fine = emit.eq(strange, word(0));
    let result = emit.select(fine, action, word(super::XDP_ABORTED));
    lifter.result(result, Known::NoStack);
    Ok(())
}
