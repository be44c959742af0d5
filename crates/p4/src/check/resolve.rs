//! Resolves types in the source: names, type arguments, widths, and allowed nesting (section 7.2 of
//! the specification).

use std::collections::HashSet;
use std::rc::Rc;

use num_traits::{Signed, ToPrimitive};

use super::*;

/// Largest width in bits; also the largest size of a stack.
const WIDEST: u32 = 1 << 20;

impl<'a> Checker<'a> {
    /// Returns the type that the program means by `written`. If `partial` is true, type arguments
    /// may be missing.
    pub(super) fn resolve_type(&mut self, written: &'a TypeRef, partial: bool) -> Type {
        let span = written.span;
        match &written.kind {
            TypeRefKind::Bool => Type::Bool,
            TypeRefKind::Error if self.out.errors.is_empty() => {
                self.name_fault(span, "no error is declared; include core.p4")
            }
            TypeRefKind::Error => Type::Error,
            TypeRefKind::MatchKind => Type::MatchKind,
            TypeRefKind::String => Type::Text,
            TypeRefKind::Integer => Type::Integer,
            TypeRefKind::Bit(None) => Type::Bit(1),
            TypeRefKind::Bit(Some(width)) => self.width(width, 0).map_or(Type::Unknown, Type::Bit),
            TypeRefKind::Int(width) => self.width(width, 1).map_or(Type::Unknown, Type::Int),
            TypeRefKind::Varbit(width) => self.width(width, 0).map_or(Type::Unknown, Type::Varbit),
            TypeRefKind::Void => Type::Void,
            TypeRefKind::DontCare => match self.blanks {
                Blanks::None => self.type_fault(span, "_ can stand for a type argument only"),
                Blanks::Inferred => self.fresh(),
                Blanks::Any => Type::Default,
            },
            TypeRefKind::Stack { element, size } => {
                let element_type = self.resolve_type(element, false);
                let size = self.width(size, 0);
                match element_type {
                    Type::Unknown => Type::Unknown,
                    Type::Fields(FieldsKind::Header | FieldsKind::HeaderUnion, _)
                    | Type::Param(..) => {
                        size.map_or(Type::Unknown, |size| Type::Stack(Rc::new(element_type), size))
                    }
                    other if can_be_element(&other) => {
                        size.map_or(Type::Unknown, |size| Type::Stack(Rc::new(other), size))
                    }
                    other => self.type_fault(
                        element.span,
                        format!("{other} cannot be the element of a stack"),
                    ),
                }
            }
            TypeRefKind::Tuple(types) => {
                let types: Rc<[Type]> =
                    types.iter().map(|ty| self.element_type(ty, false)).collect();
                self.sized(span, Type::Tuple(types), &mut MOST_PARTS.clone())
            }
            TypeRefKind::List(of) => {
                let of = self.element_type(of, true);
                Type::List(Rc::new(of))
            }
            TypeRefKind::Named { name, absolute, args } => {
                let Some(entity) = self.find_one(name, *absolute) else { return Type::Unknown };
                let args: Vec<Type> = args
                    .iter()
                    .map(|arg| match self.resolve_type(arg, false) {
                        ty @ (Type::Parser(_) | Type::Control(_) | Type::Package(_)) => {
                            self.type_fault(arg.span, format!("{ty} cannot be a type argument"))
                        }
                        ty => ty,
                    })
                    .collect();
                self.named_type(span, entity, args, partial)
            }
        }
    }

    fn element_type(&mut self, written: &'a TypeRef, in_list: bool) -> Type {
        let ty = self.resolve_type(written, false);
        if can_be_element(&ty)
            || matches!(ty, Type::Integer | Type::Text | Type::Default)
            || in_list && ty == Type::MatchKind
        {
            return ty;
        }
        self.type_fault(written.span, format!("{ty} cannot be an element"))
    }

    /// Returns the type of a declared name with type arguments.
    fn named_type(
        &mut self,
        span: Span,
        entity: Entity<'a>,
        args: Vec<Type>,
        partial: bool,
    ) -> Type {
        let decl = match entity {
            Entity::TypeParam(param) if args.is_empty() => {
                return Type::Param(param.id, param.name.text.clone());
            }
            Entity::TypeParam(param) => {
                return self.type_fault(
                    span,
                    format!("type parameter '{}' has no type parameters", param.name.text),
                );
            }
            Entity::Param(Param { name, .. }) | Entity::State(State { name, .. }) => {
                return self.type_fault(span, format!("'{}' is not a type", name.text));
            }
            Entity::Decl(decl) => decl,
        };
        let known = self.out.type_params.get(&decl.id).map_or(0, Vec::len);
        let Some(ty) = self.out.declared.get(&decl.id).cloned().filter(|_| is_type(decl)) else {
            return self.type_fault(span, format!("'{}' is not a type", decl.name.text));
        };
        if args.len() != known && !(partial && args.is_empty()) {
            return self.type_fault(
                span,
                format!(
                    "'{}' has {known} type parameters, and {} type arguments are given",
                    decl.name.text,
                    args.len()
                ),
            );
        }
        if args.is_empty() {
            return ty;
        }
        let args: Rc<[Type]> = args.into();
        let with = |named: Named| Named { args, ..named };
        let ty = match ty {
            Type::Fields(kind, named) => Type::Fields(kind, with(named)),
            Type::Extern(named) => Type::Extern(with(named)),
            Type::Parser(named) => Type::Parser(with(named)),
            Type::Control(named) => Type::Control(with(named)),
            Type::Package(named) => Type::Package(with(named)),
            other => other,
        };
        let ty = self.sized(span, ty, &mut MOST_PARTS.clone());
        if let Type::Fields(kind, named) = &ty {
            for (field, of) in self.out.fields_of(named) {
                if !self.can_be_field(*kind, &of) {
                    return self.type_fault(
                        span,
                        format!("field '{field}' of {ty} cannot have the type {of}"),
                    );
                }
            }
        }
        ty
    }

    /// Returns the type `ty`, or reports that it contains too many or too deeply nested types.
    /// Subtracts the number of contained types from `parts`.
    pub(super) fn sized(&mut self, span: Span, ty: Type, parts: &mut u32) -> Type {
        if self.fits_size(&ty, parts, MOST_LEVELS) {
            return ty;
        }
        let limits = format!("{MOST_PARTS} parts or {MOST_LEVELS} levels");
        self.type_fault(span, format!("the type has more than {limits}"))
    }

    /// Returns true if a type contains at most `parts` types, nested at most `levels` deep.
    /// Subtracts the number of contained types from `parts`.
    fn fits_size(&self, ty: &Type, parts: &mut u32, levels: u32) -> bool {
        let (Some(rest), Some(levels)) = (parts.checked_sub(1), levels.checked_sub(1)) else {
            return false;
        };
        *parts = rest;
        match ty {
            Type::Fields(_, named) => {
                named.args.iter().all(|ty| self.fits_size(ty, parts, levels))
                    && self
                        .out
                        .fields_of(named)
                        .iter()
                        .all(|(_, ty)| self.fits_size(ty, parts, levels))
            }
            Type::Extern(named)
            | Type::Parser(named)
            | Type::Control(named)
            | Type::Package(named) => named.args.iter().all(|ty| self.fits_size(ty, parts, levels)),
            Type::Tuple(types) => types.iter().all(|ty| self.fits_size(ty, parts, levels)),
            Type::Stack(of, _) | Type::List(of) | Type::New(_, of) => {
                self.fits_size(of, parts, levels)
            }
            _ => true,
        }
    }

    /// Returns true if a struct, header or header union can have a field of this type.
    fn can_be_field(&self, kind: FieldsKind, ty: &Type) -> bool {
        match kind {
            FieldsKind::Struct => can_be_element(ty) || *ty == Type::Text,
            FieldsKind::Header => self.can_be_in_header(ty),
            FieldsKind::HeaderUnion => {
                matches!(
                    ty,
                    Type::Fields(FieldsKind::Header, _)
                        | Type::Param(..)
                        | Type::Var(_)
                        | Type::Unknown
                )
            }
        }
    }

    /// Evaluates the width of a type, or the size of a stack. Reports an error and returns `None`
    /// if it is below `least`.
    pub(super) fn width(&mut self, expr: &'a Expr, least: u32) -> Option<u32> {
        let ty = self.expression(expr);
        if ty == Type::Unknown && !self.out.constants.contains_key(&expr.id) {
            return None;
        }
        let number = self.out.constants.get(&expr.id).and_then(Value::number).cloned();
        let Some(number) =
            number.filter(|_| ty.is_number() || matches!(ty, Type::Enum(_, Some(_))))
        else {
            self.type_fault(
                expr.span,
                "a number that is known when the program is compiled is needed here",
            );
            return None;
        };
        match number.to_u32() {
            Some(width) if width >= least && width <= WIDEST => Some(width),
            _ if number.is_negative() => {
                self.type_fault(expr.span, format!("{number} is negative"));
                None
            }
            _ => {
                self.type_fault(
                    expr.span,
                    format!("{number} is not a number from {least} to {WIDEST}"),
                );
                None
            }
        }
    }

    /// Checks the fields of a struct, header or header union, and returns them with their types.
    pub(super) fn field_types(&mut self, fields: &'a Fields, named: &Ident) -> FieldTypes {
        let mut names = HashSet::new();
        let mut result = Vec::new();
        let mut parts = MOST_PARTS;
        for field in &fields.fields {
            self.annotations(&field.annotations);
            let ty = self.resolve_type(&field.ty, false);
            let ty = self.sized(field.name.span, ty, &mut parts);
            if !self.can_be_field(fields.kind, &ty) {
                let kind = match fields.kind {
                    FieldsKind::Struct => "struct",
                    FieldsKind::Header => "header",
                    FieldsKind::HeaderUnion => "header_union",
                };
                self.type_fault(
                    field.name.span,
                    format!(
                        "{kind} '{}' cannot have field '{}' of type {ty}",
                        named.text, field.name.text
                    ),
                );
            }
            if !names.insert(field.name.text.clone()) {
                self.name_fault(
                    field.name.span,
                    format!("field '{}' is declared twice", field.name.text),
                );
            }
            result.push((field.name.text.clone(), ty));
        }
        result.into()
    }

    /// Returns true if a header can contain a field of this type.
    fn can_be_in_header(&self, ty: &Type) -> bool {
        match ty {
            Type::Bit(_)
            | Type::Int(_)
            | Type::Varbit(_)
            | Type::Bool
            | Type::Enum(_, Some(_))
            | Type::Param(..)
            | Type::Var(_)
            | Type::Unknown => true,
            Type::New(_, of) | Type::Stack(of, _) => self.can_be_in_header(of),
            Type::Fields(FieldsKind::Struct, named) => {
                self.out.fields_of(named).iter().all(|(_, ty)| self.can_be_in_header(ty))
            }
            _ => false,
        }
    }
}

/// Returns true if the declaration introduces a type.
fn is_type(decl: &Decl) -> bool {
    matches!(
        *decl.kind,
        DeclKind::Fields(_)
            | DeclKind::Enum { .. }
            | DeclKind::Typedef(_)
            | DeclKind::NewType(_)
            | DeclKind::Extern(_)
            | DeclKind::Parser(_)
            | DeclKind::Control(_)
            | DeclKind::ParserType(_)
            | DeclKind::ControlType(_)
            | DeclKind::PackageType(_)
    )
}

/// Returns true if structs, tuples and lists can contain values of the type.
pub(super) fn can_be_element(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Unknown
            | Type::Bool
            | Type::Error
            | Type::Bit(_)
            | Type::Int(_)
            | Type::Varbit(_)
            | Type::Fields(..)
            | Type::Stack(..)
            | Type::Tuple(_)
            | Type::List(_)
            | Type::Enum(..)
            | Type::New(..)
            | Type::Param(..)
            | Type::Var(_)
    )
}
