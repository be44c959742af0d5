//! Lifts the helpers that call back a function of the program: `bpf_loop` (`kernel/bpf/bpf_iter.c`)
//! and `bpf_for_each_map_elem` (`kernel/bpf/arraymap.c`, `hashtab.c`). The callback is inlined into
//! a loop.

use slowpath_codes as codes;
use slowpath_ir::{Emit, Operand, Reg, RegionKind};

use crate::errno::{E2BIG, EINVAL};
use crate::insn::helper::{FOR_EACH_MAP_ELEM, LOOP};
use crate::insn::{Call, Insn};
use crate::lift::error::{Cause, INTERNAL, VERIFIER};
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::ir::emit::{errno, word};
use crate::lift::lifter::{Lifter, Next};
use crate::lift::loop_limits::MAX_LOOPS;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::uses::Access;
use crate::lift::state::value::{AbstractValue, MapId};

/// Registers of the lifted program for one call of a helper that loops. All blocks of the loop
/// share these registers.
struct LoopRegisters {
    /// Number of iterations that have started.
    count: Reg,
    /// Maximum number of iterations.
    limit: Reg,
    /// The error that the helper returns, or zero for success.
    error: Reg,
    /// Last argument of the callback.
    context: Reg,
    /// Map to iterate over, for `bpf_for_each_map_elem`.
    map: Reg,
    /// Number of disturbing changes of the map before the loop starts. A disturbing change makes
    /// the rest of an iteration depend on hash positions; see [`crate::lift::maps::iteration`].
    disturbances_at_start: Reg,
}

impl Lifter<'_> {
    fn loop_registers(&mut self, at: ProgramPoint) -> LoopRegisters {
        let mut register = |quantity: &str, width| {
            self.ir.extra(&format!("loop {}.{} {quantity}", at.frame, at.slot), width)
        };
        LoopRegisters {
            count: register("count", 64),
            limit: register("limit", 64),
            error: register("error", 64),
            context: register("context", 64),
            map: register("map", 64),
            disturbances_at_start: register("calm", 64),
        }
    }

    /// Returns the register that identifies the callback by the slot of its first instruction. It
    /// is needed if a call can have several callbacks.
    fn callback_register(&mut self, at: ProgramPoint) -> Reg {
        self.ir.extra(&format!("loop {}.{} callback", at.frame, at.slot), 64)
    }

    /// Lifts the first block of a call of a helper that calls back a function of the program. The
    /// block sets up the loop around the callback.
    pub(in crate::lift) fn loop_start(
        &mut self,
        at: ProgramPoint,
        number: i32,
    ) -> Result<Next, Cause> {
        self.state.keep_arguments(at);
        let registers = self.loop_registers(at);
        if let AbstractValue::OneOfFunctions(_) = self.state.regs[2] {
            let (callback, address) = (self.callback_register(at), self.ir.value(2));
            self.ir.emit.copy(callback, address);
        }
        let mut possible = Operand::constant(1, 1);
        let flags = self.ir.value(4);
        let wrong_flags = self.ir.emit.eq(flags, word(0));
        let wrong_flags = self.ir.emit.not(wrong_flags);
        let (limit, error) = if number == LOOP {
            self.call_cost(at, None);
            let max_iterations = match self.state.regs[1] {
                AbstractValue::Const(iterations) => iterations.min(MAX_LOOPS),
                _ => MAX_LOOPS,
            };
            self.limit_callbacks(at, number, max_iterations);
            self.iterations()
        } else {
            let map = self.map_in(1)?;
            self.call_cost(at, Some(map.def.kind));
            // If `max_entries` is unknown, its largest value is the limit.
            let max_iterations = map.most_elements().unwrap_or(u32::MAX);
            self.limit_callbacks(at, number, max_iterations.into());
            let iterations;
            (iterations, possible) = self.elements(&map, registers.disturbances_at_start)?;
            (iterations, word(0))
        };
        let emit = &mut self.ir.emit;
        let error = emit.select(wrong_flags, errno(EINVAL), error);
        let fine = emit.eq(error, word(0));
        let limit = emit.select(fine, limit, word(0));
        emit.copy(registers.limit, limit);
        emit.copy(registers.error, error);
        emit.copy(registers.count, word(0));
        let (map, context) = (self.ir.value(1), self.ir.value(3));
        self.ir.emit.copy(registers.map, map);
        self.ir.emit.copy(registers.context, context);
        self.state.regs[1..6].fill(AbstractValue::NotStack);
        let test = at.with(Phase::LoopTest);
        if let Operand::Const { .. } = possible {
            return Ok(Next::To(test));
        }
        let possible = self.ir.emit.or(possible, wrong_flags);
        Ok(Next::Assume(possible, test))
    }

    /// Returns the number of iterations of a `bpf_loop` call, and the error that it returns if
    /// there are too many iterations.
    ///
    /// The helper uses the low 32 bits of `r1` and returns a negative error. The verifier inlines
    /// the helper if the flags are the constant zero and the callback is the same on all paths. The
    /// inlined code compares all 64 bits of `r1`, and returns the low 32 bits of the error
    /// zero-extended (`update_loop_inline_state`, `inline_bpf_loop` of `kernel/bpf/verifier.c`,
    /// Linux 6.18).
    fn iterations(&mut self) -> (Operand, Operand) {
        /// Error that the code inlined by the verifier returns.
        const INLINE: u64 = -(E2BIG as i32) as u32 as u64;
        let known = self.state.regs[4];
        let requested = self.ir.value(1);
        let flags = self.ir.value(4);
        let emit = &mut self.ir.emit;
        let one_callback = matches!(self.state.regs[2], AbstractValue::Function(_));
        let inline = match known {
            AbstractValue::Const(0) if one_callback => Operand::constant(1, 1),
            AbstractValue::Const(flags) if flags != 0 => Operand::constant(1, 0),
            // The verifier may know more about the flags and the callback than this analysis.
            _ => {
                let no_flags = emit.eq(flags, word(0));
                let verifier_knows =
                    emit.unknown_bit("whether the verifier knows the flags", &["no", "yes"]);
                emit.and(no_flags, verifier_knows)
            }
        };
        let low = emit.extract(requested, 0, 32);
        let low = emit.zero_extend(low, 64);
        let iterations = emit.select(inline, requested, low);
        let too_many = emit.ult(word(MAX_LOOPS), iterations);
        let error = emit.select(inline, word(INLINE), errno(E2BIG));
        (iterations, emit.select(too_many, error, word(0)))
    }

    /// Returns the number of elements that the loop visits, and a 1-bit operand that is set if the
    /// map can have this many elements. Runs in which it is not set are impossible.
    fn elements(
        &mut self,
        map: &MapOperand,
        disturbances_at_start: Reg,
    ) -> Result<(Operand, Operand), Cause> {
        let possible = Operand::constant(1, 1);
        match (map.class, map.fixed_size()) {
            (MapClass::Array, Some(size)) => Ok((word(size.into()), possible)),
            (MapClass::Array, None) => {
                let size = self.size(map);
                Ok((self.ir.emit.zero_extend(size, 64), possible))
            }
            (MapClass::Hash, _) => {
                self.note_access(map, Access::Walk);
                Ok(self.begin_walk(map, disturbances_at_start))
            }
            _ => {
                let text = format!(
                    "bpf_for_each_map_elem does not support map {} of type {}",
                    map.def.name, map.def.kind
                );
                Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER))
            }
        }
    }

    /// Lifts one block of the loop around a callback: the block for the [`Phase`] of `at`.
    /// [`Lifter::loop_start`] lifts the first block.
    pub(in crate::lift) fn loop_step(
        &mut self,
        at: ProgramPoint,
        number: i32,
    ) -> Result<Next, Cause> {
        let LoopRegisters { count, limit, error, disturbances_at_start, .. } =
            self.loop_registers(at);
        match at.phase {
            Phase::LoopTest => {
                let mut more = self.ir.emit.ult(count, limit);
                if let Some(used) = self.iterated_hash_map(at, number)?
                    && let Some(disturbed) = self.disturbed(&used, disturbances_at_start)
                {
                    let most = used.most_elements().unwrap_or(u32::MAX);
                    let element = format!("another element of {}", used.layout.name);
                    let emit = &mut self.ir.emit;
                    let coin = emit.unknown_bit(&element, &["no", "yes"]);
                    let room = emit.ult(count, word(most.into()));
                    let any = emit.and(coin, room);
                    more = emit.select(disturbed, any, more);
                }
                let (body, done) = (at.with(Phase::LoopBody), at.with(Phase::LoopDone));
                Ok(Next::Branch(more, body, done))
            }
            Phase::LoopBody => {
                let enter = at.with(Phase::LoopEnter);
                let Some(used) = self.iterated_hash_map(at, number)? else {
                    return Ok(Next::To(enter));
                };
                let key = self.key_of_round(&used);
                // The kernel visits elements in any order, so the next key is unknown.
                self.havoc(key, used.def.key_size, "the element's key");
                let element = self.element(&used, key);
                let mut possible = self.walk_to(&used, element);
                if let Some(disturbed) = self.disturbed(&used, disturbances_at_start) {
                    possible = self.ir.emit.or(possible, disturbed);
                }
                Ok(match possible {
                    Operand::Const { .. } => Next::To(enter),
                    Operand::Reg(_) => Next::Assume(possible, enter),
                })
            }
            Phase::LoopEnter => match self.state.argument(at.with(Phase::Start), 2) {
                AbstractValue::Function(callback) => self.call_back(at, number, callback),
                AbstractValue::OneOfFunctions(functions) => {
                    Ok(Next::To(at.with(Phase::SelectCallback(functions.trailing_zeros()))))
                }
                _ => {
                    let text = "the callback of the helper is unknown";
                    let hint = "pass one of at most 128 functions by its constant address";
                    Err(Cause::new(codes::MAP_DIFFERS_BETWEEN_PATHS, text, hint))
                }
            },
            Phase::SelectCallback(callback) => self.which_callback(at, callback),
            Phase::Callback(callback) => self.call_back(at, number, callback),
            Phase::LoopNext => {
                let r0 = self.ir.value(0);
                let more = self.ir.emit.eq(r0, word(0));
                Ok(Next::Branch(more, at.with(Phase::LoopTest), at.with(Phase::LoopDone)))
            }
            _ => {
                let emit = &mut self.ir.emit;
                let fine = emit.eq(error, word(0));
                let result = emit.select(fine, count, error);
                self.result(result, AbstractValue::NotStack);
                Ok(Next::To(at.behind()))
            }
        }
    }

    /// Lifts the block that tests whether a call uses callback number `callback`, one of several
    /// that are possible.
    fn which_callback(&mut self, at: ProgramPoint, callback: u32) -> Result<Next, Cause> {
        let known = self.state.argument(at.with(Phase::Start), 2);
        let unit = self.unit(at);
        let (AbstractValue::OneOfFunctions(functions), Some(slot)) =
            (known, self.code.callback(unit, callback))
        else {
            return Err(Cause::new(
                codes::INTERNAL_ERROR,
                "the callbacks of a call are lost",
                INTERNAL,
            ));
        };
        let current = at.with(Phase::Callback(callback));
        let later = functions >> callback >> 1;
        if later == 0 {
            return Ok(Next::To(current));
        }
        let actual = self.callback_register(at);
        let same = self.ir.emit.eq(actual, word(slot as u64));
        let next = callback + 1 + later.trailing_zeros();
        Ok(Next::Branch(same, current, at.with(Phase::SelectCallback(next))))
    }

    /// Starts an iteration: passes the arguments and enters the callback.
    fn call_back(&mut self, at: ProgramPoint, number: i32, callback: u32) -> Result<Next, Cause> {
        let LoopRegisters { count, context, map, .. } = self.loop_registers(at);
        let call = at.with(Phase::Start);
        let function = self.code.callback(self.unit(at), callback);
        let function = function
            .ok_or_else(|| Cause::new(codes::INTERNAL_ERROR, "a callback is lost", INTERNAL))?;
        let emit = &mut self.ir.emit;
        let iteration = emit.capture(count.into());
        let next = emit.add(iteration, word(1));
        emit.copy(count, next);
        let context = (context.into(), self.state.argument(call, 3));
        if number == LOOP {
            self.pass(1, iteration, AbstractValue::NotStack);
            self.pass(2, context.0, context.1);
        } else {
            self.pass(1, map.into(), self.state.argument(call, 1));
            self.element_arguments(iteration, context)?;
        }
        let point = self.enter_function(at, function, at.with(Phase::LoopNext))?;
        Ok(Next::To(point))
    }

    /// Returns the hash map that a loop iterates over; `None` for arrays and `bpf_loop`.
    fn iterated_hash_map(
        &mut self,
        at: ProgramPoint,
        number: i32,
    ) -> Result<Option<MapOperand>, Cause> {
        if number != FOR_EACH_MAP_ELEM {
            return Ok(None);
        }
        let map = self.loop_registers(at).map;
        let known = self.state.argument(at.with(Phase::Start), 1);
        self.pass(1, map.into(), known);
        Ok(Some(self.map_in(1)?).filter(|used| used.class == MapClass::Hash))
    }

    /// Returns the address of the buffer for the element's key, which the callback of
    /// `bpf_for_each_map_elem` receives as an argument.
    fn key_of_round(&mut self, used: &MapOperand) -> Operand {
        // Nested iterations need separate buffers.
        let depth = self.frames.get(self.at.frame).depth;
        let name = format!("{}.key.{depth}", used.layout.name);
        let scratch = self.ir.region(&name, RegionKind::Stack);
        self.ir.base(scratch)
    }

    /// Returns true if the current call is inside the callback of an iteration over this map. An
    /// update inside the callback can move elements, visited or not, to later positions in the
    /// table. The kernel may then visit elements forever (`bpf_for_each_hash_elem`). Deletions do
    /// not move elements.
    pub(in crate::lift) fn is_iterating_over(&self, map: MapId) -> bool {
        let mut return_point = self.frames.get(self.at.frame).ret;
        while let Some(point) = return_point {
            let frame = self.frames.get(point.frame);
            let insn = self.code.program(frame.unit).insns.get(point.slot);
            let iterates = insn == Some(&Insn::Call(Call::Helper(FOR_EACH_MAP_ELEM)));
            let call = point.with(Phase::Start);
            if point.phase == Phase::LoopNext && iterates {
                let same = match self.state.argument(call, 1) {
                    AbstractValue::Map(number) => MapId::of_object(number) == map,
                    AbstractValue::InnerMap(outer) => MapId::inner_of(outer) == map,
                    _ => true,
                };
                if same {
                    return true;
                }
            }
            return_point = frame.ret;
        }
        false
    }

    /// Sets argument register `number` of a callback to `value`. `known` is the abstract value of
    /// this argument.
    fn pass(&mut self, number: u8, value: Operand, known: AbstractValue) {
        let reg = self.ir.reg(number);
        self.ir.emit.copy(reg, value);
        self.state.regs[usize::from(number)] = known;
    }

    /// Passes key, value and context to the callback of `bpf_for_each_map_elem`; `r1` already holds
    /// the map.
    fn element_arguments(
        &mut self,
        iteration: Operand,
        context: (Operand, AbstractValue),
    ) -> Result<(), Cause> {
        let used = self.map_in(1)?;
        let key = self.key_of_round(&used);
        if used.class == MapClass::Array {
            let index = self.ir.emit.extract(iteration, 0, 32);
            self.ir.emit.store(key, index);
        }
        let element = self.element(&used, key);
        let slot = self.value_slot(&used, element);
        let value = self.value_address(&used, slot);
        self.pass(2, key, AbstractValue::NotStack);
        self.pass(3, value, AbstractValue::MaybeMapValue);
        self.pass(4, context.0, context.1);
        Ok(())
    }
}
