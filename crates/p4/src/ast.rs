//! Syntax trees of P4_16 programs.
//!
//! The parser numbers expressions ([`ExprId`]) and declarations ([`DeclId`]). The type checker
//! returns tables by these numbers, so the tree itself never changes.

#![allow(missing_docs, reason = "the syntax in a comment of a variant names its fields")]

use std::rc::Rc;

use num_bigint::BigInt;

use crate::token::{Span, Token};

/// Number of an expression in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Number of a declaration in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(pub u32);

/// A name with its place.
#[derive(Clone, Debug)]
pub struct Ident {
    /// Text of the name.
    pub text: Rc<str>,
    /// Place of the name.
    pub span: Span,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Declarations of all files, in order.
    pub declarations: Vec<Decl>,
    /// Number of expressions; their numbers are smaller.
    pub expressions: u32,
    /// Number of declarations; their numbers are smaller.
    pub count: u32,
}

/// An annotation, `@name(body)` or `@name[body]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Name without `@`.
    pub name: Ident,
    /// Tokens between the brackets.
    pub body: Vec<Token>,
    /// Values with their keys in a structured annotation, `@name[body]`.
    pub values: Option<Vec<(Option<Ident>, Expr)>>,
}

/// A declaration at any level.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Number of the declaration.
    pub id: DeclId,
    /// Declared name. Empty for `error` and `match_kind`.
    pub name: Ident,
    /// Place of the whole declaration.
    pub span: Span,
    /// Annotations before the declaration.
    pub annotations: Vec<Annotation>,
    /// The declared thing.
    pub kind: Rc<DeclKind>,
}

/// The declared thing of a [`Decl`].
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// `const type name = value;`
    Const { ty: TypeRef, value: Expr },
    /// `type name = value;`
    Variable { ty: TypeRef, value: Option<Expr> },
    /// `type(args) name;`, with declarations of abstract methods in braces.
    Instance { ty: TypeRef, args: Vec<Arg>, methods: Option<Vec<Decl>> },
    /// A function with a body.
    Function(Function),
    /// `extern result name(parameters);`
    ExternFunction(Signature),
    /// `extern name { methods }`
    Extern(Extern),
    /// `action name(parameters) { … }`
    Action { params: Vec<Param>, body: Block },
    /// A parser with states.
    Parser(Parser),
    /// A control with a body.
    Control(Control),
    /// `parser name(parameters);`, without states.
    ParserType(Signature),
    /// `control name(parameters);`, without a body.
    ControlType(Signature),
    /// `package name(parameters);`
    PackageType(Signature),
    /// `struct`, `header` or `header_union`.
    Fields(Fields),
    /// `enum name { members }`; with a type, a serializable enum.
    Enum { ty: Option<TypeRef>, members: Vec<(Ident, Option<Expr>)> },
    /// `error { members }`
    Error(Vec<Ident>),
    /// `match_kind { members }`
    MatchKind(Vec<Ident>),
    /// `typedef type name;`
    Typedef(TypeRef),
    /// `type type name;`
    NewType(TypeRef),
    /// `table name { properties }`
    Table(Table),
    /// `value_set<type>(size) name;`
    ValueSet { ty: TypeRef, size: Expr },
    /// A type parameter. Only the type checker makes it, for names in scopes.
    TypeParam,
}

/// Kind of a type with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldsKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    HeaderUnion,
}

/// A struct, header or header union.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Kind of the type.
    pub kind: FieldsKind,
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Fields in order.
    pub fields: Vec<Field>,
}

/// A field of a struct, header or header union.
#[derive(Clone, Debug)]
pub struct Field {
    /// Annotations of the field.
    pub annotations: Vec<Annotation>,
    /// Type of the field.
    pub ty: TypeRef,
    /// Name of the field.
    pub name: Ident,
}

/// A type parameter, `T` of `<T>`.
#[derive(Clone, Debug)]
pub struct TypeParam {
    /// Number as a declaration.
    pub id: DeclId,
    /// Name.
    pub name: Ident,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// No direction: a compile-time value, or an argument of an action that a table sets.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Number as a declaration.
    pub id: DeclId,
    /// Annotations; `@optional` parameters need no argument.
    pub annotations: Vec<Annotation>,
    /// Direction.
    pub direction: Direction,
    /// Type.
    pub ty: TypeRef,
    /// Name.
    pub name: Ident,
    /// Default value.
    pub default: Option<Expr>,
}

/// Type parameters, parameters and result of something that can be called or constructed.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Type of the result; absent for constructors, parsers, controls and packages.
    pub result: Option<TypeRef>,
    /// Parameters.
    pub params: Vec<Param>,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Function {
    /// Parameters and result.
    pub signature: Signature,
    /// Body.
    pub body: Block,
}

/// An extern type.
#[derive(Clone, Debug)]
pub struct Extern {
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Constructors, named as the type and without a result, and methods.
    pub methods: Vec<Method>,
}

/// A method or constructor of an extern type.
#[derive(Clone, Debug)]
pub struct Method {
    /// Number as a declaration.
    pub id: DeclId,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// True if instances define the method.
    pub is_abstract: bool,
    /// Name.
    pub name: Ident,
    /// Parameters and result.
    pub signature: Signature,
}

/// A parser.
#[derive(Clone, Debug)]
pub struct Parser {
    /// Type parameters and parameters of `apply`.
    pub signature: Signature,
    /// Constructor parameters.
    pub constructor: Vec<Param>,
    /// Constants, variables, instances and value sets before the states.
    pub locals: Vec<Decl>,
    /// States.
    pub states: Vec<State>,
}

/// A state of a parser.
#[derive(Clone, Debug)]
pub struct State {
    /// Number as a declaration.
    pub id: DeclId,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Name.
    pub name: Ident,
    /// Statements before the transition.
    pub body: Vec<Stmt>,
    /// Transition; without one, the parser rejects the packet.
    pub transition: Option<Transition>,
}

/// The end of a state.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;`
    Direct(Ident),
    /// `transition select(keys) { cases }`
    Select {
        /// Place of `select`.
        span: Span,
        /// Values to compare.
        keys: Vec<Expr>,
        /// Cases in order: one set for each key (or one [`ExprKind::Default`]), and a state.
        cases: Vec<SelectCase>,
    },
}

/// A case of `select`.
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// Place of the sets.
    pub span: Span,
    /// The set of each key. A single `default` or `_` stands for all keys.
    pub sets: Vec<Expr>,
    /// Next state.
    pub state: Ident,
}

/// A control.
#[derive(Clone, Debug)]
pub struct Control {
    /// Type parameters and parameters of `apply`.
    pub signature: Signature,
    /// Constructor parameters.
    pub constructor: Vec<Param>,
    /// Constants, variables, instances, actions and tables.
    pub locals: Vec<Decl>,
    /// Body of `apply`.
    pub body: Block,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Properties in order.
    pub properties: Vec<Property>,
}

/// A property of a table.
#[derive(Clone, Debug)]
pub struct Property {
    /// Annotations of the property.
    pub annotations: Vec<Annotation>,
    /// True after `const`.
    pub is_const: bool,
    /// Name: `key`, `actions`, `entries`, `default_action`, `size`, or a property of the target.
    pub name: Ident,
    /// Value.
    pub value: PropertyValue,
}

/// Value of a property of a table.
#[derive(Clone, Debug)]
pub enum PropertyValue {
    /// `key = { expression : match_kind; … }`
    Keys(Vec<Key>),
    /// `actions = { names }`
    Actions(Vec<ActionRef>),
    /// `entries = { … }`
    Entries(Vec<Entry>),
    /// `name = expression;`
    Expr(Expr),
}

/// A part of a table's key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Annotations; `@name` gives the control-plane name.
    pub annotations: Vec<Annotation>,
    /// Value that is looked up.
    pub value: Expr,
    /// Match kind: `exact`, `lpm`, `ternary` …
    pub kind: Ident,
}

/// An action in the list of a table.
#[derive(Clone, Debug)]
pub struct ActionRef {
    /// Annotations: `@tableonly`, `@defaultonly`.
    pub annotations: Vec<Annotation>,
    /// A name, or a call with the arguments of parameters that have a direction.
    pub action: Expr,
}

/// An entry of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Place of the entry.
    pub span: Span,
    /// Annotations: `@priority`.
    pub annotations: Vec<Annotation>,
    /// True after `const`.
    pub is_const: bool,
    /// Value of `priority = …:`.
    pub priority: Option<Expr>,
    /// The set of each key.
    pub sets: Vec<Expr>,
    /// A call of an action.
    pub action: Expr,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// Place of the type.
    pub span: Span,
    /// The type.
    pub kind: TypeRefKind,
}

/// Content of a [`TypeRef`].
#[derive(Clone, Debug)]
pub enum TypeRefKind {
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    String,
    /// `int`, an integer of any size
    Integer,
    /// `bit<width>`; `bit` has width 1
    Bit(Option<Box<Expr>>),
    /// `int<width>`
    Int(Box<Expr>),
    /// `varbit<largest width>`
    Varbit(Box<Expr>),
    /// `void`
    Void,
    /// `_`
    DontCare,
    /// A named type with type arguments; `absolute` after a leading dot.
    Named { name: Ident, absolute: bool, args: Vec<TypeRef> },
    /// `element[size]`
    Stack { element: Box<TypeRef>, size: Box<Expr> },
    /// `tuple<types>`
    Tuple(Vec<TypeRef>),
    /// `list<type>`
    List(Box<TypeRef>),
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Name in `name = value`.
    pub name: Option<Ident>,
    /// Value; [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
}

/// An expression with its number and place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Number of the expression.
    pub id: ExprId,
    /// Place of the expression.
    pub span: Span,
    /// The expression.
    pub kind: ExprKind,
}

/// Width and sign of a literal, `8w` or `8s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralType {
    /// Width in bits.
    pub width: u32,
    /// True for `s`.
    pub is_signed: bool,
}

/// Content of an [`Expr`].
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `true` or `false`
    Bool(bool),
    /// A number, with its type if it is written.
    Number { value: BigInt, ty: Option<LiteralType> },
    /// A string literal.
    Text(Rc<str>),
    /// `default`, or `...` at the end of a list
    Default,
    /// `_`
    DontCare,
    /// `this`
    This,
    /// A name; `absolute` after a leading dot.
    Name { name: Ident, absolute: bool },
    /// A type where an expression may stand: `E` in `E.a`, `error` in `error.NoError`, `C` in
    /// `C.apply()` and in `C()`.
    Type(TypeRef),
    /// `base.name`
    Member { base: Box<Expr>, name: Ident },
    /// `base[index]`
    Index { base: Box<Expr>, index: Box<Expr> },
    /// `base[high:low]`
    Slice { base: Box<Expr>, high: Box<Expr>, low: Box<Expr> },
    /// `base[low+:width]`
    PlusSlice { base: Box<Expr>, low: Box<Expr>, width: Box<Expr> },
    /// `function<types>(arguments)`; a constructor call has a [`ExprKind::Type`] as its function.
    Call { function: Box<Expr>, type_args: Vec<TypeRef>, args: Vec<Arg> },
    /// `-a`, `!a`, `~a`, `+a`
    Unary { op: UnaryOp, operand: Box<Expr> },
    /// `a op b`
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr> },
    /// `condition ? yes : no`
    Conditional { condition: Box<Expr>, yes: Box<Expr>, no: Box<Expr> },
    /// `(type) operand`
    Cast { ty: TypeRef, operand: Box<Expr> },
    /// `{a, b}`; `defaults` if it ends with `...`
    List { items: Vec<Expr>, defaults: bool },
    /// `{a = x, b = y}`; `defaults` if it ends with `...`
    Record { fields: Vec<(Ident, Expr)>, defaults: bool },
    /// `{#}`
    Invalid,
    /// `value &&& mask`
    Mask { value: Box<Expr>, mask: Box<Expr> },
    /// `low .. high`
    Range { low: Box<Expr>, high: Box<Expr> },
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `|+|`
    AddSaturating,
    /// `|-|`
    SubtractSaturating,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `++`
    Concat,
}

/// Statements in braces.
#[derive(Clone, Debug)]
pub struct Block {
    /// Place of the block.
    pub span: Span,
    /// Annotations before the brace: `@atomic`.
    pub annotations: Vec<Annotation>,
    /// Statements.
    pub statements: Vec<Stmt>,
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Place of the statement.
    pub span: Span,
    /// The statement.
    pub kind: StmtKind,
}

/// Content of a [`Stmt`].
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `target = value;`, or with an operator: `target += value;`
    Assign { target: Expr, op: Option<BinaryOp>, value: Expr },
    /// A call, with the expression of kind [`ExprKind::Call`].
    Call(Expr),
    /// `if (condition) yes else no`
    If { condition: Expr, yes: Box<Stmt>, no: Option<Box<Stmt>> },
    /// `switch (value) { cases }`
    Switch { value: Expr, cases: Vec<SwitchCase> },
    /// A block.
    Block(Block),
    /// `return;` or `return value;`
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// A constant, variable or instance.
    Declare(Decl),
    /// `for (start; condition; updates) body`
    For { start: Vec<Stmt>, condition: Expr, updates: Vec<Stmt>, body: Box<Stmt> },
    /// `for (variable in range) body`, with a declared or an existing variable.
    ForIn { declared: Option<Decl>, variable: Expr, range: Expr, body: Box<Stmt> },
}

/// A case of `switch`.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Place of the label.
    pub span: Span,
    /// Label: an action, a constant, or [`ExprKind::Default`].
    pub label: Expr,
    /// Block; without one, the case falls through to the next.
    pub body: Option<Block>,
}
