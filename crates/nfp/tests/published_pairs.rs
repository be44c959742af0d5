//! Tests that compiling the published objects gives the published listings line by line. The files
//! are tested only if they are available.

use crate::listings;

use listings::published_pairs;
use slowpath_bpf::Object;
use slowpath_nfp::{CompileOptions, compile};
use slowpath_oracle::Oracle;

#[test]
fn compiled_objects_are_the_published_listings() {
    for (path, data) in published_pairs() {
        let expected = std::fs::read_to_string(&path).expect("the listing can be read");
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let program = object.link(0, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let compiled = compile(&object, &program, &CompileOptions::default());
        let compiled = compiled.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let differs = |(a, b): &(&str, &str)| a != b;
        let listing = compiled.listing.to_string();
        let first = listing.lines().zip(expected.lines()).find(differs);
        assert!(listing == expected, "{}: {first:?}", path.display());
        Oracle::Objects.compared(1, "objects with their listings");
    }
}
