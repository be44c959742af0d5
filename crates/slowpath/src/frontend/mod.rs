//! Chooses the front end for a file. A front end translates (lifts) programs to the intermediate
//! representation. Listings and objects are lifted. Objects for a SmartNIC are first compiled, and
//! then the resulting listings are lifted.

mod compilation;
mod compiled;
mod lifted;
mod listing;
mod object;
mod packet_facts_check;
mod pipeline;

pub(crate) use compilation::Compilation;
pub(crate) use lifted::{Lifted, Pipeline, VerifierLimitScope};
pub(crate) use object::{lift as lift_object, lift_interleaved, link};

use crate::Error;
use crate::options::ProgramRequest;
use crate::stages;
use slowpath_bpf::lift::Receive;
use slowpath_codes as codes;
use slowpath_stop::Stop;
use slowpath_target::{InstructionSet, Target};

/// Names of a program for its result, known before the analysis: section, program and type.
pub(crate) struct ProgramNames {
    pub name: String,
    pub section: Option<String>,
    /// Type of the program, such as XDP, according to its section.
    pub kind: Option<String>,
}

pub(crate) fn names(request: &ProgramRequest) -> ProgramNames {
    let chain = request.object.as_chain().map(|chain| &chain.name);
    let own_name = chain.or_else(|| Some(&request.object.as_arriving()?.name));
    match (own_name, object::entry(request)) {
        (Some(name), _) => ProgramNames { name: name.clone(), section: None, kind: None },
        (None, Ok(entry)) => {
            let (section, kind) = (Some(entry.section), Some(entry.kind.to_string()));
            ProgramNames { name: entry.name, section, kind }
        }
        (None, Err(_)) => {
            ProgramNames { name: file_stem(&request.file), section: None, kind: None }
        }
    }
}

/// Translates (lifts) the program that a request names to the intermediate representation.
/// `receive` describes the way in which packets arrive, such as their head room.
pub(crate) fn lift(
    request: &ProgramRequest,
    target: &Target,
    receive: Receive,
    stop: &Stop,
) -> Result<Lifted, Error> {
    let pipeline = pipeline::text(request, target)?;
    match (request.object.is_bpf(), target.instruction_set) {
        (false, InstructionSet::Swx) if pipeline.is_some() => {}
        _ if pipeline.is_some() || target.instruction_set == InstructionSet::Swx => {
            let what = if pipeline.is_some() {
                format!(
                    "this is a pipeline of DPDK's software switch, which target {} does not run; slowpath bound analyses pipelines in a call of their own, with --target dpdk-swx",
                    target.name
                )
            } else {
                format!(
                    "target {} runs only pipelines of DPDK (.spec files); slowpath compile --to swx writes one from P4, and other programs need another --target",
                    target.name
                )
            };
            return Err(Error::Input(codes::WRONG_TARGET_FOR_PROGRAM, what));
        }
        (true, InstructionSet::Bpf) => {
            return object::lift(request, request.object.bpf()?, receive, stop);
        }
        (true, InstructionSet::Nfp) if request.object.as_chain().is_some() => {
            let what =
                format!("target {} runs a single program, not a chain of several", target.name);
            return Err(Error::Input(codes::WRONG_TARGET_FOR_PROGRAM, what));
        }
        (true, InstructionSet::Nfp) => return compiled::lift(request, receive.length, stop),
        (false, InstructionSet::Nfp | InstructionSet::Swx) => {}
        (true, InstructionSet::Swx) => unreachable!("refused above"),
        (false, InstructionSet::Bpf) => {
            listing::check(request.object.listing())?;
            let what = format!(
                "this is not a BPF object, and target {} has prices only for BPF instructions; \
                 listings are analysed with --target agilio-cx-2x40",
                target.name
            );
            return Err(Error::Input(codes::WRONG_TARGET_FOR_PROGRAM, what));
        }
    }
    if request.options.maps.is_some() {
        return Err(Error::Input(
            codes::OPTION_WITHOUT_EFFECT,
            "the file does not name its maps; use --maps only for BPF objects and P4 programs"
                .into(),
        ));
    }
    stop.enter(stages::LIFTING);
    if let Some(text) = pipeline {
        return pipeline::lift(request, &file_stem(&request.file), &text, receive.length);
    }
    listing::lift(&file_stem(&request.file), request.object.listing(), receive.length)
}

fn file_stem(file: &str) -> String {
    let path = std::path::Path::new(file);
    path.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
