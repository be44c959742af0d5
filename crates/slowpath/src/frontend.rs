//! Which front end reads a file.

use crate::Error;
use slowpath_ir::Program;

/// A program and where its instructions are in the file.
pub(crate) struct Lifted {
    pub program: Program,
    /// Lines of instructions by number.
    lines: Vec<u32>,
}

impl Lifted {
    /// `line N: ` of an instruction, for messages.
    pub fn place(&self, insn: u32) -> String {
        let line = self.lines.get(insn as usize);
        line.map_or_else(String::new, |line| format!("line {line}: "))
    }

    /// The first instruction that does work of a class.
    pub fn first_of_class(&self, class: &str) -> Option<u32> {
        let classes = &self.program.cost_classes;
        let class = classes.iter().position(|name| name == class)?;
        let blocks = self.program.blocks.iter();
        let events = blocks.flat_map(|block| {
            block.costs.iter().chain(block.terminator.edges().flat_map(|edge| &edge.costs))
        });
        events.filter(|event| event.class.index() == class).map(|event| event.insn.0).min()
    }
}

/// Lifts the program in a file. `packets` is the least and greatest packet length in bytes.
pub(crate) fn lift(file: &str, data: &[u8], packets: (u16, u16)) -> Result<Lifted, Error> {
    if data.starts_with(b"\x7fELF") {
        return Err(Error::Input(
            "this is an ELF object; `slowpath bound` reads NFP listings (*.asm) in this version, \
             `slowpath show` shows objects"
                .into(),
        ));
    }
    let listing =
        slowpath_nfp::parse_bytes(data).map_err(|error| Error::Input(error.to_string()))?;
    let options = slowpath_nfp::LiftOptions { min_packet: packets.0, max_packet: packets.1 };
    let program = slowpath_nfp::lift(&listing, &program_name(file), &options)
        .map_err(|error| Error::Input(error.to_string()))?;
    let lines = listing.numbered().iter().map(|numbered| numbered.line).collect();
    Ok(Lifted { program, lines })
}

/// The file's name without folder and extension.
pub(crate) fn program_name(file: &str) -> String {
    let path = std::path::Path::new(file);
    path.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
