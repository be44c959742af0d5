//! Defines the effects of helpers and kernel functions. [`table`] lists all helpers; each of the
//! other modules contains functions that lift calls on one subject.
//!
//! To add a helper, add an entry to the table and, if no existing function fits, a function to a
//! module.

pub(super) mod assumed;
pub(super) mod call;
pub(super) mod call_results;
pub(super) mod checksum;
pub(super) mod conntrack;
pub(super) mod cookies;
pub(super) mod environment;
pub(super) mod find;
pub(super) mod kfuncs;
pub(super) mod map;
pub(super) mod output;
pub(super) mod packet;
pub(super) mod printk_format;
pub(super) mod queue;
pub(super) mod record;
pub(super) mod ring;
pub(super) mod routing;
pub(super) mod skb;
pub(super) mod skb_fields;
pub(super) mod skb_table;
pub(super) mod socket;
pub(super) mod table;
pub(super) mod text;
