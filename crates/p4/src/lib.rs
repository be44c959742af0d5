//! P4_16 programs (specification 1.2.4): preprocessor, parser, type checker, and translation to C.
//!
//! [`preprocess`] reads a program and its headers as tokens, [`parse`] makes a tree of them, and
//! [`check()`] finds the type of each expression and the meaning of each name.

mod annotations;
pub mod ast;
pub mod check;
mod error;
mod initial;
mod lexer;
mod parser;
pub mod preprocess;
pub mod records;
mod rounds;
pub mod swx;
mod tables;
pub mod token;
mod used;
pub mod walk;
pub mod xdp;

pub use check::check;
pub use error::P4Error;
pub use parser::parse;
