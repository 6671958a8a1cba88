//! Schemas of tools and arguments of prompts from Rust types, exactly.

#![expect(dead_code, reason = "schemas of types are looked at, and not their values")]

use std::collections::BTreeMap;

use mcp_proto::header_name;
use mcp_proto::headers::{Declared, Header, HeaderPlan, HeaderValue, Kind};
use mcp_proto::server::Registry;
use mcp_proto::types::{Implementation, Prompt, Tool};
use mcp_proto::{Json, UsageError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{decode, read};

header_name!(Region = "Region");
header_name!(Priority = "X-Priority");
header_name!(Dry = "Dry");
header_name!(Shard = "Shard");

#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
struct Query {
    /// The region to run it in.
    region: Header<String, Region>,
    #[serde(default)]
    priority: Header<Option<u8>, Priority>,
    dry: Option<Header<bool, Dry>>,
    #[serde(default)]
    shard: Header<i32, Shard>,
    sql: String,
}

#[test]
fn headers_are_the_plain_type_and_their_name() {
    assert_eq!(
        input::<Query>(),
        json!({
            "type": "object",
            "properties": {
                "region": {
                    "description": "The region to run it in.",
                    "type": "string",
                    "x-mcp-header": "Region",
                },
                "priority": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 255,
                    "x-mcp-header": "X-Priority",
                },
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
                "shard": {
                    "type": "integer",
                    "default": 0,
                    "x-mcp-header": "Shard",
                },
                "sql": {"type": "string"},
            },
            "required": ["region", "sql"],
        })
    );
    let tool = Tool::of::<Query>("query").unwrap();
    let plan = HeaderPlan::compile(&tool.input_schema).unwrap();
    assert!(plan.warnings().next().is_none());
    let mut found: Vec<_> = plan.entries().iter().map(|e| (e.header(), e.declared())).collect();
    found.sort_by_key(|(header, _)| *header);
    let expected = [
        ("Mcp-Param-Dry", Declared::Exact(Kind::Boolean)),
        ("Mcp-Param-Region", Declared::Exact(Kind::String)),
        ("Mcp-Param-Shard", Declared::Exact(Kind::Integer)),
        ("Mcp-Param-X-Priority", Declared::Exact(Kind::Integer)),
    ];
    assert_eq!(found, expected);
    add(tool).unwrap();
}

#[test]
fn headers_read_and_write_as_their_values() {
    let least: Query = read(r#"{"region":"eu","sql":""}"#);
    assert_eq!(least.region.len(), 2);
    assert_eq!((*least.priority, &least.dry, *least.shard), (None, &None, 0));
    let all = r#"{"region":"eu","priority":7,"dry":true,"shard":-1,"sql":"x"}"#;
    let query: Query = read(all);
    assert_eq!((*query.priority, *query.shard), (Some(7), -1));
    assert_eq!(query.dry, Some(Header::new(true)));
    assert_eq!(format!("{:?}", query.dry), "Some(true)");
    assert_eq!(Json::encode(&query).unwrap().as_str(), all);
    assert_eq!(query.clone().region.into_inner(), "eu");
    assert_ne!(query, least);
    assert_eq!(format!("{:?}", query.region), "\"eu\"");
    // `null` is as good as nothing.
    let null: Query = read(r#"{"region":"eu","priority":null,"dry":null,"sql":""}"#);
    assert_eq!(null, least);
    assert!(decode::<Query>(r#"{"region":1,"sql":""}"#).is_err());
}

#[test]
fn an_optional_header_without_default_is_required_by_its_schema() {
    #[derive(JsonSchema)]
    struct Arguments {
        region: Header<Option<String>, Region>,
    }
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let expected =
        json!({"type": "object", "properties": {"region": region}, "required": ["region"]});
    assert_eq!(input::<Arguments>(), expected);
}

#[test]
fn what_is_annotated_by_hand_is_checked_as_well() {
    #[derive(JsonSchema)]
    struct Good {
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: Option<String>,
    }
    #[derive(JsonSchema)]
    struct Bad {
        #[schemars(extend("x-mcp-header" = "Ratio"))]
        ratio: f64,
    }
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    assert_eq!(input::<Good>(), json!({"type": "object", "properties": {"region": region}}));
    assert!(matches!(add(Tool::of::<Bad>("bad").unwrap()), Err(UsageError::InvalidHeader { .. })));
}

#[test]
fn header_in_a_nested_type_of_one_field_is_found() {
    #[derive(JsonSchema)]
    struct Place {
        region: Header<String, Region>,
    }
    #[derive(JsonSchema)]
    #[schemars(inline)]
    struct InPlace {
        region: Header<String, Region>,
    }
    #[derive(JsonSchema)]
    struct Arguments<P> {
        place: P,
    }
    #[derive(JsonSchema)]
    struct Shared {
        from: Place,
        to: Place,
    }
    let error = add(Tool::of::<Shared>("nested").unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("#/$defs/Place/properties/region"), "{text}");
    assert!(text.contains("#[schemars(inline)]"), "{text}");
    let error = add(Tool::of_verbatim::<Arguments<Place>>("nested").unwrap()).unwrap_err();
    assert!(error.to_string().contains("#/$defs/Place/properties/region"), "{error}");
    let of_one_field = Tool::of::<Arguments<Place>>("nested").unwrap();
    let in_place = Tool::of_verbatim::<Arguments<InPlace>>("nested").unwrap();
    for tool in [of_one_field, in_place] {
        let plan = HeaderPlan::compile(&tool.input_schema).unwrap();
        assert_eq!(plan.entries()[0].path(), ["place", "region"]);
    }
}

/// True if a type may be in a header.
macro_rules! is_header_value {
    ($of:ty) => {{
        trait Otherwise {
            const IS: bool = false;
        }
        impl<T> Otherwise for T {}
        struct Is<T>(T);
        impl<T: HeaderValue> Is<T> {
            const IS: bool = true;
        }
        <Is<$of>>::IS
    }};
}

#[test]
fn only_what_every_peer_can_represent_goes_into_headers() {
    let are = [
        is_header_value!(String),
        is_header_value!(bool),
        is_header_value!(i8),
        is_header_value!(i16),
        is_header_value!(i32),
        is_header_value!(u8),
        is_header_value!(u16),
        is_header_value!(u32),
        is_header_value!(Option<String>),
        is_header_value!(Option<u32>),
    ];
    assert_eq!(are, [true; 10]);
    let are = [
        is_header_value!(f32),
        is_header_value!(f64),
        is_header_value!(i64),
        is_header_value!(u64),
        is_header_value!(i128),
        is_header_value!(u128),
        is_header_value!(isize),
        is_header_value!(usize),
        is_header_value!(Option<u64>),
        is_header_value!(Option<Option<u8>>),
        is_header_value!(Vec<String>),
        is_header_value!(()),
    ];
    assert_eq!(are, [false; 12]);
}

#[test]
fn input_is_what_is_read_and_output_what_is_written() {
    #[derive(JsonSchema, Serialize, Deserialize)]
    struct Both {
        #[serde(rename(serialize = "written", deserialize = "read"))]
        renamed: u8,
        #[serde(default)]
        default: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<bool>,
        #[serde(skip_serializing)]
        secret: bool,
        #[serde(skip_deserializing)]
        computed: bool,
    }
    let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let optional = json!({"type": "boolean"});
    let default = json!({"type": "boolean", "default": false});
    assert_eq!(
        input::<Both>(),
        json!({
            "type": "object",
            "properties": {
                "read": byte,
                "default": default,
                "skipped": optional,
                "secret": {"type": "boolean", "writeOnly": true},
            },
            "required": ["read", "secret"],
        })
    );
    assert_eq!(
        output::<Both>(),
        json!({
            "type": "object",
            "properties": {
                "written": byte,
                "default": default,
                "skipped": optional,
                "computed": {"type": "boolean", "default": false, "readOnly": true},
            },
            "required": ["written", "default", "computed"],
        })
    );
}

#[test]
fn output_may_be_anything() {
    #[derive(JsonSchema, Serialize)]
    struct Named(u32);
    assert_eq!(output::<String>(), json!({"type": "string"}));
    assert_eq!(output::<Option<bool>>(), json!({"type": ["boolean", "null"]}));
    assert_eq!(
        output::<Vec<Named>>(),
        json!({
            "type": "array",
            "items": {"type": "integer", "minimum": 0},
        })
    );
    assert_eq!(output::<Value>(), json!({}));
}

#[test]
fn prompts_get_their_arguments_from_fields() {
    /// Told by its type.
    #[derive(JsonSchema)]
    struct Language(String);
    #[derive(JsonSchema)]
    enum Tone {
        Kind,
        Strict,
    }
    #[derive(JsonSchema)]
    enum Depth {
        /// A glance.
        Short,
        /// All of it.
        Long,
    }
    #[derive(JsonSchema)]
    struct Review {
        /// The code to look at.
        source: String,
        /// # How
        ///
        /// How it is said.
        tone: Tone,
        #[serde(rename = "as")]
        language: Language,
        depth: Option<Depth>,
        #[serde(default)]
        author: String,
        extra: Option<Language>,
    }
    let prompt = Prompt::of::<Review>("review").unwrap().description("Reviews");
    assert_eq!(
        serde_json::to_value(&prompt).unwrap(),
        json!({
            "name": "review",
            "description": "Reviews",
            "arguments": [
                {"name": "source", "description": "The code to look at.", "required": true},
                {"name": "tone", "title": "How", "description": "How it is said.", "required": true},
                {"name": "as", "description": "Told by its type.", "required": true},
                {"name": "author"},
                {"name": "depth"},
                {"name": "extra", "description": "Told by its type."},
            ],
        })
    );
}

#[test]
fn a_prompt_without_fields_has_no_arguments() {
    #[derive(JsonSchema)]
    struct Nothing {}
    assert_eq!(Prompt::of::<Nothing>("p"), Ok(Prompt::new("p")));
}

#[test]
fn arguments_of_prompts_are_strings_in_a_struct() {
    #[derive(JsonSchema)]
    struct With<T> {
        first: String,
        field: T,
    }
    #[derive(JsonSchema)]
    enum Mixed {
        Text(String),
        None,
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    enum Either {
        One { a: String },
        Two { b: String },
    }
    #[derive(JsonSchema)]
    struct Flattened {
        first: String,
        #[serde(flatten)]
        either: Either,
    }
    fn argument<T: JsonSchema>() {
        let name = "p".to_owned();
        let error = UsageError::InvalidPromptArgument { name, argument: "field".to_owned() };
        assert_eq!(Prompt::of::<With<T>>("p"), Err(error));
    }
    fn arguments<A: JsonSchema>() {
        let error = UsageError::InvalidPromptArguments { name: "p".to_owned() };
        assert_eq!(Prompt::of::<A>("p"), Err(error));
    }
    argument::<u8>();
    argument::<Option<bool>>();
    argument::<Vec<String>>();
    argument::<BTreeMap<String, String>>();
    argument::<Mixed>();
    argument::<Option<Mixed>>();
    argument::<Value>();
    argument::<()>();
    arguments::<()>();
    arguments::<String>();
    arguments::<Vec<String>>();
    arguments::<Either>();
    arguments::<Flattened>();
}

fn input<A: JsonSchema>() -> Value {
    Tool::of::<A>("tool").unwrap().input_schema.decode().unwrap()
}

fn output<T: JsonSchema>() -> Value {
    let tool = Tool::of::<BTreeMap<String, String>>("tool").unwrap().output_of::<T>().unwrap();
    let schema = tool.output_schema.clone().unwrap().decode().unwrap();
    add(tool).unwrap();
    schema
}

fn add(tool: Tool) -> Result<(), UsageError> {
    Registry::new(Implementation::new("test", "1")).add_tool(tool, ()).map(drop)
}
