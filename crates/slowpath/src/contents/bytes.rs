//! Keys and values as bytes: hexadecimal digits, or integers in little-endian order.

use serde_json::Value;

/// The bytes that a key or value stands for, `size` of them. The error goes behind its name.
pub(super) fn read(value: &Value, size: u32) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => hex(text, size),
        Value::Number(_) => integer(value, size as usize),
        Value::Array(list) => integers(list, size),
        _ => Err("must be hexadecimal digits, an integer, or a list of integers".into()),
    }
}

/// Two digits a byte; `--` is a byte that does not matter, and zero here. Blanks do not count.
fn hex(text: &str, size: u32) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if digits.len() as u64 != 2 * u64::from(size) {
        let found = digits.len();
        return Err(format!(
            "has {found} hexadecimal digits, not {}: it is {}",
            2 * size,
            bytes(size)
        ));
    }
    let byte = |pair: &[u8]| match pair {
        b"--" => Ok(0),
        _ => std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or_else(|| format!("{:?} is no byte", String::from_utf8_lossy(pair))),
    };
    digits.chunks(2).map(byte).collect()
}

fn integer(value: &Value, size: usize) -> Result<Vec<u8>, String> {
    let number = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    let number = number.ok_or_else(|| format!("{value} is no integer of 64 bits"))?;
    let bits = 8 * size.min(8) as u32;
    let fits = number < 1 << bits && number >= -(1i128 << bits) / 2;
    if !fits {
        return Err(format!("{number} does not fit into {}", bytes(size as u32)));
    }
    // Two's complement: negative numbers go on with ones.
    let fill = if number < 0 { 0xff } else { 0 };
    let low = number.to_le_bytes();
    Ok((0..size).map(|index| low.get(index).copied().unwrap_or(fill)).collect())
}

fn integers(list: &[Value], size: u32) -> Result<Vec<u8>, String> {
    let size = size as usize;
    let each = size.checked_div(list.len()).unwrap_or(0);
    if each * list.len() != size || !matches!(each, 1 | 2 | 4 | 8) {
        return Err(format!(
            "{} integers do not divide {} into integers of 1, 2, 4 or 8 bytes",
            list.len(),
            bytes(size as u32)
        ));
    }
    let mut found = Vec::with_capacity(size);
    for value in list {
        found.extend(integer(value, each)?);
    }
    Ok(found)
}

fn bytes(size: u32) -> String {
    if size == 1 { "1 byte".into() } else { format!("{size} bytes") }
}
