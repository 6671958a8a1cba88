//! Values of a user in a form: defaults, and values that do not fit.

use std::error::Error;

use mcp_proto::Json;
use mcp_proto::types::{
    BooleanSchema, ContentError, ElicitAction, ElicitRequestFormParams, ElicitResult, EnumOption,
    FieldError, LegacyTitledEnumSchema, Number, NumberSchema, NumberType,
    PrimitiveSchemaDefinition, RequestedSchema, StringSchema, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use mcp_tests::spec::examples;
use serde_json::{Value, json};

use super::read;

#[test]
fn defaults_are_those_of_the_schema_in_its_order() {
    let schema: RequestedSchema = read(FORM);
    let defaults: Vec<_> = schema.defaults().map(|(name, json)| format!("{name}={json}")).collect();
    assert_eq!(
        defaults,
        [
            r#"text="a""#,
            "number=0.5",
            "integer=5",
            "boolean=true",
            r#"one="r""#,
            r#"titled="g""#,
            r#"any=["r","g"]"#,
            "none=[]",
            r#"any-titled=["g"]"#,
            r#"legacy="r""#,
            "other=null",
        ]
    );
}

#[test]
fn defaults_fill_what_is_left_out() {
    let form = form(read(FORM));
    let result = form.accept_defaults().unwrap();
    assert_eq!(result.action, ElicitAction::Accept);
    assert_eq!(
        result.content.unwrap().as_str(),
        concat!(
            r#"{"text":"a","number":0.5,"integer":5,"boolean":true,"one":"r","titled":"g","#,
            r#""any":["r","g"],"none":[],"any-titled":["g"],"legacy":"r","other":null}"#,
        )
    );
    // What the user says stays, as it is spelled, before the rest; what is no field stays too.
    let content = Json::parse(
        r#"{"mine": {"a":1.0},"t\u0065xt":"b","number":1.50,"boolean":false,"any":[],"other":[{}]}"#,
    );
    let result = form.accept(&content.unwrap()).unwrap();
    assert_eq!(
        result.content.unwrap().as_str(),
        concat!(
            r#"{"mine":{"a":1.0},"t\u0065xt":"b","number":1.50,"boolean":false,"any":[],"#,
            r#""other":[{}],"integer":5,"one":"r","titled":"g","none":[],"any-titled":["g"],"#,
            r#""legacy":"r"}"#,
        )
    );
}

#[test]
fn official_examples_are_accepted_with_their_defaults() {
    let folders = [
        "BooleanSchema",
        "NumberSchema",
        "StringSchema",
        "TitledMultiSelectEnumSchema",
        "TitledSingleSelectEnumSchema",
        "UntitledMultiSelectEnumSchema",
        "UntitledSingleSelectEnumSchema",
    ];
    for folder in folders {
        for (name, example) in examples(folder) {
            let schema: PrimitiveSchemaDefinition = read(&example.to_string());
            let default = &example["default"];
            assert!(!default.is_null(), "{name}");
            let form = form(RequestedSchema::new().required("field", schema));
            let content = form.accept_defaults().unwrap().content.unwrap();
            assert_eq!(content.decode::<Value>().unwrap(), json!({ "field": default }));
        }
    }
}

#[test]
fn official_answers_fit_their_forms() {
    let forms: Vec<_> = examples("ElicitRequestFormParams")
        .iter()
        .map(|(_, form)| read::<ElicitRequestFormParams>(&form.to_string()))
        .collect();
    let answers: Vec<_> = examples("ElicitResult")
        .iter()
        .filter_map(|(_, answer)| read::<ElicitResult>(&answer.to_string()).content)
        .collect();
    let fit = |form: &ElicitRequestFormParams| {
        answers.iter().filter(|answer| form.accept(*answer).is_ok()).count()
    };
    // One asks for three fields, the other for one that both answers have.
    assert_eq!((answers.len(), forms.iter().map(fit).collect::<Vec<_>>()), (2, vec![1, 2]));
}

#[test]
fn content_is_an_object() {
    let form = form(RequestedSchema::new());
    assert_eq!(form.accept(&json!({})).unwrap().content, Some(Json::EMPTY_OBJECT));
    for content in [json!([]), json!(null), json!("{}")] {
        assert!(matches!(form.accept(&content), Err(ContentError::NotAnObject)), "{content}");
    }
    let error = form.accept(&[((), 1)].into_iter().collect::<std::collections::BTreeMap<_, _>>());
    let error = error.unwrap_err();
    assert!(matches!(&error, ContentError::NotJson(_)) && error.source().is_some(), "{error}");
}

#[test]
fn every_field_at_fault_is_named() {
    let fields = RequestedSchema::new()
        .required("name", StringSchema::new())
        .required("a\"b", StringSchema::new())
        .optional("age", NumberSchema::new());
    let error = form(fields).accept(&json!({ "name": 1, "age": "x" })).unwrap_err();
    let ContentError::Fields(fields) = &error else { panic!("{error}") };
    let expected = [
        ("name", FieldError::WrongType { expected: "a string" }),
        ("age", FieldError::WrongType { expected: "a number" }),
        ("a\"b", FieldError::Missing),
    ];
    assert_eq!(
        fields.iter().map(|(name, error)| (&**name, error.clone())).collect::<Vec<_>>(),
        expected
    );
    assert_eq!(
        error.to_string(),
        r#"the content does not fit the form: "name" must be a string; "age" must be a number; "a\"b" is required"#
    );
}

#[test]
fn a_required_field_need_not_be_one_of_the_form() {
    let mut fields = RequestedSchema::new();
    fields.required.push("name".to_owned());
    let form = form(fields);
    assert!(form.accept_defaults().is_err());
    assert!(form.accept(&json!({ "name": [] })).is_ok());
}

#[test]
fn a_default_that_does_not_fit_is_no_answer() {
    let mut name = StringSchema::new();
    (name.min_length, name.default) = (Some(1), Some(String::new()));
    let form = form(RequestedSchema::new().optional("name", name));
    assert!(form.accept_defaults().is_err());
    assert!(form.accept(&json!({ "name": "a" })).is_ok());
}

#[test]
fn texts_have_a_length_in_characters() {
    let mut schema = StringSchema::new();
    (schema.min_length, schema.max_length) = (Some(2), Some(3));
    for fits in [json!("東京"), json!("abc"), json!("\"\n")] {
        assert_eq!(field(schema.clone(), &fits), None, "{fits}");
    }
    assert_eq!(field(schema.clone(), &json!("京")), Some(FieldError::TooShort { min_length: 2 }));
    assert_eq!(field(schema.clone(), &json!("abcd")), Some(FieldError::TooLong { max_length: 3 }));
    for wrong in [json!(12), json!(null), json!(["ab"])] {
        let error = FieldError::WrongType { expected: "a string" };
        assert_eq!(field(schema.clone(), &wrong), Some(error), "{wrong}");
    }
}

#[test]
fn numbers_have_bounds_and_perhaps_no_fraction() {
    let mut schema = NumberSchema::new();
    (schema.minimum, schema.maximum) = (Some((-1).into()), Number::from_f64(2.5));
    for fits in [json!(-1), json!(2.5), json!(0)] {
        assert_eq!(field(schema.clone(), &fits), None, "{fits}");
    }
    let (least, greatest) = (json!(-1.01), json!(3));
    let maximum = Number::from_f64(2.5).unwrap();
    assert_eq!(field(schema.clone(), &least), Some(FieldError::TooSmall { minimum: (-1).into() }));
    assert_eq!(field(schema.clone(), &greatest), Some(FieldError::TooLarge { maximum }));
    for wrong in [json!("1"), json!(true), json!(null), json!(f64::NAN)] {
        let error = FieldError::WrongType { expected: "a number" };
        assert_eq!(field(schema.clone(), &wrong), Some(error), "{wrong}");
    }
    let mut integer = NumberSchema::new();
    integer.r#type = NumberType::Integer;
    for fits in [json!(-7), json!(5.0), json!(u64::MAX), json!(1e300)] {
        assert_eq!(field(integer.clone(), &fits), None, "{fits}");
    }
    let error = FieldError::WrongType { expected: "a number without a fraction" };
    assert_eq!(field(integer, &json!(0.5)), Some(error));
}

#[test]
fn integers_above_2_53_keep_all_of_their_digits() {
    let text = r#"{"type":"integer","minimum":9007199254740993,"maximum":18446744073709551614,"default":9007199254740993}"#;
    let schema: NumberSchema = read(text);
    assert_eq!(Json::encode(&schema).unwrap().as_str(), text);
    let form = form(RequestedSchema::new().required("id", schema.clone()));
    let content = form.accept_defaults().unwrap().content.unwrap();
    assert_eq!(content.as_str(), r#"{"id":9007199254740993}"#);
    let minimum = Number::from(9_007_199_254_740_993_u64);
    let too_small = field(schema.clone(), &json!(9_007_199_254_740_992_u64));
    assert_eq!(too_small, Some(FieldError::TooSmall { minimum }));
    let maximum = Number::from(u64::MAX - 1);
    let too_large = field(schema, &json!(u64::MAX)).unwrap();
    assert_eq!(too_large, FieldError::TooLarge { maximum });
    assert_eq!(too_large.to_string(), "must be 18446744073709551614 or less");
}

#[test]
fn number_of_a_form_is_written_without_a_fraction_of_zero() {
    let schema: NumberSchema = read(r#"{"type":"number","minimum":-0.5,"default":50.0}"#);
    let expected = r#"{"type":"number","minimum":-0.5,"default":50}"#;
    assert_eq!(Json::encode(&schema).unwrap().as_str(), expected);
}

#[test]
fn yes_or_no_is_no_text() {
    assert_eq!(field(BooleanSchema::new(), &json!(true)), None);
    for wrong in [json!("true"), json!(1), json!(null)] {
        let error = FieldError::WrongType { expected: "true or false" };
        assert_eq!(field(BooleanSchema::new(), &wrong), Some(error), "{wrong}");
    }
}

#[test]
fn choices_are_among_the_choices() {
    let texts = || vec!["r".to_owned(), "g".to_owned()];
    let options = || vec![EnumOption::new("r", "Red"), EnumOption::new("g", "Green")];
    let single: [PrimitiveSchemaDefinition; 3] = [
        UntitledSingleSelectEnumSchema::new(texts()).into(),
        TitledSingleSelectEnumSchema::new(options()).into(),
        LegacyTitledEnumSchema::new(options()).into(),
    ];
    for schema in single {
        assert_eq!(field(schema.clone(), &json!("g")), None);
        assert_eq!(field(schema.clone(), &json!("Red")), Some(FieldError::NotAChoice));
        let error = FieldError::WrongType { expected: "a string" };
        assert_eq!(field(schema, &json!(["r"])), Some(error));
    }
    let mut untitled = UntitledMultiSelectEnumSchema::new(texts());
    (untitled.min_items, untitled.max_items) = (Some(1), Some(2));
    let mut titled = TitledMultiSelectEnumSchema::new(options());
    (titled.min_items, titled.max_items) = (Some(1), Some(2));
    let multi: [PrimitiveSchemaDefinition; 2] = [untitled.into(), titled.into()];
    for schema in multi {
        let of = |value: Value| field(schema.clone(), &value);
        assert_eq!((of(json!(["r"])), of(json!(["g", "r"]))), (None, None));
        assert_eq!(of(json!(["r", "Green"])), Some(FieldError::NotAChoice));
        assert_eq!(of(json!([])), Some(FieldError::TooFew { min_items: 1 }));
        assert_eq!(of(json!(["r", "g", "r"])), Some(FieldError::TooMany { max_items: 2 }));
        let error = FieldError::WrongType { expected: "a string" };
        assert_eq!(of(json!(["r", 1])), Some(error));
        let error = FieldError::WrongType { expected: "a list of strings" };
        assert_eq!((of(json!("r")), of(json!({}))), (Some(error.clone()), Some(error)));
    }
}

#[test]
fn second_hour_17_texts_have_the_format_of_their_field() {
    let email: StringSchema = read(r#"{"type":"string","format":"email"}"#);
    assert_eq!(field(email.clone(), &json!("ada@example.com")), None);
    let expected = "an email address, such as ada@example.com";
    assert_eq!(field(email, &json!("nobody")), Some(FieldError::WrongFormat { expected }));
}

#[test]
fn second_hour_17_an_answer_is_checked_against_its_form() {
    let fields = RequestedSchema::new().required("name", StringSchema::new());
    let form = form(fields);
    let accept = |content: Value| ElicitResult::accept(Json::encode(&content).unwrap());
    let check = |answer: &ElicitResult| form.check(answer).map_err(|error| error.to_string());
    assert_eq!(check(&accept(json!({"name": "Ada", "more": 1}))), Ok(()));
    assert_eq!(check(&ElicitResult::new(ElicitAction::Decline)), Ok(()));
    let missing = "the content does not fit the form: \"name\" is required";
    assert_eq!(check(&accept(json!({}))), Err(missing.to_owned()));
    assert_eq!(check(&ElicitResult::new(ElicitAction::Accept)), Err(missing.to_owned()));
    let no_object = "the content must be a JSON object";
    assert_eq!(check(&accept(json!(["Ada"]))), Err(no_object.to_owned()));
}

#[test]
fn formats_and_schemas_that_are_not_known_are_not_checked() {
    let host: StringSchema = read(r#"{"type":"string","format":"hostname"}"#);
    assert_eq!(field(host, &json!("no host")), None);
    let other = Json::parse(r#"{"type":["string","null"]}"#).unwrap();
    assert_eq!(field(PrimitiveSchemaDefinition::Other(other), &json!(7)), None);
}

/// A form with a default of each kind, and without.
const FORM: &str = r#"{"type":"object","properties":{
    "bare":{"type":"string"},
    "text":{"type":"string","default":"a"},
    "number":{"type":"number","default":0.5},
    "integer":{"type":"integer","default":5},
    "boolean":{"type":"boolean","default":true},
    "one":{"type":"string","enum":["r"],"default":"r"},
    "titled":{"type":"string","oneOf":[{"const":"g","title":"Green"}],"default":"g"},
    "any":{"type":"array","items":{"type":"string","enum":["r","g"]},"default":["r","g"]},
    "none":{"type":"array","items":{"type":"string","enum":["r"]},"default":[]},
    "any-titled":{"type":"array","items":{"anyOf":[{"const":"g","title":"G"}]},"default":["g"]},
    "legacy":{"type":"string","enum":["r"],"enumNames":["Red"],"default":"r"},
    "other":{"type":["string","null"],"default":null},
    "odd":{}
    },"required":["text","none"]}"#;

/// Error of this value in a field of this schema.
fn field(schema: impl Into<PrimitiveSchemaDefinition>, value: &Value) -> Option<FieldError> {
    let form = form(RequestedSchema::new().required("field", schema));
    match form.accept(&json!({ "field": value })) {
        Ok(_) => None,
        Err(ContentError::Fields(fields)) => match &*fields {
            [(name, error)] if name == "field" => Some(error.clone()),
            _ => panic!("{fields:?}"),
        },
        Err(error) => panic!("{error}"),
    }
}

fn form(fields: RequestedSchema) -> ElicitRequestFormParams {
    ElicitRequestFormParams::new("fill it in", fields)
}
