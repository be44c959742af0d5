//! Syntax trees of P4_16 programs.
//!
//! The parser numbers expressions ([`ExprId`]) and declarations ([`DeclId`]). The type checker
//! returns tables indexed by these numbers, so the tree itself never changes.

#![allow(missing_docs, reason = "the syntax in a comment of a variant names its fields")]

use std::rc::Rc;

use num_bigint::BigInt;

use crate::token::{Span, Token};

/// Number that identifies an expression of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Number that identifies a declaration of a program, including parameters, methods and parser
/// states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(pub u32);

/// A name with its position in the source.
#[derive(Clone, Debug)]
pub struct Ident {
    /// Text of the name.
    pub text: Rc<str>,
    /// Source position of the name.
    pub span: Span,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Declarations of all files, in order.
    pub declarations: Vec<Decl>,
    /// Number of expressions: every [`ExprId`] is smaller.
    pub expressions: u32,
    /// Number of declarations: every [`DeclId`] is smaller.
    pub count: u32,
}

/// An annotation, `@name(body)` or `@name[body]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Name without `@`.
    pub name: Ident,
    /// Tokens between the brackets.
    pub body: Vec<Token>,
    /// Values of a structured annotation, `@name[body]`, each with its key if it has one; `None`
    /// for `@name(body)`.
    pub values: Option<Vec<(Option<Ident>, Expr)>>,
}

/// A declaration, at the top of the program or inside of another declaration.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Identifier of the declaration.
    pub id: DeclId,
    /// Declared name. Empty for `error` and `match_kind`.
    pub name: Ident,
    /// Source position of the whole declaration.
    pub span: Span,
    /// Annotations before the declaration.
    pub annotations: Vec<Annotation>,
    /// Declared thing, such as a variable, a type or a control.
    pub kind: Rc<DeclKind>,
}

/// Kind and content of a declaration ([`Decl`]).
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// `const type name = value;`
    Const { ty: TypeRef, value: Expr },
    /// `type name = value;`
    Variable { ty: TypeRef, value: Option<Expr> },
    /// `type(args) name;`, with implementations of abstract methods in braces.
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
    /// A type parameter. Only the type checker creates declarations of this kind, to enter the
    /// names of type parameters in scopes.
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
    /// Fields in the order of the declaration.
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

/// A type parameter, such as `T` in `<T>`.
#[derive(Clone, Debug)]
pub struct TypeParam {
    /// Identifier of the type parameter, which counts as a declaration.
    pub id: DeclId,
    /// Name.
    pub name: Ident,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// No direction: a compile-time value, or an action parameter that table entries set.
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
    /// Identifier of the parameter, which counts as a declaration.
    pub id: DeclId,
    /// Annotations. A parameter with `@optional` needs no argument.
    pub annotations: Vec<Annotation>,
    /// Direction.
    pub direction: Direction,
    /// Type.
    pub ty: TypeRef,
    /// Name.
    pub name: Ident,
    /// Value of the parameter if the call has no argument for it.
    pub default: Option<Expr>,
}

/// Type parameters, parameters and result type of a function, method, extern, parser, control or
/// package.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Result type; `None` for constructors, parsers, controls and packages.
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
    /// Methods and constructors. A constructor has the name of the type and no result.
    pub methods: Vec<Method>,
}

/// A method or constructor of an extern type.
#[derive(Clone, Debug)]
pub struct Method {
    /// Identifier of the method, which counts as a declaration.
    pub id: DeclId,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// True if the method is abstract: each instance of the extern type defines it.
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
    /// Identifier of the state, which counts as a declaration.
    pub id: DeclId,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Name.
    pub name: Ident,
    /// Statements before the transition.
    pub body: Vec<Stmt>,
    /// Transition to the next state. Without one, the parser rejects the packet.
    pub transition: Option<Transition>,
}

/// Last statement of a parser state, which names the next state.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;`
    Direct(Ident),
    /// `transition select(keys) { cases }`
    Select {
        /// Source position of `select`.
        span: Span,
        /// Values to compare.
        keys: Vec<Expr>,
        /// Cases in order. Each has one set of values for each key (or one [`ExprKind::Default`])
        /// and the next state.
        cases: Vec<SelectCase>,
    },
}

/// A case of `select`.
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// Source position of the sets.
    pub span: Span,
    /// For each key, the set of values that it must be in. A single `default` or `_` stands for all
    /// keys.
    pub sets: Vec<Expr>,
    /// Next state if the keys are in the sets.
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
    /// True if the property is marked `const`.
    pub is_const: bool,
    /// Name: `key`, `actions`, `entries`, `default_action`, `size`, or a property of the
    /// architecture.
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

/// A field of a table's key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Annotations; `@name` gives the control-plane name.
    pub annotations: Vec<Annotation>,
    /// Expression whose value the table looks up.
    pub value: Expr,
    /// Match kind: `exact`, `lpm`, `ternary` …
    pub kind: Ident,
}

/// An action in the property `actions` of a table.
#[derive(Clone, Debug)]
pub struct ActionRef {
    /// Annotations: `@tableonly`, `@defaultonly`.
    pub annotations: Vec<Annotation>,
    /// A name, or a call with arguments for the parameters that have a direction.
    pub action: Expr,
}

/// An entry of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Source position of the entry.
    pub span: Span,
    /// Annotations: `@priority`.
    pub annotations: Vec<Annotation>,
    /// True if the entry is marked `const`.
    pub is_const: bool,
    /// Value after `priority =`; `None` if the entry states no priority.
    pub priority: Option<Expr>,
    /// For each key, the set of values that match the entry.
    pub sets: Vec<Expr>,
    /// Call of the action that runs for a matching packet.
    pub action: Expr,
}

/// A type as written in the source.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// Source position of the type.
    pub span: Span,
    /// Content of the type.
    pub kind: TypeRefKind,
}

/// Content of a type in the source ([`TypeRef`]).
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
    /// A named type with type arguments. `absolute` is true for a name after a leading dot.
    Named { name: Ident, absolute: bool, args: Vec<TypeRef> },
    /// `element[size]`
    Stack { element: Box<TypeRef>, size: Box<Expr> },
    /// `tuple<types>`
    Tuple(Vec<TypeRef>),
    /// `list<type>`
    List(Box<TypeRef>),
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Name of the parameter, for an argument of the form `name = value`.
    pub name: Option<Ident>,
    /// Value; [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
}

/// An expression with its identifier and source position.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Identifier of the expression.
    pub id: ExprId,
    /// Source position of the expression.
    pub span: Span,
    /// Operator, literal or name, with the operands.
    pub kind: ExprKind,
}

/// Width and sign of a literal, `8w` or `8s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralType {
    /// Width in bits.
    pub width: u32,
    /// True for a signed literal (`s`), false for an unsigned one (`w`).
    pub is_signed: bool,
}

/// Kind and operands of an expression ([`Expr`]).
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `true` or `false`
    Bool(bool),
    /// An integer literal. `ty` is the width and sign, if the literal states them.
    Number { value: BigInt, ty: Option<LiteralType> },
    /// A string literal.
    Text(Rc<str>),
    /// `default`, or `...` at the end of a list
    Default,
    /// `_`
    DontCare,
    /// `this`
    This,
    /// A name. `absolute` is true for a name after a leading dot.
    Name { name: Ident, absolute: bool },
    /// A type in the position of an expression: `E` in `E.a`, `error` in `error.NoError`, `C` in
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
    /// `function<types>(arguments)`. In a call of a constructor, `function` has the kind
    /// [`ExprKind::Type`].
    Call { function: Box<Expr>, type_args: Vec<TypeRef>, args: Vec<Arg> },
    /// `-a`, `!a`, `~a`, `+a`
    Unary { op: UnaryOp, operand: Box<Expr> },
    /// `a op b`
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr> },
    /// `condition ? yes : no`
    Conditional { condition: Box<Expr>, yes: Box<Expr>, no: Box<Expr> },
    /// `(type) operand`
    Cast { ty: TypeRef, operand: Box<Expr> },
    /// `{a, b}`. `defaults` is true for a list that ends with `...`.
    List { items: Vec<Expr>, defaults: bool },
    /// `{a = x, b = y}`. `defaults` is true for a record that ends with `...`.
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
    /// Source position of the block.
    pub span: Span,
    /// Annotations before the brace: `@atomic`.
    pub annotations: Vec<Annotation>,
    /// Statements.
    pub statements: Vec<Stmt>,
}

/// A statement with its source position.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Source position of the statement.
    pub span: Span,
    /// Kind and parts of the statement.
    pub kind: StmtKind,
}

/// Kind and parts of a statement ([`Stmt`]).
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `target = value;`, or with an operator: `target += value;`
    Assign { target: Expr, op: Option<BinaryOp>, value: Expr },
    /// A call as a statement; the expression has the kind [`ExprKind::Call`].
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
    /// A declaration of a constant, variable or instance.
    Declare(Decl),
    /// `for (start; condition; updates) body`
    For { start: Vec<Stmt>, condition: Expr, updates: Vec<Stmt>, body: Box<Stmt> },
    /// `for (variable in range) body`. `declared` is the declaration of the variable, unless the
    /// loop uses an existing one.
    ForIn { declared: Option<Decl>, variable: Expr, range: Expr, body: Box<Stmt> },
}

/// A case of `switch`.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Source position of the label.
    pub span: Span,
    /// Label: an action, a constant, or [`ExprKind::Default`].
    pub label: Expr,
    /// Block of the case. A case without one falls through to the next case.
    pub body: Option<Block>,
}
