//! Syntax check for the names of tools.
//!
//! In: a name. Out: true if it is valid. Called by the [`Registry`](super::Registry).

/// Returns whether a name has the specification's "only allowed characters", which some clients
/// enforce.
pub(super) fn is_tool_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use crate::error::UsageError;
    use crate::ext::Feature;
    use crate::json::Json;
    use crate::server::Registry;
    use crate::types::{Implementation, Tool};

    fn registry() -> Registry<()> {
        Registry::new(Implementation::new("a", "1"))
    }

    #[test]
    fn second_hour_18_a_tool_name_that_is_not_recommended_is_a_warning() {
        let mut registry = registry();
        let long = "n".repeat(129);
        for name in ["say", "say it", "", "größe", long.as_str()] {
            let schema = Json::constant(r#"{"type":"object"}"#);
            assert!(registry.add_tool(Tool::new(name, schema), ()).is_ok(), "{name}");
        }
        let should = "should have 1 to 128 of the characters A-Z a-z 0-9 _ - .";
        let warning = |name: &str| alloc::format!("the tool name {name:?} {should}");
        let expected = ["say it", "", "größe", long.as_str()].map(warning);
        assert_eq!(registry.warnings(), expected);
    }

    #[test]
    fn second_hour_18_an_extension_without_a_prefix_is_refused() {
        let mut registry = registry();
        let refused = registry.extension("tasks", Json::EMPTY_OBJECT).err();
        assert_eq!(refused, Some(UsageError::InvalidExtension { identifier: "tasks".into() }));
        assert!(registry.extension("com.example/tasks", Json::EMPTY_OBJECT).is_ok());
        assert!(registry.registered.extensions.keys().eq(["com.example/tasks"]));
    }

    #[test]
    fn required_extension_must_be_declared_and_its_feature_registered() {
        let mut registry = registry();
        let id = "com.example/tasks";
        let tool = || Feature::tool("say");
        let undeclared = UsageError::UndeclaredExtension { identifier: id.into() };
        assert_eq!(registry.requires_extension(tool(), id).err(), Some(undeclared));
        assert!(registry.extension(id, Json::EMPTY_OBJECT).is_ok());
        let unknown = UsageError::UnknownTool { name: "say".into() };
        assert_eq!(registry.requires_extension(tool(), id).err(), Some(unknown));
        let unknown = UsageError::UnknownMethod { method: "say".into() };
        let refused = registry.requires_extension(Feature::method("say"), id).err();
        assert_eq!(refused, Some(unknown));
        assert!(registry.registered.required.is_empty());

        let schema = Json::constant(r#"{"type":"object"}"#);
        assert!(registry.add_tool(Tool::new("say", schema), ()).is_ok());
        for _ in 0..2 {
            assert!(registry.requires_extension(tool(), id).is_ok());
        }
        assert_eq!(registry.registered.required(&tool()), [id]);
        // A later tool of the same name has no requirements.
        registry.remove_tool("say");
        assert!(registry.registered.required.is_empty());
    }
}
