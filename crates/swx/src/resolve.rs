//! Resolves the names in a pipeline: fields become offsets in memory, and labels become instruction
//! indices. Applies the rules of DPDK 22.11, which rejects a pipeline that breaks them.

mod names;
mod tables;

use crate::code::{Base, Body, Code, Place, Resolved, Value, When};
use crate::error::SpecError;
use crate::spec::{
    Condition, FieldRef, Instruction, Line, Op, Operand, Relation, Spec, Struct, Summand,
};
use names::{Names, Within, fault, numbered, unknown, unsupported};

/// Resolves the names of a pipeline.
///
/// # Errors
/// Returns [`SpecError`] for the first item that DPDK 22.11 rejects, or that the analysis does not
/// support.
pub fn resolve(spec: &Spec) -> Result<Resolved, SpecError> {
    let names = Names::new(spec)?;
    let actions = spec.actions.iter().enumerate().map(|(index, action)| {
        let body = names.body(&action.instructions, Some((index, action)), action.line)?;
        Ok(body)
    });
    let actions = actions.collect::<Result<Vec<Body>, SpecError>>()?;
    let mut lookups = Vec::new();
    for selector in &spec.selectors {
        names.selector(selector)?;
    }
    for table in &spec.tables {
        lookups.push(names.table(table)?);
    }
    for learner in &spec.learners {
        lookups.push(names.learner(learner)?);
    }
    let end = spec.apply.last().map_or(Line::default(), |last| last.line);
    let apply = names.body(&spec.apply, None, end)?;
    check_apply(spec)?;
    let header = |header: &crate::spec::Header| names.structs[header.kind.as_str()];
    let room = |kind: &Struct| kind.bits() / 8;
    let fixed = |kind: &Struct| {
        let last = kind.fields.last().map_or(0, |field| field.bits);
        (kind.bits() - if kind.variable { last } else { 0 }) / 8
    };
    Ok(Resolved {
        header_bytes: spec.headers.iter().map(header).map(fixed).collect(),
        header_room: spec.headers.iter().map(header).map(room).collect(),
        lookups,
        actions,
        apply,
    })
}

/// Checks that `apply` starts with `rx`, contains `tx` or `drop`, and ends with one of them or a
/// jump.
fn check_apply(spec: &Spec) -> Result<(), SpecError> {
    let (Some(first), Some(last)) = (spec.apply.first(), spec.apply.last()) else {
        return Err(fault(Line(1), "the block 'apply' is empty; begin it with rx"));
    };
    if !matches!(first.op, Op::Receive { .. }) {
        return Err(fault(first.line, "the first instruction of 'apply' is not rx; add rx"));
    }
    let leaves = |op: &Op| matches!(op, Op::Transmit { .. } | Op::Drop);
    if !spec.apply.iter().any(|instruction| leaves(&instruction.op)) {
        return Err(fault(last.line, "the block 'apply' has no tx and no drop; add one"));
    }
    let jump = matches!(last.op, Op::Jump { condition: Condition::Always, .. });
    if !leaves(&last.op) && !jump {
        return Err(fault(last.line, "the last instruction of 'apply' is not tx, drop or jmp"));
    }
    if let Some(second) = spec.apply.iter().skip(1).find(|i| matches!(i.op, Op::Receive { .. })) {
        return Err(unsupported(second.line, "a second 'rx' takes another packet; keep only one"));
    }
    let to_first = |instruction: &&Instruction| match &instruction.op {
        Op::Jump { target, .. } => first.label.as_ref() == Some(target),
        _ => false,
    };
    match spec.apply.iter().find(to_first) {
        Some(jump) => {
            Err(unsupported(jump.line, "a jump to 'rx' loses the packet; use tx or drop"))
        }
        None => Ok(()),
    }
}

impl Names<'_> {
    fn body(
        &self,
        instructions: &[Instruction],
        within: Within,
        opened: Line,
    ) -> Result<Body, SpecError> {
        let labelled = instructions.iter().filter_map(|one| Some((one.label.as_ref()?, one.line)));
        numbered("label", labelled)?;
        let position =
            |label: &str| instructions.iter().position(|one| one.label.as_deref() == Some(label));
        let mut code = Vec::new();
        for (index, instruction) in instructions.iter().enumerate() {
            let one = self.op(instruction.line, &instruction.op, within, &position)?;
            if matches!(one, Code::Jump(_, target) if target == index) {
                return Err(fault(instruction.line, "the instruction jumps to itself"));
            }
            code.push(one);
        }
        let end = instructions.last().map(|last| &last.op);
        let ends = matches!(
            end,
            Some(
                Op::Return
                    | Op::Transmit { .. }
                    | Op::Drop
                    | Op::Jump { condition: Condition::Always, .. }
            )
        );
        if within.is_some() && !ends {
            let line = instructions.last().map_or(opened, |last| last.line);
            return Err(fault(line, "the action does not end in return, tx, drop or jmp"));
        }
        Ok(Body { code })
    }

    fn op(
        &self,
        line: Line,
        op: &Op,
        within: Within,
        position: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Code, SpecError> {
        let only_apply = match op {
            Op::Receive { .. }
            | Op::Extract { .. }
            | Op::Lookahead { .. }
            | Op::Table { .. }
            | Op::Jump {
                condition:
                    Condition::Hit | Condition::Miss | Condition::Action(_) | Condition::NotAction(_),
                ..
            } => Some(true),
            Op::Learn { .. } | Op::Rearm { .. } | Op::Forget | Op::Return => Some(false),
            _ => None,
        };
        if only_apply == Some(within.is_some()) {
            let place = if within.is_some() { "an action" } else { "'apply'" };
            return Err(fault(line, format!("DPDK does not run '{}' in {place}", op.name())));
        }
        let field = |field| self.field(line, field, within);
        let value = |operand| self.value(line, operand, within);
        Ok(match op {
            Op::Receive { port } => Code::Receive(self.meta(line, port)?),
            Op::Transmit { port } => {
                value(port)?;
                Code::Finish(true)
            }
            Op::Drop => Code::Finish(false),
            Op::Mirror { slot, session } => {
                for one in [slot, session] {
                    if matches!(one, FieldRef::Header { .. }) {
                        return Err(fault(line, "'mirror' does not read header fields"));
                    }
                    field(one)?;
                }
                Code::Nothing
            }
            Op::Recirculate => Code::Recirculate,
            Op::RecirculationId { pass } => Code::Pass(self.meta(line, pass)?),
            Op::Extract { header, length } => {
                let header = self.header(line, header)?;
                let variable = self.header_kind(header).variable;
                if variable != length.is_some() {
                    let need = if variable { "needs" } else { "takes no" };
                    return Err(fault(
                        line,
                        format!("this header {need} length of a varbit field"),
                    ));
                }
                let length = length.as_ref().map(|length| self.meta(line, length)).transpose()?;
                Code::Extract(header, length)
            }
            Op::Lookahead { header } => {
                let header = self.header(line, header)?;
                if self.header_kind(header).variable {
                    return Err(fault(line, "'lookahead' takes no header with a varbit field"));
                }
                Code::Lookahead(header)
            }
            Op::Emit { header } => Code::Emit(self.header(line, header)?),
            Op::Validate { header } => Code::Validate(self.header(line, header)?),
            Op::Invalidate { header } => Code::Invalidate(self.header(line, header)?),
            Op::Move { to, from } => self.mov(line, to, from, within)?,
            Op::Alu { alu, to, from } => Code::Alu(*alu, self.target(line, to)?, value(from)?),
            Op::ChecksumAdd { to, from } => {
                let to = self.checksum(line, to)?;
                match from {
                    Summand::Field(from) => Code::Checksum(true, to, self.part(line, from)?),
                    Summand::Header(name) => {
                        let header = self.header(line, name)?;
                        let kind = self.header_kind(header);
                        if kind.variable {
                            let what = format!(
                                "the checksum of 'h.{name}' depends on the length of its varbit \
                                 field; slowpath reads only checksums of headers with one length"
                            );
                            return Err(unsupported(line, what));
                        }
                        // DPDK adds whole words of 4 bytes.
                        let bytes = kind.bits() / 8 / 4 * 4;
                        let from = Place { base: Base::Header(header), offset: 0, bytes };
                        Code::Checksum(true, to, from)
                    }
                }
            }
            Op::ChecksumSub { to, from } => {
                Code::Checksum(false, self.checksum(line, to)?, self.part(line, from)?)
            }
            Op::Hash { function, to, first, last } => {
                self.hash(line, Some(function))?;
                let (first, last) =
                    (self.wide(line, first, within)?, self.wide(line, last, within)?);
                if first.base != last.base {
                    return Err(fault(line, "the fields of 'hash' belong to different structs"));
                }
                Code::Hash(self.meta(line, to)?, function.clone())
            }
            Op::RegisterPrefetch { array, index } => {
                Names::number(&self.registers, "register array", line, array)?;
                value(index)?;
                Code::Nothing
            }
            Op::RegisterRead { to, array, index } => Code::RegisterRead(
                self.target(line, to)?,
                Names::number(&self.registers, "register array", line, array)?,
                self.index(line, index, within)?,
            ),
            Op::RegisterWrite { array, index, from } | Op::RegisterAdd { array, index, from } => {
                Code::RegisterWrite(
                    matches!(op, Op::RegisterAdd { .. }),
                    Names::number(&self.registers, "register array", line, array)?,
                    self.index(line, index, within)?,
                    value(from)?,
                )
            }
            Op::MeterPrefetch { array, index } => {
                Names::number(&self.meters, "meter array", line, array)?;
                value(index)?;
                Code::Nothing
            }
            Op::Meter { array, index, length, colour, to } => {
                Names::number(&self.meters, "meter array", line, array)?;
                value(index)?;
                field(length)?;
                value(colour)?;
                Code::Meter(self.target(line, to)?)
            }
            Op::Table { table } => {
                let number = Names::number(&self.tables, "table", line, table)?;
                let (tables, selectors) = (self.spec.tables.len(), self.spec.selectors.len());
                match number.checked_sub(tables) {
                    None => Code::Table(number),
                    Some(selector) if selector < selectors => {
                        Code::Select(selector, self.selector(&self.spec.selectors[selector])?)
                    }
                    Some(_) => Code::Table(number - selectors),
                }
            }
            Op::Learn { action, data, timeout } => {
                let number = Names::number(&self.actions, "action", line, action)?;
                if within.is_some_and(|(own, _)| number >= own) {
                    let what = format!("the action '{action}' does not precede its user; move it");
                    return Err(fault(line, what));
                }
                self.meta(line, timeout)?;
                if data.is_some() != self.spec.actions[number].data.is_some() {
                    let what = format!("the action data does not fit the action '{action}'");
                    return Err(fault(line, what));
                }
                if let Some(data) = data {
                    self.meta(line, data)?;
                }
                Code::Nothing
            }
            Op::Rearm { timeout } => {
                timeout.as_ref().map(|timeout| self.meta(line, timeout)).transpose()?;
                Code::Nothing
            }
            Op::Forget => Code::Nothing,
            Op::EntryId { to } => Code::EntryId(self.meta(line, to)?),
            Op::Extern { .. } => {
                return Err(unsupported(
                    line,
                    "the instruction 'extern' calls C code that slowpath cannot read; remove the call",
                ));
            }
            Op::Jump { condition, target } => {
                let to = position(target).ok_or_else(|| unknown(line, "label", target))?;
                Code::Jump(self.when(line, condition, within)?, to)
            }
            Op::Return => Code::Return,
        })
    }

    fn when(&self, line: Line, condition: &Condition, within: Within) -> Result<When, SpecError> {
        Ok(match condition {
            Condition::Always => When::Always,
            Condition::Valid(header) => When::Valid(self.header(line, header)?, true),
            Condition::Invalid(header) => When::Valid(self.header(line, header)?, false),
            Condition::Hit => When::Hit(true),
            Condition::Miss => When::Hit(false),
            Condition::Action(action) | Condition::NotAction(action) => When::Action(
                Names::number(&self.actions, "action", line, action)?,
                matches!(condition, Condition::Action(_)),
            ),
            Condition::Compare { relation, left, right } => {
                let left = self.field(line, left, within)?;
                let mut right = self.value(line, right, within)?;
                // DPDK shortens the number to the width of a header field, but only here.
                if let (Relation::Eq | Relation::Ne, true, Value::Number(number)) =
                    (relation, left.is_network_order(), &mut right)
                {
                    *number &= u64::MAX >> (64 - 8 * left.bytes);
                }
                When::Compare(*relation, left, right)
            }
        })
    }

    fn mov(
        &self,
        line: Line,
        to: &FieldRef,
        from: &Operand,
        within: Within,
    ) -> Result<Code, SpecError> {
        let Operand::Field(source) = from else {
            return Ok(Code::Move(self.target(line, to)?, self.value(line, from, within)?));
        };
        let (left, right) = (self.wide(line, to, None)?, self.wide(line, source, within)?);
        if left.bytes <= 8 && right.bytes <= 8 {
            return Ok(Code::Move(left, Value::Field(right)));
        }
        if left.bytes != right.bytes {
            let what = format!(
                "'{to}' has {} bits and '{source}' has {}; fields of over 64 bits need equal widths",
                8 * left.bytes,
                8 * right.bytes
            );
            return Err(fault(line, what));
        }
        Ok(Code::CopyBytes(left, right))
    }

    /// Resolves the checksum field of `ckadd` or `cksub`, a header field of 16 bits.
    fn checksum(&self, line: Line, to: &FieldRef) -> Result<Place, SpecError> {
        let place = self.part(line, to)?;
        if place.bytes != 2 {
            return Err(fault(line, format!("the checksum '{to}' does not have 16 bits")));
        }
        Ok(place)
    }

    /// Resolves a header field that `ckadd` or `cksub` uses.
    fn part(&self, line: Line, field: &FieldRef) -> Result<Place, SpecError> {
        let place = self.field(line, field, None)?;
        match place.base {
            Base::Header(_) => Ok(place),
            Base::Meta | Base::Data => {
                Err(fault(line, format!("'{field}' is not a header field, as checksums need")))
            }
        }
    }
}
