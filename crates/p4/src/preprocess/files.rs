//! Reads lexemes from files, and finds included files.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use slowpath_codes as codes;

use super::state::{Frame, Key, tidy};
use super::{MAX_DEPTH, MAX_TOKENS, Preprocessor, fault, short, standard};
use crate::P4Error;
use crate::lexer::{Kind, Lexeme, Lexer};
use crate::token::{SourceFile, Span};

impl Preprocessor<'_> {
    /// Reads the next lexeme of the current file, and executes the directives before it.
    pub(super) fn file_lexeme(&mut self) -> Result<Lexeme, P4Error> {
        let mut read = None;
        loop {
            let frame = self.frames.last_mut().expect("the program stays open");
            let lexeme = read.take().unwrap_or_else(|| frame.lexer.next(&mut self.names, false));
            if lexeme.kind == Kind::End {
                if let Some(condition) = frame.conditions.last() {
                    return Err(fault(condition.span, "condition has no #endif; add it"));
                }
                if self.frames.len() == 1 {
                    return Ok(lexeme);
                }
                self.frames.pop();
            } else if lexeme.first && lexeme.is("#") {
                self.directive(lexeme.span)?;
            } else if lexeme.is("@") && frame.lexer.eat_word("pragma") {
                read = Some(self.skip_pragma());
            } else {
                return Ok(lexeme);
            }
        }
    }

    /// Skips the annotation `@pragma`, whose text extends to the end of the line. Returns the next
    /// lexeme.
    fn skip_pragma(&mut self) -> Lexeme {
        let frame = self.frames.last_mut().expect("the program stays open");
        loop {
            let lexeme = frame.lexer.next(&mut self.names, false);
            if lexeme.broken || lexeme.kind == Kind::End {
                return lexeme;
            }
        }
    }

    /// Opens an included file and starts to read from it.
    pub(super) fn include(&mut self, name: &str, quoted: bool, span: Span) -> Result<(), P4Error> {
        if self.frames.len() > MAX_DEPTH {
            let message = format!(
                "files include each other more than {MAX_DEPTH} deep; add include guards to {}",
                short(name)
            );
            return Err(fault(span, message));
        }
        let (number, folder) = self.find(name, quoted, span)?;
        if number > 0 {
            self.sources.files[number as usize].included_at.get_or_insert(span);
        }
        let SourceFile { text, path, .. } = &self.sources.files[number as usize];
        let (text, cost) = (text.clone(), text.len() / 4 + path.as_os_str().len());
        self.charge(cost, span)?;
        if !self.once.contains(&number) {
            self.frames.push(Frame::new(Lexer::new(number, text), number, folder));
        }
        Ok(())
    }

    /// Finds an included file. Returns its index in the sources, and its folder.
    fn find(
        &mut self,
        name: &str,
        quoted: bool,
        span: Span,
    ) -> Result<(u32, Option<PathBuf>), P4Error> {
        let beside = self.frame().folder.clone().filter(|_| quoted);
        let folders = beside.iter().chain(&self.options.include_folders);
        let candidates: Vec<PathBuf> = folders.map(|folder| tidy(&folder.join(name))).collect();
        for path in candidates {
            let key = Key::Read(path.clone());
            let number = match self.numbers.get(&key) {
                Some(number) => *number,
                None if path.is_file() => {
                    let text = read(&path, span)?;
                    self.add_file(key, path.clone(), text)
                }
                None => continue,
            };
            return Ok((number, path.parent().map(Path::to_path_buf)));
        }
        let Some(header) = standard::find(name) else {
            let message = format!("{} not found; name its folder with -I", short(name));
            return Err(P4Error::new(codes::P4_INCLUDE_NOT_FOUND, span, message));
        };
        if let Some(name) = header.defines {
            self.define_option(name, "")?;
        }
        let key = Key::Standard(header.name);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => self.add_file(key, header.name.into(), header.text.into()),
        };
        Ok((number, None))
    }

    /// Adds a file to the sources, and returns its index.
    pub(super) fn add_file(&mut self, key: Key, path: PathBuf, text: Rc<str>) -> u32 {
        let number = self.sources.files.len() as u32;
        let is_standard = matches!(key, Key::Standard(_));
        self.numbers.insert(key, number);
        self.sources.files.push(SourceFile { path, text, is_standard, included_at: None });
        number
    }
}

/// Reads a file as text. Bytes that are not UTF-8 become U+FFFD, a character allowed only in
/// comments and strings.
fn read(path: &Path, span: Span) -> Result<Rc<str>, P4Error> {
    let error = |cause: String| {
        let path = path.display().to_string();
        let message = format!("{} cannot be read ({cause}); check the file", short(&path));
        P4Error::new(codes::P4_INCLUDE_NOT_FOUND, span, message)
    };
    let length = fs::metadata(path).map_err(|cause| error(cause.to_string()))?.len();
    if length > 4 * MAX_TOKENS as u64 {
        return Err(error(format!("it has {length} bytes")));
    }
    let bytes = fs::read(path).map_err(|cause| error(cause.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into())
}
