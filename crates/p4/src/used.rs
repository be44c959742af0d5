//! Finds the variables that arguments of calls use. The translations to XDP and to SWX both need
//! them.

use std::rc::Rc;

use crate::ast::{DeclId, Expr, ExprKind};
use crate::check::Checked;

/// A variable, or a part of one that the field names select.
pub(crate) struct Used {
    root: DeclId,
    path: Vec<Rc<str>>,
}

impl Used {
    /// Returns true if one of the two parts is equal to the other, or contains it.
    pub fn overlaps(&self, other: &Used) -> bool {
        self.root == other.root
            && self.path.iter().zip(&other.path).all(|(one, other)| one == other)
    }
}

/// Returns the variables, and parts of variables, that an expression reads or writes; `None` if it
/// contains a call.
pub(crate) fn uses(checked: &Checked, expr: &Expr) -> Option<Vec<Used>> {
    let mut used = Vec::new();
    add_uses(checked, expr, &mut used).then_some(used)
}

/// Adds the variables that an expression uses. Returns false if it contains a call.
fn add_uses(checked: &Checked, expr: &Expr, used: &mut Vec<Used>) -> bool {
    let mut path = Vec::new();
    let mut base = expr;
    while let ExprKind::Member { base: inner, name } = &base.kind {
        path.push(name.text.clone());
        base = inner;
    }
    if let ExprKind::Name { .. } = base.kind {
        if let Some(root) = checked.uses.get(&base.id) {
            path.reverse();
            used.push(Used { root: *root, path });
        }
        return true;
    }
    match &base.kind {
        ExprKind::Call { function, args, .. } => {
            matches!(function.kind, ExprKind::Type(_))
                && args.iter().all(|arg| add_uses(checked, &arg.value, used))
        }
        ExprKind::Index { base: one, index: other } => {
            add_uses(checked, one, used) && add_uses(checked, other, used)
        }
        ExprKind::Slice { base: one, .. } => add_uses(checked, one, used),
        ExprKind::PlusSlice { base: one, low, .. } => {
            add_uses(checked, one, used) && add_uses(checked, low, used)
        }
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
            add_uses(checked, operand, used)
        }
        ExprKind::Binary { left, right, .. } => {
            add_uses(checked, left, used) && add_uses(checked, right, used)
        }
        ExprKind::Conditional { condition, yes, no } => {
            [condition, yes, no].into_iter().all(|one| add_uses(checked, one, used))
        }
        ExprKind::List { items, .. } => items.iter().all(|one| add_uses(checked, one, used)),
        ExprKind::Record { fields, .. } => {
            fields.iter().all(|(_, one)| add_uses(checked, one, used))
        }
        _ => true,
    }
}
