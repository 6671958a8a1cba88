//! Compiled schemas of the tools whose arguments and structured content are validated.
//!
//! | method | when | result |
//! |---|---|---|
//! | `handle_added` | a tool was registered | its schemas compile, if all tools are validated |
//! | `include` | [`Registry::validate`](crate::Registry) names a tool | its schemas compile |
//! | `include_all` | `Registry::validate_all` | the schemas of all tools compile, also of those added later |
//! | `remove` | a tool is about to be removed | |
//! | `prepare_mount`, `mount` | a registry is mounted | its tools are validated if they were, or if all are |
//! | `schemas` | a tool is called | its compiled schemas, if it is validated |
//!
//! Without the feature `validate` nothing is stored or checked.

#[cfg(feature = "validate")]
pub(crate) use compiled::Validation;
#[cfg(not(feature = "validate"))]
pub(crate) use nothing::Validation;

#[cfg(feature = "validate")]
mod compiled {
    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;

    use mcp_proto::UsageError;
    use mcp_proto::internals::{NewHandlerIds, tool};
    use mcp_proto::server::{HandlerId, Registry};
    use mcp_proto::types::Tool;

    use crate::schema::ToolSchemas;

    /// The tools that are validated.
    #[derive(Clone, Debug)]
    pub(crate) enum Validation {
        /// Named tools, by their handlers.
        Named(Schemas),
        /// All tools.
        All(Schemas),
    }

    type Schemas = BTreeMap<HandlerId, Arc<ToolSchemas>>;

    impl Default for Validation {
        fn default() -> Self {
            Self::Named(Schemas::new())
        }
    }

    impl Validation {
        pub(crate) fn handle_added<H>(
            &mut self,
            entries: &Registry<H>,
            name: &str,
        ) -> Result<(), UsageError> {
            match self {
                Self::Named(_) => Ok(()),
                Self::All(_) => self.include(entries, name),
            }
        }

        pub(crate) fn include<H>(
            &mut self,
            entries: &Registry<H>,
            name: &str,
        ) -> Result<(), UsageError> {
            let Some((tool, handler)) = tool(entries, name) else {
                return Err(UsageError::UnknownTool { name: name.into() });
            };
            let schemas = compile(tool)?;
            self.schemas_mut().insert(handler, schemas);
            Ok(())
        }

        pub(crate) fn include_all<H>(&mut self, entries: &Registry<H>) -> Result<(), UsageError> {
            let schemas = entries.tools().map(|(tool, handler)| Ok((handler, compile(tool)?)));
            *self = Self::All(schemas.collect::<Result<_, UsageError>>()?);
            Ok(())
        }

        pub(crate) fn remove<H>(&mut self, entries: &Registry<H>, name: &str) {
            if let Some((_, handler)) = tool(entries, name) {
                self.schemas_mut().remove(&handler);
            }
        }

        /// Compiles the schemas of a registry that is about to be mounted here, if all tools are
        /// validated.
        pub(crate) fn prepare_mount<H>(
            &self,
            other: &mut Self,
            entries: &Registry<H>,
        ) -> Result<(), UsageError> {
            match self {
                Self::Named(_) => Ok(()),
                Self::All(_) => other.include_all(entries),
            }
        }

        /// Takes over the schemas of a registry that is mounted.
        pub(crate) fn mount(&mut self, other: Self, new_ids: &NewHandlerIds) {
            let (Self::Named(schemas) | Self::All(schemas)) = other;
            self.schemas_mut().extend(schemas.into_iter().map(|(id, it)| (new_ids.of(id), it)));
        }

        /// The compiled schemas of the tool that has this handler, if it is validated.
        pub(crate) fn schemas(&self, handler: HandlerId) -> Option<&Arc<ToolSchemas>> {
            let (Self::Named(schemas) | Self::All(schemas)) = self;
            schemas.get(&handler)
        }

        fn schemas_mut(&mut self) -> &mut Schemas {
            let (Self::Named(schemas) | Self::All(schemas)) = self;
            schemas
        }
    }

    fn compile(tool: &Tool) -> Result<Arc<ToolSchemas>, UsageError> {
        ToolSchemas::of(tool)
            .map(Arc::new)
            .map_err(|reason| UsageError::UnusableSchema { name: tool.name.clone(), reason })
    }
}

#[cfg(not(feature = "validate"))]
#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the same methods as with the feature"
)]
mod nothing {
    use mcp_proto::UsageError;
    use mcp_proto::internals::NewHandlerIds;
    use mcp_proto::server::Registry;

    /// No tool is validated.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Validation(());

    impl Validation {
        pub(crate) fn handle_added<H>(&self, _: &Registry<H>, _: &str) -> Result<(), UsageError> {
            Ok(())
        }

        pub(crate) fn remove<H>(&self, _: &Registry<H>, _: &str) {}

        pub(crate) fn prepare_mount<H>(
            &self,
            _: &mut Self,
            _: &Registry<H>,
        ) -> Result<(), UsageError> {
            Ok(())
        }

        pub(crate) fn mount(&self, _: Self, _: &NewHandlerIds) {}
    }
}
