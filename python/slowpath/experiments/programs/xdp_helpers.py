"""What the template of helper calls needs to know about each of them."""

from slowpath.experiments.specification.points import Settings, number_of

_BY_MAP = (
    "map_lookup_elem",
    "map_update_elem",
    "map_insert",
    "map_insert_delete",
    "map_delete_elem",
)
_OWN_MAP = {
    "perf_event_output": "PERF_EVENT_ARRAY",
    "ringbuf_output": "RINGBUF",
    "ringbuf_submit": "RINGBUF",
    "ringbuf_discard": "RINGBUF",
    "tail_call": "PROG_ARRAY",
}
_PLAIN = (
    "ktime_get_ns",
    "ktime_get_coarse_ns",
    "jiffies64",
    "get_prandom_u32",
    "get_smp_processor_id",
)
"""Helpers without arguments whose result is a number."""
_NUMBERED = ("array", "percpu_array", "devmap", "cpumap", "xskmap")
_FEW = ("devmap", "devmap_hash", "cpumap", "xskmap")
"""Maps whose values are numbers of 4 bytes."""


def helper_names(settings: Settings) -> dict[str, int | str]:
    """The map of a helper's calls, and whether it is one that only yields a number."""
    helper, kind = str(settings.get("helper", "")), str(settings.get("map", ""))
    if helper in _BY_MAP or helper == "redirect_map":
        map_type = kind.upper()
    else:
        map_type = _OWN_MAP.get(helper, "")
    return {
        "has_map": int(bool(map_type)),
        "helper_map": map_type,
        "helper_entries": 4 if kind in _FEW else 1024,
        "helper_key": 8 if map_type == "LPM_TRIE" else 4,
        "helper_value": 4 if helper in _OWN_MAP or kind in _FEW else 8,
        "helper_key_at": _key(map_type.lower()),
        "helper_plain": int(helper in _PLAIN),
        "helper_tail": int(helper in ("xdp_shrink_tail", "xdp_grow_tail")),
        "helper_record": int(helper in ("perf_event_output", "ringbuf_output")),
        "text": "x" * (number_of(settings, "bytes") - 1),
        "numbers": " %u" * number_of(settings, "arguments"),
        "record_words": number_of(settings, "bytes") // 8,
    }


def _key(kind: str) -> str:
    """Where the key stands: an index is 0, a prefix has its length in front."""
    if kind in _NUMBERED:
        return "&asked.zero"
    return "&asked.bits" if kind == "lpm_trie" else "&asked.key"
