//! Fuzzes the parser of facts in the format of `--assume`. Each line of the input is a fact. All
//! lines together must give exactly one of
//!
//! - facts about bytes within the longest packet, which do not depend on the order and repetition
//!   of lines;
//! - an error that names one of the lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_chain::parse_facts;

fuzz_target!(|text: &str| {
    let mut facts: Vec<String> = text.lines().map(str::to_owned).collect();
    let found = match parse_facts(&facts) {
        Ok(found) => found,
        Err(why) => {
            assert_eq!(why.lines().count(), 1, "{why:?}");
            assert!(facts.iter().any(|fact| why.starts_with(&format!("{fact:?}: "))), "{why:?}");
            return;
        }
    };
    assert!(found.min_length <= found.max_length);
    let longest = usize::from(found.max_length);
    assert!(found.bits.keys().all(|&offset| usize::from(offset) < longest));
    assert!(found.values.keys().all(|field| field.end() <= longest));
    for (first, second) in &found.equal {
        assert!(first.end() <= longest && second.end() <= longest);
    }
    for (field, values) in &found.values {
        let limit = u64::MAX >> (64 - 8 * u32::from(field.bytes));
        assert!(!values.is_empty() && values.iter().all(|&value| value <= limit));
    }
    facts.reverse();
    assert_eq!(parse_facts(&facts).as_ref(), Ok(&found), "the order counts");
    facts.extend(facts.clone());
    assert_eq!(parse_facts(&facts).as_ref(), Ok(&found), "saying it twice counts");
});
