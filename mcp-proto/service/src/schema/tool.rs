//! Compiled schemas of a tool.

use super::misfits::Misfits;
use super::validator::{Trust, Validator};
use mcp_proto::Json;
use mcp_proto::schema::SchemaError;
use mcp_proto::types::{CallToolResult, Tool};

/// The compiled schemas of a tool: `inputSchema`, and `outputSchema` if there is one.
///
/// A client compiles the schemas of a listed tool and checks the results of the server, as the
/// specification recommends. On a server use [`Registry::validate`](crate::Registry::validate).
///
/// ```
/// use mcp_proto::Json;
/// use mcp_service::schema::ToolSchemas;
/// use mcp_proto::types::{CallToolResult, Tool};
///
/// let input = Json::parse(r#"{"type":"object"}"#)?;
/// let output = Json::parse(r#"{"type":"object","properties":{"celsius":{"type":"number"}}}"#)?;
/// let tool = Tool::new("measure", input).output_schema(output);
///
/// let schemas = ToolSchemas::of_peer(&tool)?;
/// let content = Json::parse(r#"{"celsius":"mild"}"#)?;
/// let result = CallToolResult::text("mild").structured_content(content);
/// let misfits = schemas.check_result(&result).unwrap_err();
/// assert_eq!(misfits.to_string(), "/celsius: expected a number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A `$ref` to another document is never fetched, and fails at compilation. `format` is an
/// annotation and not checked. Patterns run in linear time, without look-around and
/// back-references. A check visits at most 1,000,000 values, and long strings with large patterns
/// count as many visits. A checked value may have at most 100,000 values.
#[derive(Debug)]
pub struct ToolSchemas {
    input: Validator,
    output: Option<Validator>,
}

impl ToolSchemas {
    /// Compiles the schemas of a tool of this program.
    ///
    /// Fails with [`SchemaError::UnsupportedDialect`] and [`SchemaError::Invalid`].
    pub fn of(tool: &Tool) -> Result<Self, SchemaError> {
        Self::compile(tool, Trust::Ours)
    }

    /// Compiles the schemas of a tool that a peer lists, within limits that also bound each check.
    /// A schema has at most 64 KiB. At most 32 keywords that apply to the same value, such as
    /// references, may be nested. At most 10,000 subschemas may apply to one value, and 16 to the
    /// name of a member. A reference is a pointer (`#/…`) or names an anchor, which only one
    /// subschema has.
    ///
    /// Fails with [`SchemaError::TooComplex`] beyond that, and as [`ToolSchemas::of`] does.
    pub fn of_peer(tool: &Tool) -> Result<Self, SchemaError> {
        Self::compile(tool, Trust::Peer)
    }

    fn compile(tool: &Tool, trust: Trust) -> Result<Self, SchemaError> {
        let output = tool.output_schema.as_ref();
        Ok(Self {
            input: Validator::compile(&tool.input_schema, trust)?,
            output: output.map(|schema| Validator::compile(schema, trust)).transpose()?,
        })
    }

    /// Checks the arguments of a call.
    ///
    /// Fails with the places that do not fit, at most 8.
    pub fn check_arguments(&self, arguments: &Json) -> Result<(), Misfits> {
        self.input.check(arguments)
    }

    /// Checks the structured content of a result. A result with `isError` is not checked, nor is a
    /// result of a tool without `outputSchema`.
    ///
    /// Fails with the places that do not fit, at most 8.
    pub fn check_result(&self, result: &CallToolResult) -> Result<(), Misfits> {
        self.check_content(result.is_error, result.structured_content.as_ref())
    }

    pub(crate) fn check_content(
        &self,
        is_error: bool,
        content: Option<&Json>,
    ) -> Result<(), Misfits> {
        match (&self.output, content) {
            (Some(output), Some(content)) if !is_error => output.check(content),
            (Some(_), None) if !is_error => Err(Misfits::whole(
                "`structuredContent` is missing, and the tool has an output schema",
            )),
            _ => Ok(()),
        }
    }
}
