//! Reads pipelines of DPDK's software switch.

use super::lifted::{Lifted, Origins, Pipeline, VerifierLimitScope};
use crate::Error;
use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::Interference;
use slowpath_swx::LiftOptions;
use std::sync::Arc;

pub(super) fn lift(
    file: &str,
    name: &str,
    text: &str,
    packets: (u16, u16),
) -> Result<Lifted, Error> {
    let spec = slowpath_swx::parse(text)?;
    let options =
        LiftOptions { file: file.to_owned(), min_packet: packets.0, max_packet: packets.1 };
    let lifted = slowpath_swx::lift(&spec, name, &options)?;
    let texts: Vec<&str> = text.lines().collect();
    let shown: Arc<str> = file.into();
    let line = |&line: &u32| {
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
        origins: Origins::Source(lifted.lines.iter().map(line).collect()),
        functions: lifted.functions.into_iter().map(|(first, name)| (first, Some(name))).collect(),
        members: Vec::new(),
    })
}
