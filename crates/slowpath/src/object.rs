//! Reads files that contain programs. Each file is read once and used for any number of analyses.

use crate::{ArrivingProgram, Error};
use slowpath_bpf::lift::{Handover, MapContent};
use slowpath_bpf::{Object, ObjectError, ProgramEntry};
use slowpath_ir::PacketFacts;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The content of a file: a BPF object with its programs, or an NFP listing, which is one program.
/// Clones share the content.
#[derive(Clone, Debug)]
pub struct ProgramFile(pub(crate) Content);

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Bpf(Arc<Object>),
    Chain(Arc<ProgramChain>),
    Arriving(Arc<ArrivingProgram>),
    /// The text of a pipeline for DPDK's software switch.
    Pipeline(Arc<str>),
    /// The text of an NFP listing, and the error of the attempt to read the file as a BPF object.
    Listing(Arc<[u8]>, ObjectError),
}

/// A chain of programs in one object. After a program of the chain, another one can run on the same
/// packet.
#[derive(Clone, Debug)]
pub struct ProgramChain {
    /// Name of the chain in results.
    pub name: String,
    /// The object with all programs.
    pub object: Arc<Object>,
    /// Index, in the object, of the program at which packets arrive.
    pub entry: usize,
    /// The edges between programs. An edge names a program, some of its return values, and the
    /// program that runs next after these values.
    pub handovers: Vec<Handover>,
    /// The programs of the chain.
    pub members: Vec<ChainMember>,
    /// Indices, in the object, of the programs whose instructions have a cost, such as the programs
    /// on one of several devices. `None` if all programs have a cost.
    pub counted: Option<BTreeSet<usize>>,
    /// Conditions that results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Facts about packets that arrive at the first program; results cover only packets for which
    /// they hold. `None` if results cover all packets that the device receives.
    pub arriving: Option<PacketFacts>,
    /// Content of maps, by their names in the object. It is used in addition to the map content in
    /// the options.
    pub contents: BTreeMap<String, MapContent>,
}

/// A program of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMember {
    /// Name of the program in results.
    pub name: String,
    /// Index of the program in the object.
    pub program: usize,
    /// Indices, in the object, of all programs that belong to this member of the chain: the program
    /// itself, and the programs that its tail calls reach.
    pub programs: Range<usize>,
}

/// Description of a program of an object, with which a user can select it.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// Index of the program in the object.
    pub index: usize,
    /// Name of the object's section that contains the entry function.
    pub section: String,
    /// Name of the entry function.
    pub name: String,
    /// Program type, such as `xdp` or `sched_cls`; `unknown` if the section does not tell the type.
    pub kind: String,
    /// True if the meaning of the program depends on the BTF types of the kernel that runs it.
    pub needs_kernel: bool,
}

impl ProgramFile {
    /// Reads the content of a file. Data that is not an ELF file is treated as a listing. Listings
    /// are parsed only when they are lifted.
    ///
    /// # Errors
    /// If the file is a BPF object that cannot be read.
    pub fn read(data: &[u8]) -> Result<ProgramFile, Error> {
        match Object::parse(data) {
            Ok(object) => Ok(ProgramFile(Content::Bpf(Arc::new(object)))),
            Err(error) if data.starts_with(b"\x7fELF") => Err(error.into()),
            Err(error) => Ok(ProgramFile(match pipeline_text(data) {
                Some(text) => Content::Pipeline(text.into()),
                None => Content::Listing(data.into(), error),
            })),
        }
    }

    /// Wraps an object that is already parsed.
    pub fn of(object: Arc<Object>) -> ProgramFile {
        ProgramFile(Content::Bpf(object))
    }

    /// Wraps a chain of programs. Analyses treat the chain like a single program.
    pub fn chain(chain: ProgramChain) -> ProgramFile {
        ProgramFile(Content::Chain(Arc::new(chain)))
    }

    /// Wraps a program that receives packets from upstream programs. Analyses cover only these
    /// packets.
    pub fn arriving(program: ArrivingProgram) -> ProgramFile {
        ProgramFile(Content::Arriving(Arc::new(program)))
    }

    /// Describes the programs of a BPF object. A chain counts as one program: the program at which
    /// packets arrive, under the chain's name. Returns `None` for an NFP listing.
    pub fn programs(&self) -> Option<Vec<ProgramInfo>> {
        let (object, chain) = match &self.0 {
            Content::Bpf(object) => (object, None),
            Content::Chain(chain) => (&chain.object, Some(chain)),
            Content::Arriving(program) => return Some(vec![arriving_info(program)]),
            Content::Listing(..) | Content::Pipeline(_) => return None,
        };
        let info = |(index, entry): (usize, &ProgramEntry)| ProgramInfo {
            index,
            section: entry.section.clone(),
            name: chain.map_or(&entry.name, |chain| &chain.name).clone(),
            kind: entry.kind.to_string(),
            needs_kernel: match chain {
                None => needs_kernel(object, index),
                Some(chain) => chain.members.iter().any(|each| needs_kernel(object, each.program)),
            },
        };
        let listed =
            |(index, _): &(usize, &ProgramEntry)| chain.is_none_or(|chain| chain.entry == *index);
        Some(object.programs.iter().enumerate().filter(listed).map(info).collect())
    }

    pub(crate) fn is_bpf(&self) -> bool {
        matches!(self.0, Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_))
    }

    /// Returns the chain of programs; `None` if the file is not a chain.
    pub(crate) fn as_chain(&self) -> Option<&ProgramChain> {
        match &self.0 {
            Content::Chain(chain) => Some(chain),
            Content::Bpf(_) | Content::Arriving(_) | Content::Listing(..) => None,
            Content::Pipeline(_) => None,
        }
    }

    /// Returns the program that receives packets from upstream programs; `None` if the file is
    /// something else.
    pub(crate) fn as_arriving(&self) -> Option<&ArrivingProgram> {
        match &self.0 {
            Content::Arriving(program) => Some(program),
            Content::Bpf(_) | Content::Chain(_) | Content::Listing(..) => None,
            Content::Pipeline(_) => None,
        }
    }

    /// Returns a shared reference to the BPF object; `None` for an NFP listing.
    pub fn object(&self) -> Option<Arc<Object>> {
        match &self.0 {
            Content::Bpf(object) => Some(Arc::clone(object)),
            Content::Chain(chain) => Some(Arc::clone(&chain.object)),
            Content::Arriving(program) => Some(Arc::clone(&program.object)),
            Content::Listing(..) | Content::Pipeline(_) => None,
        }
    }

    /// Returns the BPF object.
    ///
    /// # Errors
    /// If the content is a listing.
    pub(crate) fn bpf(&self) -> Result<&Object, ObjectError> {
        match &self.0 {
            Content::Bpf(object) => Ok(object),
            Content::Chain(chain) => Ok(&chain.object),
            Content::Arriving(program) => Ok(&program.object),
            Content::Listing(_, error) => Err(error.clone()),
            Content::Pipeline(text) => Err(Object::parse(text.as_bytes())
                .err()
                .unwrap_or_else(|| unreachable!("text of a pipeline is not an object"))),
        }
    }

    /// Returns the text of the NFP listing; empty for a BPF object.
    pub(crate) fn listing(&self) -> &[u8] {
        match &self.0 {
            Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_) => &[],
            Content::Pipeline(text) => text.as_bytes(),
            Content::Listing(text, _) => text,
        }
    }

    /// Returns the text of a pipeline for DPDK's software switch; `None` for other files.
    pub(crate) fn pipeline(&self) -> Option<&str> {
        match &self.0 {
            Content::Pipeline(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns the text of a file that begins like a pipeline for DPDK's software switch.
fn pipeline_text(data: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(data).ok()?;
    slowpath_swx::is_pipeline(text).then_some(text)
}

/// Returns the name, section and type of a program that receives packets from upstream programs.
fn arriving_info(program: &ArrivingProgram) -> ProgramInfo {
    let entry = program.object.programs.get(program.program);
    ProgramInfo {
        index: program.program,
        section: entry.map_or_else(String::new, |entry| entry.section.clone()),
        name: program.name.clone(),
        kind: entry.map_or_else(String::new, |entry| entry.kind.to_string()),
        needs_kernel: needs_kernel(&program.object, program.program)
            || program.upstream.iter().any(|(object, number)| needs_kernel(object, *number)),
    }
}

/// Returns true if the meaning of a program depends on the BTF types of the kernel that runs it.
fn needs_kernel(object: &Object, program: usize) -> bool {
    object.link(program, None).is_ok_and(|program| !program.unresolved.is_empty())
}
