//! Target descriptions: the components that can limit a device's throughput, the cost of each kind
//! of work on them, and the exact rates that follow.
//!
//! A target is data (`targets/*.toml`, format in `docs/targets.md`), read by [`Target::parse`] and
//! checked by [`check`]. [`Target::cost_model`] compiles it for the cost classes of one program.
//! The result is an automaton ([`CostModel::step`]) that prices one event after the other in a
//! small [`Context`]. Costs are integers and rates are fractions, so that they compare exactly;
//! floating-point numbers appear only in printed results. A target may also only count events; it
//! then has neither prices nor rates ([`TargetKind::Counts`]).
//!
//! This crate knows neither programs nor instruction sets nor solvers; cost classes are plain
//! names. The cost and throughput model is that of Krude et al., "Determination of Throughput
//! Guarantees for Processor-based SmartNICs", CoNEXT 2021, section 4.

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
