//! Converts the non-constant entries of a P4 program, which the control plane may change, to
//! control-plane entries.

use num_bigint::BigInt;

use crate::annotations::control_name;
use crate::ast::*;
use crate::check::{Checked, Type, Value};
use crate::error::P4Error;
use crate::token::Span;
use crate::xdp::entries::{self, ActionCall, KeyValue, Setting};

type Result<T> = std::result::Result<T, P4Error>;

/// Functions through which the conversion of entries reads the P4 program. The translation to XDP
/// or SWX provides them.
pub(crate) struct Program<'p> {
    pub checked: &'p Checked,
    /// Returns the compile-time value of an expression; `None` if it has none.
    pub constant: &'p dyn Fn(&Expr) -> Option<Value>,
    /// Returns the declaration of the action that an entry names.
    pub action: &'p dyn Fn(&Expr) -> Option<&'p Decl>,
    /// Returns the types of the members of a struct, tuple or stack; `None` for numbers.
    pub members: &'p dyn Fn(&Type) -> Option<Vec<Type>>,
    /// Creates an error about a construct that the translation does not support.
    pub refusal: &'p dyn Fn(Span, &str) -> P4Error,
}

impl Program<'_> {
    /// Converts entries to the format of entry files, in which the largest priority wins.
    ///
    /// `types` are the types of the keys. The third argument consists of the priority of each entry
    /// in the program, and a flag: true if the largest priority wins in the program.
    ///
    /// # Errors
    ///
    /// Returns an error for the first entry that is not constant.
    pub fn entries(
        &self,
        path: &str,
        entries: &[Entry],
        (priorities, is_largest_first): (&[u32], bool),
        types: &[Type],
    ) -> Result<Vec<entries::Entry>> {
        let most = priorities.iter().copied().max().unwrap_or(0);
        let mut found = Vec::new();
        for (entry, &priority) in entries.iter().zip(priorities) {
            let mut keys = Vec::new();
            let sets = match &entry.sets[..] {
                [Expr { kind: ExprKind::List { items, .. }, .. }] if types.len() != 1 => items,
                sets => sets,
            };
            match sets {
                [Expr { kind: ExprKind::Default | ExprKind::DontCare, .. }] => {
                    types.iter().for_each(|ty| self.any(ty, &mut keys));
                }
                _ => {
                    for (set, ty) in sets.iter().zip(types) {
                        self.key(set, ty, &mut keys)?;
                    }
                }
            }
            let priority = if is_largest_first { priority } else { most - priority };
            found.push(entries::Entry {
                line: 0,
                table: path.to_owned(),
                setting: Setting::Entry {
                    keys: keys.into_iter().map(|key| (None, key)).collect(),
                    priority: Some(priority),
                    actions: vec![self.call(&entry.action)?],
                },
            });
        }
        Ok(found)
    }

    fn call(&self, action: &Expr) -> Result<ActionCall> {
        let Some(decl) = (self.action)(action) else {
            return Err((self.refusal)(action.span, "this action"));
        };
        let mut args = Vec::new();
        if let (ExprKind::Call { args: given, .. }, DeclKind::Action { params, .. }) =
            (&action.kind, &*decl.kind)
        {
            // Arguments for parameters with a direction are those in the table's list of actions.
            let call = self.checked.calls.get(&action.id);
            let directed = params.iter().enumerate().filter_map(|(at, param)| {
                let has_direction = param.direction != Direction::None;
                call?.args.get(at).copied().flatten().filter(|_| has_direction)
            });
            let directed: Vec<usize> = directed.collect();
            for (at, arg) in given.iter().enumerate() {
                if directed.contains(&at) {
                    continue;
                }
                let name = arg.name.as_ref().map(|name| name.text.to_string());
                args.push((name, self.number(&arg.value)?));
            }
        }
        Ok(ActionCall { name: control_name(decl), args })
    }

    fn any(&self, ty: &Type, keys: &mut Vec<KeyValue>) {
        match (self.members)(ty) {
            Some(members) => members.iter().for_each(|one| self.any(one, keys)),
            None => keys.push(KeyValue::Any),
        }
    }

    fn key(&self, set: &Expr, ty: &Type, keys: &mut Vec<KeyValue>) -> Result<()> {
        let value = match &set.kind {
            ExprKind::Default | ExprKind::DontCare => {
                self.any(ty, keys);
                return Ok(());
            }
            ExprKind::List { items, .. } => match (self.members)(ty) {
                Some(members) => {
                    for (item, of) in items.iter().zip(&members) {
                        self.key(item, of, keys)?;
                    }
                    return Ok(());
                }
                None if items.len() == 1 => return self.key(&items[0], ty, keys),
                None => KeyValue::Exact(self.number(set)?),
            },
            ExprKind::Mask { value, mask } => {
                KeyValue::Mask(self.number(value)?, self.number(mask)?)
            }
            ExprKind::Range { low, high } => KeyValue::Range(self.number(low)?, self.number(high)?),
            _ => KeyValue::Exact(self.number(set)?),
        };
        keys.push(value);
        Ok(())
    }

    /// Returns the value of an expression as a number. The number of an enum or error member is its
    /// position in the declaration.
    fn number(&self, expr: &Expr) -> Result<BigInt> {
        Ok(match (self.constant)(expr) {
            Some(Value::Number(number)) => number,
            Some(Value::Bool(value)) => u8::from(value).into(),
            Some(Value::Error(name)) => {
                self.checked.errors.iter().position(|one| *one == name).unwrap_or(0).into()
            }
            Some(Value::Member(id, name)) => {
                let members = self.checked.enums.get(&id).map(|one| &one.members);
                let at = members.and_then(|all| all.iter().position(|one| one.0 == name));
                at.unwrap_or(0).into()
            }
            _ => return Err((self.refusal)(expr.span, "an entry that is not constant")),
        })
    }
}
