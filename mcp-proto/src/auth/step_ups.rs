//! Counts of step-ups, by operation.
//!
//! In: operations that were refused for their scopes, or accepted, and the state of the flow. Out:
//! true if another step-up is allowed, and if the last one has failed. At most 64 operations are
//! counted; the oldest count is dropped.

use alloc::collections::VecDeque;
use alloc::string::String;

use super::action::AuthState;

const MAX_STEP_UPS: u8 = 3;
const MAX_OPERATIONS: usize = 64;

/// The number of step-ups by operation.
#[derive(Debug, Default)]
pub(super) struct StepUps {
    counts: VecDeque<(String, u8)>,
    last_flow: LastFlow,
}

/// The last flow, which may be in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum LastFlow {
    #[default]
    Other,
    StepUp,
    FailedStepUp,
}

impl StepUps {
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// True if the operation has a step-up left.
    pub(super) fn is_left(&self, operation: &str) -> bool {
        let mut counts = self.counts.iter();
        let made = counts.find(|(own, _)| own == operation).map_or(0, |(_, made)| *made);
        made < MAX_STEP_UPS
    }

    /// Counts a step-up, which begins.
    pub(super) fn count(&mut self, operation: &str) {
        let place = self.counts.iter().position(|(own, _)| own == operation);
        let made = place.and_then(|place| self.counts.remove(place)).map_or(0, |(_, made)| made);
        if self.counts.len() >= MAX_OPERATIONS {
            self.counts.pop_front();
        }
        self.counts.push_back((operation.into(), made.saturating_add(1)));
        self.last_flow = LastFlow::StepUp;
    }

    /// Handles a state of the flow, which may be the end of a step-up.
    pub(super) fn handle_state(&mut self, state: &AuthState) {
        self.last_flow = match (state, self.last_flow) {
            (AuthState::Asking, last) => last,
            (AuthState::Failed(_), LastFlow::StepUp) => LastFlow::FailedStepUp,
            (AuthState::Failed(_) | AuthState::Ready { .. }, _) => LastFlow::Other,
        };
    }

    /// True if the last flow was a step-up, and has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.last_flow == LastFlow::FailedStepUp
    }

    /// Drops the count of an accepted operation.
    pub(super) fn clear(&mut self, operation: &str) {
        self.counts.retain(|(own, _)| own != operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_has_three_step_ups_until_accepted() {
        let mut steps = StepUps::default();
        for _ in 0..3 {
            assert!(steps.is_left("a"));
            steps.count("a");
        }
        assert!(!steps.is_left("a") && steps.is_left("b"));
        steps.clear("a");
        assert!(steps.is_left("a"));
        for number in 0..100 {
            steps.count(&alloc::format!("{number}"));
        }
        assert_eq!(steps.counts.len(), MAX_OPERATIONS);
    }
}
