//! What all front ends deliver: a program, and where its instructions come from.

use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::Layout;
use slowpath_estimate::Code;
use slowpath_ir::Program;

/// Where instructions come from, by their numbers.
pub(super) enum Origins {
    /// Lines of the listing.
    Listing(Vec<u32>),
    /// Source lines, as far as known.
    Source(Vec<Option<LineInfo>>),
}

/// A program and where its instructions come from.
pub(crate) struct Lifted {
    pub program: Program,
    /// What memory means in terms of maps.
    pub layout: Option<Layout>,
    /// The instructions as a core sees them, where a CPU executes them as they are.
    pub code: Option<Code>,
    /// What is worth knowing about it and no condition of a guarantee, one sentence each.
    pub notes: Vec<String>,
    pub(super) origins: Origins,
    pub(super) functions: Functions,
}

/// The functions of a program: the number of the first instruction of each, in order, and its name.
/// What follows the last one whose name is known has none.
pub(super) type Functions = Vec<(u32, Option<String>)>;

impl Lifted {
    /// `line N: ` or `FILE:LINE: ` of an instruction, for messages; empty when it is not known.
    pub fn place(&self, insn: u32) -> String {
        match &self.origins {
            Origins::Listing(lines) => {
                let line = lines.get(insn as usize);
                line.map_or_else(String::new, |line| format!("line {line}: "))
            }
            Origins::Source(_) => {
                self.line(insn).map_or_else(String::new, |l| format!("{}:{}: ", l.file, l.line))
            }
        }
    }

    /// The source line of an instruction.
    pub fn line(&self, insn: u32) -> Option<&LineInfo> {
        match &self.origins {
            Origins::Listing(_) => None,
            Origins::Source(lines) => lines.get(insn as usize)?.as_ref(),
        }
    }

    /// The name of the function that an instruction is part of, where programs have functions.
    pub fn function(&self, insn: u32) -> Option<&str> {
        let behind = self.functions.partition_point(|(first, _)| *first <= insn);
        self.functions.get(behind.checked_sub(1)?)?.1.as_deref()
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
