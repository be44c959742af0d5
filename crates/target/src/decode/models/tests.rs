use crate::Target;

const MODEL: &str = r#"
[timing.model.tries]
description = "A look-up"
parameter = "entries"
calls = ["map_lookup_elem.trie"]
smape = 0.02
data_sha256 = "00ff"
segments = [
    { from = 1, to = 8, template = "polynomial-0", parameters = [12.5] },
    { from = 16, to = 4096.0, template = "logarithm", parameters = [-4.5, 9], extrapolates = true },
]
"#;

fn read(model: &str) -> Result<Target, String> {
    let text = crate::Target::builtin_text("linux-xdp").unwrap();
    let text = text.split("[timing.model").next().unwrap().to_owned() + model;
    Target::parse(&text, "x.toml").map_err(|error| error.to_string())
}

#[test]
fn models_are_read() {
    let timing = read(MODEL).unwrap().timing.unwrap();
    let model = &timing.models["tries"];
    assert_eq!((model.parameter.as_str(), model.found), ("entries", true));
    assert_eq!(model.range(), (1.0, 4096.0));
    assert_eq!(model.at(4.0), Some(12.5));
    assert_eq!(model.at(5000.0), Some(-4.5 + 9.0 * 5000_f64.ln()));
}

#[test]
fn residuals_are_added_to_the_functions() {
    let text = MODEL.to_owned() + "residuals = { x = [2, 4, 16], share = [0, 0.5, -0.25] }\n";
    let timing = read(&text).unwrap().timing.unwrap();
    let model = &timing.models["tries"];
    assert_eq!([1.0, 3.0, 4.0].map(|x| model.at(x)), [12.5, 15.625, 18.75].map(Some));
    assert_eq!(model.at(5000.0), Some((-4.5 + 9.0 * 5000_f64.ln()) * 0.75));
    for (residuals, what) in [
        ("{ x = [2, 4], share = [0] }", "residuals.share` has as many values as `x`, and some"),
        ("{ x = [], share = [] }", "has as many values as `x`, and some"),
        ("{ x = [4, 2], share = [0, 0] }", "is for values of `x` that ascend"),
        ("{ x = [2], share = [-1.0] }", "is more than -1"),
        ("{ x = [2], share = [nan] }", "`timing.model.tries.residuals.share` must be a finite"),
        ("[1]", "`timing.model.tries.residuals` must be a table"),
        ("{ x = [2], share = [0], y = 1 }", "timing.model.tries.residuals.y"),
    ] {
        let error = read(&format!("{MODEL}residuals = {residuals}\n")).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
}

#[test]
fn errors_name_the_key() {
    for (from, to, what) in [
        ("\"logarithm\"", "\"sine\"", "sine is not a function template"),
        ("[12.5]", "[12.5, 1]", "polynomial-0 has 1 parameters"),
        ("to = 8", "to = 18", "begins before the previous segment ends"),
        ("to = 8", "to = 0", "`from` is above `to`"),
        (
            "from = 16",
            "from = nan",
            "`timing.model.tries.segments[1].from` must be a finite number",
        ),
        ("smape", "mape", "timing.model.tries.smape"),
        ("smape = 0.02", "smape = -0.02", "`timing.model.tries.smape` must not be negative"),
        ("smape = 0.02", "smape = 0\nheld_out_smape = -1", "held_out_smape` must not be negative"),
        ("parameters = [-4.5, 9]", "parameters = 9", "must be a list of numbers"),
    ] {
        let error = read(&MODEL.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
    let empty = MODEL.split("segments").next().unwrap().to_owned() + "segments = []\n";
    assert!(read(&empty).unwrap_err().contains("segments` is empty"));
}
