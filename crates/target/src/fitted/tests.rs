use super::{Fitted, Residual, Segment, Template};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn segment(document: &Value) -> Segment {
    let parameters = document["parameters"].as_array().unwrap();
    Segment {
        from: number(&document["from"]),
        to: number(&document["to"]),
        template: Template::named(document["template"].as_str().unwrap()).unwrap(),
        parameters: parameters.iter().map(|one| number(&one["value"])).collect(),
        origin: number(&document["origin"]),
        at_least: document["at_least"].as_f64(),
        at_most: document["at_most"].as_f64(),
        extrapolates: document["extrapolates"].as_bool().unwrap(),
    }
}

fn residuals(document: &Value) -> Vec<Residual> {
    let numbers = |name: &str| document[name].as_array().unwrap().iter().map(number);
    match document.is_null() {
        true => Vec::new(),
        false => {
            let points = numbers("x").zip(numbers("share"));
            points.map(|(x, share)| Residual { x, share }).collect()
        }
    }
}

fn fitted(segments: Vec<Segment>) -> Fitted {
    Fitted {
        description: "d".into(),
        parameter: "x".into(),
        entry_bytes: None,
        calls: Vec::new(),
        found: true,
        error: 0.0,
        held_out: None,
        data: String::new(),
        segments,
        residuals: Vec::new(),
    }
}

/// Checks the values of models. The tests of the Python implementation check the same values with
/// the same models.
#[test]
fn values_equal_those_of_slowpath_fit() {
    let file = "../../tests/golden/models/evaluation.json";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut templates = std::collections::BTreeSet::new();
    let mut with_residuals = 0;
    for case in &cases {
        let (model, places) = (&case["model"], case["x"].as_array().unwrap());
        if model["x"].as_array().unwrap().len() > 1 {
            continue; // Target descriptions have no models of several parameters.
        }
        let documents = model["segments"].as_array().unwrap();
        templates.extend(documents.iter().map(|s| s["template"].to_string()));
        let mut fitted = fitted(documents.iter().map(segment).collect());
        fitted.residuals = residuals(&model["residuals"]);
        with_residuals += usize::from(!fitted.residuals.is_empty());
        for (place, expected) in places.iter().zip(case["y"].as_array().unwrap()) {
            let (x, expected) = (number(&place[0]), number(expected));
            let found = fitted.at(x).unwrap();
            let error = (found - expected).abs();
            assert!(error <= 1e-9 * expected.abs().max(1e-9), "{}: {x}: {found}", case["name"]);
        }
    }
    assert!(templates.len() >= 10, "{templates:?}");
    assert!(with_residuals > 0);
}

#[test]
fn templates_have_names() {
    assert_eq!(Template::named("polynomial-0").unwrap().parameters, 1);
    assert_eq!(Template::named("inverse-exponential").unwrap().parameters, 3);
    for unknown in ["", "polynomial-", "polynomial-6", "inverse-inverse-logarithm", "terms"] {
        assert_eq!(Template::named(unknown), None, "{unknown}");
    }
}

#[test]
fn growth_is_never_negative() {
    let falling = Segment {
        from: 1.0,
        to: 100.0,
        template: Template::named("polynomial-1").unwrap(),
        parameters: vec![50.0, -0.1],
        origin: 0.0,
        at_least: None,
        at_most: None,
        extrapolates: false,
    };
    let rising = Segment { parameters: vec![50.0, 0.5], ..falling.clone() };
    assert_eq!(fitted(vec![falling]).growth(100.0), Some(0.0));
    let rising = fitted(vec![rising]);
    assert_eq!(rising.growth(1.0), Some(0.0));
    assert_eq!(rising.growth(3.0), Some(1.0));
    assert_eq!(rising.growth(1e9), rising.growth(100.0));
}
