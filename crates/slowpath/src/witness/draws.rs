//! Describes the values that a path receives from outside the program ([`Op::Unknown`]), such as
//! random numbers. A packet takes the path only if certain instructions yield these values. With
//! the descriptions, users can repeat the run.

use super::support::Support;
use crate::result::Unknown;
use slowpath_bpf::errno_name;
use slowpath_exec::concrete::Environment;
use slowpath_ir::{Draw, InputId, InsnIdx, Op, OriginOp, Program, ValueFormat};
use slowpath_search::{FoundPath, Unrolled};
use slowpath_smt::TermId;
use std::collections::{HashMap, HashSet};

/// A value that an instruction on the path receives from outside, such as a random number.
pub(super) struct Drawn<'a> {
    insn: InsnIdx,
    /// Width of the value in bits.
    width: u8,
    draw: &'a Draw,
    /// Term that stands for the value in the path's conditions.
    pub term: TermId,
}

impl Drawn<'_> {
    /// Returns the input that stands for the clock's time at the start of the program, if the value
    /// is a time. Returns `None` for other values.
    pub fn clock(&self) -> Option<InputId> {
        match self.draw.reading {
            ValueFormat::Time(start) => Some(start),
            _ => None,
        }
    }
}

/// Returns all values that the path receives from outside the program, such as random numbers, in
/// order.
pub(super) fn of<'a>(unrolled: &'a Unrolled, found: &FoundPath) -> Vec<Drawn<'a>> {
    let (executor, program) = (&unrolled.executor, unrolled.executor.program());
    let by = |ops: &'a [OriginOp], terms: &'a [TermId]| {
        let draws = ops.iter().filter_map(|origin| match origin.op {
            Op::Unknown { dst, draw, .. } => Some((origin.insn, dst, draw)),
            _ => None,
        });
        draws.zip(terms).map(|((insn, dst, draw), &term)| Drawn {
            insn,
            width: program.width(dst),
            draw: &program.draws[draw.index()],
            term,
        })
    };
    let mut all: Vec<Drawn<'a>> = by(&program.prologue, executor.prologue_unknowns()).collect();
    for &arc in &found.path {
        let node = unrolled.dag[arc].tail;
        let block = program.block(unrolled.dag[node].block);
        all.extend(by(&block.ops, executor.unknowns(node)));
    }
    all
}

/// Returns, for results, the values from outside the program (such as random numbers) that the path
/// depends on. If the path depends on one reading of a clock, all readings of this clock are
/// included.
pub(super) fn unknowns(
    program: &Program,
    drawn: &[Drawn<'_>],
    environment: &Environment,
    support: &Support,
) -> Vec<Unknown> {
    let needs = |drawn: &&Drawn<'_>| support.drawn.contains(&drawn.term);
    let mut clocks: HashSet<InputId> =
        drawn.iter().filter(needs).filter_map(Drawn::clock).collect();
    clocks.extend(support.inputs.iter());
    let mut times: HashMap<InputId, u64> = HashMap::new();
    let mut unknowns = Vec::new();
    for (drawn, &value) in drawn.iter().zip(&environment.unknowns) {
        let value = match drawn.clock() {
            Some(start) => {
                let first = || environment.inputs.get(&start).copied().unwrap_or_default();
                let time = times.entry(start).or_insert_with(first);
                *time = time.wrapping_add(value);
                *time
            }
            None => value,
        };
        if needs(&drawn) || drawn.clock().is_some_and(|start| clocks.contains(&start)) {
            let insn = &program.insns[drawn.insn.index()];
            unknowns.push(Unknown {
                instruction: drawn.insn.0,
                text: insn.text.clone(),
                file: insn.source.as_ref().map(|source| source.file.clone()),
                line: insn.source.as_ref().map(|source| source.line),
                call: drawn.draw.call.clone(),
                result: drawn.draw.result.clone(),
                value,
                meaning: meaning(&drawn.draw.reading, value, drawn.width),
                computed: drawn.draw.determined,
            });
        }
    }
    unknowns
}

/// Formats a value in the kernel's terms, such as `-E2BIG` or `123 ns`.
fn meaning(reading: &ValueFormat, value: u64, width: u8) -> String {
    let error = |number: u64| {
        errno_name(number).map_or_else(|| format!("-{number}"), |name| format!("-{name}"))
    };
    let signed = |value: i64| match value {
        number @ -4095..=-1 => error(number.unsigned_abs()),
        number => number.to_string(),
    };
    match reading {
        ValueFormat::Number => value.to_string(),
        ValueFormat::Signed => signed(value as i64),
        ValueFormat::OneOf(values) => usize::try_from(value)
            .ok()
            .and_then(|index| values.get(index))
            .map_or_else(|| value.to_string(), |&value| signed(value)),
        ValueFormat::Bytes => {
            let bytes = value.to_le_bytes().into_iter().take(usize::from(width / 8));
            bytes.map(|byte| format!("{byte:02x}")).collect()
        }
        ValueFormat::Error if value == 0 => "0".to_owned(),
        ValueFormat::Error => error(value),
        ValueFormat::Time(_) => format!("{value} ns"),
        ValueFormat::Names(names) => usize::try_from(value)
            .ok()
            .and_then(|index| names.get(index))
            .map_or_else(|| value.to_string(), |&name| name.to_owned()),
        ValueFormat::Choices(names) => usize::try_from(value)
            .ok()
            .and_then(|index| names.get(index))
            .map_or_else(|| value.to_string(), String::clone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_the_terms_of_the_kernel() {
        let cases = [
            (ValueFormat::Number, 7, 64, "7"),
            (ValueFormat::Signed, 7, 64, "7"),
            (ValueFormat::Signed, u64::MAX - 21, 64, "-EINVAL"),
            (ValueFormat::Signed, u64::MAX - 4999, 64, "-5000"),
            (ValueFormat::Error, 0, 64, "0"),
            (ValueFormat::Error, 7, 64, "-E2BIG"),
            (ValueFormat::Error, 4000, 64, "-4000"),
            (ValueFormat::Bytes, 0x1234, 16, "3412"),
            (ValueFormat::Bytes, 1, 64, "0100000000000000"),
            (ValueFormat::Time(InputId(0)), 5, 64, "5 ns"),
            (ValueFormat::OneOf(&[0, -28, 7]), 0, 64, "0"),
            (ValueFormat::OneOf(&[0, -28, 7]), 1, 64, "-ENOSPC"),
            (ValueFormat::OneOf(&[0, -28, 7]), 2, 64, "7"),
            (ValueFormat::Names(&["no", "yes"]), 1, 1, "yes"),
        ];
        for (reading, value, width, written) in cases {
            assert_eq!(meaning(&reading, value, width), written, "{reading:?} of {value:#x}");
        }
    }
}
