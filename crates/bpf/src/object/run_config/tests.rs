//! Tests that read valid and invalid settings of compiled objects.

use super::*;

const OBJECT: &[u8] = include_bytes!("../../../tests/data/run_config.bpf.o");
const SILENT: &[u8] = include_bytes!("../../../tests/data/features.bpf.o");

fn config(program: &str) -> Result<RunConfig, String> {
    let object = Object::parse(OBJECT).expect("an object");
    let number = object.programs.iter().position(|entry| entry.name == program);
    object.run_config(number.expect(program)).map_err(|error| error.to_string())
}

fn of(priority: u32, continues_on: &[u32]) -> Result<RunConfig, String> {
    Ok(RunConfig { priority, continues_on: continues_on.to_vec() })
}

#[test]
fn priorities_and_actions_are_read() {
    // XDP_PASS is one of the actions unless the settings remove it.
    assert_eq!(config("early"), of(10, &[1, 2, 3]));
    assert_eq!(config("never"), of(50, &[0]));
    assert_eq!(config("silent"), of(50, &[2]));
    let silent = Object::parse(SILENT).expect("an object");
    assert_eq!(silent.run_config(0), Ok(RunConfig::default()));
}

#[test]
fn invalid_settings_are_errors() {
    let unknown = config("wrong").expect_err("an action that there is not");
    assert!(unknown.contains("unknown parameter `XDP_SKIP`"), "{unknown}");
    let plain = config("plain").expect_err("a number that is no type");
    assert!(plain.contains("`priority` of program plain is not a number"), "{plain}");
    let object = Object::parse(OBJECT).expect("an object");
    assert!(matches!(object.run_config(99), Err(ObjectError::NoProgram { .. })));
}
