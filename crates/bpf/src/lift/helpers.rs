//! What helpers and kernel functions do: [`table`] has them all; a module beside it for each subject.
//!
//! A new helper is one entry there and, where none fits, one function in a module.

pub(super) mod assumed;
pub(super) mod call;
pub(super) mod checksum;
pub(super) mod conntrack;
pub(super) mod cookies;
pub(super) mod environment;
pub(super) mod kfuncs;
pub(super) mod map;
pub(super) mod outcome;
pub(super) mod output;
pub(super) mod packet;
pub(super) mod printed;
pub(super) mod queue;
pub(super) mod record;
pub(super) mod ring;
pub(super) mod routing;
pub(super) mod socket;
pub(super) mod table;
