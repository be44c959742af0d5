//! BPF instructions as tokens, for models that predict the card's instructions for code that the
//! compiler cannot take as a whole: functions of programs that are not ported yet.
//!
//! Tokens contain what the code generator looks at: widths, classes of constants by the
//! instructions that make them, whether zeros are needed above a result, kinds of pointers and
//! their places. A model predicts from them; of tokens that it has not seen it knows the first
//! words. The parts that follow from lengths and places alone are counted, not predicted.

mod calls;
mod code;
mod frames;
mod known;
#[cfg(test)]
mod tests;
mod transfer;
mod value;
mod words;

use std::collections::BTreeMap;

use slowpath_bpf::UnlinkedProgram;

use known::Known;
use value::{Kind, Origin, Value};
use words::Describer;
pub use words::Token;

/// Value of an argument, or of a function's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A number of so many bits.
    Number(u32),
    /// The context of an XDP program: offsets of the fields with the packet's start and end.
    Context {
        /// Offset of the field `data`.
        data: i64,
        /// Offset of the field `data_end`.
        end: i64,
    },
    /// An object that describes a packet.
    Descriptor,
    /// A pointer into the packet.
    Packet,
    /// A pointer to state.
    State,
    /// A pointer to unknown memory.
    Unknown,
    /// A number that is not a pointer to the card's memory.
    Verdict,
}

/// Returns the instructions of a program as tokens, by function in the program's order. `results`
/// has the results of functions that are not part of the program.
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
    let known = Known::new(program, &arguments, &results.collect());
    let insns = known.annotated();
    let frames = known.frames();
    let described = known.code.functions().zip(&frames).map(|((name, first, end), &frame)| {
        let describer = Describer { known: &known, insns: &insns, frames: &frames, frame };
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
