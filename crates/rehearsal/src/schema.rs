//! JSON Schemas of reports, from which types of the Python package are generated.

use crate::outcome::{Covered, Rehearsal};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_oracle::{check_golden, schema};

/// Results of a rehearsal, which runs the original and the rewritten program in the kernel and
/// compares their results. The Python binding returns them.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "RehearsalReport")]
struct Report {
    /// Reason why the kernel's verifier rejects the rewritten program. If this key is present, it
    /// is the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    refused: Option<String>,
    /// Results of running the packets and the map content that the user gave.
    covered: Covered,
    #[serde(flatten)]
    rehearsal: Rehearsal,
}

#[test]
fn the_schema_is_current() {
    check_golden("tests/golden/schema/rehearsal.json", &schema::<Report>());
}
