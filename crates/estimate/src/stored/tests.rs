use super::*;
use proptest::prelude::*;

fn step(at: u32) -> impl Strategy<Value = String> {
    let works = prop::sample::select(vec![
        "alu", "shift", "multiply", "divide", "load", "store", "atomic", "renamed", "constant",
        "branch", "function",
    ]);
    let register = prop::option::of(0..11_u8);
    let reads = prop::collection::vec(0..11_u8, 0..4);
    let forwarded = prop::option::of((0..at.max(1), any::<bool>()));
    (works, reads, register, any::<bool>(), forwarded).prop_map(
        move |(work, reads, writes, jumps, forwarded)| {
            let forwarded = forwarded.filter(|_| at > 0);
            serde_json::to_string(&(work, reads, writes, jumps, forwarded, None::<u32>)).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn paths_come_back_as_they_were(steps in (0..40_u32).prop_flat_map(|count| {
        (0..count).map(step).collect::<Vec<_>>()
    })) {
        let text = format!("{{\"steps\":[{}],\"calls\":[]}}", steps.join(","));
        let path = Path::from_json(&text).unwrap();
        prop_assert_eq!(path.len(), steps.len());
        let again = Path::from_json(&path.to_json()).unwrap();
        prop_assert_eq!(&again.steps, &path.steps);
        prop_assert_eq!(again.calls(), path.calls());
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = Path::from_json(&text);
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    for step in [
        "[\"alu\",[11],null,false,null,null]",
        "[\"alu\",[1,1,1,1],null,false,null,null]",
        "[\"alu\",[],12,false,null,null]",
        "[\"load\",[],1,false,[0,false],null]",
        "[\"call\",[],0,false,null,0]",
        "[\"call\",[],0,false,null,null]",
        "[\"alu\",[],0,false,null,0]",
        "[\"jump\",[],0,false,null,null]",
    ] {
        let text = format!("{{\"steps\":[{step}],\"calls\":[]}}");
        assert!(Path::from_json(&text).is_err(), "{step}");
    }
}
