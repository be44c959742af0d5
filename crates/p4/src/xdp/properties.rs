//! Reads the properties of tables, and their initial entries.

use num_traits::ToPrimitive;

use super::layout::MatchKind;
use super::members::Members;
use super::storage::is_scalar;
use super::*;
use crate::tables;

/// A direct counter or meter: one element for each entry of a table.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    /// Control-plane name.
    pub path: String,
    /// True if every hit counts (v1model). Otherwise, the program calls a method to count (PSA).
    pub is_implicit: bool,
    /// True if a direct meter counts bytes instead of packets.
    pub counts_bytes: bool,
}

/// Properties of a table that the translation uses.
pub(super) struct Properties<'a> {
    pub table: tables::Properties<'a>,
    /// Counter of packets and bytes for each entry.
    pub counter: Option<Direct>,
    /// Meter for each entry.
    pub meter: Option<Direct>,
    /// Action profile or selector whose members or groups the entries name, instead of actions.
    pub members: Option<Members>,
}

impl<'a> Generator<'a> {
    /// Returns the declarations of a table's actions, in the order of its list.
    pub(super) fn table_actions(&self, table: DeclId) -> Vec<DeclId> {
        match self.nodes.get(&table).map(|decl| &*decl.kind) {
            Some(DeclKind::Table(table)) => tables::actions_of(self.checked, table),
            _ => Vec::new(),
        }
    }

    pub(super) fn action_of(&self, action: &Expr) -> Option<DeclId> {
        tables::action_of(self.checked, action)
    }

    pub(super) fn properties(&mut self, table: &'a Table, path: &str) -> Result<Properties<'a>> {
        let mut of = tables::Properties::of(table, &|expr| self.constant(expr));
        let mut members = None;
        if let Some(value) = of.implementation {
            let Some(Binding::Instance(instance)) = self.object_of(value) else {
                return self.unsupported(value.span, "this implementation of a table");
            };
            match (instance.kind(), instance.number(0)) {
                ("hash_table" | "array_table", Some(size)) => of.size = size.max(1),
                _ => {
                    let is_inline = matches!(value.kind, ExprKind::Call { .. });
                    let own = is_inline.then(|| format!("{path}.members"));
                    members = Some(self.members_of(&instance, own, table, value)?);
                }
            }
        }
        let counter = of.counter.map(|value| self.direct(value, "direct_counter")).transpose()?;
        let meter = of.meter.map(|value| self.direct(value, "direct_meter")).transpose()?;
        Ok(Properties { table: of, counter, meter, members })
    }

    /// Returns the direct counter or meter that a property names.
    fn direct(&mut self, value: &'a Expr, kind: &str) -> Result<Direct> {
        let Some(Binding::Instance(instance)) = self.object_of(value) else {
            return self.unsupported(value.span, format!("this {}", kind.replace('_', " ")));
        };
        let counts_bytes = instance.args.iter().flatten().any(|arg| {
            matches!(arg, Binding::Constant(Value::Member(_, name)) if name.eq_ignore_ascii_case("bytes"))
        });
        let is_implicit = instance.kind() == kind;
        Ok(Direct { path: instance.path, is_implicit, counts_bytes })
    }

    pub(super) fn number(&self, expr: &Expr) -> Option<u32> {
        self.constant(expr).and_then(|value| value.number().and_then(ToPrimitive::to_u32))
    }

    pub(super) fn match_kind(&self, key: &Key) -> Result<MatchKind> {
        match tables::match_kind(key) {
            Some(kind) => Ok(kind),
            None => self.unsupported(key.kind.span, format!("match kind {}", key.kind.text)),
        }
    }

    // --- initial entries -----------------------------------------------------------------------

    /// Returns the entries of the program that the control plane may change.
    pub(super) fn initial_entries(
        &self,
        path: &str,
        properties: &Properties<'a>,
        values: &[(String, Type)],
    ) -> Result<Vec<entries::Entry>> {
        let types: Vec<Type> = values.iter().map(|one| one.1.clone()).collect();
        let program = crate::initial::Program {
            checked: self.checked,
            constant: &|expr| self.constant(expr),
            action: &|expr| self.action_of(expr).and_then(|id| self.nodes.get(&id).copied()),
            members: &|ty| match is_scalar(ty) {
                true => None,
                false => Some(self.members(ty).into_iter().map(|one| one.1).collect()),
            },
            refusal: &|span, what| {
                P4Error::unsupported(span, format!("{what} cannot be compiled for XDP yet"))
            },
        };
        properties.table.initial(path, &program, &types)
    }
}
