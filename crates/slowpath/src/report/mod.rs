//! Converts the findings of the search to results in the report.

mod branches;
mod costs;
mod detail;
mod estimate;
mod lines;
mod measure;
mod profile;
mod rates;

pub(crate) use branches::branches;
pub(crate) use detail::detail;
pub(crate) use estimate::{Estimated, Estimator, TimeModel};
pub(crate) use lines::events;
pub(crate) use measure::Measure;
pub(crate) use profile::{blocks, code};
