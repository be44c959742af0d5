//! Reads two notations of structured data, and keeps the line of each value: JSON (RFC 8259), and
//! the text format of protocol buffers (the subset that messages of P4Runtime need).

/// A value and its line in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Line, counted from 1.
    pub line: u32,
    /// The value.
    pub value: Content,
}

/// Value of a [`Node`]: a string, word, list or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A string; in the text format of protocol buffers, its bytes.
    Text(Vec<u8>),
    /// A number or word as written in the file: `12`, `true`, `INSERT`.
    Word(String),
    /// A list of JSON.
    List(Vec<Node>),
    /// An object of JSON, or a message. Fields of messages can occur several times.
    Fields(Vec<(String, Node)>),
}

/// An error: line and message.
pub type Fault = (u32, String);

type Result<T> = std::result::Result<T, Fault>;

/// Largest nesting depth of values.
const MOST_LEVELS: u32 = 64;

impl Node {
    /// Returns the fields of an object or message; an empty slice for other values.
    pub fn fields(&self) -> &[(String, Node)] {
        match &self.value {
            Content::Fields(fields) => fields,
            _ => &[],
        }
    }

    /// Returns all values of a field, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Node> {
        self.fields().iter().filter(move |one| one.0 == name).map(|one| &one.1)
    }

    /// Returns the last value of a field, if it occurs.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.fields().iter().rev().find(|one| one.0 == name).map(|one| &one.1)
    }

    /// Returns a string, number or word as text; `None` for other values, or bytes that are not
    /// UTF-8.
    pub fn text(&self) -> Option<String> {
        match &self.value {
            Content::Text(bytes) => String::from_utf8(bytes.clone()).ok(),
            Content::Word(word) => Some(word.clone()),
            _ => None,
        }
    }
}

/// Parses a JSON text.
///
/// # Errors
///
/// Returns the first syntax error with its line.
pub fn read_json(text: &str) -> Result<Node> {
    let mut reader = Reader::new(text, false);
    let node = reader.value(0)?;
    reader.skip();
    match reader.peek() {
        None => Ok(node),
        Some(_) => reader.expected("the end of the file"),
    }
}

/// Parses a message in the text format of protocol buffers.
///
/// # Errors
///
/// Returns the first syntax error with its line.
pub fn read_message(text: &str) -> Result<Node> {
    let mut reader = Reader::new(text, true);
    let fields = reader.fields(None, 0)?;
    Ok(Node { line: 1, value: Content::Fields(fields) })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    /// True for the text format of protocol buffers, false for JSON.
    is_message: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, is_message: bool) -> Reader<'a> {
        Reader { text: text.as_bytes(), at: 0, line: 1, is_message }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    fn skip(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'#' && self.is_message {
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
            } else if byte.is_ascii_whitespace() {
                self.next();
            } else {
                break;
            }
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            None => "the end of the file".to_owned(),
            Some(byte) => format!("'{}'", char::from(byte)),
        };
        Err((self.line, format!("{what} expected, found {found}")))
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads a JSON value, or the scalar, list or message after a colon.
    fn value(&mut self, level: u32) -> Result<Node> {
        self.skip();
        let line = self.line;
        if level > MOST_LEVELS {
            return Err((line, format!("more than {MOST_LEVELS} values in each other")));
        }
        let value = match self.peek() {
            Some(b'"') => Content::Text(self.string(b'"')?),
            Some(b'\'') if self.is_message => Content::Text(self.string(b'\'')?),
            Some(b'{') => {
                self.at += 1;
                match self.is_message {
                    true => Content::Fields(self.fields(Some(b'}'), level + 1)?),
                    false => Content::Fields(self.members(level + 1)?),
                }
            }
            Some(b'<') if self.is_message => {
                self.at += 1;
                Content::Fields(self.fields(Some(b'>'), level + 1)?)
            }
            Some(b'[') => {
                self.at += 1;
                Content::List(self.items(level + 1)?)
            }
            _ => Content::Word(self.word("a value")?),
        };
        Ok(Node { line, value })
    }

    fn word(&mut self, what: &str) -> Result<String> {
        self.skip();
        let start = self.at;
        let is_part =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        if start == self.at {
            return self.expected(what);
        }
        Ok(String::from_utf8_lossy(&self.text[start..self.at]).into_owned())
    }

    fn items(&mut self, level: u32) -> Result<Vec<Node>> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(level)?);
            if self.take(b']') {
                return Ok(items);
            }
            if !self.take(b',') {
                return self.expected("',' or ']'");
            }
        }
    }

    fn members(&mut self, level: u32) -> Result<Vec<(String, Node)>> {
        let mut members: Vec<(String, Node)> = Vec::new();
        if self.take(b'}') {
            return Ok(members);
        }
        loop {
            self.skip();
            if self.peek() != Some(b'"') {
                return self.expected("a name in quotes");
            }
            let line = self.line;
            let name = String::from_utf8_lossy(&self.string(b'"')?).into_owned();
            if members.iter().any(|one| one.0 == name) {
                return Err((line, format!("'{name}' is given twice")));
            }
            if !self.take(b':') {
                return self.expected("':'");
            }
            members.push((name, self.value(level)?));
            if self.take(b'}') {
                return Ok(members);
            }
            if !self.take(b',') {
                return self.expected("',' or '}'");
            }
        }
    }

    /// Reads the fields of a message up to the byte `end`; `None` stands for the end of the file.
    fn fields(&mut self, end: Option<u8>, level: u32) -> Result<Vec<(String, Node)>> {
        let mut fields = Vec::new();
        loop {
            self.skip();
            if self.peek() == end {
                self.at += usize::from(end.is_some());
                return Ok(fields);
            }
            let name = match self.take(b'[') {
                // An extension, or the type of `Any`.
                true => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| byte != b']' && byte != b'\n') {
                        self.at += 1;
                    }
                    let name = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
                    if !self.take(b']') {
                        return self.expected("']'");
                    }
                    name
                }
                false => self.word("the name of a field")?,
            };
            let has_colon = self.take(b':');
            self.skip();
            if !has_colon && !matches!(self.peek(), Some(b'{' | b'<')) {
                return self.expected("':' or '{'");
            }
            let node = self.value(level)?;
            match node.value {
                // `name: [a, b]` repeats the field.
                Content::List(items) => {
                    fields.extend(items.into_iter().map(|item| (name.clone(), item)));
                }
                _ => fields.push((name, node)),
            }
            if !self.take(b',') {
                self.take(b';');
            }
        }
    }

    fn string(&mut self, quote: u8) -> Result<Vec<u8>> {
        let line = self.line;
        let mut bytes = Vec::new();
        loop {
            self.at += 1;
            loop {
                match self.next() {
                    None | Some(b'\n') => {
                        return Err((line, "the string has no end".to_owned()));
                    }
                    Some(byte) if byte == quote => break,
                    Some(b'\\') => self.escape(&mut bytes)?,
                    Some(byte) => bytes.push(byte),
                }
            }
            // Adjacent strings in a message are concatenated.
            if !self.is_message {
                return Ok(bytes);
            }
            self.skip();
            if self.peek() != Some(quote) {
                return Ok(bytes);
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let line = self.line;
        let wrong = || Err((line, "the string has an unknown escape after '\\'".to_owned()));
        let byte = match self.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'a') if self.is_message => 7,
            Some(b'v') if self.is_message => 11,
            Some(byte @ (b'"' | b'\\' | b'/' | b'\'' | b'?')) => byte,
            Some(first @ b'0'..=b'7') if self.is_message => {
                let mut number = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    number = number * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                match u8::try_from(number) {
                    Ok(byte) => byte,
                    Err(_) => return wrong(),
                }
            }
            Some(b'x' | b'X') if self.is_message => match self.hex(1, 2) {
                Some(number) => number as u8,
                None => return wrong(),
            },
            Some(b'u') => match self.hex(4, 4).and_then(char::from_u32) {
                Some(found) => {
                    bytes.extend(found.encode_utf8(&mut [0; 4]).as_bytes());
                    return Ok(());
                }
                None => return wrong(),
            },
            _ => return wrong(),
        };
        bytes.push(byte);
        Ok(())
    }

    fn hex(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.text[self.at..].iter().take(most);
        let count = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(self.text.get(self.at..self.at + count)?).ok()?;
        self.at += count;
        if count < least { None } else { u32::from_str_radix(text, 16).ok() }
    }
}
