//! Tests of timing paths. They are in a single program, so that it is linked only once.

mod support;

mod changes;
mod cold;
mod later;
mod live;
mod offered;
mod stretches;
mod tc;
mod traces;
