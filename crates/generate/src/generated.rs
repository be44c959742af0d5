//! Represents generated programs in three forms: statements, instructions and object files.

use std::fmt;
use std::io;
use std::path::Path;

use slowpath_bpf::insn::{Call, Imm64, Insn};

use crate::Features;
use crate::emit::{Emitted, emit};
use crate::object::{name, write};
use crate::statement::{Code, MapShape, Program, Stmt};

/// A random program: its statements, the instructions that they are translated to, and the number
/// of its paths.
#[derive(Clone)]
pub struct Generated {
    program: Program,
    /// Instructions of the entry function, then of its callees.
    functions: Vec<Vec<Insn>>,
    paths: u64,
}

impl Generated {
    pub(crate) fn new(program: Program, features: &Features) -> Self {
        let mut emitted = emit(&program, features);
        let paths = emitted.first().map_or(0, |entry| entry.paths);
        link(&mut emitted);
        let functions = emitted.into_iter().map(|function| function.code).collect();
        Generated { program, functions, paths }
    }

    /// Returns the instructions of each function by slot; the entry function comes first, then its
    /// callees.
    pub fn functions(&self) -> &[Vec<Insn>] {
        &self.functions
    }

    /// Returns the number of instruction slots in all functions.
    pub fn slots(&self) -> usize {
        self.functions.iter().map(Vec::len).sum()
    }

    /// Returns the number of paths through the program, counted as if all conditions were
    /// independent. Paths through callees and through each iteration of a loop multiply this
    /// number.
    pub fn paths(&self) -> u64 {
        self.paths
    }

    /// Returns number and size of the elements of the program's map, an array named `table`; `None`
    /// if the program does not use it.
    pub fn map(&self) -> Option<MapShape> {
        let loads = |insn: &Insn| matches!(insn, Insn::LoadImm64 { value: Imm64::MapFd(_), .. });
        self.functions.iter().flatten().any(loads).then_some(self.program.map)
    }

    /// Returns an ELF object with the single program `generated` in section `xdp`.
    pub fn object(&self) -> Vec<u8> {
        write(&self.functions, self.map())
    }

    /// Writes the ELF object of the program to a file.
    ///
    /// # Errors
    /// Returns the error if the file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.object())
    }
}

/// Removes functions that the entry function does not call, and sets the call offsets in the
/// remaining functions.
fn link(functions: &mut Vec<Emitted>) {
    let Some((entry, others)) = functions.split_first_mut() else { return };
    let mut starts = vec![None; others.len()];
    let mut kept = Vec::new();
    let mut end = entry.code.len();
    for (slot, insn) in entry.code.iter_mut().enumerate() {
        let Insn::Call(Call::Subprogram { offset }) = insn else { continue };
        let Some(number) = usize::try_from(*offset).ok().filter(|n| *n < others.len()) else {
            continue;
        };
        let start = *starts[number].get_or_insert_with(|| {
            let start = end;
            end += others[number].code.len();
            kept.push(others[number].clone());
            start
        });
        *offset = (start - slot - 1) as i32;
    }
    functions.truncate(1);
    functions.append(&mut kept);
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(map) = self.map() {
            let (bytes, entries) = (4 * u32::from(map.words), 1u32 << map.log_entries);
            writeln!(f, "table: array of {entries} values of {bytes} bytes")?;
        }
        let mut slot = 0;
        for (number, function) in self.functions.iter().enumerate() {
            writeln!(f, "{}:", name(number))?;
            for insn in function {
                if *insn != Insn::SecondSlot {
                    writeln!(f, "{slot:4}: {insn}")?;
                }
                slot += 1;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Generated {
    /// Prints the instructions and statements, for the messages of failing tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { context, first_check, body, end, observed, functions, map } = &self.program;
        writeln!(f, "{self}context {context}, check of {first_check} bytes, {map:?}")?;
        let mut list = |name: &str, body: &[Stmt], end: &Code| {
            writeln!(f, "{name}:")?;
            body.iter().try_for_each(|statement| writeln!(f, "    {statement:?}"))?;
            writeln!(f, "    return {end:?}")
        };
        list(&format!("statements, {observed} numbers stored at the end"), body, end)?;
        for (number, function) in functions.iter().enumerate() {
            list(&format!("callee {number}"), &function.body, &function.result)?;
        }
        Ok(())
    }
}
