use super::*;

fn read(texts: &[&str]) -> Result<PacketFacts, String> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    parse_facts(&texts)
}

#[test]
fn facts_are_written_as_they_are_shown() {
    let facts = read(&[
        "length >= 64",
        "64 to 1500 bytes",
        "bytes 12-13 = 86dd",
        "byte 14 & f0 = 60",
        "byte 20 in {06, 11}",
        "bytes 22-23 = bytes 38-39",
    ])
    .expect("they are facts");
    assert_eq!((facts.min_length, facts.max_length), (64, 1500));
    assert_eq!((facts.byte(12), facts.byte(13)), (Some(0x86), Some(0xdd)));
    assert_eq!(facts.bits[&14], KnownBits { mask: 0xf0, value: 0x60 });
    assert_eq!(facts.values[&Field { offset: 20, bytes: 1 }], BTreeSet::from([6, 0x11]));
    let pair = (Field { offset: 22, bytes: 2 }, Field { offset: 38, bytes: 2 });
    assert_eq!(facts.equal, BTreeSet::from([pair]));
    assert_eq!(read(&[]), Ok(any_packet()));
}

#[test]
fn what_is_no_fact_is_refused_and_the_forms_are_named() {
    for text in [
        "",
        "length",
        "length > 64",
        "length >= 64 bytes",
        "length >= -1",
        "length >= 0x40",
        "byte 12-13 = 86",
        "bytes 12-13 = 86d",
        "bytes 12-13 = 0x86",
        "byte x = 00",
        "bytes 13-12 = 0000",
        "byte 14 & f0 = 0f",
        "byte 14 & 00 = 00",
        "byte 14 & fff0 = 60",
        "bytes 0-8 in {00}",
        "byte 20 in 06",
        "byte 20 in {}",
        "byte 20 in {0600}",
        "bytes 22-23 = bytes 38-40",
        "bytes 22-23 = bytes 22-23",
        "length >= 65536",
        "99 to 64 bytes",
        "byte 65536 = 00",
    ] {
        let why = read(&[text]).expect_err(text);
        assert!(why.starts_with(&format!("{text:?}: ")), "{why}");
    }
    assert!(read(&["length > 64"]).expect_err("no fact").contains("`length >= N`"));
}

#[test]
fn facts_that_contradict_each_other_are_refused() {
    let why = read(&["byte 12 = 08", "byte 12 = 86"]).expect_err("the facts contradict each other");
    assert!(why.contains("contradicts the facts"), "{why}");
    assert!(read(&["length >= 100", "length <= 99"]).is_err());
}

#[test]
fn facts_of_different_kinds_that_contradict_each_other_are_refused() {
    for texts in [
        &["byte 12 = 08", "byte 12 in {06, 86}"][..],
        &["byte 12 in {06, 86}", "byte 12 & 0f = 08"],
        &["bytes 12-13 in {0800}", "byte 13 = dd"],
        &["byte 12 = 08", "byte 13 = 09", "byte 12 = byte 13"],
        &["byte 12 = byte 13", "byte 13 = byte 14", "byte 12 & f0 = 40", "byte 14 & 40 = 00"],
        &["bytes 12-13 = bytes 20-21", "byte 13 = 01", "bytes 20-21 in {0102, 0203}"],
    ] {
        let why = read(texts).expect_err("the facts contradict each other");
        let last = format!("{:?} contradicts the facts before it", texts[texts.len() - 1]);
        assert!(why.starts_with(&last), "{why}");
    }
    for texts in [
        &["byte 12 = 08", "byte 12 in {08, 86}"][..],
        &["byte 12 = byte 13", "byte 12 & f0 = 40", "byte 13 & 0f = 05"],
        &["bytes 12-13 = bytes 13-14", "byte 12 = 01", "byte 14 = 01"],
    ] {
        assert!(read(texts).is_ok(), "{texts:?}");
    }
}

#[test]
fn facts_beyond_the_end_of_all_packets_are_refused() {
    let why = read(&["byte 60 = 01", "length <= 60"]).expect_err("there is no such byte");
    assert_eq!(why, "\"byte 60 = 01\": packets have at most 60 bytes, so byte 60 does not exist");
    assert!(read(&["length <= 60", "byte 59 = 01"]).is_ok());
    for text in ["byte 5000 = 01", "bytes 5000-5001 in {0102}", "byte 12 = byte 5000"] {
        let texts = [text, "length <= 4000"];
        assert!(read(&texts).expect_err("the byte does not exist").contains("so byte 500"));
    }
}
