//! A check has bounds, whatever is checked.

use std::time::{Duration, Instant};

use mcp_proto::Json;
use mcp_proto::types::Tool;
use mcp_service::schema::ToolSchemas;
use serde_json::{Value, json};

use crate::{misfits, schemas};

/// Far more than a check takes, and far less than what it would take without bounds.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn second_hour_17_a_text_names_eight_places_at_most() {
    let schema = json!({"items": {"type": "string"}});
    let told = |count: usize| {
        let checked = schemas(&schema).check_arguments(&crate::json(&json!(vec![0; count])));
        checked.unwrap_err()
    };
    assert_eq!(told(8).iter().count(), 8);
    assert!(!told(8).to_string().ends_with("and more"));
    assert_eq!(told(9).iter().count(), 8);
    assert!(told(9).to_string().ends_with("; /7: expected a string; and more"));
}

#[test]
fn second_hour_17_a_text_is_bounded_whatever_names_and_schemas_say() {
    let long = "x".repeat(1000);
    let schema = json!({
        "additionalProperties": {"enum": [long, long]},
        "propertyNames": {"pattern": long},
        "required": [long, "a/b~c"],
    });
    let value: Value = (0..20).map(|at| (format!("{at}{}", "y".repeat(1000)), json!(0))).collect();
    let text = misfits(&schema, &value);
    assert!(text.len() < 8 * 1024, "{}", text.len());
    let text = misfits(&json!({"required": ["a/b~c"]}), &json!({}));
    assert_eq!(text, "/a~1b~0c: is required");
}

#[test]
fn second_hour_17_values_are_not_repeated() {
    let schema = json!({
        "properties": {
            "a": {"type": "integer"}, "b": {"const": 1}, "c": {"pattern": "^[0-9]$"},
            "d": {"anyOf": [{"type": "integer"}, {"maxLength": 2}]}, "e": {"uniqueItems": true},
            "f": {"unevaluatedItems": false}, "g": {"not": {}}, "h": {"contains": {"type": "null"}},
        },
    });
    let secret = "a secret of somebody";
    let mut value = json!({"e": [secret, secret], "f": [secret], "h": [secret]});
    for name in ["a", "b", "c", "d", "g"] {
        value[name] = json!(secret);
    }
    let text = misfits(&schema, &value);
    assert_eq!(text.matches("; ").count(), 7, "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn second_hour_17_the_nearest_alternative_is_told() {
    let point = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let schema = json!({"properties": {"at": {"anyOf": [point, {"type": "null"}]}}});
    assert_eq!(
        misfits(&schema, &json!({"at": {"x": "far"}})),
        "/at: fits no schema of `anyOf` (nearest: /at/x: expected an integer)"
    );
}

#[test]
fn misspelt_members_are_hinted_at_where_the_schema_knows_the_members() {
    let place = json!({"type": "object", "properties": {"city": {}}, "required": ["city"]});
    let schema = json!({
        "properties": {"limit": {}, "query": {}, "place": {"$ref": "#/$defs/place"}},
        "required": ["query"],
        "additionalProperties": false,
        "$defs": {"place": place},
    });
    assert_eq!(
        misfits(&schema, &json!({"qeury": 1, "limt": 2, "x": 3})),
        "has members that the schema does not allow: `limt`, `qeury`, `x`; /query: is required; \
         /limt: did you mean `limit`?; /qeury: did you mean `query`?"
    );
    assert_eq!(
        misfits(&schema, &json!({"query": 1, "place": {"citty": 1, "cit": 2}})),
        "/place/city: is required; /place/cit: did you mean `city`?; \
         /place/citty: did you mean `city`?"
    );
    // A member that is there is not what was meant by another one.
    assert_eq!(
        misfits(&schema, &json!({"query": 1, "limit": 2, "limt": 3})),
        "has members that the schema does not allow: `limt`"
    );
}

#[test]
fn lookups_of_required_members_count_as_visits() {
    let names: Vec<String> = (0..1000).map(|at| format!("{at:03}")).collect();
    let all = |of: &str| json!({"allOf": vec![json!({"$ref": format!("#/$defs/{of}")}); 16]});
    let schema = json!({
        "items": {"$ref": "#/$defs/a"},
        "$defs": {"a": all("b"), "b": all("c"), "c": all("d"), "d": {"required": names}},
    });
    let object: Value = names.iter().map(|name| (name.clone(), json!(0))).collect();
    let text = misfits(&schema, &json!([object]));
    assert!(text.contains("1,000,000 steps"), "{text}");
}

#[test]
fn few_subschemas_of_a_peer_apply_to_names() {
    let names = |count: usize| {
        let pattern = json!({"pattern": "[^a]$"});
        let schema = json!({"propertyNames": {"allOf": vec![pattern; count]}});
        ToolSchemas::of_peer(&Tool::new("t", crate::json(&schema)))
    };
    assert!(names(15).is_ok());
    assert!(names(16).unwrap_err().to_string().contains("16 subschemas"));
}

#[test]
fn second_hour_17_many_values_are_refused_unread() {
    let text = format!("[{}]", vec!["{}"; 100_000].join(","));
    let checked = schemas(&json!({})).check_arguments(&Json::parse(text).unwrap());
    assert!(checked.unwrap_err().to_string().contains("100,000 values"));
    // Commas in a text are none of values.
    let text = format!("[\"{}\\\"\"]", ",".repeat(200_000));
    assert_eq!(schemas(&json!({})).check_arguments(&Json::parse(text).unwrap()), Ok(()));
}

/// A plain schema of expressions: the validator looks at each level for each alternative.
#[test]
fn second_hour_17_deep_values_take_no_longer_than_wide_ones() {
    let operation = |name: &str| {
        json!({"type": "object", "properties": {
            "op": {"const": name}, "args": {"type": "array", "items": {"$ref": "#/$defs/e"}},
        }})
    };
    let alternatives: Vec<_> = ["+", "-", "*", "/"].map(operation).into();
    let schema = json!({"$ref": "#/$defs/e", "$defs": {"e": {"anyOf": alternatives}}});
    let mut value = json!("wrong");
    for _ in 0..60 {
        value = json!({"args": [value]});
    }
    let start = Instant::now();
    assert!(!misfits(&schema, &value).is_empty());
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn second_hour_17_a_pattern_takes_linear_time() {
    let schema = json!({"pattern": "^(a+)+$"});
    let start = Instant::now();
    assert!(!misfits(&schema, &json!(format!("{}b", "a".repeat(100_000)))).is_empty());
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// The states of a pattern are visited for each byte.
#[test]
fn large_pattern_on_a_long_string_exceeds_the_steps() {
    let large = "^[ab]*a[ab]{1800}$";
    let long = "ab".repeat(50_000);
    let name = json!({(long.clone()): 0});
    let start = Instant::now();
    for (schema, value) in [
        (json!({"pattern": large}), json!(long)),
        (json!({"patternProperties": {large: true}}), name.clone()),
        (json!({"propertyNames": {"pattern": large}}), name),
    ] {
        let text = misfits(&schema, &value);
        assert!(text.contains("1,000,000 steps"), "{text}");
    }
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // Small patterns are cheap.
    let checked = schemas(&json!({"pattern": "^[A-Za-z0-9+/]*={0,2}$"}))
        .check_arguments(&crate::json(&json!("a".repeat(2_000_000))));
    assert_eq!(checked, Ok(()));
}

/// Each error holds a copy of its path.
#[test]
fn second_hour_17_long_names_are_not_copied_for_each_place() {
    let schema = json!({"additionalProperties": {"items": {"type": "string"}}});
    let value = json!({"n".repeat(1024 * 1024): vec![0; 50_000]});
    let start = Instant::now();
    assert_eq!(misfits(&schema, &value), "does not fit, and is too large to say where");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn second_hour_17_places_beyond_the_steps_are_not_made_up() {
    let schema = json!({"items": {"type": "string"}});
    let mut value = vec![json!("fits"); 50_000];
    value[20] = json!(20);
    value[49_000] = json!(49_000);
    assert_eq!(misfits(&schema, &json!(value)), "/20: expected a string");
    value[20] = json!("fits");
    assert_eq!(misfits(&schema, &json!(value)), "does not fit, and is too large to say where");
}

/// As deep as a message may be, and as deep as the schema of a peer may be at each level.
#[test]
fn second_hour_17_the_deepest_check_fits_a_small_stack() {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let check = || {
        let mut schema = json!({"$ref": "#/$defs/d0"});
        for at in 0..28 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            schema["$defs"][format!("d{at}")] = next;
        }
        schema["$defs"]["d28"] = json!({"type": "array", "items": {"$ref": "#"}});
        let tool = Tool::new("t", crate::json(&schema));
        let schemas = ToolSchemas::of_peer(&tool).unwrap();
        let value = format!("{}7{}", "[".repeat(120), "]".repeat(120));
        let misfits = schemas.check_arguments(&Json::parse(value).unwrap()).unwrap_err();
        assert!(misfits.to_string().contains("expected an array"), "{misfits}");
    };
    thread.spawn(check).unwrap().join().unwrap();
}
