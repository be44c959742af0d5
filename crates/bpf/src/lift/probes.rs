//! Finds the read-only variables whose values decide which paths a program can take.

use slowpath_ir::BinaryOp;
use slowpath_ir::{Emit, InputId, InputKind, Operand, decisive_inputs};

use crate::lift::error::LiftError;
use crate::lift::lifter::Lifter;
use crate::lift::options::LiftOptions;
use crate::lift::state::value::AbstractValue;
use crate::maps::Variable;
use crate::{BpfProgram, Object};

/// Returns those of the `variables` that can affect the path of a run, in the same order. All
/// `variables` must be read-only.
///
/// Lifts the program with unknown values of all these variables, then follows the values to
/// branches.
///
/// # Errors
/// `LiftError`, as for [`super::lift`]. The error may concern code that is unreachable with the
/// actual values of the variables.
pub fn path_deciding_variables<'a>(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
    variables: &[&'a Variable],
) -> Result<Vec<&'a Variable>, LiftError> {
    let probed = variables.iter().map(|&variable| variable.clone()).collect();
    let options = LiftOptions { probed_variables: probed, ..options.clone() };
    let lifted = super::lift(object, program, &options)?;
    let inputs = &lifted.program.inputs;
    let mut sources = Vec::new();
    for (number, variable) in variables.iter().enumerate() {
        let name = &object.maps[variable.map].name;
        let Some(layout) = lifted.layout.maps.iter().find(|map| map.name == *name) else {
            continue;
        };
        let input = inputs.iter().position(|input| input.name == name_of(number));
        let input = InputId::from(input.unwrap_or(inputs.len() + number));
        sources.push((number, input, layout.values));
    }
    let pairs: Vec<_> = sources.iter().map(|&(_, input, region)| (input, region)).collect();
    let decisive = decisive_inputs(&lifted.program, &pairs);
    let decides = |(_, input, _): &&(usize, InputId, _)| decisive.contains(input);
    Ok(sources.iter().filter(decides).map(|(number, ..)| variables[*number]).collect())
}

fn name_of(number: usize) -> String {
    format!("probed variable {number}")
}

impl Lifter<'_> {
    /// Returns an unknown 64-bit value if a load reads a variable in
    /// [`crate::lift::LiftOptions::probed_variables`] at a constant offset. Returns `None` for
    /// other loads.
    pub(in crate::lift) fn probe(&mut self, address: AbstractValue, bytes: u8) -> Option<Operand> {
        let AbstractValue::Data { map, offset: Some(offset) } = address else { return None };
        let end = u64::try_from(offset).ok()?.saturating_add(bytes.into());
        let read = |(_, variable): &(usize, &Variable)| {
            let behind = variable.offset.saturating_add(variable.size);
            variable.map == map as usize && variable.offset < end && (offset as u64) < behind
        };
        let probed: Vec<usize> = self
            .options
            .probed_variables
            .iter()
            .enumerate()
            .filter(read)
            .map(|(number, _)| number)
            .collect();
        let mut combined = None;
        for number in probed {
            let input = self.ir.input(&name_of(number), 64, 0, u64::MAX, InputKind::Unknown);
            let value = self.ir.emit.unknown_input(input, 64);
            combined = Some(match combined {
                Some(others) => self.ir.emit.binary(BinaryOp::Or, others, value),
                None => value,
            });
        }
        combined
    }
}
