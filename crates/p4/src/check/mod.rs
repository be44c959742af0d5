//! The type checker: finds the meaning of each name and the type of each expression, and computes
//! compile-time values (P4_16 specification, sections 6 to 18).
//!
//! A declaration precedes its uses, so one pass over the program is enough.

mod annotation;
mod call;
pub mod constant;
mod declaration;
mod expression;
mod infer;
mod resolve;
mod statement;
mod table;
mod types;

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use num_bigint::BigInt;
use slowpath_codes as codes;

pub use constant::{Value, wrap};
pub use types::{Named, Type};

use crate::ast::*;
use crate::error::P4Error;
use crate::token::Span;

/// Largest number of reported errors.
const MOST_ERRORS: usize = 20;

/// Largest number of types in a type, or of values in a value, counting nested ones. Without this
/// limit, types that contain other types could grow exponentially.
const MOST_PARTS: u32 = 1 << 14;
/// Largest nesting depth of types.
const MOST_LEVELS: u32 = 64;
/// Largest size in bits of an integer without a width.
const MOST_BITS: u64 = 1 << 16;
/// Largest length of a message in characters. The names of types can be long.
const LONGEST_MESSAGE: usize = 500;

/// A parameter of a signature, with its type.
#[derive(Clone, Debug)]
pub struct ParamType {
    /// Declaration of the parameter.
    pub id: DeclId,
    /// Name.
    pub name: Rc<str>,
    /// Direction.
    pub direction: Direction,
    /// Type.
    pub ty: Type,
    /// True if a call can omit the argument: the parameter has a default value or `@optional`.
    pub is_optional: bool,
}

/// Signature of a function, method, constructor, parser, control or action.
#[derive(Clone, Debug)]
pub struct SignatureType {
    /// Type parameters.
    pub type_params: Vec<(DeclId, Rc<str>)>,
    /// Result type; [`Type::Void`] for parsers, controls and actions.
    pub result: Type,
    /// Parameters in order.
    pub params: Vec<ParamType>,
}

/// Underlying type and members of an enum.
#[derive(Clone, Debug)]
pub struct EnumType {
    /// Underlying type of a serializable enum; `None` for other enums.
    pub underlying: Option<Type>,
    /// Names in order, each with its value if the enum is serializable.
    pub members: Vec<(Rc<str>, Option<BigInt>)>,
}

/// Target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function with a body.
    Function(DeclId),
    /// An extern function.
    ExternFunction(DeclId),
    /// An action.
    Action(DeclId),
    /// A method of an extern type.
    Method {
        /// The extern type.
        object: DeclId,
        /// The method.
        method: DeclId,
    },
    /// `apply` of a table.
    Table(DeclId),
    /// `apply` of an instance, or of a newly constructed instance, of this parser or control.
    Apply(DeclId),
    /// Constructor of this extern type, parser, control or package. The second part is the chosen
    /// constructor of an extern type.
    Constructor(DeclId, Option<DeclId>),
    /// A method that the language itself defines for headers, header unions, stacks or types.
    Builtin(Builtin),
}

/// A method that the language itself defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `isValid()` of a header or header union.
    IsValid,
    /// `setValid()` of a header.
    SetValid,
    /// `setInvalid()` of a header.
    SetInvalid,
    /// `push_front(count)` of a stack.
    PushFront,
    /// `pop_front(count)` of a stack.
    PopFront,
    /// `minSizeInBits()`, `maxSizeInBytes()` and similar methods of a type; their result is a
    /// constant.
    Size,
}

/// Resolved call: callee, type arguments and arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// Called function, method or constructor.
    pub callee: Callee,
    /// Type arguments of the callee, stated or inferred.
    pub type_args: Vec<Type>,
    /// For each parameter, the index of its argument; `None` for a parameter that takes its default
    /// value.
    pub args: Vec<Option<usize>>,
}

/// Names and types of fields, in the order of the declaration.
pub type FieldTypes = Rc<[(Rc<str>, Type)]>;

/// Results of the type checker, indexed by the identifiers of the syntax tree.
#[derive(Debug, Default)]
pub struct Checked {
    /// Type of each expression, indexed by [`ExprId`].
    pub types: Vec<Type>,
    /// Values of the expressions that are compile-time constants.
    pub constants: HashMap<ExprId, Value>,
    /// Declaration that each name in an expression refers to.
    pub uses: HashMap<ExprId, DeclId>,
    /// Resolved calls, by call expression.
    pub calls: HashMap<ExprId, Call>,
    /// Types of variables, constants, parameters, instances and declared types.
    pub declared: HashMap<DeclId, Type>,
    /// Fields of structs, headers and header unions; their types can contain type parameters.
    pub fields: HashMap<DeclId, FieldTypes>,
    /// Type parameters of declared types.
    pub type_params: HashMap<DeclId, Vec<(DeclId, Rc<str>)>>,
    /// Members of enums.
    pub enums: HashMap<DeclId, EnumType>,
    /// Signatures of functions, methods, actions and packages, and of `apply` of parsers and
    /// controls. The signature of a package is its constructor.
    pub signatures: HashMap<DeclId, Rc<SignatureType>>,
    /// Constructor parameters of parsers and controls.
    pub constructors: HashMap<DeclId, Rc<SignatureType>>,
    /// Members of `error`, in the order of the program.
    pub errors: Vec<Rc<str>>,
    /// Members of `match_kind`, in the order of the program.
    pub match_kinds: Vec<Rc<str>>,
    /// Warnings about integers that do not fit their types, in the order of the program.
    pub warnings: Vec<P4Error>,
}

impl Checked {
    /// Returns the type of an expression.
    pub fn type_of(&self, expr: &Expr) -> &Type {
        self.types.get(expr.id.0 as usize).unwrap_or(&Type::Unknown)
    }

    /// Returns the fields of a struct, header or header union, with its type arguments substituted.
    pub fn fields_of(&self, named: &Named) -> Vec<(Rc<str>, Type)> {
        let params = self.type_params.get(&named.id).map_or(&[][..], |params| params);
        let by = |id: DeclId| {
            let at = params.iter().position(|param| param.0 == id)?;
            named.args.get(at).cloned()
        };
        let fields = self.fields.get(&named.id).map_or(&[][..], |fields| fields);
        fields.iter().map(|(name, ty)| (name.clone(), ty.replace(&by))).collect()
    }
}

/// Checks a program.
///
/// # Errors
///
/// Returns the faults of the program in source order, at most [`MOST_ERRORS`].
pub fn check(program: &Program) -> Result<Checked, Vec<P4Error>> {
    let mut checker = Checker {
        out: Checked {
            types: vec![Type::Unknown; program.expressions as usize],
            ..Checked::default()
        },
        decls: HashMap::new(),
        methods: HashMap::new(),
        match_kinds: HashMap::new(),
        scopes: vec![HashMap::new()],
        errors: Vec::new(),
        vars: Vec::new(),
        place: Place::Top,
        result: None,
        this: None,
        loops: 0,
        blanks: Blanks::None,
    };
    for decl in &program.declarations {
        checker.declaration(decl);
        if &*decl.name.text == "main"
            && !matches!(*decl.kind, DeclKind::Function(_))
            && !matches!(checker.out.declared.get(&decl.id), Some(Type::Package(_) | Type::Unknown))
        {
            checker.type_fault(decl.name.span, "main must be an instance of a package");
        }
        if checker.errors.len() >= MOST_ERRORS {
            break;
        }
    }
    if checker.errors.is_empty() {
        checker.control_plane_names(&program.declarations);
    }
    let Checker { out, mut errors, .. } = checker;
    if errors.is_empty() {
        return Ok(out);
    }
    errors.truncate(MOST_ERRORS);
    Err(errors)
}

/// Meaning of a name in a scope.
#[derive(Clone, Copy)]
enum Entity<'a> {
    Decl(&'a Decl),
    Param(&'a Param),
    TypeParam(&'a TypeParam),
    State(&'a State),
}

impl<'a> Entity<'a> {
    fn id(self) -> DeclId {
        match self {
            Entity::Decl(decl) => decl.id,
            Entity::Param(param) => param.id,
            Entity::TypeParam(param) => param.id,
            Entity::State(state) => state.id,
        }
    }

    /// Returns true if several declarations of this kind can share a name: functions.
    fn can_overload(self) -> bool {
        matches!(self, Entity::Decl(decl) if matches!(*decl.kind, DeclKind::Function(_) | DeclKind::ExternFunction(_)))
    }
}

/// Kind of the code under check; it decides which statements and calls are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Top,
    Parser,
    Control,
    Action,
    Function,
    Table,
    /// Arguments of actions in a table's list of actions. They must not apply tables (section
    /// 14.2.1.2).
    Argument,
}

/// Meaning of `_` where the program may write it instead of a type (section 7.2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blanks {
    /// `_` is not allowed.
    None,
    /// `_` is a type argument that the checker infers.
    Inferred,
    /// `_` is a type argument in the type of a parameter, and fits every type.
    Any,
}

/// The state of the type checker.
struct Checker<'a> {
    out: Checked,
    decls: HashMap<DeclId, &'a Decl>,
    methods: HashMap<DeclId, &'a Method>,
    /// Declaration of each match kind.
    match_kinds: HashMap<Rc<str>, DeclId>,
    scopes: Vec<HashMap<Rc<str>, Vec<Entity<'a>>>>,
    errors: Vec<P4Error>,
    /// Inferred types of the type variables, indexed by variable; `None` while unknown.
    vars: Vec<Option<Type>>,
    place: Place,
    /// Result type of the function under check.
    result: Option<Type>,
    /// Type of `this` in the code under check; `None` outside of methods.
    this: Option<Type>,
    /// Number of loops around the statement under check.
    loops: u32,
    /// Meaning of `_` in the position of a type.
    blanks: Blanks,
}

impl<'a> Checker<'a> {
    fn fault(&mut self, code: codes::Code, span: Span, message: impl fmt::Display) {
        // Faults in an expression are reported once, the first one.
        if !self.errors.iter().any(|error| error.span == span) {
            let mut message = message.to_string();
            if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
                message.truncate(end);
                message.push('…');
            }
            self.errors.push(P4Error::new(code, span, message));
        }
    }

    fn type_fault(&mut self, span: Span, message: impl fmt::Display) -> Type {
        self.fault(codes::P4_TYPE, span, message);
        Type::Unknown
    }

    /// Warns about a constant number that does not fit its type; only its low bits count (section
    /// 6.4.3.2).
    fn warn_overflow(&mut self, span: Span, number: &BigInt, ty: &Type) {
        let value = wrap(number, ty);
        if value == *number || self.out.warnings.iter().any(|one| one.span == span) {
            return;
        }
        let message = format!("{number} does not fit {ty}; the value is {value}");
        self.out.warnings.push(P4Error::new(codes::P4_OVERFLOW, span, message));
    }

    fn name_fault(&mut self, span: Span, message: impl fmt::Display) -> Type {
        self.fault(codes::P4_NAME, span, message);
        Type::Unknown
    }

    // --- scopes --------------------------------------------------------------------------------

    fn scoped<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(HashMap::new());
        let result = check(self);
        self.scopes.pop();
        result
    }

    /// Runs `check` with another kind of surrounding code, and restores the kind afterwards.
    fn within<T>(&mut self, place: Place, check: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.place, place);
        let loops = std::mem::replace(&mut self.loops, 0);
        let result = check(self);
        self.place = before;
        self.loops = loops;
        result
    }

    /// Runs `check` with another meaning of `_` as a type, and restores the meaning afterwards.
    fn with_blanks<T>(&mut self, blanks: Blanks, check: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.blanks, blanks);
        let result = check(self);
        self.blanks = before;
        result
    }

    /// Adds a name to the innermost scope, and reports a second declaration of the name.
    fn declare(&mut self, name: &Ident, entity: Entity<'a>) {
        if let Entity::Decl(decl) = entity {
            self.decls.insert(decl.id, decl);
        }
        let Some(scope) = self.scopes.last_mut() else { return };
        let known = scope.entry(name.text.clone()).or_default();
        let clashes = known.iter().any(|one| !(one.can_overload() && entity.can_overload()));
        known.push(entity);
        if clashes {
            self.name_fault(
                name.span,
                format!("'{}' is declared twice in this scope; rename one", name.text),
            );
        }
    }

    /// Returns the declarations of a name in the innermost scope that contains it. `absolute`
    /// limits the search to the global scope.
    fn find(&self, name: &str, absolute: bool) -> &[Entity<'a>] {
        let scopes = if absolute { &self.scopes[..1] } else { &self.scopes[..] };
        scopes.iter().rev().find_map(|scope| scope.get(name)).map_or(&[], |found| found)
    }

    fn find_one(&mut self, name: &Ident, absolute: bool) -> Option<Entity<'a>> {
        let found = self.find(&name.text, absolute).last().copied();
        if found.is_none() {
            self.name_fault(name.span, format!("'{}' is not declared", name.text));
        }
        found
    }
}
