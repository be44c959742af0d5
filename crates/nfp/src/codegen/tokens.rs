//! Describes BPF instructions as tokens. The compiler cannot compile some code, such as functions
//! that are not ported to the SmartNIC yet. For such code, models predict from the tokens how many
//! instructions the SmartNIC needs.
//!
//! A token is a list of words. It contains the facts that the code generator uses: widths, classes
//! of constants by the instructions that load them, zero extensions, kinds of pointers and their
//! offsets. For a token that it has not seen in training, a model falls back to the token's first
//! words. SmartNIC instructions whose number depends only on access lengths and stack offsets are
//! counted, not predicted.

mod analysis;
mod calls;
mod code;
mod frames;
#[cfg(test)]
mod tests;
mod transfer;
mod value;
mod words;

use std::collections::BTreeMap;

use slowpath_bpf::UnlinkedProgram;

use analysis::Analysis;
use value::{Kind, Origin, Value};
use words::Describer;
pub use words::Token;

/// Known facts about an argument of a program, or about the result of a called function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A number with at most this many bits.
    Number(u32),
    /// The context of an XDP program, such as `struct xdp_md`.
    Context {
        /// Offset in bytes of the field `data`, which points to the packet's start.
        data: i64,
        /// Offset in bytes of the field `data_end`, which points to the packet's end.
        end: i64,
    },
    /// A pointer to an object that describes a packet, such as `struct rte_mbuf`.
    Descriptor,
    /// A pointer into the packet.
    Packet,
    /// A pointer to program state outside the packet, such as an element of a map.
    State,
    /// A pointer to unknown memory.
    Unknown,
    /// A result of at most 32 bits, such as an XDP action. It is not a pointer to memory of the
    /// SmartNIC.
    Verdict,
}

/// Describes all functions of a program. Returns the name of each function, and its instructions as
/// tokens. `arguments` describes the arguments of the first function. `results` describes the
/// results of functions that are not part of the program, by name.
pub fn describe(
    program: &UnlinkedProgram,
    arguments: &[Given],
    results: &BTreeMap<String, Given>,
) -> Vec<(String, Vec<Token>)> {
    let arguments = arguments.iter().enumerate();
    let arguments = arguments.map(|(at, given)| value(*given, Origin::Argument(at as i64)));
    let arguments = calls::arguments(arguments.collect());
    let results = results
        .iter()
        .map(|(name, &given)| (name.clone(), value(given, Origin::Symbol(name.as_str().into()))));
    let analysis = Analysis::new(program, &arguments, &results.collect());
    let insns = analysis.annotated();
    let frames = analysis.frames();
    let described = analysis.code.functions().zip(&frames).map(|((name, first, end), &frame)| {
        let describer = Describer { analysis: &analysis, insns: &insns, frames: &frames, frame };
        (name.to_owned(), describer.all(first, end))
    });
    described.collect()
}

fn value(given: Given, origin: Origin) -> Value {
    match given {
        Given::Number(bits) => Value::up_to(u64::MAX >> (64 - bits.clamp(1, 64))),
        Given::Context { data, end } => {
            Value::pointer(Kind::Context, Origin::Context { data, end }, Some(0))
        }
        Given::Descriptor => Value::pointer(Kind::Context, Origin::Descriptor, Some(0)),
        Given::Packet => Value::pointer(Kind::Packet, origin, Some(0)),
        Given::State => Value::pointer(Kind::Element, origin, Some(0)),
        Given::Unknown => Value::pointer(Kind::Unknown, origin, Some(0)),
        Given::Verdict => Value { high: u32::MAX.into(), ..Value::of(Kind::Returned) },
    }
}
