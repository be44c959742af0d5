//! Chains of programs: after one program, another program runs on the same packet, depending on the
//! result of the first.
//!
//! [`Chain::parse`] reads the description of a chain. [`Chain::combine`] combines its objects into
//! one file, which is analysed like any other. A path through this file leads through all programs
//! that a packet passes. [`facts`] finds facts about every packet that leaves a program.
//! [`equivalence::prove`] shows that a specialised program does the same as the original.
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
