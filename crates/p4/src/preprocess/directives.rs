//! Executes preprocessor directives.

use std::path::PathBuf;

use super::state::{Condition, Key, Macro};
use super::{Preprocessor, fault, short};
use crate::P4Error;
use crate::lexer::{Kind, Lexeme, Lexer};
use crate::token::Span;

impl Preprocessor<'_> {
    /// Executes the directive after `#`.
    pub(super) fn directive(&mut self, hash: Span) -> Result<(), P4Error> {
        let frame = self.frames.last_mut().expect("the program stays open");
        let name = frame.lexer.next(&mut self.names, true);
        let span = hash.to(name.span);
        match (name.kind, &*name.text) {
            (Kind::LineEnd | Kind::End, _) => {}
            (Kind::Number, _) => {
                let line = self.line();
                self.set_place(Some(&name), line.first(), span)?;
            }
            (Kind::Word, "line") => {
                let line = self.line();
                self.set_place(line.first(), line.get(1), span)?;
            }
            (Kind::Word, "include") => return self.include_directive(span),
            (Kind::Word, "define") => {
                let line = self.line();
                let (name, definition) = Macro::parse(span, &line)?;
                self.macros.insert(name, definition.into());
            }
            (Kind::Word, "undef") => {
                let name = self.name("undef", span)?;
                self.macros.remove(&name.text);
            }
            (Kind::Word, "if" | "ifdef" | "ifndef") => {
                let taken = self.test(&name.text, span)?;
                self.frame().conditions.push(Condition { span, taken, has_else: false });
                if !taken {
                    self.skip()?;
                }
            }
            (Kind::Word, directive @ ("elif" | "elifdef" | "elifndef" | "else" | "endif")) => {
                self.frame().lexer.skip_line();
                self.branch(directive, span)?;
                if directive != "endif" {
                    self.skip()?;
                }
            }
            (Kind::Word, "error") => {
                let text = short(frame.lexer.rest_of_line());
                return Err(fault(span, format_args!("#error {text}")));
            }
            (Kind::Word, "pragma") => {
                if frame.lexer.next(&mut self.names, true).is("once") {
                    self.once.insert(frame.number);
                }
                frame.lexer.skip_line();
            }
            (Kind::Word, "warning" | "ident") => frame.lexer.skip_line(),
            (_, text) => {
                let message = format!("directive #{} is unknown; correct it", short(text));
                return Err(fault(span, message));
            }
        }
        Ok(())
    }

    /// Reads the remaining lexemes of the directive's line.
    fn line(&mut self) -> Vec<Lexeme> {
        let frame = self.frames.last_mut().expect("the program stays open");
        frame.lexer.line(&mut self.names)
    }

    /// Reads the name of a macro in the line of a directive.
    fn name(&mut self, directive: &str, span: Span) -> Result<Lexeme, P4Error> {
        match self.line().into_iter().next() {
            Some(name) if name.kind == Kind::Word => Ok(name),
            _ => Err(fault(span, format_args!("#{directive} has no name of a macro; add it"))),
        }
    }

    /// Evaluates the condition of a directive.
    fn test(&mut self, directive: &str, span: Span) -> Result<bool, P4Error> {
        if directive == "if" || directive == "elif" {
            let line = self.line();
            return self.evaluate(line, directive, span);
        }
        let name = self.name(directive, span)?;
        Ok(self.is_defined(&name.text) == directive.ends_with("ifdef"))
    }

    /// Records that `#elif`, `#else` or `#endif` ends the current branch of the innermost `#if`;
    /// `#endif` closes this `#if`. Returns an error for a directive without `#if` or after `#else`.
    fn branch(&mut self, directive: &str, span: Span) -> Result<(), P4Error> {
        let Some(condition) = self.frame().conditions.last_mut() else {
            return Err(fault(span, format_args!("#{directive} has no #if; remove it")));
        };
        if directive == "endif" {
            self.frame().conditions.pop();
        } else if condition.has_else {
            return Err(fault(span, format_args!("#{directive} follows #else; remove it")));
        } else {
            condition.has_else = directive == "else";
        }
        Ok(())
    }

    /// Skips lines up to the branch of the innermost `#if` that applies, or past its `#endif`.
    fn skip(&mut self) -> Result<(), P4Error> {
        let mut inner = 0;
        loop {
            let frame = self.frames.last_mut().expect("the program stays open");
            let hash = frame.lexer.hash();
            if frame.lexer.is_at_end() {
                return Ok(());
            }
            if let Some(hash) = hash {
                let name = frame.lexer.next(&mut self.names, true);
                let span = hash.to(name.span);
                match &*name.text {
                    _ if name.kind != Kind::Word => {}
                    "if" | "ifdef" | "ifndef" => inner += 1,
                    "endif" if inner > 0 => inner -= 1,
                    directive @ ("elif" | "elifdef" | "elifndef" | "else" | "endif")
                        if inner == 0 =>
                    {
                        self.branch(directive, span)?;
                        if directive == "endif" {
                            self.frame().lexer.skip_line();
                            return Ok(());
                        }
                        let was_taken = self.frame().conditions.last().is_some_and(|c| c.taken);
                        if !was_taken && (directive == "else" || self.test(directive, span)?) {
                            self.frame().lexer.skip_line();
                            if let Some(condition) = self.frame().conditions.last_mut() {
                                condition.taken = true;
                            }
                            return Ok(());
                        }
                    }
                    _ => {}
                }
            }
            self.frame().lexer.skip_line();
        }
    }

    /// Executes `#include`.
    fn include_directive(&mut self, span: Span) -> Result<(), P4Error> {
        let frame = self.frames.last_mut().expect("the program stays open");
        if let Some((name, quoted, place)) = frame.lexer.header_name() {
            frame.lexer.skip_line();
            return self.include(&name, quoted, place);
        }
        let line = self.line();
        let line = self.expand(line, span)?;
        match line.as_slice() {
            [name] if name.kind == Kind::Text => self.include(&name.text, true, span),
            [open, name @ .., close] if open.is("<") && close.is(">") => {
                let name: String = name.iter().map(|part| &*part.text).collect();
                self.include(&name, false, span)
            }
            _ => Err(fault(span, "#include has no \"file\" or <file>; add it")),
        }
    }

    /// Executes `#line 1 "file"` or `# 1 "file"`: sets the file and line that messages state for
    /// the following text.
    fn set_place(
        &mut self,
        line: Option<&Lexeme>,
        file: Option<&Lexeme>,
        span: Span,
    ) -> Result<(), P4Error> {
        self.frame().lexer.skip_line();
        let Some(line) = line.and_then(|line| line.text.parse().ok()) else { return Ok(()) };
        if let Some(file) = file.filter(|file| file.kind == Kind::Text) {
            let path = PathBuf::from(&*file.text);
            self.charge(path.as_os_str().len(), span)?;
            let own = self.frame().number;
            let key = Key::Shown(path.clone());
            let number = match self.numbers.get(&key) {
                _ if self.sources.files[own as usize].path == path => own,
                Some(number) => *number,
                None => self.add_file(key, path, "".into()),
            };
            self.frame().lexer.file = number;
        }
        self.frame().lexer.line = line;
        Ok(())
    }

    /// Defines a macro from an option of the preprocessor.
    pub(super) fn define_option(&mut self, name: &str, value: &str) -> Result<(), P4Error> {
        let mut lexer = Lexer::new(u32::MAX, format!("{name} {value}").into());
        let span = lexer.place();
        let line = if name.is_empty() { Vec::new() } else { lexer.line(&mut self.names) };
        let (name, definition) = Macro::parse(span, &line).map_err(|error| P4Error {
            message: format!("-D {}: {}", short(name), error.message),
            ..error
        })?;
        self.macros.insert(name, definition.into());
        Ok(())
    }
}
