"""Helpers and map types of the kernel."""

from slowpath import _core

HELPERS = dict(enumerate(_core.helper_names(), 1))
"""Names of helpers by number (`enum bpf_func_id`)."""
HELPER_NUMBERS = {name: number for number, name in HELPERS.items()}
MAP_KINDS = {name: number for number, name in _core.map_kinds()}
"""Numbers of map types (`enum bpf_map_type`) by the name that `bpftool` prints."""
MAP_KIND_NAMES = {number: name for name, number in MAP_KINDS.items()}
