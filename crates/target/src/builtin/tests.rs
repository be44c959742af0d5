use crate::{Target, check};

#[test]
fn built_in_targets_are_flawless_and_named_as_their_files() {
    for &name in Target::builtin_names() {
        let text = Target::builtin_text(name).expect("listed");
        assert_eq!(check(text), Vec::<String>::new(), "{name}");
        let target = Target::builtin(name).expect("listed").expect("parses");
        assert_eq!(target.name, name);
    }
}

#[test]
fn the_list_of_names_is_the_list_of_texts() {
    let names: Vec<_> = super::BUILTIN.iter().map(|known| known.name).collect();
    assert_eq!(names, Target::builtin_names());
    assert!(Target::builtin("no-such-card").is_none());
}
