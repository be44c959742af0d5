//! Stores the values that the user states for variables ([`crate::StatedValue`]), by operations
//! before the first instruction.

use std::collections::BTreeMap;

use slowpath_ir::{Emit, InputKind, Operand};

use crate::lift::ir::builder::IrBuilder;
use crate::lift::ir::emit::word;
use crate::lift::layout::memory::MapLayout;
use crate::maps::MapDef;

/// Emits operations that store the values which the user states for variables. If the user allows
/// any value, the value is an unknown input.
pub(in crate::lift) fn install_stated(
    ir: &mut IrBuilder,
    maps: &[MapDef],
    layouts: &BTreeMap<String, MapLayout>,
) {
    for def in maps.iter().filter(|def| !def.stated.is_empty()) {
        let Some(layout) = layouts.get(&def.name) else { continue };
        // The region already contains read-only data. A constant must still be stored after an
        // input, which may overlap it.
        let mut after_input = false;
        for stated in &def.stated {
            let known = stated.value.is_some();
            after_input |= !known;
            // An unknown value needs no store in writable data, which is unknown anyway.
            let unneeded = if def.read_only { known && !after_input } else { !known };
            if unneeded {
                continue;
            }
            for number in stated.numbers() {
                let (at, bytes) = number;
                let value = match known {
                    true => constant(def, at, bytes),
                    false => {
                        let width = 8 * bytes;
                        let most = stated.max.min(u64::MAX >> (64 - u32::from(width)));
                        let name = stated.input(&def.name, number);
                        let input = ir.input(&name, width, 0, most, InputKind::Unknown);
                        ir.emit.unknown_input(input, width)
                    }
                };
                let base = ir.base(layout.values);
                let address = ir.emit.add(base, word(at));
                ir.emit.store(address, value);
            }
        }
    }
}

fn constant(def: &MapDef, offset: u64, bytes: u8) -> Operand {
    let mut value = [0; 8];
    let start = offset as usize;
    let initial = def.initial.as_deref().unwrap_or_default();
    for (to, from) in
        value.iter_mut().zip(initial.get(start..).unwrap_or_default()).take(bytes.into())
    {
        *to = *from;
    }
    Operand::constant(8 * bytes, u64::from_le_bytes(value))
}
