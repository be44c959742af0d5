"""What an access to a variable of the function, or a call of another one, takes on the card.

Both depend on lengths and places alone. Sources: `mem_op_stack`, `wrp_lmem_load`, `wrp_lmem_store`
and `bpf_to_bpf_call` of the public driver, as our code generator has them (`emit/stack.rs`,
`emit/call.rs`). Variables are in local memory: words behind base register 0, which points to the
frame, or behind base register 3, which is set for the access.
"""

from slowpath.insights.blocks.machine.classes import BYTE
from slowpath.insights.blocks.machine.frames import Frame
from slowpath.insights.blocks.machine.instructions import Instruction

_NEAR = 64
"""Bytes that are reached behind base register 0."""
_WINDOW = 32
"""Bytes of a window behind base register 3."""
_RESTRICTED = 7
"""Greatest word that other instructions than arithmetic can name."""
_WORD, _DOUBLE = 4, 8
_ALIGNED = 64
"""Bytes that frames begin at a multiple of."""
_UNTIL_SET = 3
"""Instructions until a base register holds what it was set to."""


def access(one: Instruction, place: int, *, through: bool, zeros: bool) -> int:
    """Instructions of a load or store of a byte of the frame, counted from its lowest one.

    `through`: by the pointer, as the place differs between ways, or is in another frame; `zeros`:
    whether zeros are needed above what is loaded.
    """
    size = one.bits // 8
    loads, advances, taken = one.kind == "load", through, 0
    zeros = zeros and loads and size < _DOUBLE
    if through:
        taken = 1 + _is_large(one.offset)
    elif place + size > _NEAR:
        advances = place // _WINDOW != (place + size - 1) // _WINDOW
        step = _WORD if advances else _WINDOW
        taken = 1 + _is_large(place - place % step)
        place = place if advances else place % _WINDOW
    if taken:
        taken += 1 + _UNTIL_SET - zeros
    return taken + zeros + _pieces(size, place, loads=loads, advances=advances)


def _pieces(size: int, place: int, *, loads: bool, advances: bool) -> int:
    """Instructions that move bytes, for each part that is in one word and one register."""
    taken = byte = register = 0
    previous = None
    while size:
        place = place % _WORD if advances else place
        length = min(size, _WORD - byte, _WORD - place % _WORD)
        first, new, last = previous is None, previous != register, length == size
        if length == _WORD:
            taken += 1
        else:
            far, steps = place // _WORD > _RESTRICTED, advances and new and not last
            if loads:
                taken += 1 + (far and (first or not new)) + steps
            else:
                taken += 1 + (far and (first or last)) + (far and (new or last)) + steps
        previous = register
        register, byte = register + (byte + length) // _WORD, (byte + length) % _WORD
        size, place = size - length, place + length
    return taken


def call(caller: Frame, callee: Frame) -> int:
    """Instructions of a call: the frame is moved there and back, two addresses are passed."""
    depth = -(-caller.depth // _ALIGNED) * _ALIGNED
    moved = 2 * (2 + _is_large(depth)) + _UNTIL_SET if depth else 0
    return 2 + callee.saves + moved


def _is_large(number: int) -> bool:
    """Whether a constant takes an instruction of its own."""
    return not 0 <= number <= BYTE
