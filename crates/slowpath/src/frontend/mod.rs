//! Which front end reads a file, and what all of them deliver.

mod compiled;
mod listing;
mod object;

pub use object::{Kernel, ProgramInfo, programs, read_object};
pub(crate) use object::{lift as lift_object, link as link_object, parse as parse_object};

use crate::Error;
use crate::options::Request;
use crate::stages;
use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::Layout;
use slowpath_ir::Program;
use slowpath_stop::Stop;
use slowpath_target::{InstructionSet, Target};

/// Where instructions come from, by their numbers.
enum Origins {
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
    /// What is worth knowing about it and no condition of a guarantee, one sentence each.
    pub notes: Vec<String>,
    origins: Origins,
    functions: Functions,
}

/// The functions of a program: the number of the first instruction of each, in order, and its name.
/// What follows the last one whose name is known has none.
type Functions = Vec<(u32, Option<String>)>;

/// What is known of a program before it is analysed.
pub(crate) struct Named {
    pub name: String,
    pub section: Option<String>,
    /// Its type, as the section tells.
    pub kind: Option<String>,
}

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

/// Whether this is the content of a BPF object.
pub(crate) fn is_object(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
}

/// The name of the program that a request is about, as far as that can be told without analysis.
pub(crate) fn name(request: &Request) -> Named {
    if request.is_object()
        && let Ok(entry) = object::entry(request)
    {
        let kind = Some(entry.kind.to_string());
        return Named { name: entry.name, section: Some(entry.section), kind };
    }
    Named { name: file_stem(&request.file), section: None, kind: None }
}

/// Lifts the program that a request is about. `packets` is the least and greatest packet length in
/// bytes.
pub(crate) fn lift(
    request: &Request,
    target: &Target,
    packets: (u16, u16),
    stop: &Stop,
) -> Result<Lifted, Error> {
    match (request.is_object(), target.instruction_set) {
        (true, InstructionSet::Bpf) => {
            return object::lift(request, &*request.object()?, packets, stop);
        }
        (true, InstructionSet::Nfp) => return compiled::lift(request, packets, stop),
        (false, InstructionSet::Nfp) => {}
        (false, InstructionSet::Bpf) => {
            let what = format!(
                "this is no BPF object, and target {} has no prices but for BPF instructions; \
                 listings are analysed with --target agilio-cx-2x40",
                target.name
            );
            return Err(Error::Input(what));
        }
    }
    if request.options.maps.is_some() {
        return Err(Error::Input(
            "a listing does not say which maps it uses: --maps is for BPF objects".into(),
        ));
    }
    stop.enter(stages::LIFTING);
    listing::lift(&file_stem(&request.file), &request.data, packets)
}

/// A file's name without folder and extension.
fn file_stem(file: &str) -> String {
    let path = std::path::Path::new(file);
    path.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
