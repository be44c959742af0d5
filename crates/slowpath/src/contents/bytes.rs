//! Parses keys and values of maps, which users write as hexadecimal digits or as integers. Integers
//! are stored in little-endian order.

use serde_json::{Map, Value};
use slowpath_bpf::lift::MAX_CONTENT_BYTES;

/// Maximum size in bytes of map values that must be stated completely. For larger values, users can
/// state only some ranges of bytes, and all other bytes are zero.
pub(crate) const WHOLE: u32 = 256;

pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a key or value of `size` bytes. The result can be shorter if the value is large; the
/// missing bytes at its end are zero. The text of an error is the end of a sentence, such as `must
/// be …`; the caller writes the name of the key or value before it.
pub(super) fn read(value: &Value, size: u32) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => hex(text, size),
        Value::Number(_) => integer(value, size),
        Value::Array(list) => integers(list, size),
        Value::Object(pieces) if size > WHOLE => pieces_at(pieces, size),
        _ => Err("must be hexadecimal digits, an integer, or a list of integers".into()),
    }
}

/// Parses a map value that the user states as ranges of bytes: offset of the first byte, then
/// hexadecimal digits. All bytes outside the ranges are zero.
fn pieces_at(pieces: &Map<String, Value>, size: u32) -> Result<Vec<u8>, String> {
    let mut whole: Vec<u8> = Vec::new();
    for (offset, piece) in pieces {
        let start: u32 = offset
            .parse()
            .map_err(|_| format!("has {offset:?}, which is not an offset in bytes"))?;
        let text = piece.as_str().ok_or_else(|| format!("has no digits at offset {start}"))?;
        let digits = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() as u64;
        let end = u64::from(start) + digits.div_ceil(2);
        if end > u64::from(size) {
            return Err(format!("ends at offset {end}: it is {}", bytes(size)));
        }
        if end > MAX_CONTENT_BYTES {
            return Err(format!("goes to offset {end}, beyond the first 64 MiB"));
        }
        let piece = hex(text, (end - u64::from(start)) as u32)?;
        if whole.len() < end as usize {
            whole.resize(end as usize, 0);
        }
        whole[start as usize..end as usize].copy_from_slice(&piece);
    }
    Ok(whole)
}

/// Parses hexadecimal text with two digits for each byte, and skips white space. `--` stands for a
/// byte whose value does not matter, and is read as zero.
fn hex(text: &str, size: u32) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if digits.len() as u64 != 2 * u64::from(size) {
        let found = digits.len();
        return Err(format!(
            "has {found} hexadecimal digits, not {}: it is {}",
            2 * u64::from(size),
            bytes(size)
        ));
    }
    let byte = |pair: &[u8]| match pair {
        b"--" => Ok(0),
        _ => std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or_else(|| {
                format!(
                    "{:?} is not a byte; write two hexadecimal digits",
                    String::from_utf8_lossy(pair)
                )
            }),
    };
    digits.chunks(2).map(byte).collect()
}

fn integer(value: &Value, size: u32) -> Result<Vec<u8>, String> {
    /// Maximum size in bytes of map values to which integers can be sign-extended. Larger values
    /// accept only integers that are not negative.
    const LARGE: u32 = 1 << 16;
    let number = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    let number = number.ok_or_else(|| format!("{value} is not an integer of 64 bits"))?;
    let bits = 8 * size.min(8);
    let fits = number < 1 << bits && number >= -(1i128 << bits) / 2;
    if !fits {
        return Err(format!("{number} does not fit into {}", bytes(size)));
    }
    // Two's complement: negative numbers continue with ones.
    let fill = if number < 0 { 0xff } else { 0 };
    if size > LARGE && number < 0 {
        return Err(format!("{number} cannot be given for {}", bytes(size)));
    }
    let low = number.to_le_bytes();
    let stored = if size > LARGE { 8 } else { size as usize };
    Ok((0..stored).map(|index| low.get(index).copied().unwrap_or(fill)).collect())
}

fn integers(list: &[Value], size: u32) -> Result<Vec<u8>, String> {
    let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
    let each = size.checked_div(count).unwrap_or(0);
    if each.checked_mul(count) != Some(size) || !matches!(each, 1 | 2 | 4 | 8) {
        return Err(format!(
            "{count} integers do not divide {} into integers of 1, 2, 4 or 8 bytes",
            bytes(size)
        ));
    }
    let mut found = Vec::with_capacity(size as usize);
    for value in list {
        found.extend(integer(value, each)?);
    }
    Ok(found)
}

fn bytes(size: u32) -> String {
    if size == 1 { "1 byte".into() } else { format!("{size} bytes") }
}
