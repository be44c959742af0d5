"""Runs XDP programs in the running kernel by libbpf, and reads and writes their maps."""

import ctypes
import errno
import os
from collections.abc import Iterator, Sequence
from ctypes import c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import NamedTuple

import oracles

_ROOM = 1 << 16
_STACK, _OF_MAPS = 23, (12, 13)
"""Numbers of `enum bpf_map_type`."""


class _Options(ctypes.Structure):
    """The C structure `struct bpf_test_run_opts` of libbpf."""

    _fields_ = (
        ("size", c_size_t),
        ("data_in", c_void_p),
        ("data_out", c_void_p),
        ("data_size_in", c_uint32),
        ("data_size_out", c_uint32),
        ("context_in", c_void_p),
        ("context_out", c_void_p),
        ("context_size_in", c_uint32),
        ("context_size_out", c_uint32),
        ("result", c_uint32),
        ("repeat", c_int),
        ("duration", c_uint32),
        ("flags", c_uint32),
        ("cpu", c_uint32),
        ("batch_size", c_uint32),
    )


class _MapOptions(ctypes.Structure):
    """The C structure `struct bpf_map_create_opts` of libbpf."""

    _fields_ = (
        ("size", c_size_t),
        ("types", c_uint32 * 5),
        ("flags", c_uint32),
        ("extra", c_uint64),
        ("node", c_uint32),
        ("device", c_uint32),
    )


class Answer(NamedTuple):
    """The return value of a program for a packet, and the packet after the run."""

    result: int
    packet: bytes


def loads(file: Path) -> bool:
    """Return true if libbpf can load the object into the running kernel."""
    lib = _library()
    opened = c_void_p(lib.bpf_object__open_file(str(file).encode(), None))
    taken = opened.value is not None and lib.bpf_object__load(opened) == 0
    lib.bpf_object__close(opened)
    return taken


def _library() -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL("libbpf.so.1")
    except OSError as problem:
        oracles.missing("libbpf", str(problem))
    for name in (
        *("bpf_object__open_file", "bpf_object__find_program_by_name"),
        "bpf_object__find_map_by_name",
    ):
        getattr(lib, name).restype = c_void_p
    lib.libbpf_set_print(None)
    return lib


class Loaded:
    """An object file loaded into the kernel, with one of its programs; `close` releases both."""

    def __init__(self, file: Path, program: str) -> None:
        self._lib = _library()
        self._inner = dict[str, tuple[int, int]]()
        self._object = c_void_p(self._lib.bpf_object__open_file(str(file).encode(), None))
        if self._lib.bpf_object__load(self._object):
            self.close()
            oracles.missing("kernel", f"{file.name} is not loaded here")
        found = self._lib.bpf_object__find_program_by_name(self._object, c_char_p(program.encode()))
        self._program = self._lib.bpf_program__fd(c_void_p(found))

    def run(self, packet: bytes) -> Answer:
        """Run the program on a packet, and return its result."""
        data, out = ctypes.create_string_buffer(packet), ctypes.create_string_buffer(_ROOM)
        options = _Options(
            size=ctypes.sizeof(_Options),
            data_in=ctypes.addressof(data),
            data_out=ctypes.addressof(out),
            data_size_in=len(packet),
            data_size_out=_ROOM,
            repeat=1,
        )
        code = self._lib.bpf_prog_test_run_opts(self._program, ctypes.byref(options))
        assert code == 0, f"the kernel does not run {len(packet)} bytes: {code}"
        return Answer(options.result, out.raw[: options.data_size_out])

    def make(
        self, name: str, kind: int, sizes: tuple[int, int, int], flags: int, extra: int
    ) -> None:
        """Create an inner map of the BPF map type `kind`.

        `sizes` are the bytes of a key, the bytes of a value, and max_entries.
        """
        options = _MapOptions(size=ctypes.sizeof(_MapOptions), flags=flags, extra=extra)
        made = self._lib.bpf_map_create(kind, None, *sizes, ctypes.byref(options))
        assert made >= 0, f"the kernel does not make {name}: {errno.errorcode[-made]}"
        self._inner[name] = made, kind

    def fill(self, name: str, entries: Sequence[dict[str, str | int]]) -> None:
        """Put entries, in the form of a file for `--maps`, into a map of the loaded object.

        Queues and stacks return them in the given order. The entries replace those that the object
        put into a map of maps.
        """
        map_, found = self._map(name), self._found(name)
        kind = self._lib.bpf_map__type(found) if found else self._inner[name][1]
        if kind in _OF_MAPS:
            for key in self.keys(name):
                self._lib.bpf_map_delete_elem(map_, key)
        for one in entries[::-1] if kind == _STACK else entries:
            index = bytes.fromhex(str(one["key"])) if "key" in one else None
            if "program" in one:
                name_ = str(one["program"]).encode()
                program = self._lib.bpf_object__find_program_by_name(self._object, name_)
                value = self._lib.bpf_program__fd(c_void_p(program)).to_bytes(4, "little")
            elif "map" in one:
                value = self._map(str(one["map"])).to_bytes(4, "little")
            elif "value" in one:
                value = bytes.fromhex(str(one["value"]))
            else:
                continue
            code = self._lib.bpf_map_update_elem(map_, index, value, c_uint64(0))
            assert code == 0, f"the kernel does not take {one} for {name}: {errno.errorcode[-code]}"

    def keys(self, name: str) -> list[bytes]:
        """Return the keys of a map whose keys have 4 bytes; for an array, all indices."""
        found, following = list[bytes](), ctypes.create_string_buffer(4)
        last = None
        while self._lib.bpf_map_get_next_key(self._map(name), last, following) == 0:
            last = following.raw
            found.append(last)
        return found

    def entries(self, name: str, key: int, value: int) -> dict[bytes, bytes]:
        """Return the entries of a map; `key` and `value` are the sizes in bytes of each."""
        return dict(self._entries(name, key, value))

    def _entries(self, name: str, key: int, value: int) -> Iterator[tuple[bytes, bytes]]:
        map_ = self._map(name)
        at, following = None, ctypes.create_string_buffer(key)
        content = ctypes.create_string_buffer(value)
        while self._lib.bpf_map_get_next_key(map_, at, following) == 0:
            if self._lib.bpf_map_lookup_elem(map_, following, content) == 0:
                yield following.raw[:key], content.raw[:value]
            at = ctypes.create_string_buffer(following.raw[:key], key)

    def _found(self, name: str) -> c_void_p | None:
        """Return the loaded object's map with this name; None if the object does not have it."""
        found = self._lib.bpf_object__find_map_by_name(self._object, name.encode())
        return c_void_p(found) if found else None

    def _map(self, name: str) -> int:
        found = self._found(name)
        return self._inner[name][0] if found is None else int(self._lib.bpf_map__fd(found))

    def close(self) -> None:
        """Close the object and the inner maps."""
        for made, _ in self._inner.values():
            os.close(made)
        self._lib.bpf_object__close(self._object)
