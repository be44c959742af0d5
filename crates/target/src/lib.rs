//! Target descriptions: which components of a device can limit the throughput, what each kind of
//! work costs on them, and the exact rates that follow.
//!
//! A target is data (`targets/*.toml`, format in `docs/targets.md`), read by [`Target::parse`] and
//! examined by [`check`]. [`Target::cost_model`] compiles it for the cost classes of one program:
//! an automaton ([`CostModel::step`]) that prices one event after the other in a small [`Context`].
//! Costs are integers and rates are fractions, so that they compare exactly; floating-point numbers
//! appear only where results are printed. A target may also just count events: then it has no
//! prices and no rates ([`TargetKind::Counts`]).
//!
//! This crate knows no program, no instruction set and no solver: cost classes are names to it.
//! The cost and throughput model is that of Krude et al., "Determination of Throughput Guarantees
//! for Processor-based SmartNICs", CoNEXT 2021, section 4.

mod builtin;
mod cost;
mod decode;
mod error;
mod fitted;
mod model;
mod price;
mod rate;
mod ratio;
mod target;
mod timing;

pub use cost::{CostVector, MAX_COMPONENTS};
pub use decode::{Assumption, check};
pub use error::TargetError;
pub use fitted::{Fitted, Residual, Segment, Shape, Template};
pub use model::{Context, CostModel};
pub use price::{Cycles, MAX_MARKS};
pub use rate::{Rate, Slowness};
pub use target::{
    Component, ComponentKind, InstructionSet, Limit, LimitKind, ResourceRate, Target, TargetKind,
};
pub use timing::{
    Calibration, CallTiming, CoreTiming, ErrorTiming, OverlapTiming, PipelineTiming, Timing, Unit,
    UnitTiming,
};
