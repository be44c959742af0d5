//! Fuzzes the front end for P4 programs. Every text must be exactly one of
//!
//! - a program that the type checker accepts, with a type for each expression, and whose
//!   translations to C and to a pipeline end;
//! - faults of one line, each at a place inside one of the sources.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use slowpath_p4::preprocess::{Options, preprocess};
use slowpath_p4::token::Sources;
use slowpath_p4::{P4Error, swx, xdp};

fuzz_target!(|text: &str| {
    let (tokens, sources) = match preprocess(Path::new("fuzz.p4"), text, &Options::default()) {
        Ok(read) => read,
        Err((fault, sources)) => return located(&fault, &sources),
    };
    let program = match slowpath_p4::parse(&tokens) {
        Ok(program) => program,
        Err(fault) => return located(&fault, &sources),
    };
    match slowpath_p4::check(&program) {
        Ok(checked) => {
            assert_eq!(checked.types.len(), program.expressions as usize);
            if let Err(fault) = xdp::to_c(&program, &checked, &sources, xdp::Options::default()) {
                located(&fault, &sources);
            }
            if let Err(fault) = swx::to_spec(&program, &checked, &sources) {
                located(&fault, &sources);
            }
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            faults.iter().for_each(|fault| located(fault, &sources));
        }
    }
});

/// Asserts that the message of a fault has one line, and that the fault has a file. The line number
/// is not checked, because directives can set it freely.
fn located(fault: &P4Error, sources: &Sources) {
    assert_eq!(fault.message.lines().count(), 1, "{fault:?}");
    assert!((fault.span.file as usize) < sources.files.len(), "{fault:?}");
    assert!(fault.span.column >= 1, "{fault:?}");
}
