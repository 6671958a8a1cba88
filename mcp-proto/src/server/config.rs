//! Settings of a server: its eras, its limits, and the budget that its machines share.

use crate::budget::{Account, Budget, BudgetExceeded, Charge, ChargeKind};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::version::EraPolicy;

/// Settings of a server. Clones share one budget of [`Limits::max_endpoint_bytes`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The eras that the server serves; default both.
    pub era_policy: EraPolicy,
    /// The limits of the server.
    pub limits: Limits,
    pub(crate) budget: Budget,
}

impl Config {
    /// Records that new work exceeds the budget, and returns the error.
    pub(crate) fn endpoint_full(&self) -> ProtocolError {
        self.budget.record_refusal();
        ProtocolError::EndpointFull { max_endpoint_bytes: self.limits.max_endpoint_bytes }
    }

    /// Returns whether the budget has room for `bytes` bytes of new work.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.budget.has_room(self.limits.max_endpoint_bytes, bytes)
    }

    /// Returns whether the budget has room for `bytes` bytes that a client may keep for long.
    pub(crate) fn has_lasting_room(&self, bytes: usize) -> bool {
        self.budget.has_lasting_room(self.limits.max_endpoint_bytes, bytes)
    }

    /// Charges `bytes` bytes of new work.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Charge, ProtocolError> {
        let charge = self.budget.admit(self.limits.max_endpoint_bytes, bytes);
        charge.map_err(|BudgetExceeded| self.endpoint_full())
    }

    /// A charge of no bytes, for work that was accepted before it grew.
    pub(crate) fn uncharged(&self) -> Charge {
        self.budget.uncharged()
    }

    /// An account of the bytes that a driver holds for the server, such as output that is not
    /// written yet. These bytes count against [`Limits::max_endpoint_bytes`].
    pub fn account(&self) -> Account {
        self.account_of(ChargeKind::Work)
    }

    /// A new account without charges.
    pub(crate) fn account_of(&self, kind: ChargeKind) -> Account {
        self.budget.account(kind, self.limits.max_endpoint_bytes)
    }
}
