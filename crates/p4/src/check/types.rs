//! Types of P4_16 programs (specification, section 7).

use std::fmt;
use std::rc::Rc;

use crate::ast::{DeclId, FieldsKind};

/// A reference to a declared type, with its type arguments.
#[derive(Clone, Debug)]
pub struct Named {
    /// Declaration of the type.
    pub id: DeclId,
    /// Name of the type, for messages.
    pub name: Rc<str>,
    /// Type arguments; empty for a type without type parameters.
    pub args: Rc<[Type]>,
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.id == other.id && self.args == other.args
    }
}

impl Eq for Named {}

/// A type. A name that `typedef` declares is replaced by its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Type of an expression with an error. It fits everything, so that one error is reported once.
    Unknown,
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    Text,
    /// `int`, an integer of any size
    Integer,
    /// `bit<width>`
    Bit(u32),
    /// `int<width>`
    Int(u32),
    /// `varbit<largest width>`
    Varbit(u32),
    /// A struct, header or header union.
    Fields(FieldsKind, Named),
    /// A header stack, or an array of another type.
    Stack(Rc<Type>, u32),
    /// `tuple<types>`
    Tuple(Rc<[Type]>),
    /// `list<type>`
    List(Rc<Type>),
    /// An enum; the second part is the underlying type of a serializable enum.
    Enum(Named, Option<Rc<Type>>),
    /// A type that a `type` declaration introduces, with its underlying type.
    New(Named, Rc<Type>),
    /// A type parameter: its declaration and name.
    Param(DeclId, Rc<str>),
    /// A type variable: a type argument that the checker still has to infer, by index.
    Var(u32),
    /// An extern type.
    Extern(Named),
    /// A parser, or a parser type.
    Parser(Named),
    /// A control, or a control type.
    Control(Named),
    /// A package.
    Package(Named),
    /// `{a, b}`: types of the elements; true if the list ends with `...`.
    ListLiteral(Rc<[Type]>, bool),
    /// `{a = x, b = y}`: names and types of the fields; true if the record ends with `...`.
    RecordLiteral(Rc<[(Rc<str>, Type)]>, bool),
    /// `{#}`
    InvalidLiteral,
    /// `...`, `default` or `_`, which fit every type
    Default,
    /// A set of values of this type: `a &&& b`, `a .. b`, or a value set.
    Set(Rc<Type>),
    /// An action.
    Action(DeclId),
    /// A function or method that the expression does not call.
    Function,
    /// A table.
    Table(DeclId),
    /// Result of `table.apply()`.
    TableResult(DeclId),
    /// `table.apply().action_run`
    ActionRun(DeclId),
    /// A state of a parser.
    State,
    /// A type in the position of an expression.
    Name(Rc<Type>),
}

impl Type {
    /// Returns the width of `bit<width>` and `int<width>`; `None` for other types.
    pub fn width(&self) -> Option<u32> {
        match self {
            Type::Bit(width) | Type::Int(width) => Some(*width),
            _ => None,
        }
    }

    /// Returns true for `bit<width>`, `int<width>` and `int`.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Bit(_) | Type::Int(_) | Type::Integer | Type::Unknown)
    }

    /// Returns true for types of single values. `switch`, `select` and table keys can compare such
    /// values.
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Type::Unknown
                | Type::Bit(_)
                | Type::Int(_)
                | Type::Bool
                | Type::Error
                | Type::Enum(..)
                | Type::New(..)
        )
    }

    /// Returns the type with type parameters replaced: `by` returns the replacement of a type
    /// parameter, or `None` to keep it.
    pub fn replace(&self, by: &dyn Fn(DeclId) -> Option<Type>) -> Type {
        let all =
            |types: &Rc<[Type]>| -> Rc<[Type]> { types.iter().map(|ty| ty.replace(by)).collect() };
        let named = |named: &Named| Named { args: all(&named.args), ..named.clone() };
        match self {
            Type::Param(id, _) => by(*id).unwrap_or_else(|| self.clone()),
            Type::Fields(kind, name) => Type::Fields(*kind, named(name)),
            Type::Stack(element, size) => Type::Stack(Rc::new(element.replace(by)), *size),
            Type::Tuple(types) => Type::Tuple(all(types)),
            Type::List(element) => Type::List(Rc::new(element.replace(by))),
            Type::Extern(name) => Type::Extern(named(name)),
            Type::Parser(name) => Type::Parser(named(name)),
            Type::Control(name) => Type::Control(named(name)),
            Type::Package(name) => Type::Package(named(name)),
            Type::Set(of) => Type::Set(Rc::new(of.replace(by))),
            _ => self.clone(),
        }
    }

    /// Returns true if `holds` returns true for the type or for a type inside it.
    pub fn contains(&self, holds: &dyn Fn(&Type) -> bool) -> bool {
        holds(self)
            || match self {
                Type::Fields(_, name)
                | Type::Extern(name)
                | Type::Parser(name)
                | Type::Control(name)
                | Type::Package(name) => name.args.iter().any(|ty| ty.contains(holds)),
                Type::Stack(of, _) | Type::List(of) | Type::Set(of) | Type::New(_, of) => {
                    of.contains(holds)
                }
                Type::Tuple(types) | Type::ListLiteral(types, _) => {
                    types.iter().any(|ty| ty.contains(holds))
                }
                Type::RecordLiteral(fields, _) => fields.iter().any(|(_, ty)| ty.contains(holds)),
                _ => false,
            }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.args.is_empty() {
            write!(f, "<{}>", Joined(&self.args))?;
        }
        Ok(())
    }
}

/// A list of types that is printed in messages, with commas between them.
struct Joined<'a>(&'a [Type]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, ty) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{ty}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unknown => f.write_str("an unknown type"),
            Type::Void => f.write_str("void"),
            Type::Bool => f.write_str("bool"),
            Type::Error => f.write_str("error"),
            Type::MatchKind => f.write_str("match_kind"),
            Type::Text => f.write_str("string"),
            Type::Integer => f.write_str("int"),
            Type::Bit(width) => write!(f, "bit<{width}>"),
            Type::Int(width) => write!(f, "int<{width}>"),
            Type::Varbit(width) => write!(f, "varbit<{width}>"),
            Type::Fields(_, name)
            | Type::Enum(name, _)
            | Type::New(name, _)
            | Type::Extern(name) => name.fmt(f),
            Type::Parser(name) => write!(f, "parser {name}"),
            Type::Control(name) => write!(f, "control {name}"),
            Type::Package(name) => write!(f, "package {name}"),
            Type::Stack(element, size) => write!(f, "{element}[{size}]"),
            Type::Tuple(types) => write!(f, "tuple<{}>", Joined(types)),
            Type::List(element) => write!(f, "list<{element}>"),
            Type::Param(_, name) => f.write_str(name),
            Type::Var(_) | Type::Default => f.write_str("_"),
            Type::ListLiteral(types, _) => write!(f, "{{{}}}", Joined(types)),
            Type::RecordLiteral(fields, _) => {
                f.write_str("{")?;
                for (at, (name, ty)) in fields.iter().enumerate() {
                    write!(f, "{}{name} = {ty}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Type::InvalidLiteral => f.write_str("{#}"),
            Type::Set(of) => write!(f, "a set of {of}"),
            Type::Action(_) => f.write_str("an action"),
            Type::Function => f.write_str("a function"),
            Type::Table(_) => f.write_str("a table"),
            Type::TableResult(_) => f.write_str("the result of a table"),
            Type::ActionRun(_) => f.write_str("action_run of a table"),
            Type::State => f.write_str("a parser state"),
            Type::Name(of) => write!(f, "the type {of}"),
        }
    }
}
