//! Counts of step-ups, by operation.
//!
//! In: operations that were refused for their scopes, or accepted. Out: true if another step-up is
//! allowed. At most 64 operations are counted; the oldest count is dropped.

use alloc::collections::VecDeque;
use alloc::string::String;

const MAX_STEP_UPS: u8 = 3;
const MAX_OPERATIONS: usize = 64;

/// The number of step-ups by operation.
#[derive(Debug, Default)]
pub(super) struct StepUps(VecDeque<(String, u8)>);

impl StepUps {
    /// True if the operation has a step-up left.
    pub(super) fn is_left(&self, operation: &str) -> bool {
        let made = self.0.iter().find(|(own, _)| own == operation).map_or(0, |(_, made)| *made);
        made < MAX_STEP_UPS
    }

    /// Counts a step-up.
    pub(super) fn count(&mut self, operation: &str) {
        let place = self.0.iter().position(|(own, _)| own == operation);
        let made = place.and_then(|place| self.0.remove(place)).map_or(0, |(_, made)| made);
        if self.0.len() >= MAX_OPERATIONS {
            self.0.pop_front();
        }
        self.0.push_back((operation.into(), made.saturating_add(1)));
    }

    /// Drops the count of an accepted operation.
    pub(super) fn clear(&mut self, operation: &str) {
        self.0.retain(|(own, _)| own != operation);
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
        assert_eq!(steps.0.len(), MAX_OPERATIONS);
    }
}
