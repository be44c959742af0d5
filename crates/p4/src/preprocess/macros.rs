//! Defines macros and replaces their uses.

use std::rc::Rc;

use super::state::{Context, Macro};
use super::{MAX_DEPTH, Preprocessor, fault, short};
use crate::P4Error;
use crate::lexer::{Kind, Lexeme, Lexer};
use crate::token::Span;

/// Name of the parameter that receives all further arguments of a variadic macro.
const REST: &str = "__VA_ARGS__";

impl Macro {
    /// Parses the line after `#define`. Returns the name and the macro.
    pub fn parse(span: Span, line: &[Lexeme]) -> Result<(Rc<str>, Macro), P4Error> {
        let [name, rest @ ..] = line else {
            return Err(fault(span, "#define has no name; add it"));
        };
        if name.kind != Kind::Word || name.is("defined") {
            let text = short(&name.text);
            return Err(fault(name.span, format_args!("'{text}' cannot be the name of a macro")));
        }
        let mut definition =
            Macro { params: None, is_variadic: false, body: Vec::new(), is_active: false.into() };
        let body = match rest {
            [open, rest @ ..] if open.is("(") && !open.spaced => {
                definition.parse_params(rest, open.span)?
            }
            _ => rest,
        };
        let is_param =
            |lexeme: Option<&Lexeme>| lexeme.is_some_and(|l| definition.param(l).is_some());
        for (i, lexeme) in body.iter().enumerate() {
            if lexeme.is("##") && (i == 0 || i + 1 == body.len()) {
                return Err(fault(lexeme.span, "'##' needs a token on both sides; add it"));
            }
            if lexeme.is("#") && definition.params.is_some() && !is_param(body.get(i + 1)) {
                return Err(fault(lexeme.span, "'#' needs a parameter after it; add it"));
            }
        }
        // The annotation @pragma ends with its line, and so with the macro.
        let pragma = body.windows(2).position(|pair| pair[0].is("@") && pair[1].is("pragma"));
        definition.body = body[..pragma.unwrap_or(body.len())].to_vec();
        Ok((name.text.clone(), definition))
    }

    /// Reads the parameters of a macro up to `)`. Returns the tokens after them, which are the
    /// replacement.
    fn parse_params<'l>(
        &mut self,
        line: &'l [Lexeme],
        open: Span,
    ) -> Result<&'l [Lexeme], P4Error> {
        let mut params: Vec<Rc<str>> = Vec::new();
        let mut rest = line;
        if let [close, body @ ..] = rest
            && close.is(")")
        {
            self.params = Some(params);
            return Ok(body);
        }
        let fault = |rest: &[Lexeme]| {
            let span = rest.first().map_or(open, |lexeme| lexeme.span);
            fault(span, "parameters of a macro must be different names, between commas")
        };
        loop {
            let name = rest.first().filter(|name| name.kind == Kind::Word);
            if let Some(name) = name.filter(|name| !params.contains(&name.text)) {
                params.push(name.text.clone());
                rest = &rest[1..];
            } else if rest.first().is_some_and(|dots| dots.is("...")) {
                params.push(REST.into());
            } else {
                return Err(fault(rest));
            }
            if rest.first().is_some_and(|dots| dots.is("...")) {
                self.is_variadic = true;
                rest = &rest[1..];
            }
            match rest {
                [comma, after @ ..] if comma.is(",") && !self.is_variadic => rest = after,
                [close, body @ ..] if close.is(")") => {
                    self.params = Some(params);
                    return Ok(body);
                }
                _ => return Err(fault(rest)),
            }
        }
    }

    /// Returns the index of the parameter that the lexeme names; `None` if it names none.
    fn param(&self, lexeme: &Lexeme) -> Option<usize> {
        let params = self.params.as_ref().filter(|_| lexeme.kind == Kind::Word)?;
        params.iter().position(|param| *param == lexeme.text)
    }
}

impl Preprocessor<'_> {
    /// Returns the next lexeme after macro replacement.
    pub(super) fn expanded(&mut self) -> Result<Lexeme, P4Error> {
        loop {
            let mut lexeme = self.raw()?;
            if lexeme.kind != Kind::Word || !lexeme.expandable {
                return Ok(lexeme);
            }
            let Some(definition) = self.macros.get(&lexeme.text) else {
                return Ok(self.built_in(lexeme));
            };
            if definition.is_active.get() {
                lexeme.expandable = false;
                return Ok(lexeme);
            }
            let definition = definition.clone();
            if !self.replace(&definition, &lexeme)? {
                return Ok(lexeme);
            }
        }
    }

    /// Replaces the macros in a list of lexemes. Arguments of a macro cannot continue behind the
    /// end of the list.
    pub(super) fn expand(
        &mut self,
        lexemes: Vec<Lexeme>,
        span: Span,
    ) -> Result<Vec<Lexeme>, P4Error> {
        if self.depth == MAX_DEPTH {
            let message =
                format!("macros are nested more than {MAX_DEPTH} deep; make them simpler");
            return Err(fault(span, message));
        }
        self.depth += 1;
        self.contexts.push(Context { lexemes, position: 0, replaced: None });
        let mut expanded = Vec::new();
        // The operand of `defined` stays a name. Only conditions use the word.
        let mut is_operand = false;
        loop {
            let lexeme = if is_operand { self.raw()? } else { self.expanded()? };
            if lexeme.kind == Kind::End {
                break;
            }
            is_operand = lexeme.is("defined") || is_operand && lexeme.is("(");
            expanded.push(lexeme);
        }
        self.contexts.pop();
        self.depth -= 1;
        Ok(expanded)
    }

    /// Returns true if a macro has this name.
    pub(super) fn is_defined(&self, name: &Rc<str>) -> bool {
        self.macros.contains_key(name) || matches!(&**name, "__LINE__" | "__FILE__")
    }

    /// Returns the next lexeme before macro replacement.
    fn raw(&mut self) -> Result<Lexeme, P4Error> {
        if let Some(lexeme) = self.unread.take() {
            return Ok(lexeme);
        }
        while let Some(context) = self.contexts.last_mut() {
            if let Some(lexeme) = context.lexemes.get(context.position) {
                context.position += 1;
                let lexeme = lexeme.clone();
                self.charge(1, lexeme.span)?;
                return Ok(lexeme);
            }
            let Some(replaced) = &context.replaced else {
                return Ok(Lexeme {
                    kind: Kind::End,
                    text: self.names.get(""),
                    span: Span::default(),
                    spaced: false,
                    first: false,
                    broken: false,
                    expandable: false,
                });
            };
            replaced.is_active.set(false);
            self.contexts.pop();
        }
        let lexeme = self.file_lexeme()?;
        self.charge(1, lexeme.span)?;
        Ok(lexeme)
    }

    /// Replaces `__LINE__` and `__FILE__` by their values.
    fn built_in(&mut self, mut lexeme: Lexeme) -> Lexeme {
        match &*lexeme.text {
            "__LINE__" => {
                lexeme.kind = Kind::Number;
                lexeme.text = self.names.get(&lexeme.span.line.to_string());
            }
            "__FILE__" => {
                let file = self.sources.files.get(lexeme.span.file as usize);
                lexeme.kind = Kind::Text;
                let path = file.map_or(String::new(), |file| file.path.display().to_string());
                lexeme.text = self.names.get(&path);
            }
            _ => {}
        }
        lexeme
    }

    /// Replaces a use of a macro. Returns false if no arguments follow the name, so that it stays
    /// as it is.
    fn replace(&mut self, definition: &Rc<Macro>, name: &Lexeme) -> Result<bool, P4Error> {
        let args = match &definition.params {
            None => Vec::new(),
            Some(params) => {
                let open = self.raw()?;
                if !open.is("(") {
                    // The end need not be kept, because the next read finds it again.
                    self.unread = Some(open).filter(|lexeme| lexeme.kind != Kind::End);
                    return Ok(false);
                }
                self.arguments(definition, params.len(), name)?
            }
        };
        let mut lexemes = self.substitute(definition, &args, name.span)?;
        self.charge(1, name.span)?;
        if let Some(first) = lexemes.first_mut() {
            first.spaced = name.spaced;
        }
        definition.is_active.set(true);
        let replaced = Some(definition.clone());
        self.contexts.push(Context { lexemes, position: 0, replaced });
        Ok(true)
    }

    /// Reads the arguments of a macro after `(`.
    fn arguments(
        &mut self,
        definition: &Macro,
        params: usize,
        name: &Lexeme,
    ) -> Result<Vec<Vec<Lexeme>>, P4Error> {
        let mut args = vec![Vec::new()];
        let mut depth = 0;
        loop {
            let mut lexeme = self.raw()?;
            if lexeme.kind == Kind::End {
                let message =
                    format!("arguments of macro {} have no ')'; add it", short(&name.text));
                return Err(fault(name.span, message));
            }
            if lexeme.kind == Kind::Symbol {
                let is_rest = definition.is_variadic && args.len() == params;
                match &*lexeme.text {
                    "(" => depth += 1,
                    ")" if depth == 0 => break,
                    ")" => depth -= 1,
                    "," if depth == 0 && !is_rest => {
                        args.push(Vec::new());
                        continue;
                    }
                    _ => {}
                }
            } else if lexeme.kind == Kind::Word
                && self.macros.get(&lexeme.text).is_some_and(|m| m.is_active.get())
            {
                lexeme.expandable = false;
            }
            args.last_mut().expect("an argument").push(lexeme);
        }
        if params == 0 && args.len() == 1 && args[0].is_empty() {
            args.clear();
        }
        if definition.is_variadic && args.len() + 1 == params {
            args.push(Vec::new());
        }
        if args.len() != params {
            let given = args.len();
            let name_text = short(&name.text);
            let message =
                format!("macro {name_text} has {given} arguments, not {params}; correct the use");
            return Err(fault(name.span, message));
        }
        Ok(args)
    }

    /// Returns the replacement of a macro with its arguments.
    fn substitute(
        &mut self,
        definition: &Macro,
        args: &[Vec<Lexeme>],
        span: Span,
    ) -> Result<Vec<Lexeme>, P4Error> {
        let body = &definition.body;
        let mut expanded_args: Vec<Option<Vec<Lexeme>>> = vec![None; args.len()];
        let mut out: Vec<Lexeme> = Vec::new();
        // True after `##`, and true if the operand before it left a token.
        let (mut glue, mut has_left) = (false, false);
        let mut i = 0;
        while i < body.len() {
            let lexeme = &body[i];
            i += 1;
            if lexeme.is("##") {
                glue = true;
                continue;
            }
            let before_glue = |i: usize| body.get(i).is_some_and(|next| next.is("##"));
            let mut item = if lexeme.is("#") && definition.params.is_some() {
                let param = body.get(i).and_then(|next| definition.param(next));
                i += 1;
                vec![self.quote(param.map_or(&[], |param| &args[param]), lexeme)]
            } else if let Some(param) = definition.param(lexeme) {
                let mut item = if glue || before_glue(i) {
                    args[param].clone()
                } else {
                    if expanded_args[param].is_none() {
                        expanded_args[param] = Some(self.expand(args[param].clone(), span)?);
                    }
                    expanded_args[param].clone().unwrap_or_default()
                };
                if let Some(first) = item.first_mut() {
                    first.spaced = lexeme.spaced;
                }
                item
            } else {
                vec![lexeme.clone()]
            };
            self.charge(item.len(), span)?;
            let has_right = !item.is_empty();
            if glue && has_left && has_right {
                let left = out.pop().expect("the operand left a token");
                let right = item.remove(0);
                out.extend(self.paste(&left, &right, span)?);
            }
            out.append(&mut item);
            has_left = has_right || glue && has_left;
            glue = false;
        }
        for lexeme in &mut out {
            lexeme.span = span;
        }
        Ok(out)
    }

    /// Converts a macro argument to a string literal, as the operator `#` requires.
    fn quote(&mut self, arg: &[Lexeme], hash: &Lexeme) -> Lexeme {
        let mut text = String::new();
        for lexeme in arg {
            if lexeme.spaced && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&spelling(lexeme));
        }
        self.handled += text.len();
        Lexeme { kind: Kind::Text, text: self.names.get(&text), ..hash.clone() }
    }

    /// Joins two tokens to one, as the operator `##` requires.
    fn paste(&mut self, left: &Lexeme, right: &Lexeme, span: Span) -> Result<Vec<Lexeme>, P4Error> {
        let text = spelling(left) + &spelling(right);
        self.charge(text.len(), span)?;
        let mut joined = Lexer::new(span.file, text.into()).line(&mut self.names);
        if let Some(first) = joined.first_mut() {
            first.spaced = left.spaced;
        }
        Ok(joined)
    }
}

/// Returns the source text of a token.
fn spelling(lexeme: &Lexeme) -> String {
    if lexeme.kind != Kind::Text {
        return lexeme.text.to_string();
    }
    let text = lexeme.text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}
