//! Chains of programs: after one program, another runs on the same packet, depending on the result.
//!
//! [`Chain::parse`] reads the description. [`Chain::combine`] combines the objects into one file,
//! which is analysed like any other. A packet on one of its paths passes all programs along the
//! way. [`facts`] finds facts about every packet that a program passes on. [`equivalence::prove`]
//! shows that a specialised program does what the original does.
//!
//! After Krude, Eichholz, Winck, Wehrle and Mezini, "Optimizing Data Plane Programs for the
//! Network" (NetPL 2019), "Program combination".

mod action;
mod chain;
mod chain_facts;
mod combine;
mod cost;
mod description;
mod dispatcher;
pub mod equivalence;
mod error;
mod fact_syntax;
pub mod facts;
pub mod frozen;
mod fused;
pub mod graphs;
mod guard_profitability;
mod isolated;
mod known;
mod licensed;
mod loaded;
mod name;
mod network;
pub mod optimize;
pub mod plan;
pub mod report;
mod rewrite;
#[cfg(test)]
mod schema;
mod settings;
pub mod verify;
mod yaml;

pub use action::Action;
pub use chain::{Chain, DeviceTarget, Dispatcher, Edge, Member, SharedMap};
pub use error::ChainError;
pub use fact_syntax::parse_facts;
pub use fused::Unfused;
pub use known::{KnownStart, MemberMap};
pub use loaded::Loaded;
pub use rewrite::{RewriteOptions, Rewritten, rewrite};
pub use settings::configured;
