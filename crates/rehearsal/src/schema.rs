//! JSON Schemas of reports, from which types of the Python package are generated.

use crate::outcome::{Covered, Rehearsal};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_oracle::{check_golden, schema};

/// Results of a rehearsal, as the binding for Python returns them.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "RehearsalReport")]
struct Report {
    /// Reason why the verifier rejects the rewritten program; then the only key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    refused: Option<String>,
    /// Results for the given packets.
    covered: Covered,
    #[serde(flatten)]
    rehearsal: Rehearsal,
}

#[test]
fn the_schema_is_current() {
    check_golden("tests/golden/schema/rehearsal.json", &schema::<Report>());
}
