//! Reads pipelines of DPDK's software switch.

use super::lifted::{Lifted, Origins, Pipeline, VerifierLimitScope};
use super::listing;
use crate::Error;
use crate::options::ProgramRequest;
use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::Interference;
use slowpath_codes as codes;
use slowpath_swx::spec::{Line, SourceLine};
use slowpath_swx::{LiftOptions, SpecError};
use slowpath_target::{InstructionSet, Target};
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the text of a pipeline; `None` for a program of another kind.
///
/// A file counts as a pipeline, whatever its content, if its name ends with `.spec` or the target
/// runs pipelines. The parser then reports its errors with lines.
///
/// # Errors
/// If the file is empty, or only its name says that it is a pipeline and it has a fault.
pub(super) fn text<'r>(
    request: &'r ProgramRequest,
    target: &Target,
) -> Result<Option<Cow<'r, str>>, Error> {
    if let Some(text) = request.object.pipeline() {
        return Ok(Some(text.into()));
    }
    let (data, runs) = (request.object.listing(), target.instruction_set == InstructionSet::Swx);
    let is_meant = runs || request.file.ends_with(".spec");
    if request.object.is_bpf() || !is_meant {
        return Ok(None);
    }
    if data.trim_ascii().is_empty() {
        let what = "the file is empty; pass a pipeline (.spec), such as slowpath compile --to swx \
                    writes from P4";
        return Err(Error::Input(codes::FILE_EMPTY, what.into()));
    }
    if listing::check(data).is_ok() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(data);
    if !runs {
        slowpath_swx::parse(&text)?;
    }
    Ok(Some(text))
}

pub(super) fn lift(
    request: &ProgramRequest,
    name: &str,
    text: &str,
    packets: (u16, u16),
) -> Result<Lifted, Error> {
    let file = request.file.as_str();
    let spec = slowpath_swx::parse(text)?;
    let options =
        LiftOptions { file: file.to_owned(), min_packet: packets.0, max_packet: packets.1 };
    let is_translated = !file.ends_with(".spec");
    let mut lifted = slowpath_swx::lift(&spec, name, &options).map_err(|fault| {
        // Messages begin with the name of the file that was given.
        let line = if is_translated { spec.origin_of(fault.line) } else { fault.line.0 };
        SpecError { line: Line(line), ..fault }
    })?;
    let tables = lifted.layout.lookups.iter_mut().map(|one| (one.name.as_str(), &mut one.size));
    request.options.apply_entries(tables)?;
    let texts: Vec<&str> = text.lines().collect();
    let shown: Arc<str> = file.into();
    // The lines of the program that the pipeline was translated from, or else its own.
    let is_translated = is_translated && lifted.origins.iter().any(Option::is_some);
    let line = |(&line, origin): (&u32, &Option<Arc<SourceLine>>)| {
        if let Some(SourceLine { file, line, text }) = origin.as_deref() {
            let (file, text) = (Arc::clone(file), Arc::clone(text));
            return Some(LineInfo { file, line: *line, column: 0, text });
        }
        if is_translated {
            return None;
        }
        let text = texts.get((line as usize).saturating_sub(1)).map_or("", |text| text.trim());
        Some(LineInfo { file: Arc::clone(&shown), line, column: 0, text: text.into() })
    };
    let inexact_reason = if !lifted.repeated.is_empty() {
        let tables = lifted.repeated.join(", ");
        Some(format!(
            "a run looks up a table twice, with outcomes that may contradict each other: {tables}"
        ))
    } else if !lifted.learners.is_empty() {
        let learners = lifted.learners.join(", ");
        Some(format!("entries of a learner may have data that no packet teaches: {learners}"))
    } else {
        None
    };
    Ok(Lifted {
        program: lifted.program,
        layout: None,
        pipeline: Some(Pipeline { spec, layout: lifted.layout }),
        code: None,
        verifier_limit_scope: VerifierLimitScope::Nothing,
        notes: Vec::new(),
        inexact_reason,
        interference: Interference {
            maps: lifted.shared.into_iter().collect(),
            ..Interference::default()
        },
        origins: Origins::Source(lifted.lines.iter().zip(&lifted.origins).map(line).collect()),
        functions: lifted.functions.into_iter().map(|(first, name)| (first, Some(name))).collect(),
        members: Vec::new(),
    })
}
