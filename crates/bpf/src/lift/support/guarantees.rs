//! Lists what the kernel guarantees for calls on maps of each type: the table in
//! `docs/reference/support.md`.
//! The functions of [`crate::lift::helpers`] implement these guarantees;
//! `crates/kernel/tests/elements.rs` and `helpers.rs` compare them with the running kernel.

/// A row of the table in `docs/reference/support.md`: what the kernel guarantees for one call on
/// maps of some types.
pub(in crate::lift) struct Guarantee {
    /// Name of the called helper, without the prefix `bpf_`.
    pub call: &'static str,
    pub maps: &'static str,
    /// Result of a successful call.
    pub result: &'static str,
    /// Errors, with the conditions under which they can or must occur.
    pub errors: &'static str,
    /// Effects of the call on memory.
    pub effect: &'static str,
}

const fn row(
    call: &'static str,
    maps: &'static str,
    result: &'static str,
    errors: &'static str,
    effect: &'static str,
) -> Guarantee {
    Guarantee { call, maps, result, errors, effect }
}

#[rustfmt::skip]
pub(in crate::lift) const GUARANTEES: &[Guarantee] = &[
    row("map_lookup_elem", "array, percpu_array", "the value of the index", "null exactly for indices from max_entries on", "none"),
    row("map_lookup_elem", "hash, percpu_hash, devmap_hash", "the value of the key", "null exactly if the key is absent; never more keys exist than max_entries", "none"),
    row("map_lookup_elem", "lru_hash, lru_percpu_hash", "the value of the key", "null if the key is absent, or was evicted by an update of the same run; never more keys exist than max_entries, but with BPF_F_NO_COMMON_LRU", "none"),
    row("map_lookup_elem", "lpm_trie", "the value of the longest entry that is a prefix of the key and no longer", "null exactly if there is none, or for a key longer than the map's; look-ups in one trie agree with each other: of a run each with the 8 before it, or with all where there are no more than 8 places, none of which is come to twice; of prefixes up to 32 bytes", "none"),
    row("map_lookup_elem", "array_of_maps, hash_of_maps", "the map in the slot", "null exactly if it is empty", "none"),
    row("map_lookup_elem", "devmap, cpumap, xskmap", "the entry of the index", "null exactly if it is empty or out of range", "none"),
    row("map_update_elem", "array, percpu_array", "0", "in this order: EINVAL for unknown flags, E2BIG out of range, EEXIST for BPF_NOEXIST, EINVAL for BPF_F_LOCK without a lock", "the value is overwritten where it is"),
    row("map_update_elem", "hash", "0", "in this order: EINVAL for unknown flags and for BPF_F_LOCK without a lock; EEXIST, ENOENT as the flags say; E2BIG exactly if the key is absent and max_entries exist; ENOMEM possible with BPF_F_NO_PREALLOC", "the value is in another place from then on, but with BPF_F_LOCK; a pointer from before keeps the old bytes until the place is used again: by the next update that replaces an element, with BPF_F_NO_PREALLOC by the next element that is allocated"),
    row("map_update_elem", "percpu_hash", "0", "as hash; ENOMEM only for new keys", "an existing value is overwritten where it is"),
    row("map_update_elem", "lru_hash", "0", "EINVAL, EEXIST and ENOENT as hash, never E2BIG; ENOMEM possible before EEXIST and ENOENT, while other CPUs insert", "as hash, and any element may be evicted and its place used, so that of those from before at most max_entries - 1 stay; also when the call fails for a flag of existence, not with ENOMEM"),
    row("map_update_elem", "lpm_trie", "0", "in this order: EINVAL for unknown flags and for prefixes longer than the map's; ENOMEM possible; EEXIST, ENOENT as the flags say; ENOSPC possible if the prefix is absent", "later calls find any element; a path behind a look-up or change that depends on it relies on it"),
    row("map_update_elem", "lru_percpu_hash", "0", "as lru_hash", "an existing value is overwritten where it is; elements are evicted as in lru_hash, unless with BPF_EXIST"),
    row("map_delete_elem", "array, percpu_array", "none", "EINVAL always", "none"),
    row("map_delete_elem", "hash, percpu_hash", "0", "ENOENT exactly if the key is absent", "the value stays for pointers from before, until the next element that is inserted gets its place: there is room for one more"),
    row("map_delete_elem", "lru_hash, lru_percpu_hash", "0", "ENOENT if the key is absent or was evicted", "the value stays for pointers from before, until any insertion uses its place"),
    row("map_delete_elem", "lpm_trie", "0", "EINVAL for prefixes longer than the map's; ENOENT if the prefix is absent", "as map_update_elem"),
    row("map_push_elem", "queue, stack", "0", "EINVAL for flags other than BPF_EXIST; E2BIG exactly if max_entries are there, without BPF_EXIST", "the value is copied; with BPF_EXIST, the oldest element of a full map goes"),
    row("map_pop_elem", "queue, stack", "0", "ENOENT exactly if there is no element", "the oldest element (queue) or the newest (stack) is copied and goes; with ENOENT the value is cleared"),
    row("map_peek_elem", "queue, stack", "0", "ENOENT exactly if there is no element", "as map_pop_elem, and the element stays"),
    row("for_each_map_elem", "array, percpu_array", "one round for each index, up to the callback's first other result than 0", "EINVAL for flags", "the callback's"),
    row("for_each_map_elem", "hash, percpu_hash, lru_hash, lru_percpu_hash", "one round for each element that is there, in any order", "EINVAL for flags", "the callback's; one that updates the map is refused: how often it is called has no limit"),
    row("redirect_map", "devmap, cpumap, xskmap, devmap_hash", "XDP_REDIRECT", "the action in the flags if there is no such entry, XDP_ABORTED for unknown flags", "none"),
    row("tail_call", "prog_array", "does not return", "goes on behind an empty slot, an index out of range, or 33 tail calls", "the program in the slot runs"),
    row("ringbuf_reserve", "ringbuf", "a record of any content", "null with flags, and always for more bytes than the ring has; possible for others, as the reader decides", "none"),
    row("ringbuf_output", "ringbuf", "0", "EINVAL for unknown flags; EAGAIN always for more bytes than the ring has, possible for others", "none"),
    row("perf_event_output", "perf_event_array", "0", "as the table of helpers says", "none"),
];
