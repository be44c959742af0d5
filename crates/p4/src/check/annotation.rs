//! Checks annotations (section 20 of the specification) and control-plane names (section 18.3).

use std::collections::HashSet;

use super::*;
use crate::token::TokenKind;

/// Key under which no two declarations may have the same control-plane name: kind of the declared
/// thing, enclosing parser or control (`None` if the name is absolute), and the name.
type ControlName = (&'static str, Option<DeclId>, String);

impl<'a> Checker<'a> {
    /// Checks the annotations of one declaration.
    pub(super) fn annotations(&mut self, annotations: &'a [Annotation]) {
        let mut names = 0;
        for one in annotations {
            if let Some(values) = &one.values {
                self.annotation_values(values);
            }
            let text = &*one.name.text;
            names += u32::from(matches!(text, "name" | "hidden"));
            if names > 1 {
                self.name_fault(one.name.span, "a second @name or @hidden; remove it");
                return;
            }
            if one.values.is_none()
                && matches!(text, "name" | "deprecated" | "noWarn")
                && !is_text(&one.body)
            {
                self.type_fault(one.name.span, format!("@{text} needs a string in parentheses"));
            }
            if text == "match" && one.values.is_none() {
                let known = match &one.body[..] {
                    [token] => self.match_kinds.contains_key(&token.text),
                    _ => false,
                };
                if !known {
                    self.name_fault(one.name.span, "@match needs a match_kind in parentheses");
                }
            }
        }
    }

    fn annotation_values(&mut self, values: &'a [(Option<Ident>, Expr)]) {
        let mut keys = HashSet::new();
        for (key, value) in values {
            if let Some(key) = key
                && !keys.insert(&key.text)
            {
                self.name_fault(key.span, format!("key '{}' is given twice", key.text));
            }
            let ty = self.expression(value);
            if !matches!(ty, Type::Integer | Type::Bool | Type::Text | Type::Unknown) {
                self.type_fault(value.span, format!("a value of an annotation is a number without a width, a string or a truth value, not {ty}"));
            } else if ty != Type::Unknown && !self.is_compile_time(value) {
                self.type_fault(value.span, "the value must be known when the program is compiled");
            }
        }
    }

    /// Reports control-plane names that two declarations share.
    pub(super) fn control_plane_names(&mut self, declarations: &'a [Decl]) {
        let mut instances: HashMap<DeclId, u32> = HashMap::new();
        for call in self.out.calls.values() {
            if let Callee::Constructor(id, _) = call.callee {
                *instances.entry(id).or_default() += 1;
            }
        }
        for decl in self.decls.values() {
            if let (DeclKind::Instance { .. }, Some(Type::Control(named) | Type::Parser(named))) =
                (&*decl.kind, self.out.declared.get(&decl.id))
            {
                *instances.entry(named.id).or_default() += 1;
            }
        }
        let mut seen = HashSet::new();
        for decl in declarations {
            self.control_plane_name(None, decl, 1, &mut seen);
            let locals = match &*decl.kind {
                DeclKind::Parser(parser) => &parser.locals,
                DeclKind::Control(control) => &control.locals,
                _ => continue,
            };
            let count = instances.get(&decl.id).copied().unwrap_or_default();
            for local in locals {
                self.control_plane_name(Some(decl), local, count, &mut seen);
            }
        }
    }

    fn control_plane_name(
        &mut self,
        outer: Option<&Decl>,
        decl: &Decl,
        instances: u32,
        seen: &mut HashSet<ControlName>,
    ) {
        let kind = match *decl.kind {
            DeclKind::Action { .. } => "action",
            DeclKind::Table(_) => "table",
            DeclKind::ValueSet { .. } => "value_set",
            DeclKind::Instance { .. } => "instance",
            _ => return,
        };
        let find = |name: &str| decl.annotations.iter().find(|one| &*one.name.text == name);
        if find("hidden").is_some() {
            return;
        }
        let name = match find("name") {
            None => decl.name.text.to_string(),
            Some(one) => one
                .body
                .iter()
                .filter(|token| token.kind == TokenKind::Text)
                .map(|token| &*token.text)
                .collect(),
        };
        let (scope, name) = match name.strip_prefix('.') {
            Some(name) => (None, name.to_owned()),
            None => (outer.map(|decl| decl.id), name),
        };
        if let (Some(outer), None) = (outer, scope)
            && instances > 1
        {
            self.name_fault(decl.name.span, format!("'{}' has {instances} instances, so the control plane name '.{name}' is not unique; remove the dot", outer.name.text));
        }
        // Compilers give this name to each copy of the action.
        if name != "NoAction" && !seen.insert((kind, scope, name.clone())) {
            self.name_fault(
                decl.name.span,
                format!("another {kind} has the control plane name '{name}'; change @name"),
            );
        }
    }
}

/// Returns true if the body of an annotation consists of strings and words joined by `++`, with at
/// least one string.
fn is_text(body: &[crate::token::Token]) -> bool {
    body.iter().any(|token| token.kind == TokenKind::Text)
        && body.iter().all(|token| match token.kind {
            TokenKind::Text | TokenKind::Word => true,
            _ => token.is("++") || token.is("(") || token.is(")") || token.is(","),
        })
}
