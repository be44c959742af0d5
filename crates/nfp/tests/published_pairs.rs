//! The published objects, if the environment variable `SLOWPATH_LISTINGS` names a folder that has
//! them beside their listings: compiled, they are these listings line by line.

mod listings;

use listings::published;
use slowpath_bpf::Object;
use slowpath_nfp::{CompileOptions, compile};

#[test]
fn compiled_objects_are_the_published_listings() {
    let mut pairs = 0;
    for path in published() {
        let object = path.with_extension("bpf.o");
        let Ok(data) = std::fs::read(&object) else { continue };
        let expected = std::fs::read_to_string(&path).expect("the listing can be read");
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let program = object.link(0, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let compiled = compile(&object, &program, &CompileOptions::default());
        let compiled = compiled.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let differs = |(a, b): &(&str, &str)| a != b;
        let listing = compiled.listing.to_string();
        let first = listing.lines().zip(expected.lines()).find(differs);
        assert!(listing == expected, "{}: {first:?}", path.display());
        pairs += 1;
    }
    eprintln!("{pairs} pairs are equal");
}
