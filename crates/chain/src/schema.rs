//! JSON Schemas of reports, from which types of the Python package are generated.

use crate::equivalence::Counterexample;
use crate::graphs::GraphReports;
use crate::plan::{AsIs, CostReport, PathReport};
use crate::report::{
    DroppedReport, FrozenReport, GuardReport, LoopReport, ProofReport, ResultReport,
};
use slowpath_oracle::{check_golden, schema};

/// Report types of which the Python package's JSON documents are composed. The package generates
/// its own types for them from this schema.
type Parts = (
    FrozenReport,
    GuardReport,
    ProofReport,
    DroppedReport,
    LoopReport,
    ResultReport,
    PathReport,
    CostReport,
    AsIs,
    Counterexample,
);

#[test]
fn the_schemas_are_current() {
    check_golden("tests/golden/schema/chain.json", &schema::<Parts>());
    check_golden("tests/golden/schema/graphs.json", &schema::<GraphReports>());
}
