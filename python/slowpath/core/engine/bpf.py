"""The kernel's helpers and map types; functions of BPF objects as tokens for learnt models."""

from slowpath import _core
from slowpath.core.engine.errors import errors_as_file_errors

HELPERS = dict(enumerate(_core.helper_names(), 1))
"""Names of helpers by number (`enum bpf_func_id`)."""
HELPER_NUMBERS = {name: number for number, name in HELPERS.items()}
MAP_KINDS = {name: number for number, name in _core.map_kinds()}
"""Numbers of map types (`enum bpf_map_type`) by the name that `bpftool` prints."""
MAP_KIND_NAMES = {number: name for name, number in MAP_KINDS.items()}
Functions = _core.Functions
"""All functions of an object, including those that are not programs; from `read_functions`."""
Given = _core.Given
"""Known properties of an argument or of a function's result."""


def read_functions(file: str, data: bytes) -> Functions:
    """Read the functions of an object; `file` is its name in errors.

    Raises:
        InputError: if the object cannot be read.
    """
    with errors_as_file_errors(file):
        return _core.Functions(data)
