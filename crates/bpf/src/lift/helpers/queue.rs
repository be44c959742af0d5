//! Lifts the helpers for queues and stacks (`kernel/bpf/queue_stack_maps.c`).
//!
//! Elements are numbered in the order of insertion. The elements present at the start have the
//! numbers from 0, oldest first. The lifted program tracks the numbers of the oldest and of the
//! next element.

use slowpath_ir::{Emit, Operand, Reg, ValueFormat};

use crate::errno::{E2BIG, EINVAL, ENOENT};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::map::{cannot, copied};
use crate::lift::ir::emit::{errno, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::operand::MapOperand;
use crate::lift::state::value::AbstractValue;
use crate::maps::MapKind;

/// Flag of a push operation with which a full queue drops its oldest element.
const BPF_EXIST: u64 = 2;

/// Registers with the numbers of the oldest element of a queue and of the next element to be
/// pushed.
struct Ends {
    /// Number of the oldest element.
    oldest: Reg,
    /// Number that the next pushed element will have.
    next: Reg,
}

impl Lifter<'_> {
    fn ends(&mut self, map: &MapOperand) -> Ends {
        let name = &map.layout.name;
        let oldest = self.ir.start_zero(&format!("{name}.oldest"), 64);
        let next = self.ir.extra(&format!("{name}.next"), 64);
        if self.has_unknown_elements(map) {
            // After changes by other CPUs, only the number of elements matters, not their numbers.
            let quantity = format!("elements in {name}");
            let emit = &mut self.ir.emit;
            let count = emit.draw(&quantity, ValueFormat::Number, 64, map.def.max_entries.into());
            let behind = emit.add(oldest, count);
            emit.copy(next, behind);
        }
        Ends { oldest, next }
    }

    /// Returns the map on which a queue helper is called, and adds the cost of the call. Fails for
    /// queues inside maps of maps; the error starts with `what`, a description of the call.
    fn queue(&mut self, at: ProgramPoint, what: &str) -> Result<MapOperand, Cause> {
        let map = self.map_in(1)?;
        self.call_cost(at, Some(map.def.kind));
        if map.class != MapClass::Queue || map.layout.inner || map.layout.free_elements.is_none() {
            return Err(cannot(&map, what));
        }
        copied(&map)?;
        self.note_queue(&map);
        Ok(map)
    }
}

/// Lifts `bpf_map_push_elem(map, value, flags)`, which returns 0, or an error if the queue is full.
/// With `BPF_EXIST`, a full queue drops its oldest element.
pub(super) fn push(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let map = lifter.queue(at, "elements cannot be pushed to")?;
    let (value, flags) = (lifter.ir.value(2), lifter.ir.value(3));
    let Ends { oldest, next } = lifter.ends(&map);
    let emit = &mut lifter.ir.emit;
    let count = emit.sub(next, oldest);
    let room = emit.ult(count, word(map.def.max_entries.into()));
    let full = emit.not(room);
    let no_flags = emit.eq(flags, word(0));
    let replaces = emit.eq(flags, word(BPF_EXIST));
    let no_room = emit.select(full, errno(E2BIG), word(0));
    let other_flags = emit.select(replaces, word(0), errno(EINVAL));
    let error = emit.select(no_flags, no_room, other_flags);
    let done = emit.eq(error, word(0));
    let dropped = emit.and(done, full);
    let dropped = emit.zero_extend(dropped, 64);
    let first = emit.add(oldest, dropped);
    let inserted = emit.zero_extend(done, 64);
    let behind = emit.add(next, inserted);
    let address = lifter.value_address(&map, next.into());
    lifter.copy_if(done, address, value, map.def.value_size);
    lifter.ir.emit.copy(oldest, first);
    lifter.ir.emit.copy(next, behind);
    lifter.result(error, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_map_pop_elem(map, value)`, which removes the oldest element of a queue or the newest
/// of a stack. If the map is empty, it returns an error and clears the value.
pub(super) fn pop(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    take(lifter, at, true)
}

/// Lifts `bpf_map_peek_elem(map, value)`, which is like `bpf_map_pop_elem`, but the element stays
/// in the map.
pub(super) fn peek(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    take(lifter, at, false)
}

fn take(lifter: &mut Lifter<'_>, at: ProgramPoint, pops: bool) -> Result<(), Cause> {
    let map = lifter.queue(at, "elements cannot be popped from")?;
    let (value, known) = (lifter.ir.value(2), lifter.state.regs[2]);
    let Ends { oldest, next } = lifter.ends(&map);
    let stack = map.def.kind == MapKind::STACK;
    let emit = &mut lifter.ir.emit;
    let empty = emit.eq(oldest, next);
    let present = emit.not(empty);
    let newest = emit.sub(next, word(1));
    let number: Operand = if stack { newest } else { oldest.into() };
    let source = lifter.value_address(&map, number);
    let is_unknown = lifter.has_unknown_elements(&map);
    for (offset, size) in chunks(map.def.value_size) {
        let unknown = is_unknown.then(|| lifter.any_bytes(size));
        let emit = &mut lifter.ir.emit;
        let from = emit.add(source, word(offset));
        let piece = unknown.unwrap_or_else(|| emit.load(from, size));
        let piece = emit.select(present, piece, Operand::constant(8 * size, 0));
        let to = emit.add(value, word(offset));
        emit.store(to, piece);
    }
    lifter.state.clobber(known);
    let emit = &mut lifter.ir.emit;
    if pops && stack {
        let rest = emit.select(present, newest, next);
        emit.copy(next, rest);
    } else if pops {
        let removed = emit.zero_extend(present, 64);
        let rest = emit.add(oldest, removed);
        emit.copy(oldest, rest);
    }
    let result = emit.select(present, word(0), errno(ENOENT));
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}
