//! JSON Schemas of reports, from which types of the Python package are generated.

use crate::trace::TraceReport;
use slowpath_oracle::{check_golden, schema};

#[test]
fn the_schema_is_current() {
    check_golden("tests/golden/schema/trace.json", &schema::<TraceReport>());
}
