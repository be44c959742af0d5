//! BPF objects on the SmartNIC: the same guarantee from the object and from the listing that is
//! compiled from it.

mod common;

use common::{analyse, options};
use serde_json::Value;
use slowpath::{Options, Request};
use std::path::Path;

const CARD: &str = "agilio-cx-2x40";

/// The listing of the first program of an object, or why there is none.
fn listing(data: &[u8], options: &Options) -> Result<String, String> {
    let request = Request {
        file: "example.bpf.o".into(),
        data: data.to_vec(),
        options: options.clone(),
        ..Request::default()
    };
    let text = slowpath::compile(&request).map_err(|error| error.to_string())?;
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    Ok(shown["listing"].as_str().expect("a listing").to_owned())
}

#[test]
fn objects_and_their_listings_have_the_same_guarantee() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).expect("the examples exist");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".bpf.o"));
    files.sort();
    for file in &files {
        let name = file.file_name().expect("a name").to_string_lossy();
        let data = std::fs::read(file).expect("the example");
        let options = Options {
            target: CARD.into(),
            unroll: vec!["200".into()],
            deadline_seconds: Some(20.0),
            ..options()
        };
        match listing(&data, &options) {
            Err(why) => eprintln!("{name}: {why}"),
            Ok(listing) => {
                let (object, _) = analyse(&data, options.clone());
                let (compiled, _) = analyse(listing.as_bytes(), options);
                eprintln!(
                    "{name}: {} {} {}",
                    listing.lines().count(),
                    object["guarantee"],
                    object["error"]
                );
                assert_eq!(object["guarantee"], compiled["guarantee"], "{name}");
            }
        }
    }
}
