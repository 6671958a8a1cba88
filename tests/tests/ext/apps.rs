//! MCP Apps: what a server lists, what a host reads of it, and what neither takes.

use mcp_proto::client::Negotiation;
use mcp_proto::ext::ui::{self, AppCapability, AppMeta, AppPage, Csp, ToolApp, ToolVisibility};
use mcp_proto::types::{Implementation, ResourceContents, Tool};
use mcp_proto::{Json, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Context, Registry};
use serde_json::{Value, json};

const BOTH: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];
const URI: &str = "ui://weather/forecast";
const HTML: &str = "<!DOCTYPE html><title>Weather</title>";

#[test]
fn the_view_of_a_tool_is_strict_about_callers() {
    let both = (true, true);
    for (meta, expected) in [
        ("{}", None),
        (r#"{"ui":null}"#, None),
        (r#"{"ui":"ui://a"}"#, None),
        (r#"{"ui":{}}"#, Some((None, both))),
        (r#"{"ui":{"resourceUri":"ui://a/b"}}"#, Some((Some("ui://a/b"), both))),
        (r#"{"ui/resourceUri":"ui://a/b"}"#, Some((Some("ui://a/b"), both))),
        (r#"{"ui/resourceUri":7}"#, None),
        (r#"{"\u0075i":{"resourceUri":"ui://\u0061/b"}}"#, Some((Some("ui://a/b"), both))),
        (
            r#"{"ui":{"resourceUri":"ui://new"},"ui/resourceUri":"ui://old"}"#,
            Some((Some("ui://new"), both)),
        ),
        // Pages have URIs of their own scheme, and nothing that could be taken for another one.
        (r#"{"ui":{"resourceUri":"https://a/b"}}"#, Some((None, both))),
        (r#"{"ui":{"resourceUri":"javascript:alert(1)"}}"#, Some((None, both))),
        (r#"{"ui":{"resourceUri":"ui://"}}"#, Some((None, both))),
        (r#"{"ui":{"resourceUri":"ui://a\n"}}"#, Some((None, both))),
        (r#"{"ui":{"resourceUri":["ui://a"]}}"#, Some((None, both))),
        (r#"{"ui":{"visibility":null}}"#, Some((None, both))),
        (r#"{"ui":{"visibility":["model","app"]}}"#, Some((None, both))),
        (r#"{"ui":{"visibility":["model"]}}"#, Some((None, (true, false)))),
        (r#"{"ui":{"visibility":["app"]}}"#, Some((None, (false, true)))),
        (r#"{"ui":{"visibility":["app","operator"]}}"#, Some((None, (false, true)))),
        // Malformed callers are none.
        (r#"{"ui":{"visibility":[]}}"#, Some((None, (false, false)))),
        (r#"{"ui":{"visibility":"model"}}"#, Some((None, (false, false)))),
        (r#"{"ui":{"visibility":{"model":true}}}"#, Some((None, (false, false)))),
        (r#"{"ui":{"visibility":["Model",1]}}"#, Some((None, (false, false)))),
    ] {
        let mut tool = tool("t");
        tool.meta = Some(Json::parse(meta).unwrap());
        let seen = tool.app();
        let seen = seen
            .as_ref()
            .map(|app| (app.resource_uri.as_deref(), (app.visibility.model, app.visibility.app)));
        assert_eq!(seen, expected, "{meta}");
        let (model, app) = expected.map_or(both, |(_, callers)| callers);
        assert_eq!((tool.is_for_model(), tool.is_for_app()), (model, app), "{meta}");
    }
    assert_eq!((tool("t").app(), tool("t").is_for_model()), (None, true));
}

#[test]
fn a_tool_keeps_the_rest_of_its_meta() {
    let mut it = tool("t");
    it.meta = Some(Json::parse(r#"{"a":1,"ui":{"resourceUri":"ui://old"},"b":[2]}"#).unwrap());
    let app = ToolApp::new(URI).visibility(ToolVisibility::APP);
    let it = it.with_app(&app);
    assert_eq!(
        it.meta.as_ref().unwrap().as_str(),
        r#"{"a":1,"b":[2],"ui":{"resourceUri":"ui://weather/forecast","visibility":["app"]}}"#
    );
    assert_eq!(it.app(), Some(app));
    for (model, app) in [(true, true), (true, false), (false, true), (false, false)] {
        let visibility = ToolVisibility { model, app };
        let it = tool("t").with_app(&ToolApp::new(URI).visibility(visibility));
        assert_eq!(it.app().unwrap().visibility, visibility);
    }
}

#[test]
fn tools_for_pages_are_not_for_models() {
    let of = |name, visibility| tool(name).with_app(&ToolApp::new(URI).visibility(visibility));
    let tools = [
        tool("plain"),
        of("both", ToolVisibility::BOTH),
        of("page", ToolVisibility::APP),
        of("model", ToolVisibility::MODEL),
    ];
    let names: Vec<_> = ui::for_model(&tools).map(|tool| &*tool.name).collect();
    assert_eq!(names, ["plain", "both", "model"]);
}

#[test]
fn a_policy_allows_what_is_declared_and_nothing_else() {
    let nothing = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' \
                   'unsafe-inline'; img-src 'self' data:; font-src 'none'; media-src 'self' data:; \
                   connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";
    assert_eq!(Csp::default().policy(), nothing);
    let csp = Csp::default()
        .connect("https://api.example.com")
        .connect("wss://live.example.com:8443")
        .resource("https://*.example.com")
        .frame("https://player.example.com")
        .base_uri("http://[::1]:8000");
    assert_eq!(
        csp.policy(),
        "default-src 'none'; script-src 'self' 'unsafe-inline' https://*.example.com; style-src \
         'self' 'unsafe-inline' https://*.example.com; img-src 'self' data: https://*.example.com; \
         font-src https://*.example.com; media-src 'self' data: https://*.example.com; connect-src \
         https://api.example.com wss://live.example.com:8443; frame-src \
         https://player.example.com; object-src 'none'; base-uri http://[::1]:8000"
    );

    for source in HOSTILE {
        let csp =
            Csp::default().connect(*source).resource(*source).frame(*source).base_uri(*source);
        assert_eq!(csp.policy(), nothing, "{source:?}");
        let ui = json!({"ui": {"csp": {
            "connectDomains": [source], "resourceDomains": [source, 1, null],
            "frameDomains": source, "baseUriDomains": {"0": source},
        }}});
        assert_eq!(
            AppMeta::of(Some(&Json::encode(&ui).unwrap())),
            AppMeta::default(),
            "{source:?}"
        );
    }
}

/// Sources that are no origins.
const HOSTILE: &[&str] = &[
    "",
    "*",
    "https:",
    "https://",
    "https://*",
    "https://*.",
    "https://*.*.com",
    "https://a.*",
    "'unsafe-eval'",
    "data:",
    "//example.com",
    "example.com",
    "https://a.com; script-src *",
    "https://a.com;script-src",
    "https://a.com,https://b.com",
    "https://a.com https://b.com",
    "https://a.com\nX: y",
    "https://a.com/path",
    "https://a.com?x",
    "https://user@a.com",
    "https://a.com:",
    "https://a.com:*",
    "https://a.com:123456",
    "https://a..com",
    "https://[::1",
    "https://[x]:1",
    "https://ä.com",
    "HTTPS://a.com",
    "1https://a.com",
];

#[test]
fn malformed_settings_of_a_page_ask_for_nothing() {
    for meta in [
        r#"{"ui":[]}"#,
        r#"{"ui":"x"}"#,
        r#"{"ui":{"csp":[],"permissions":["camera"],"domain":7,"prefersBorder":"yes"}}"#,
        r#"{"ui":{"permissions":{"camera":true,"microphone":null,"geolocation":"yes","usb":{}}}}"#,
        r#"{"csp":{"connectDomains":["https://a.com"]}}"#,
    ] {
        let meta = Json::parse(meta).unwrap();
        assert_eq!(AppMeta::of(Some(&meta)), AppMeta::default(), "{meta}");
    }
    assert_eq!(AppMeta::of(None), AppMeta::default());
}

#[test]
fn a_page_is_read_as_it_was_written() {
    let page = AppPage::new(URI, HTML)
        .csp(Csp::default().connect("https://api.example.com").frame("https://a.example.com"))
        .permissions(|asked| (asked.camera, asked.clipboard_write) = (true, true))
        .domain("a904.example.com")
        .prefers_border(false);
    let contents = page.contents();
    assert_eq!(AppPage::read(&contents), Some(page.clone()));
    assert_eq!(AppMeta::of(page.resource().meta.as_ref()), page.meta);
    assert_eq!(page.meta.permissions.allow(), "camera; clipboard-write");
    let written: Value = Json::encode(&contents).unwrap().decode().unwrap();
    assert_eq!(
        written["_meta"],
        json!({"ui": {
            "csp": {
                "connectDomains": ["https://api.example.com"],
                "frameDomains": ["https://a.example.com"],
            },
            "permissions": {"camera": {}, "clipboardWrite": {}},
            "domain": "a904.example.com",
            "prefersBorder": false,
        }})
    );
    let bytes = ResourceContents::blob_from_bytes(URI, HTML.as_bytes()).mime_type(ui::MIME_TYPE);
    assert_eq!(AppPage::read(&bytes).unwrap().html, HTML);
}

#[test]
fn other_contents_are_no_page() {
    let text = ResourceContents::text(URI, HTML);
    assert!(AppPage::read(&text.clone().mime_type("text/HTML; profile=mcp-app")).is_some());
    for mime_type in ["text/html", "text/html;profile=other", "text/html;profile=mcp-app;x"] {
        assert_eq!(AppPage::read(&text.clone().mime_type(mime_type)), None, "{mime_type}");
    }
    assert_eq!(AppPage::read(&text), None);
    for contents in [
        ResourceContents::text("https://example.com", HTML),
        ResourceContents::blob(URI, "no Base64"),
        ResourceContents::blob_from_bytes(URI, b"\xff"),
    ] {
        assert_eq!(AppPage::read(&contents.mime_type(ui::MIME_TYPE)), None);
    }
}

#[test]
fn a_registered_page_is_listed_and_read_in_both_eras() {
    for negotiation in BOTH {
        let mut registry = weather();
        let page = AppPage::new(URI, HTML).prefers_border(true).description("A card");
        registry.app("forecast", page.clone()).unwrap();
        let mut pair = Pair::new(registry).negotiation(negotiation);
        let client = pair.client();
        let tools = pair.run(client.list_tools()).unwrap().tools;
        assert_eq!(tools[0].app(), Some(ToolApp::new(URI)));
        assert_eq!(client.server().unwrap().extension(ui::ID), Some(&Json::EMPTY_OBJECT));
        let resources = pair.run(client.list_resources()).unwrap().resources;
        assert_eq!(resources, [page.resource()]);
        assert_eq!(resources[0].mime_type.as_deref(), Some(ui::MIME_TYPE));
        let read = pair.run(client.read_resource(URI)).unwrap();
        assert_eq!(AppPage::read(&read.contents[0]).map(|page| page.html).as_deref(), Some(HTML));
    }
}

#[test]
fn a_page_does_not_change_the_callers_of_its_tool() {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    let it = tool("measure").with_app(&ToolApp::new("ui://old").visibility(ToolVisibility::APP));
    registry.tool_with(it, |_: Value, _| async { "" }).unwrap();
    registry.app("measure", AppPage::new(URI, HTML)).unwrap();
    let mut pair = Pair::new(registry);
    let tools = pair.run(pair.client().list_tools()).unwrap().tools;
    let expected = ToolApp::new(URI).visibility(ToolVisibility::APP);
    assert_eq!(tools[0].app(), Some(expected));
}

#[test]
fn a_page_that_cannot_be_is_refused_and_changes_nothing() {
    let mut registry = weather();
    let page = || AppPage::new(URI, HTML);
    let unknown = registry.app("nope", page()).map(drop);
    assert_eq!(unknown, Err(UsageError::UnknownTool { name: "nope".into() }));
    for uri in ["", "ui://", "https://a/b", "ui:/a", "UI://a", "ui://a b", "ui://ä"] {
        let refused = registry.app("forecast", AppPage::new(uri, HTML)).map(drop);
        assert_eq!(refused, Err(UsageError::InvalidAppUri { uri: uri.into() }));
    }
    for source in HOSTILE {
        let refused =
            registry.app("forecast", page().csp(Csp::default().connect(*source))).map(drop);
        assert_eq!(refused, Err(UsageError::InvalidCspSource { source: (*source).into() }));
    }
    let mut pair = Pair::new(registry.clone());
    assert_eq!(pair.run(pair.client().list_tools()).unwrap().tools[0].app(), None);
    assert_eq!(pair.client().server().unwrap().extension(ui::ID), None);

    registry.app("forecast", page()).unwrap();
    let twice = registry.app("forecast", page()).map(drop);
    assert_eq!(twice, Err(UsageError::Duplicate { kind: "resource", name: URI.into() }));
}

#[test]
fn a_handler_knows_who_shows_pages() {
    let shows = |settings: Option<&str>, negotiation| {
        let mut pair = Pair::new(weather()).negotiation(negotiation);
        let client = pair.client();
        client.declare(|capabilities| {
            let settings = settings.map(|text| Json::parse(text.to_owned()).unwrap());
            capabilities.extensions.extend(settings.map(|settings| (ui::ID.into(), settings)));
        });
        let result = pair.run(client.call_tool("forecast", &())).unwrap();
        result.content[0].as_text().unwrap() == "page"
    };
    for negotiation in BOTH {
        assert!(!shows(None, negotiation));
        assert!(shows(Some(r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#), negotiation));
        assert!(shows(Some(r#"{"mimeTypes":["x","text/html; profile=mcp-app"]}"#), negotiation));
        for settings in [
            "{}",
            r#"{"mimeTypes":[]}"#,
            r#"{"mimeTypes":["text/html"]}"#,
            r#"{"mimeTypes":"text/html;profile=mcp-app"}"#,
            r#"{"mimeTypes":[1]}"#,
            r#"["text/html;profile=mcp-app"]"#,
        ] {
            assert!(!shows(Some(settings), negotiation), "{settings}");
        }
        let mut pair = Pair::new(weather()).negotiation(negotiation);
        pair.client().declare(ui::declare);
        let result = pair.run(pair.client().call_tool("forecast", &())).unwrap();
        assert_eq!(result.content[0].as_text(), Some("page"));
    }
    let settings = Json::parse(r#"{"mimeTypes":["a"],"features":[]}"#).unwrap();
    assert_eq!(AppCapability::of(&settings).unwrap().mime_types, ["a"]);
}

fn weather() -> Registry {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    let forecast = |_: Value, context: Context| async move {
        if context.peer().shows_apps() { "page" } else { "text" }
    };
    registry.tool_with(tool("forecast"), forecast).unwrap();
    registry
}

fn tool(name: &str) -> Tool {
    Tool::new(name, Json::parse(r#"{"type":"object"}"#).unwrap())
}
