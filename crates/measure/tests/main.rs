//! Tests of timed paths, in a single program that is linked once.

mod support;

mod changes;
mod cold;
mod later;
mod live;
mod stretches;
mod traces;
