//! Lists the kernel's guarantees for calls on maps of each type: the table in
//! `docs/reference/support.md`. The functions of [`crate::lift::helpers`] implement these
//! guarantees; `crates/kernel/tests/elements.rs` and `helpers.rs` compare them with the running
//! kernel.

/// A row of the table in `docs/reference/support.md`: the kernel's guarantees for one call on maps
/// of some types.
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
    row("map_lookup_elem", "array, percpu_array", "the value at the index", "null exactly for indices of max_entries or more", "none"),
    row("map_lookup_elem", "hash, percpu_hash, devmap_hash", "the value of the key", "null exactly if the key is absent; the map never has more than max_entries keys", "none"),
    row("map_lookup_elem", "lru_hash, lru_percpu_hash", "the value of the key", "null if the key is absent, or if an update of the same run evicted it; without BPF_F_NO_COMMON_LRU, the map never has more than max_entries keys", "none"),
    row("map_lookup_elem", "lpm_trie", "the value of the longest entry that is a prefix of the key", "null exactly if no entry is a prefix of the key, or if the key is longer than the keys of the map. For prefixes up to 32 bytes, lookups of a run agree: each with the 8 before it, or all, if the program has at most 8 lookups outside loops", "none"),
    row("map_lookup_elem", "array_of_maps, hash_of_maps", "the map in the slot", "null exactly if the slot is empty", "none"),
    row("map_lookup_elem", "devmap, cpumap, xskmap", "the entry at the index", "null exactly if the slot is empty or the index is out of range", "none"),
    row("map_update_elem", "array, percpu_array", "0", "in this order: EINVAL for unknown flags; E2BIG for an index out of range; EEXIST for BPF_NOEXIST; EINVAL for BPF_F_LOCK, if the value has no lock", "the kernel overwrites the value in place"),
    row("map_update_elem", "hash", "0", "in this order: EINVAL for unknown flags, and for BPF_F_LOCK if the value has no lock; EEXIST and ENOENT as the flags demand; E2BIG exactly if the key is absent and the map has max_entries keys; ENOMEM is possible with BPF_F_NO_PREALLOC", "without BPF_F_LOCK, the value moves to other memory. Behind an earlier pointer, the old bytes stay until the kernel reuses their memory: for the next update that replaces an element, or, with BPF_F_NO_PREALLOC, for the next allocated element"),
    row("map_update_elem", "percpu_hash", "0", "as hash; ENOMEM only for new keys", "the kernel overwrites an existing value in place"),
    row("map_update_elem", "lru_hash", "0", "EINVAL, EEXIST and ENOENT as hash; never E2BIG; while other CPUs insert, ENOMEM is possible before EEXIST and ENOENT", "as hash; in addition, the kernel may evict any element and reuse its memory, so at most max_entries - 1 of the earlier elements stay. This also holds if the call fails with EEXIST or ENOENT, but not with ENOMEM"),
    row("map_update_elem", "lpm_trie", "0", "in this order: EINVAL for unknown flags and for prefixes longer than the keys of the map; ENOMEM is possible; EEXIST and ENOENT as the flags demand; ENOSPC is possible if the prefix is absent", "later calls find any element; a path that depends on the element found relies on the model"),
    row("map_update_elem", "lru_percpu_hash", "0", "as lru_hash", "the kernel overwrites an existing value in place; without BPF_EXIST, it evicts elements as in lru_hash"),
    row("map_delete_elem", "array, percpu_array", "none", "always EINVAL", "none"),
    row("map_delete_elem", "hash, percpu_hash", "0", "ENOENT exactly if the key is absent", "behind an earlier pointer, the value stays until the next inserted element gets its memory; the map has room for one more element"),
    row("map_delete_elem", "lru_hash, lru_percpu_hash", "0", "ENOENT if the key is absent or was evicted", "behind an earlier pointer, the value stays until an insertion reuses its memory"),
    row("map_delete_elem", "lpm_trie", "0", "EINVAL for prefixes longer than the keys of the map; ENOENT if the prefix is absent", "as map_update_elem"),
    row("map_push_elem", "queue, stack", "0", "EINVAL for flags other than BPF_EXIST; without BPF_EXIST, E2BIG exactly if the map has max_entries elements", "the kernel copies the value; with BPF_EXIST, it removes the oldest element of a full map"),
    row("map_pop_elem", "queue, stack", "0", "ENOENT exactly if the map is empty", "the kernel copies and removes the oldest element (queue) or the newest (stack); with ENOENT, it clears the value"),
    row("map_peek_elem", "queue, stack", "0", "ENOENT exactly if the map is empty", "as map_pop_elem, but the element stays in the map"),
    row("for_each_map_elem", "array, percpu_array", "one call of the callback for each index, until the callback returns another result than 0", "EINVAL for any flag", "effects of the callback"),
    row("for_each_map_elem", "hash, percpu_hash, lru_hash, lru_percpu_hash", "one call of the callback for each element of the map, in any order", "EINVAL for any flag", "effects of the callback; slowpath refuses a callback that updates the map, because the number of its calls has no limit"),
    row("redirect_map", "devmap, cpumap, xskmap, devmap_hash", "XDP_REDIRECT", "the action in the flags if the map has no such entry; XDP_ABORTED for unknown flags", "none"),
    row("tail_call", "prog_array", "does not return", "the program continues after the call for an empty slot, an index out of range, and after 33 tail calls", "the kernel runs the program in the slot"),
    row("ringbuf_reserve", "ringbuf", "a record with any content", "null for any flag, and for more bytes than the ring buffer holds; otherwise null is possible, depending on the reader", "none"),
    row("ringbuf_output", "ringbuf", "0", "EINVAL for unknown flags; EAGAIN for more bytes than the ring buffer holds; otherwise EAGAIN is possible", "none"),
    row("perf_event_output", "perf_event_array", "0", "as in the table of helpers", "none"),
];
