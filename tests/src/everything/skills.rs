//! Skills: one with directories, one within a prefix.

use mcp_proto::UsageError;
use mcp_proto::ext::skills::{SkillError, SkillFiles};
use mcp_service::{Handler, Registry};

const REFUNDS: &str = "---
name: refunds
description: Refunds a customer by the rules of the shop
license: MIT
metadata:
  version: \"1.0\"
---

Pick a template from `templates/`, and compute the sum with `scripts/total.py`.
";

const GREETING: &str = "---
name: greeting
description: Greets a customer
---

Say hello.
";

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let refunds = SkillFiles::new(
        "skill://refunds",
        [
            ("SKILL.md", REFUNDS.as_bytes()),
            ("templates/email.md", b"Dear customer,\n"),
            ("templates/regional/eu.md", b"Within 14 days.\n"),
            ("scripts/total.py", b"print(sum(map(int, input().split())))\n"),
            ("assets/stamp.bin", b"\xff\x00"),
        ],
    );
    let greeting = SkillFiles::new("skill://shop/desk/greeting", [("SKILL.md", GREETING)]);
    registry
        .skill(refunds.map_err(|error| told(&error))?)?
        .skill(greeting.map_err(|error| told(&error))?)?;
    Ok(())
}

/// The texts above keep the rules.
fn told(error: &SkillError) -> UsageError {
    UsageError::NotJson { name: error.to_string() }
}
