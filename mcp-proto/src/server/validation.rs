//! The tools whose arguments and structured content are validated.
//!
//! | verb | when | result |
//! |---|---|---|
//! | `prepare`, `add` | a tool is registered | its dialects are supported; its schemas compile, if all tools are validated |
//! | `include` | [`Registry::validate`] names a tool | its schemas compile |
//! | `include_all` | [`Registry::validate_all`] | those of all tools compile, and of each one added later |
//! | `remove` | a tool is removed | |
//! | `schemas` | a tool is called | its compiled schemas, if it is validated |
//!
//! Without the feature `validate` there is nothing to keep, and `prepare` checks dialects.

#[cfg(feature = "validate")]
use super::HandlerId;
#[cfg(feature = "validate")]
use super::Registry;
use crate::error::UsageError;
use crate::schema::{Dialect, SchemaError};
use crate::types::Tool;

#[cfg(feature = "validate")]
pub(super) use compiled::Validation;
#[cfg(not(feature = "validate"))]
pub(super) use nothing::Validation;

/// Fails if a tool has a schema in a dialect that is not supported.
fn check_dialects(tool: &Tool) -> Result<(), UsageError> {
    let schemas = core::iter::once(&tool.input_schema).chain(&tool.output_schema);
    let mut dialects = schemas.map(Dialect::of);
    dialects.try_for_each(|dialect| dialect.map(drop)).map_err(|reason| unusable(tool, reason))
}

fn unusable(tool: &Tool, reason: SchemaError) -> UsageError {
    UsageError::UnusableSchema { name: tool.name.clone(), reason }
}

#[cfg(feature = "validate")]
impl<H> Registry<H> {
    /// Validates the calls of a tool from now on: arguments against its `inputSchema`, and structured
    /// content against its `outputSchema`.
    ///
    /// Arguments that do not fit are answered with a result with `isError` that names the places, as
    /// the specification asks of input that does not validate, and the handler is not called.
    /// Structured content that does not fit, or is missing, is a fault of the server and answered
    /// with -32603. What a user fills into a form that the tool asks for is checked as well:
    /// -32602 for a modern client, -32603 for a legacy one.
    ///
    /// Handlers of [`service`](crate::service) are validated; whoever calls handlers by hand uses
    /// [`ToolSchemas`](crate::schema::ToolSchemas), which documents the bounds. A tool that replaces
    /// another one of its name is validated only if it is named again.
    ///
    /// Fails, and changes nothing, with [`UsageError::UnknownTool`], and with
    /// [`UsageError::UnusableSchema`] if a schema does not compile.
    pub fn validate(&mut self, tool: &str) -> Result<&mut Self, UsageError> {
        let known = self.tools.iter().find(|(known, _)| known.name == tool);
        let Some((tool, handler)) = known else {
            return Err(UsageError::UnknownTool { name: tool.into() });
        };
        self.validation.include(tool, handler.serial)?;
        Ok(self)
    }

    /// Validates the calls of all tools, those that are registered and those that will be; see
    /// [`Registry::validate`].
    ///
    /// Fails, and changes nothing, with [`UsageError::UnusableSchema`] if a schema does not compile;
    /// a tool whose schemas do not compile is not registered afterwards.
    pub fn validate_all(&mut self) -> Result<&mut Self, UsageError> {
        let tools = self.tools.iter().map(|(tool, handler)| (tool, handler.serial));
        self.validation.include_all(tools)?;
        Ok(self)
    }

    /// The compiled schemas of the tool that has this handler, if it is validated.
    pub(crate) fn schemas(
        &self,
        handler: HandlerId,
    ) -> Option<&alloc::sync::Arc<crate::schema::ToolSchemas>> {
        self.validation.schemas(handler.serial)
    }
}

#[cfg(feature = "validate")]
mod compiled {
    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;

    use super::{check_dialects, unusable};
    use crate::error::UsageError;
    use crate::schema::ToolSchemas;
    use crate::types::Tool;

    /// The tools that are validated.
    #[derive(Clone, Debug)]
    pub(in super::super) enum Validation {
        /// Those that were named, by their handlers.
        Named(Schemas),
        /// All of them.
        All(Schemas),
    }

    type Schemas = BTreeMap<usize, Arc<ToolSchemas>>;

    impl Default for Validation {
        fn default() -> Self {
            Self::Named(Schemas::new())
        }
    }

    impl Validation {
        /// The compiled schemas of a tool that is to be added, if it is to be validated.
        pub(in super::super) fn prepare(
            &self,
            tool: &Tool,
        ) -> Result<Option<Arc<ToolSchemas>>, UsageError> {
            match self {
                Self::Named(_) => check_dialects(tool).map(|()| None),
                Self::All(_) => compile(tool).map(Some),
            }
        }

        pub(in super::super) fn add(&mut self, handler: usize, schemas: Option<Arc<ToolSchemas>>) {
            if let Some(schemas) = schemas {
                self.kept().insert(handler, schemas);
            }
        }

        pub(in super::super) fn remove(&mut self, handler: usize) {
            self.kept().remove(&handler);
        }

        pub(super) fn include(&mut self, tool: &Tool, handler: usize) -> Result<(), UsageError> {
            self.kept().insert(handler, compile(tool)?);
            Ok(())
        }

        pub(super) fn include_all<'a>(
            &mut self,
            tools: impl Iterator<Item = (&'a Tool, usize)>,
        ) -> Result<(), UsageError> {
            let schemas = tools.map(|(tool, handler)| Ok((handler, compile(tool)?)));
            *self = Self::All(schemas.collect::<Result<_, UsageError>>()?);
            Ok(())
        }

        pub(super) fn schemas(&self, handler: usize) -> Option<&Arc<ToolSchemas>> {
            let (Self::Named(schemas) | Self::All(schemas)) = self;
            schemas.get(&handler)
        }

        fn kept(&mut self) -> &mut Schemas {
            let (Self::Named(schemas) | Self::All(schemas)) = self;
            schemas
        }
    }

    fn compile(tool: &Tool) -> Result<Arc<ToolSchemas>, UsageError> {
        ToolSchemas::of(tool).map(Arc::new).map_err(|reason| unusable(tool, reason))
    }
}

#[cfg(not(feature = "validate"))]
#[expect(clippy::unused_self, reason = "the same verbs as with the feature")]
mod nothing {
    use super::check_dialects;
    use crate::error::UsageError;
    use crate::types::Tool;

    /// No tool is validated.
    #[derive(Clone, Debug, Default)]
    pub(in super::super) struct Validation(());

    /// No schemas of a tool.
    pub(in super::super) struct Prepared;

    impl Validation {
        pub(in super::super) fn prepare(&self, tool: &Tool) -> Result<Prepared, UsageError> {
            check_dialects(tool).map(|()| Prepared)
        }

        pub(in super::super) fn add(&self, _handler: usize, _prepared: Prepared) {}

        pub(in super::super) fn remove(&self, _handler: usize) {}
    }
}
