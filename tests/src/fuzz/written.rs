//! A message that a machine has written, read strictly: JSON-RPC 2.0, and nothing twice.

use super::oracle::{Object, string};

/// Every member as the text that it came as.
pub(super) struct Written {
    pub(super) id: Option<String>,
    pub(super) method: Option<String>,
    pub(super) params: Option<String>,
    pub(super) result: Option<String>,
    pub(super) error: Option<String>,
}

impl Written {
    /// A member of the parameters.
    pub(super) fn param(&self, key: &str) -> Option<String> {
        Object::read(self.params.as_deref()?)?.get(key).map(str::to_owned)
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref().and_then(string).as_deref() == Some(method)
    }

    pub(super) fn read(json: &str) -> Self {
        let Some(object) = Object::read(json) else {
            #[expect(clippy::panic, reason = "this is how a fuzz target says no")]
            {
                panic!("no JSON object: {json}");
            }
        };
        let member = |key| object.get(key).map(str::to_owned);
        assert_eq!(object.get("jsonrpc"), Some("\"2.0\""), "{json}");
        assert!(!object.repeats(&["id", "method", "params", "result", "error"]), "{json}");
        let written = Self {
            id: member("id"),
            method: member("method"),
            params: member("params"),
            result: member("result"),
            error: member("error"),
        };
        let bodies = [&written.method, &written.result, &written.error];
        assert_eq!(bodies.into_iter().flatten().count(), 1, "{json}");
        assert!(written.result.is_none() || written.id.is_some(), "{json}");
        assert_ne!(written.id.as_deref(), Some("null"), "{json}");
        if let Some(result) = &written.result {
            let result = Object::read(result);
            assert!(result.is_some_and(|r| !r.repeats(&["_meta", "resultType"])), "{json}");
        }
        if let Some(error) = &written.error {
            let error = Object::read(error);
            let code = error.as_ref().and_then(|error| error.get("code")?.parse::<i64>().ok());
            let message = error.as_ref().and_then(|error| string(error.get("message")?));
            assert!(code.is_some() && message.is_some(), "{json}");
        }
        written
    }
}
