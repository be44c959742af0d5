//! Translates the control flow and the instructions of a pipeline.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use slowpath_codes as codes;
use slowpath_ir::{
    BinaryOp, Block, BlockId, CostClassId, CostEvent, Destination, Draw, Draws, Edge, Emit,
    InsnIdx, Operand, Program, Reg, Region, RegionId, RegionKind, RelianceId, Terminator,
    ValueFormat,
};

use super::emit::Emitter;
use super::layout::{COLOUR, ENTRY, HASH, Layout, MEMBER, OUTCOME, Work};
use super::options::LiftOptions;
use super::passes::{Pass, Passes, has_passes};
use super::start::{
    ACTION, ARRAYS, EARLIER, ENTRY_NUMBER, HEADERS, HIT, HeaderRegs, META, PACKET, PORT, Start,
};
use crate::code::{Base, Body, Code, Place, Resolved, Value, When};
use crate::error::SpecError;
use crate::spec::{Alu, Instruction, Line, Op, Operand as Source, Relation, Spec};

/// A result of a table lookup in the program: the pass, the index of the instruction `table` in
/// `apply`, and the index of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pass: Pass,
    site: usize,
    outcome: usize,
}

/// Key that identifies a block by the point of the pipeline at which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// An instruction: pass, table lookup whose action contains it (`None` for `apply`), and index
    /// in its body.
    Code(Pass, Option<Call>, usize),
    /// The test that decides whether a table lookup has this result.
    Test(Call),
    /// The start of the action that this result of a lookup selects.
    Enter(Call),
}

pub struct Lifter<'a> {
    spec: &'a Spec,
    resolved: &'a Resolved,
    start: Start,
    emit: Emitter,
    passes: Passes,
    /// Pass of the block that is being translated.
    pass: Pass,
    /// First error in the translated blocks: an instruction that cannot be analysed.
    fault: Option<SpecError>,
    /// Table lookups in the translated blocks: number of the pass, and index of the instruction in
    /// `apply`.
    looked_up: BTreeSet<(u32, usize)>,
    draws: Draws,
    classes: Vec<String>,
    /// Work of each cost class, by its index.
    work: Vec<Work>,
    /// For each body (the actions, then `apply`): indices of the instructions that DPDK executes in
    /// one step with the instruction before them.
    joined: Vec<BTreeSet<usize>>,
    reliances: Vec<String>,
    /// Index of the first instruction of each function: the actions, then `apply`.
    firsts: &'a [u32],
    /// Index of the region with the action data of each lookup, by number of the pass and index of
    /// the instruction in `apply`.
    entries: HashMap<(u32, usize), usize>,
    ids: HashMap<Key, BlockId>,
    queue: Vec<Key>,
}

/// Instructions and costs of a block under construction.
#[derive(Default)]
struct Open {
    insns: Vec<InsnIdx>,
    costs: Vec<CostEvent>,
}

impl<'a> Lifter<'a> {
    pub fn new(
        spec: &'a Spec,
        resolved: &'a Resolved,
        mut start: Start,
        firsts: &'a [u32],
    ) -> Result<Lifter<'a>, SpecError> {
        let mut emit = Emitter::new(std::mem::take(&mut start.regs));
        let mut entries = HashMap::new();
        for (site, code) in resolved.apply.code.iter().enumerate() {
            let Code::Table(table) = *code else { continue };
            let outcomes = &resolved.lookups[table].outcomes;
            if outcomes.iter().any(|one| spec.actions[one.action].data.is_some()) {
                entries.insert((0, site), start.regions.len());
                let line = spec.origin_of(spec.apply[site].line);
                let name =
                    format!("action data of {} in line {line}", resolved.lookups[table].name);
                let base = emit.temp(64);
                start.regions.push(Region { name, kind: RegionKind::Context, base, content: None });
            }
        }
        let passes = Passes::new(spec, resolved, &mut start.regions, |width| emit.temp(width))?;
        let actions = resolved.actions.iter().zip(spec.actions.iter().map(|one| &one.instructions));
        let bodies = actions.chain([(&resolved.apply, &spec.apply)]);
        Ok(Lifter {
            spec,
            resolved,
            start,
            emit,
            passes,
            pass: Pass::default(),
            fault: None,
            looked_up: BTreeSet::new(),
            draws: Draws::default(),
            classes: Vec::new(),
            work: Vec::new(),
            joined: bodies.map(|(body, texts)| joined(body, texts)).collect(),
            reliances: Vec::new(),
            firsts,
            entries,
            ids: HashMap::new(),
            queue: Vec::new(),
        })
    }

    /// Translates all reachable blocks.
    pub fn blocks(&mut self, lines: &[u32]) -> Result<Vec<Block>, SpecError> {
        self.refuse_loops_of_tables()?;
        self.id(Key::Code(Pass::default(), None, 0));
        let mut blocks = Vec::new();
        while blocks.len() < self.queue.len() {
            let key = self.queue[blocks.len()];
            let block = self.block(key, lines);
            blocks.push(block);
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
        }
        Ok(blocks)
    }

    /// Adds everything but blocks and instructions to a program.
    pub fn finish(self, program: &mut Program, options: &LiftOptions) {
        program.regs = self.emit.into_parts().0;
        program.draws = self.draws.into_table();
        program.cost_classes = self.classes;
        program.reliances = self.reliances;
        program.regions = self.start.regions.clone();
        self.start.prologue(program, options, self.spec.actions.len());
        let extracted = self.resolved.apply.code.iter().map(|code| match *code {
            Code::Extract(header, _) | Code::Lookahead(header) => {
                u64::from(self.resolved.header_room[header])
            }
            _ => 0,
        });
        // A length in metadata can be any number, and a loop may extract a header again.
        let unlimited = self.resolved.apply.code.iter().enumerate().any(|(at, code)| match *code {
            Code::Extract(_, length) => length.is_some(),
            Code::Jump(_, target) => target <= at,
            _ => false,
        });
        if unlimited
            || has_passes(self.resolved)
            || extracted.sum::<u64>() > options.min_packet.into()
        {
            program.assumptions.push(
                "each packet has the bytes of the headers that the pipeline extracts from it; DPDK \
                 does not check this"
                    .to_owned(),
            );
        }
    }

    /// Returns the meaning of the program's regions, inputs and instructions in terms of the
    /// pipeline.
    pub fn layout(&self) -> Layout {
        let arrays = 0..self.spec.register_arrays.len();
        let action_data = self.entries.iter().map(|(&place, &at)| (place, RegionId::from(at)));
        Layout {
            packet: RegionId::from(PACKET),
            metadata: RegionId::from(META),
            headers: RegionId::from(HEADERS),
            earlier: RegionId::from(EARLIER),
            rooms: self.start.headers.iter().map(|header| header.room).collect(),
            arrays: arrays.map(|array| RegionId::from(ARRAYS + array)).collect(),
            action_data: action_data.collect(),
            port: PORT,
            hit: HIT,
            action: ACTION,
            entry: ENTRY_NUMBER,
            lookups: self.resolved.lookups.clone(),
            firsts: self.firsts.to_vec(),
            work: self.work.clone(),
        }
    }

    /// Returns the names of the tables and selectors that a run may look up more than once.
    pub fn repeated(&self) -> Vec<String> {
        let code = &self.resolved.apply.code;
        let looked_up = self.looked_up.iter().filter_map(|(_, at)| match code[*at] {
            Code::Table(table) => Some(&self.resolved.lookups[table].name),
            Code::Select(selector, _) => Some(&self.spec.selectors[selector].name),
            _ => None,
        });
        let mut seen = BTreeSet::new();
        let found: BTreeSet<_> = looked_up.filter(|&name| !seen.insert(name)).cloned().collect();
        found.into_iter().collect()
    }

    /// Returns the names of the learners that a run looks up.
    pub fn learners(&self) -> Vec<String> {
        let looked_up = self.resolved.apply.code.iter().filter_map(|code| match *code {
            Code::Table(table) => Some(&self.resolved.lookups[table]),
            _ => None,
        });
        let found: BTreeSet<_> =
            looked_up.filter(|one| one.kind == "learner").map(|one| one.name.clone()).collect();
        found.into_iter().collect()
    }

    /// Returns the names of the register arrays that a run may read.
    pub fn read_arrays(&self) -> Vec<String> {
        let bodies = self.resolved.actions.iter().chain([&self.resolved.apply]);
        let read = bodies.flat_map(|body| &body.code).filter_map(|code| match *code {
            Code::RegisterRead(_, array, _) | Code::RegisterWrite(true, array, ..) => Some(array),
            _ => None,
        });
        let read: BTreeSet<usize> = read.collect();
        read.into_iter().map(|array| self.spec.register_arrays[array].name.clone()).collect()
    }

    /// Returns an error for a table or selector in a loop, because each iteration could find
    /// another entry.
    fn refuse_loops_of_tables(&self) -> Result<(), SpecError> {
        let code = &self.resolved.apply.code;
        let is_lookup = |one: &Code| matches!(one, Code::Table(_) | Code::Select(..));
        for (site, _) in code.iter().enumerate().filter(|(_, one)| is_lookup(one)) {
            let mut open = vec![site + 1];
            let mut seen = BTreeSet::new();
            while let Some(at) = open.pop() {
                if at >= code.len() || !seen.insert(at) {
                    continue;
                }
                match code[at] {
                    Code::Finish(_) => {}
                    Code::Jump(When::Always, target) => open.push(target),
                    Code::Jump(_, target) => open.extend([target, at + 1]),
                    _ => open.push(at + 1),
                }
            }
            if seen.contains(&site) {
                let line = self.spec.apply[site].line;
                let name = match code[site] {
                    Code::Table(table) => &self.resolved.lookups[table].name,
                    Code::Select(selector, _) => &self.spec.selectors[selector].name,
                    _ => unreachable!("only tables and selectors are looked up"),
                };
                let what = format!("a loop looks up '{name}' again; unroll the loop");
                return Err(SpecError::new(codes::SWX_UNSUPPORTED, line, what));
            }
        }
        Ok(())
    }

    fn id(&mut self, key: Key) -> BlockId {
        let next = BlockId::from(self.queue.len());
        let queue = &mut self.queue;
        *self.ids.entry(key).or_insert_with(|| {
            queue.push(key);
            next
        })
    }

    fn edge(&mut self, key: Key, costs: &[CostEvent]) -> Edge {
        Edge { target: Destination::Block(self.id(key)), costs: costs.to_vec() }
    }

    /// Returns the instruction list of an action or, for `None`, of `apply`: as resolved code, as
    /// parsed instructions, and with the index of its first instruction in the program.
    fn body(&self, call: Option<Call>) -> (&'a Body, &'a [Instruction], u32) {
        let (spec, resolved) = (self.spec, self.resolved);
        match call {
            None => (&resolved.apply, &spec.apply, self.firsts[spec.actions.len()]),
            Some(call) => {
                let action = self.outcome(call).action;
                (&resolved.actions[action], &spec.actions[action].instructions, self.firsts[action])
            }
        }
    }

    fn table_of(&self, site: usize) -> usize {
        match self.resolved.apply.code[site] {
            Code::Table(table) => table,
            ref other => unreachable!("a lookup is a table, not {other:?}"),
        }
    }

    fn outcome(&self, call: Call) -> &'a crate::code::Outcome {
        &self.resolved.lookups[self.table_of(call.site)].outcomes[call.outcome]
    }

    fn block(&mut self, key: Key, lines: &[u32]) -> Block {
        self.pass = match key {
            Key::Code(pass, ..) => pass,
            Key::Test(call) | Key::Enter(call) => call.pass,
        };
        let (call, index, inside) = match key {
            Key::Code(_, call, index) => (call, index, false),
            Key::Test(call) => {
                let outcomes = self.resolved.lookups[self.table_of(call.site)].outcomes.len();
                if call.outcome + 1 < outcomes {
                    return self.test(call);
                }
                self.enter(call);
                (Some(call), 0, true)
            }
            Key::Enter(call) => {
                self.enter(call);
                (Some(call), 0, true)
            }
        };
        let (body, texts, first) = self.body(call);
        let leaders = leaders(body);
        let mut open = Open::default();
        if inside && let Some(call) = call {
            open.costs.push(self.lookup_event(call));
        }
        let mut at = index;
        let terminator = loop {
            if leaders.contains(&at) && (at != index || inside) {
                break Terminator::Jump(self.edge(Key::Code(self.pass, call, at), &[]));
            }
            let insn = InsnIdx(first + at as u32);
            self.emit.insn = insn;
            open.insns.push(insn);
            if let Code::Table(table) = body.code[at] {
                break self.look_up(at, table);
            }
            let class = self.instruction_class(call, at, &texts[at], &body.code[at]);
            let event = CostEvent { insn, class };
            match self.instruction(call, at, &body.code[at], event, lines) {
                Some(terminator) => break terminator,
                None => open.costs.push(event),
            }
            at += 1;
        };
        // The block of an outcome without instructions of its own begins at the lookup.
        let first = InsnIdx(first + index as u32);
        Block { first, insns: open.insns, ops: self.emit.take_ops(), costs: open.costs, terminator }
    }

    /// Returns the block that tests whether the result of a lookup is the result in `call`.
    fn test(&mut self, call: Call) -> Block {
        let first = InsnIdx(self.firsts[self.spec.actions.len()] + call.site as u32);
        self.emit.insn = first;
        let number = Operand::constant(16, call.outcome as u64);
        let same = self.emit.binary(BinaryOp::Eq, self.start.choice, number);
        let cond = self.emit.condition(same);
        let next = Call { outcome: call.outcome + 1, ..call };
        let (taken, fallthrough) =
            (self.edge(Key::Enter(call), &[]), self.edge(Key::Test(next), &[]));
        let terminator = Terminator::Branch { cond, taken, fallthrough };
        Block { first, insns: vec![], ops: self.emit.take_ops(), costs: vec![], terminator }
    }

    /// Emits the effects that a lookup result has before its action starts: sets the hit flag, the
    /// action, the entry number and the action data.
    fn enter(&mut self, call: Call) {
        let outcome = self.outcome(call);
        self.emit.insn = InsnIdx(self.firsts[self.spec.actions.len()] + call.site as u32);
        self.emit.copy(self.start.hit, Operand::constant(1, outcome.hit.into()));
        self.emit.copy(self.start.action, Operand::constant(16, outcome.action as u64));
        let entry = if outcome.hit {
            let name = &self.resolved.lookups[self.table_of(call.site)].name;
            let draw = self.draws.id(Draw {
                call: format!("table {name}"),
                result: ENTRY.to_owned(),
                ..Draw::default()
            });
            self.emit.unknown(draw, 64, 1, u32::MAX.into())
        } else {
            Operand::constant(64, 0)
        };
        self.emit.copy(self.start.entry, entry);
        let Some(bytes) = &outcome.data else { return };
        let data = self.spec.actions[outcome.action].data.as_ref();
        let kind = data.and_then(|data| self.spec.structs.iter().find(|one| one.name == *data));
        let (mut offset, mut rest) = (0, &bytes[..]);
        for field in kind.iter().flat_map(|kind| &kind.fields) {
            let (known, later) = rest.split_at((field.bits as usize / 8).min(rest.len()));
            rest = later;
            for part in known.chunks(8) {
                let value = part.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                let place = Place { base: Base::Data, offset, bytes: part.len() as u32 };
                self.write(place, Operand::constant(64, value), Some(call));
                offset += part.len() as u32;
            }
        }
    }

    /// Returns the cost class of an instruction other than a table lookup.
    fn instruction_class(
        &mut self,
        call: Option<Call>,
        at: usize,
        instruction: &Instruction,
        code: &Code,
    ) -> CostClassId {
        let name = instruction.op.name();
        if let Code::Select(..) = code {
            let work = Work { price: "selector".to_owned(), lookup: None };
            return self.class("swx.table.selector".to_owned(), work);
        }
        let body = call.map_or(self.spec.actions.len(), |call| self.outcome(call).action);
        let joined = if self.joined[body].contains(&at) { ".next" } else { "" };
        let price = format!("{name}{joined}");
        self.class(format!("swx.{price}"), Work { price, lookup: None })
    }

    /// Returns the cost event of a table lookup with this result.
    fn lookup_event(&mut self, call: Call) -> CostEvent {
        let table = self.table_of(call.site);
        let lookup = &self.resolved.lookups[table];
        let result = if lookup.outcomes[call.outcome].hit { "hit" } else { "miss" };
        let kind = if lookup.kind == "lpm" { "wildcard" } else { lookup.kind };
        let work = Work { price: format!("table.{kind}.{result}"), lookup: Some(table) };
        let class = self.class(format!("swx.table.{}.{result}.{}", lookup.kind, lookup.name), work);
        CostEvent { insn: InsnIdx(self.firsts[self.spec.actions.len()] + call.site as u32), class }
    }

    /// Returns the cost class with this name. A new class gets the work `work`.
    fn class(&mut self, name: String, work: Work) -> CostClassId {
        let known = self.classes.iter().position(|class| *class == name);
        CostClassId::from(known.unwrap_or_else(|| {
            self.classes.push(name);
            self.work.push(work);
            self.classes.len() - 1
        }))
    }

    /// Emits a table lookup. Its cost is charged at the start of each result, because hits and
    /// misses cost differently.
    fn look_up(&mut self, site: usize, table: usize) -> Terminator {
        self.looked_up.insert((self.pass.number, site));
        self.add_entries(site);
        let lookup = &self.resolved.lookups[table];
        let names = lookup.outcomes.iter().map(|outcome| {
            let result = if outcome.hit { "hit" } else { "miss" };
            format!("{result}, action {}", self.spec.actions[outcome.action].name)
        });
        let draw = self.draws.id(Draw {
            call: format!("table {}", lookup.name),
            result: OUTCOME.to_owned(),
            reading: ValueFormat::Choices(Arc::from(names.collect::<Vec<_>>())),
            determined: false,
        });
        let most = lookup.outcomes.len() as u64 - 1;
        let chosen = self.emit.unknown(draw, 16, 0, most);
        self.emit.copy(self.start.choice, chosen);
        Terminator::Jump(self.edge(Key::Test(Call { pass: self.pass, site, outcome: 0 }), &[]))
    }

    /// Emits an instruction. If the instruction ends the block, returns the terminator, whose edges
    /// then carry the cost of the instruction.
    fn instruction(
        &mut self,
        call: Option<Call>,
        at: usize,
        code: &Code,
        event: CostEvent,
        lines: &[u32],
    ) -> Option<Terminator> {
        let here = Key::Code(self.pass, call, at + 1);
        match *code {
            // DPDK writes the port only for a packet from a port, not for a recirculated packet.
            Code::Receive(port) => {
                if self.pass.number == 0 {
                    let number = self.emit.input(PORT, 32);
                    self.write(port, number, call);
                }
                self.passes.start_emissions(&mut self.emit, &self.start);
            }
            Code::Recirculate => self.pass.recirculates = true,
            Code::Emit(header) => self.passes.emission(&mut self.emit, &self.start, at, header),
            Code::Finish(sends) => {
                let exit = Destination::Exit(lines[event.insn.index()]);
                let taken = Edge { target: exit, costs: vec![event] };
                if self.pass.recirculates {
                    let line = Line(lines[event.insn.index()]);
                    match self.next_pass(sends, line) {
                        Ok(next) => {
                            let start = self.edge(Key::Code(next, None, 0), &[event]);
                            return Some(Terminator::Jump(start));
                        }
                        Err(fault) => self.fault = Some(fault),
                    }
                }
                return Some(self.if_long_enough(taken, event));
            }
            Code::Nothing => {}
            Code::Pass(to) => {
                self.write(to, Operand::constant(64, self.pass.number.into()), call);
            }
            Code::Extract(header, length) => {
                let fixed = self.resolved.header_bytes[header].into();
                let mut bytes = Operand::constant(64, fixed);
                if let Some(length) = length {
                    let end = self.emit.binary(BinaryOp::Add, self.start.next, bytes);
                    self.require(end);
                    // DPDK adds modulo 2^32, so a negative length makes the header shorter.
                    let length = self.read(length, call);
                    let length = self.emit.resize(length, 32);
                    let fixed = Operand::constant(32, fixed);
                    let sum = self.emit.binary(BinaryOp::Add, length, fixed);
                    bytes = self.emit.zero_extend(sum, 64);
                }
                self.locate(header);
                let next = self.emit.binary(BinaryOp::Add, self.start.next, bytes);
                self.emit.copy(self.start.next, next);
                self.require(next);
                if length.is_some() {
                    let taken = self.edge(here, &[event]);
                    return Some(self.if_long_enough(taken, event));
                }
            }
            Code::Lookahead(header) => {
                self.locate(header);
                let bytes = Operand::constant(64, self.resolved.header_bytes[header].into());
                let end = self.emit.binary(BinaryOp::Add, self.start.next, bytes);
                self.require(end);
            }
            Code::Validate(header) => {
                let regs = &self.start.headers[header];
                let (valid, moving, room) = (regs.valid, regs.moving, regs.room);
                if let Some((address, own)) = moving {
                    let base = self.start.regions[HEADERS].base;
                    let outside = self.emit.offset(base.into(), room);
                    let chosen = self.emit.select(valid, address, outside);
                    self.emit.copy(address, chosen);
                    self.emit.copy(own, Operand::constant(1, 1));
                }
                self.emit.copy(valid, Operand::constant(1, 1));
            }
            Code::Invalidate(header) => {
                self.emit.copy(self.start.headers[header].valid, Operand::constant(1, 0));
            }
            Code::Move(to, from) => {
                let value = self.value(from, call);
                self.write(to, value, call);
            }
            Code::CopyBytes(to, from) => {
                let (target, source) = (self.address(to, call), self.address(from, call));
                self.emit.copy_bytes(target, source, to.bytes);
            }
            Code::Alu(alu, to, from) => self.alu(alu, to, from, call),
            Code::Checksum(add, to, from) => self.checksum(add, to, from, call),
            Code::Hash(to, ref function) => {
                let draw = Draw {
                    call: format!("hash {function}"),
                    result: HASH.to_owned(),
                    determined: true,
                    ..Draw::default()
                };
                self.draw(to, draw, 32, u32::MAX.into(), call);
            }
            Code::RegisterRead(to, array, index) => {
                let address = self.register(array, index, call);
                let value = self.emit.load(address, 8);
                self.write(to, value, call);
            }
            Code::RegisterWrite(add, array, index, from) => {
                let mut value = self.value(from, call);
                let address = self.register(array, index, call);
                if add {
                    let old = self.emit.load(address, 8);
                    value = self.emit.binary(BinaryOp::Add, old, value);
                }
                self.emit.store(address, value);
            }
            Code::Meter(to) => {
                let draw = Draw {
                    call: "meter".to_owned(),
                    result: COLOUR.to_owned(),
                    reading: ValueFormat::Names(&["green", "yellow", "red"]),
                    ..Draw::default()
                };
                // DPDK writes colours in little-endian order, also to headers.
                let draw = self.draws.id(draw);
                let colour = self.emit.unknown(draw, 64, 0, 2);
                let colour = self.emit.resize(colour, 8 * to.bytes as u8);
                let address = self.address(to, call);
                self.emit.store(address, colour);
            }
            Code::Select(_, to) => {
                self.looked_up.insert((self.pass.number, at));
                let draw =
                    Draw { call: "selector".into(), result: MEMBER.into(), ..Draw::default() };
                self.draw(to, draw, 32, u32::MAX.into(), call);
            }
            Code::Table(_) => unreachable!("lookups end their block"),
            Code::EntryId(to) => self.write(to, self.start.entry.into(), call),
            Code::Jump(When::Always, target) => {
                let key = Key::Code(self.pass, call, target);
                return Some(Terminator::Jump(self.edge(key, &[event])));
            }
            Code::Jump(When::Compare(relation, field, Value::Number(number)), target)
                if let Some(holds) = self.passes.decided(self.pass, relation, field, number) =>
            {
                let next = if holds { Key::Code(self.pass, call, target) } else { here };
                return Some(Terminator::Jump(self.edge(next, &[event])));
            }
            Code::Jump(when, target) => {
                let value = self.when(when, call);
                let cond = self.emit.condition(value);
                let taken = self.edge(Key::Code(self.pass, call, target), &[event]);
                let fallthrough = self.edge(here, &[event]);
                return Some(Terminator::Branch { cond, taken, fallthrough });
            }
            Code::Return => {
                let site = call.map_or(0, |call| call.site);
                return Some(Terminator::Jump(
                    self.edge(Key::Code(self.pass, None, site + 1), &[event]),
                ));
            }
        }
        None
    }

    /// Adds the region with the action data of a lookup in the current pass, unless it exists.
    fn add_entries(&mut self, site: usize) {
        let pass = self.pass.number;
        let Some(first) = self.entries.get(&(0, site)).copied() else { return };
        if self.entries.contains_key(&(pass, site)) {
            return;
        }
        let name = format!("{}, pass {}", self.start.regions[first].name, pass + 1);
        let base = self.emit.temp(64);
        self.entries.insert((pass, site), self.start.regions.len());
        self.start.regions.push(Region { name, kind: RegionKind::Context, base, content: None });
    }

    /// Emits the start of another pass, for an instruction after `recirculate` that sends the
    /// packet. Returns an error if the instruction drops the packet.
    fn next_pass(&mut self, sends: bool, line: Line) -> Result<Pass, SpecError> {
        if sends {
            let place = (self.pass, line);
            return self.passes.return_to_start(&mut self.emit, &self.start, place);
        }
        let what = "a packet may be dropped after 'recirculate', and DPDK then uses its memory \
                    again; move 'recirculate' to the tx that belongs to it";
        Err(SpecError::new(codes::SWX_UNSUPPORTED, line, what))
    }

    /// Returns a terminator that branches to `taken` if the packet contains all bytes that the run
    /// extracts. The model excludes all other packets.
    fn if_long_enough(&mut self, taken: Edge, event: CostEvent) -> Terminator {
        let length = self.emit.zero_extend(self.start.length, 64);
        let length = self.emit.offset(length, self.passes.before_packet);
        let short = self.emit.binary(BinaryOp::Ult, length, self.start.need);
        let enough = self.emit.not(short);
        let cond = self.emit.condition(enough);
        let fallthrough = Edge { target: Destination::Never, costs: vec![event] };
        Terminator::Branch { cond, taken, fallthrough }
    }

    /// Emits code that points a header to the next bytes of the packet, and makes the header valid.
    fn locate(&mut self, header: usize) {
        let base = self.start.regions[PACKET].base;
        let next = match self.passes.before_packet {
            0 => self.start.next.into(),
            before => {
                self.emit.binary(BinaryOp::Sub, self.start.next, Operand::constant(64, before))
            }
        };
        let here = self.emit.binary(BinaryOp::Add, base, next);
        let HeaderRegs { valid, moving, .. } = self.start.headers[header];
        if let Some((address, own)) = moving {
            self.emit.copy(address, here);
            self.emit.copy(own, Operand::constant(1, 1));
        }
        self.emit.copy(valid, Operand::constant(1, 1));
    }

    /// Emits code that records the requirement that the packet contains at least `bytes` bytes.
    fn require(&mut self, bytes: Operand) {
        let more = self.emit.binary(BinaryOp::Ult, self.start.need, bytes);
        let need = self.emit.select(more, bytes, self.start.need);
        self.emit.copy(self.start.need, need);
    }

    fn draw(&mut self, to: Place, draw: Draw, width: u8, max: u64, call: Option<Call>) {
        let draw = self.draws.id(draw);
        let value = self.emit.unknown(draw, width, 0, max);
        self.write(to, value, call);
    }

    /// Emits code that computes the address of a register. The index wraps around at the array's
    /// size, rounded up to a power of two as in DPDK.
    fn register(&mut self, array: usize, index: Value, call: Option<Call>) -> Operand {
        let index = self.value(index, call);
        let mask = u64::from(self.spec.register_arrays[array].size).next_power_of_two() - 1;
        let index = self.emit.binary(BinaryOp::And, index, Operand::constant(64, mask));
        let offset = self.emit.binary(BinaryOp::Shl, index, Operand::constant(64, 3));
        let base = self.start.regions[ARRAYS + array].base;
        self.emit.binary(BinaryOp::Add, base, offset)
    }

    /// Emits code that computes the address of a field, and returns it.
    fn address(&mut self, place: Place, call: Option<Call>) -> Operand {
        let offset = u64::from(place.offset);
        match place.base {
            Base::Meta => {
                let base = self.start.regions[META].base;
                self.emit.offset(base.into(), offset)
            }
            Base::Header(header) => {
                let HeaderRegs { moving, room, .. } = self.start.headers[header];
                let Some((address, own)) = moving else {
                    let base = self.start.regions[HEADERS].base;
                    return self.emit.offset(base.into(), room + offset);
                };
                let foreign = self.emit.not(own);
                let reliance = self.reliance(header);
                self.emit.rely(foreign, reliance);
                self.emit.offset(address.into(), offset)
            }
            Base::Data => {
                let region = call.and_then(|call| self.entries.get(&(call.pass.number, call.site)));
                let base = region.map(|&region| self.start.regions[region].base);
                let base: Reg =
                    base.unwrap_or_else(|| unreachable!("only actions have action data"));
                self.emit.offset(base.into(), offset)
            }
        }
    }

    /// Returns the reliance, a condition that the run needs, for a run that accesses a header
    /// before it extracts or validates the header.
    fn reliance(&mut self, header: usize) -> RelianceId {
        let name = &self.spec.headers[header].name;
        let text = match self.pass.number {
            0 => format!(
                "h.{name} is used before it is extracted or validated; its bytes are those of an \
                 earlier packet, and nothing else changes them meanwhile"
            ),
            _ => format!(
                "h.{name} is used in a further pass before this pass extracts or validates it; its \
                 bytes are none of those that the pass extracts"
            ),
        };
        let known = self.reliances.iter().position(|one| *one == text);
        RelianceId::from(known.unwrap_or_else(|| {
            self.reliances.push(text);
            self.reliances.len() - 1
        }))
    }

    /// Emits a load of a field, and returns its value with the width of the field.
    fn read(&mut self, place: Place, call: Option<Call>) -> Operand {
        let address = self.address(place, call);
        let value = self.emit.load(address, place.bytes as u8);
        if place.is_network_order() { self.emit.swap(value) } else { value }
    }

    /// Emits code that evaluates an operand, and returns the value, zero-extended to 64 bits.
    fn value(&mut self, value: Value, call: Option<Call>) -> Operand {
        match value {
            Value::Field(place) => {
                let value = self.read(place, call);
                self.emit.zero_extend(value, 64)
            }
            Value::Number(value) => Operand::constant(64, value),
        }
    }

    /// Emits a store of a number's low bits to a field.
    fn write(&mut self, place: Place, value: Operand, call: Option<Call>) {
        let mut value = self.emit.resize(value, 8 * place.bytes as u8);
        if place.is_network_order() {
            value = self.emit.swap(value);
        }
        let address = self.address(place, call);
        self.emit.store(address, value);
    }

    fn alu(&mut self, alu: Alu, to: Place, from: Value, call: Option<Call>) {
        let left = self.read(to, call);
        let right = self.value(from, call);
        let width = self.emit.width(left);
        let op = match alu {
            Alu::Add => BinaryOp::Add,
            Alu::Sub => BinaryOp::Sub,
            Alu::And => BinaryOp::And,
            Alu::Or => BinaryOp::Or,
            Alu::Xor => BinaryOp::Xor,
            Alu::Shl | Alu::Shr => {
                // CPUs shift 64-bit numbers by the amount modulo 64.
                let amount = self.emit.binary(BinaryOp::And, right, Operand::constant(64, 63));
                let left = self.emit.zero_extend(left, 64);
                let op = if alu == Alu::Shl { BinaryOp::Shl } else { BinaryOp::Lshr };
                let shifted = self.emit.binary(op, left, amount);
                return self.write(to, shifted, call);
            }
        };
        let right = self.emit.resize(right, width);
        let result = self.emit.binary(op, left, right);
        self.write(to, result, call);
    }

    fn checksum(&mut self, add: bool, to: Place, from: Place, call: Option<Call>) {
        let source = self.address(from, call);
        let mut words = Vec::new();
        let mut at = 0;
        while at < from.bytes {
            let bytes = (from.bytes - at).min(4);
            let address = self.emit.offset(source, at.into());
            let word = self.emit.load(address, bytes as u8);
            words.push(self.emit.zero_extend(word, 64));
            at += bytes;
        }
        let address = self.address(to, call);
        let old = self.emit.load(address, 2);
        let new = self.emit.checksum(add, old, &words);
        self.emit.store(address, new);
    }

    fn when(&mut self, when: When, call: Option<Call>) -> Operand {
        let (value, expected) = match when {
            When::Always => return Operand::constant(1, 1),
            When::Valid(header, expected) => (self.start.headers[header].valid.into(), expected),
            When::Hit(expected) => (self.start.hit.into(), expected),
            When::Action(action, expected) => {
                let number = Operand::constant(16, action as u64);
                (self.emit.binary(BinaryOp::Eq, self.start.action, number), expected)
            }
            When::Compare(relation, left, right) => {
                let left = self.read(left, call);
                let left = self.emit.zero_extend(left, 64);
                let right = self.value(right, call);
                match relation {
                    Relation::Eq => (self.emit.binary(BinaryOp::Eq, left, right), true),
                    Relation::Ne => (self.emit.binary(BinaryOp::Eq, left, right), false),
                    Relation::Lt => (self.emit.binary(BinaryOp::Ult, left, right), true),
                    Relation::Gt => (self.emit.binary(BinaryOp::Ult, right, left), true),
                }
            }
        };
        if expected { value } else { self.emit.not(value) }
    }
}

/// Returns the indices of a body's instructions that are targets of jumps.
fn leaders(body: &Body) -> BTreeSet<usize> {
    let targets = body.code.iter().filter_map(|code| match *code {
        Code::Jump(_, target) => Some(target),
        _ => None,
    });
    targets.collect()
}

/// Returns the indices of the instructions that DPDK executes together with the instruction before
/// them. They are up to eight consecutive extractions, and up to eight consecutive emissions with
/// the `tx` after them (`instr_pattern_extract_many_search` and `instr_pattern_emit_many_tx_search`
/// in lib/pipeline/rte_swx_pipeline.c of DPDK 22.11).
fn joined(body: &Body, texts: &[Instruction]) -> BTreeSet<usize> {
    const TOGETHER: usize = 8;
    let leaders = leaders(body);
    let mut found = BTreeSet::new();
    let mut length = 0; // extractions that run together, up to the one before
    for (at, text) in texts.iter().enumerate() {
        let extracts = matches!(text.op, Op::Extract { length: None, .. });
        let joins = extracts && (1..TOGETHER).contains(&length) && !leaders.contains(&at);
        length = if joins { length + 1 } else { usize::from(extracts) };
        if joins {
            found.insert(at);
        }
        if matches!(text.op, Op::Transmit { port: Source::Field(_) }) && !leaders.contains(&at) {
            let mut first = at;
            while first > at.saturating_sub(TOGETHER)
                && matches!(texts[first - 1].op, Op::Emit { .. })
                && (first == at || !leaders.contains(&first))
            {
                first -= 1;
            }
            found.extend(first + 1..=at);
        }
    }
    found
}
