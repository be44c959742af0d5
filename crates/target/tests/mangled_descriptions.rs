//! Tests target descriptions with random changes. Each is either a usable target or causes an error
//! with file and line. [`check`] finds a problem whenever parsing fails.

use proptest::prelude::*;
use slowpath_target::{Target, check};

fn original() -> &'static str {
    Target::builtin_text("agilio-cx-2x40").expect("built in")
}

/// Checks that a text is a usable target description, or that its error has one line.
fn check_outcome(text: &str) {
    match Target::parse(text, "mangled.toml") {
        Ok(target) => {
            // The target must be usable.
            let classes: Vec<String> = vec!["insn".into(), "mem.dram.read32.wait".into()];
            if let Ok(model) = target.cost_model(&classes) {
                let mut cost = model.overhead();
                model.step(model.start(), 1, &mut cost);
                target.rates(&cost, target.min_packet);
            }
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("mangled.toml:"), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert!(!check(text).is_empty(), "{error}");
        }
    }
}

proptest! {
    #[test]
    fn a_line_removed_or_duplicated(at in any::<prop::sample::Index>(), double in any::<bool>()) {
        let mut lines: Vec<&str> = original().lines().collect();
        let at = at.index(lines.len());
        match double {
            true => lines.insert(at, lines[at]),
            false => { lines.remove(at); }
        }
        check_outcome(&lines.join("\n"));
    }

    #[test]
    fn a_value_replaced(at in any::<prop::sample::Index>(), value in "[-0-9a-z\"'\\[\\]{}=., ]{0,9}") {
        let mut lines: Vec<String> = original().lines().map(str::to_owned).collect();
        let at = at.index(lines.len());
        if let Some((key, _)) = lines[at].split_once('=') {
            lines[at] = format!("{key}= {value}");
        }
        check_outcome(&lines.join("\n"));
    }

    #[test]
    fn a_piece_replaced_by_any_text(
        start in any::<prop::sample::Index>(), len in 0usize..20, piece in ".{0,8}",
    ) {
        let chars: Vec<char> = original().chars().collect();
        let start = start.index(chars.len());
        let end = (start + len).min(chars.len());
        let text: String =
            chars[..start].iter().copied().chain(piece.chars()).chain(chars[end..].iter().copied()).collect();
        check_outcome(&text);
    }

    #[test]
    fn arbitrary_text(text in ".{0,200}") {
        check_outcome(&text);
    }
}
