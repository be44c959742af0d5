//! Reads target descriptions and computes rates from them. A description lists the components that
//! can limit a device's throughput, and the price of each kind of work on them. Exact rates follow
//! from both.
//!
//! Descriptions are files (`targets/*.toml`, format in `docs/reference/targets.md`).
//! [`Target::parse`] reads them, and [`check`] reports problems in them. [`Target::cost_model`]
//! compiles a target for the cost classes of one program. The result is an automaton
//! ([`CostModel::step`]) that prices one event after the other in a small [`Context`]. Costs are
//! integers and rates are fractions, so that comparisons are exact. Only printed results are
//! floating-point numbers. A target that only counts events ([`TargetKind::Counts`]) has neither
//! prices nor rates.
//!
//! This crate does not depend on programs, instruction sets or solvers. Cost classes are plain
//! names. The cost and throughput model is from Krude et al., "Determination of Throughput
//! Guarantees for Processor-based SmartNICs", CoNEXT 2021, section 4.

mod builtin;
mod cost;
mod decode;
mod error;
mod fitted;
mod interpreter;
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
pub use interpreter::{Interpreter, LONGEST_KEY, PartTiming};
pub use model::{Context, CostModel};
pub use price::{Cycles, MAX_MARKS};
pub use rate::{Rate, Slowness};
pub use target::{
    Component, ComponentKind, InstructionSet, Limit, LimitKind, ResourceRate, Target, TargetKind,
};
pub use timing::{
    Calibration, CallTiming, CoreTiming, DriverTiming, ErrorTiming, OverlapTiming, PipelineTiming,
    Timing, Unit, UnitTiming,
};
