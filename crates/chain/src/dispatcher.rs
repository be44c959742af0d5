//! Finds the order in which libxdp's dispatcher runs several programs on one interface. The objects
//! of the programs contain their priorities, and the results after which the dispatcher runs the
//! next program.
//!
//! Source: libxdp's `protocol.org`.

use crate::{Action, Chain, ChainError, Dispatcher, Edge, Loaded};
use slowpath_bpf::RunConfig;

/// Result that libxdp's dispatcher assumes for a program that was removed from its interface. The
/// dispatcher also uses this number as a mask: of a program's result, it compares only the bits
/// that are set in this number.
pub(crate) const REMOVED_RESULT: u32 = 31;

/// A program that a dispatcher runs: its configuration, its name in the object, and its index in
/// the chain.
struct Dispatched {
    config: RunConfig,
    name: String,
    member: usize,
}

impl Chain {
    /// Returns a copy of the chain in which edges connect the programs of libxdp's dispatcher, in
    /// the order in which it runs them.
    ///
    /// # Errors
    /// If an object's configuration cannot be read, the order of two programs is not determined, or
    /// an edge of the description contradicts the dispatcher.
    pub fn dispatched(&self, loaded: &[Loaded]) -> Result<Chain, ChainError> {
        let mut chain = self.clone();
        let Some(Dispatcher { members, line }) = chain.dispatcher.take() else { return Ok(chain) };
        let fault = |what: String| ChainError::at(line, what);
        let mut order = Vec::new();
        for member in members {
            let Loaded { object, program } = &loaded[member];
            let named = &self.members[member].name;
            let config = object.run_config(*program);
            let config = config.map_err(|error| fault(format!("{named}: {error}")))?;
            let name = object.programs[*program].name.clone();
            order.push(Dispatched { config, name, member });
        }
        order.sort_by(|a, b| (a.config.priority, &a.name).cmp(&(b.config.priority, &b.name)));
        for pair in order.windows(2) {
            let (from, to) = (&pair[0], &pair[1]);
            let called = |of: &Dispatched| self.members[of.member].name.as_str();
            if (from.config.priority, &from.name) == (to.config.priority, &to.name) {
                return Err(fault(format!(
                    "{} and {} have the same priority, {}, and the same name, {}: which of them \
                     runs first depends on how they are loaded; state their order in `edges`",
                    called(from),
                    called(to),
                    from.config.priority,
                    from.name
                )));
            }
            let on = from.config.continues_on.iter().filter_map(|&number| Action::of(number));
            let on: Vec<Action> = on.collect();
            let taken =
                |edge: &&Edge| edge.from == from.member && edge.on.iter().any(|a| on.contains(a));
            if let Some(edge) = chain.edges.iter().find(taken) {
                return Err(fault(format!(
                    "the dispatcher runs {} after {}, on actions with an edge to {}",
                    called(to),
                    called(from),
                    self.members[edge.to].name
                )));
            }
            let (from, to) = (from.member, to.member);
            chain.edges.push(Edge { from, on, to, network: None, dispatched: true });
        }
        chain.check_order()?;
        Ok(chain)
    }
}

#[cfg(test)]
mod tests;
