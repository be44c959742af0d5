//! Helpers that call back: `bpf_loop` (`kernel/bpf/bpf_iter.c`) and `bpf_for_each_map_elem`
//! (`kernel/bpf/arraymap.c`, `hashtab.c`). The callback is inlined into a loop.

use slowpath_ir::{Emit, Operand, Reading, Reg, RegionKind};

use super::emit::{errno, word};
use super::error::{Cause, VERIFIER};
use super::frame::{Phase, Place};
use super::helpers::behind;
use super::lifter::{Lifter, Next};
use super::maps::{Class, MapUse};
use super::value::Known;

const FOR_EACH_MAP_ELEM: i32 = 164;
const LOOP: i32 = 181;

const E2BIG: i64 = 7;
const EINVAL: i64 = 22;
/// `BPF_MAX_LOOPS`.
const MAX_LOOPS: u64 = 8 << 20;

/// Whether a helper is one of these.
pub(super) fn is(number: i32) -> bool {
    matches!(number, FOR_EACH_MAP_ELEM | LOOP)
}

/// What the blocks of a loop share.
struct Registers {
    /// Rounds begun.
    count: Reg,
    /// Rounds at most.
    limit: Reg,
    /// The error that stands for the result, or zero.
    error: Reg,
    /// The callback's last argument.
    context: Reg,
    /// The map that it goes through, if it does.
    map: Reg,
}

impl Lifter<'_> {
    fn loop_registers(&mut self, at: Place) -> Registers {
        let mut register = |what: &str, width| {
            self.machine.extra(&format!("loop {}.{} {what}", at.frame, at.slot), width)
        };
        Registers {
            count: register("count", 64),
            limit: register("limit", 64),
            error: register("error", 64),
            context: register("context", 64),
            map: register("map", 64),
        }
    }

    /// The call of such a helper: sets up the loop.
    pub(super) fn loop_start(&mut self, at: Place, number: i32) -> Result<Next, Cause> {
        self.state.keep_arguments(at);
        let registers = self.loop_registers(at);
        let flags = self.machine.value(4);
        let wrong_flags = self.machine.emit.eq(flags, word(0));
        let wrong_flags = self.machine.emit.not(wrong_flags);
        let (limit, error) = if number == LOOP {
            self.call_cost(at, None);
            let rounds = self.machine.value(1);
            let emit = &mut self.machine.emit;
            let rounds = emit.extract(rounds, 0, 32);
            let rounds = emit.zero_extend(rounds, 64);
            let many = emit.ult(word(MAX_LOOPS), rounds);
            let error = emit.select(many, errno(E2BIG), word(0));
            (rounds, error)
        } else {
            let map = self.map_in(1)?;
            self.call_cost(at, Some(map.def.kind));
            (self.elements(&map)?, word(0))
        };
        let emit = &mut self.machine.emit;
        let error = emit.select(wrong_flags, errno(EINVAL), error);
        let fine = emit.eq(error, word(0));
        let limit = emit.select(fine, limit, word(0));
        emit.copy(registers.limit, limit);
        emit.copy(registers.error, error);
        emit.copy(registers.count, word(0));
        let (map, context) = (self.machine.value(1), self.machine.value(3));
        self.machine.emit.copy(registers.map, map);
        self.machine.emit.copy(registers.context, context);
        self.state.regs[1..6].fill(Known::NoStack);
        Ok(Next::To(at.with(Phase::LoopTest)))
    }

    /// How many elements there are: any number, of maps whose elements come and go.
    fn elements(&mut self, map: &MapUse) -> Result<Operand, Cause> {
        match (map.class, map.fixed_size()) {
            (Class::Array, Some(size)) => Ok(word(size.into())),
            (Class::Array, None) => {
                let size = self.size(map);
                Ok(self.machine.emit.zero_extend(size, 64))
            }
            (Class::Hash, size) => {
                let most = size.unwrap_or(u32::MAX);
                let elements = format!("elements in {}", map.def.name);
                Ok(self.machine.emit.draw(&elements, Reading::Number, 64, most.into()))
            }
            _ => {
                let what =
                    format!("nothing goes through map {} of type {}", map.def.name, map.def.kind);
                Err(Cause::new(what, VERIFIER))
            }
        }
    }

    /// The later blocks of the loop.
    pub(super) fn loop_step(&mut self, at: Place, number: i32) -> Result<Next, Cause> {
        let Registers { count, limit, error, context, map } = self.loop_registers(at);
        match at.phase {
            Phase::LoopTest => {
                let more = self.machine.emit.ult(count, limit);
                let (body, done) = (at.with(Phase::LoopBody), at.with(Phase::LoopDone));
                Ok(Next::Either(more, body, done))
            }
            Phase::LoopBody => {
                let call = at.with(Phase::Start);
                let Known::Function(callback) = self.state.argument(call, 2) else {
                    let what = "which function the helper calls back differs between paths";
                    return Err(Cause::new(what, VERIFIER));
                };
                let emit = &mut self.machine.emit;
                let round = emit.capture(count.into());
                let next = emit.add(round, word(1));
                emit.copy(count, next);
                let context = (context.into(), self.state.argument(call, 3));
                if number == LOOP {
                    self.pass(1, round, Known::NoStack);
                    self.pass(2, context.0, context.1);
                } else {
                    self.pass(1, map.into(), self.state.argument(call, 1));
                    self.element_arguments(round, context)?;
                }
                let place = self.enter_function(at, callback, at.with(Phase::LoopNext))?;
                Ok(Next::To(place))
            }
            Phase::LoopNext => {
                let r0 = self.machine.value(0);
                let more = self.machine.emit.eq(r0, word(0));
                Ok(Next::Either(more, at.with(Phase::LoopTest), at.with(Phase::LoopDone)))
            }
            _ => {
                let emit = &mut self.machine.emit;
                let fine = emit.eq(error, word(0));
                let result = emit.select(fine, count, error);
                self.result(result, Known::NoStack);
                Ok(Next::To(behind(at)))
            }
        }
    }

    /// Passes an argument to a callback.
    fn pass(&mut self, number: u8, value: Operand, known: Known) {
        let reg = self.machine.reg(number);
        self.machine.emit.copy(reg, value);
        self.state.regs[usize::from(number)] = known;
    }

    /// The arguments for one element of the map in `r1`, which stays there: its key and its value.
    fn element_arguments(
        &mut self,
        round: Operand,
        context: (Operand, Known),
    ) -> Result<(), Cause> {
        let used = self.map_in(1)?;
        let scratch = self.machine.region(&format!("{}.key", used.layout.name), RegionKind::Stack);
        let key = self.machine.base(scratch);
        match used.class {
            Class::Array => {
                let index = self.machine.emit.extract(round, 0, 32);
                self.machine.emit.store(key, index);
            }
            // In any order.
            _ => self.havoc(key, used.def.key_size, "the element's key"),
        }
        let element = self.element(&used, key);
        let place = self.place(&used, element);
        let value = self.value_address(&used, place);
        self.pass(2, key, Known::NoStack);
        self.pass(3, value, Known::PerhapsValue);
        self.pass(4, context.0, context.1);
        Ok(())
    }
}
