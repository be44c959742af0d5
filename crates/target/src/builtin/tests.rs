use crate::{Target, check};
use std::path::Path;

#[test]
fn built_in_targets_are_valid_and_named_as_their_files() {
    for &name in Target::builtin_names() {
        let text = Target::builtin_text(name).expect("listed");
        assert_eq!(check(text), Vec::<String>::new(), "{name}");
        let target = Target::builtin(name).expect("listed").expect("parses");
        assert_eq!(target.name, name);
    }
}

#[test]
fn every_description_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets");
    let files = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file"));
    let mut names: Vec<_> = files.map(|file| file.path().with_extension("")).collect();
    names.sort();
    let names: Vec<_> = names.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let aliases = ["linux-xdp"]; // stands for this machine's CPU, and is that of Zen 4 here
    let built_in = Target::builtin_names().iter().copied();
    assert_eq!(names, built_in.filter(|name| !aliases.contains(name)).collect::<Vec<_>>());
    let [alias, zen4] = ["linux-xdp", "linux-xdp-zen4"].map(|name| {
        let target = Target::builtin(name).expect("listed").expect("parses");
        Target { name: String::new(), ..target }
    });
    assert_eq!(alias.timing, zen4.timing);
    assert!(Target::builtin("no-such-card").is_none());
}
