"""Helpers and map types of the kernel; functions of BPF objects, as tokens."""

from slowpath import _core
from slowpath.core.engine.errors import errors_as_file_errors

HELPERS = dict(enumerate(_core.helper_names(), 1))
"""Names of helpers by number (`enum bpf_func_id`)."""
HELPER_NUMBERS = {name: number for number, name in HELPERS.items()}
MAP_KINDS = {name: number for number, name in _core.map_kinds()}
"""Numbers of map types (`enum bpf_map_type`) by the name that `bpftool` prints."""
MAP_KIND_NAMES = {number: name for name, number in MAP_KINDS.items()}
Functions = _core.Functions
"""The functions of an object, which need not be programs; from `read_functions`."""
Given = _core.Given
"""Knowledge about an argument, or about a function's result."""


def read_functions(file: str, data: bytes) -> Functions:
    """Read the functions of an object; `file` is its name in errors.

    Raises:
        InputError: if the object cannot be read.
    """
    with errors_as_file_errors(file):
        return _core.Functions(data)
