//! The servers as a host has them: programs whose tools are called.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mcp_tokio::types::{ResourceContents, SubscriptionFilter};
use mcp_tokio::{Change, Client, Command, Implementation, List, Subscription, connect_command};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const SOON: Duration = Duration::from_secs(30);

mod rest_api {
    use super::*;

    #[tokio::test]
    async fn operations_are_tools() {
        let api = Api::start().await;
        let client = api.client(None).await;
        let tools = client.list_tools().await.unwrap().tools;
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        // `add_photo` needs a header.
        assert_eq!(names, ["list_pets", "add_pet", "get__pets__id_", "remove_pet"]);
        let described = "Shows a pet\n\nWith everything that is known of it.";
        assert_eq!(tools[2].description.as_deref(), Some(described));
        let hints = |at: usize| tools[at].annotations.as_ref();
        assert_eq!(hints(0).and_then(|it| it.read_only_hint), Some(true));
        assert_eq!(hints(1).and_then(|it| it.read_only_hint), None);
        assert_eq!(hints(3).and_then(|it| it.idempotent_hint), Some(true));
        let schema: Value = tools[1].input_schema.decode().unwrap();
        assert_eq!(schema["properties"]["body"]["$ref"], "#/$defs/Pet");
        assert_eq!(schema["$defs"]["Pet"]["properties"]["owner"]["$ref"], "#/$defs/Owner");
        assert_eq!(schema["required"], json!(["body"]));
    }

    #[tokio::test]
    async fn arguments_have_their_places() {
        let api = Api::start().await;
        let client = api.client(Some("sesame")).await;
        let query = json!({"limit": 2, "tag": ["small", "a&b=c"]});
        let said = call(&client, "list_pets", query).await.unwrap();
        assert_eq!(said, "GET /v1/pets?limit=2&tag=small&tag=a%26b%3Dc Bearer sesame ");
        let pet = json!({"body": {"name": "Rex", "owner": {"name": "Ada"}}});
        let said = call(&client, "add_pet", pet).await.unwrap();
        let expected = r#"POST /v1/pets Bearer sesame {"name":"Rex","owner":{"name":"Ada"}}"#;
        assert_eq!(said, expected);
        for (id, path) in [
            ("7", "7"),
            ("a/b", "a%2Fb"),
            ("../admin", "..%2Fadmin"),
            ("a?b#c", "a%3Fb%23c"),
            ("ä %2e", "%C3%A4%20%252e"),
        ] {
            let said = call(&client, "get__pets__id_", json!({"id": id})).await.unwrap();
            assert_eq!(said, format!("GET /v1/pets/{path} Bearer sesame "), "{id}");
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_not_sent() {
        let api = Api::start().await;
        let client = api.client(None).await;
        for (tool, arguments, error) in [
            ("list_pets", json!({"limit": 1000}), "/limit"),
            ("list_pets", json!({"limit": "all"}), "/limit"),
            ("add_pet", json!({"body": {"owner": {}}}), "/body/name"),
            ("add_pet", json!({}), "/body"),
            ("get__pets__id_", json!({}), "/id"),
            ("get__pets__id_", json!({"id": ".."}), "cannot be a part of a path"),
            ("get__pets__id_", json!({"id": "."}), "cannot be a part of a path"),
            ("get__pets__id_", json!({"id": ""}), "cannot be a part of a path"),
            ("remove_pet", json!({"id": ".."}), "cannot be a part of a path"),
        ] {
            let said = call(&client, tool, arguments).await.unwrap_err();
            assert!(said.contains(error), "{tool}: {said}");
        }
        assert_eq!(api.requests.lock().unwrap().len(), 0);
    }

    #[tokio::test]
    async fn refusals_are_for_the_model() {
        let api = Api::start().await;
        let client = api.client(None).await;
        let said = call(&client, "remove_pet", json!({"id": "7"})).await.unwrap_err();
        assert_eq!(said, "404 Not Found: no such pet");
        let said = call(&client, "get__pets__id_", json!({"id": "elsewhere"})).await.unwrap_err();
        assert!(said.starts_with("302 Found"), "{said}");
        let said = call(&client, "get__pets__id_", json!({"id": "big"})).await.unwrap_err();
        assert!(said.contains("more than 262144 bytes"), "{said}");
        // The redirection was not followed.
        assert_eq!(api.requests.lock().unwrap().len(), 3);
    }

    /// An API that says what it was asked.
    struct Api {
        base: String,
        requests: Arc<Mutex<Vec<String>>>,
    }

    impl Api {
        async fn start() -> Self {
            let requests = Arc::<Mutex<Vec<String>>>::default();
            let app = Router::new().fallback(answer).with_state(requests.clone());
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let base = format!("http://{}/v1/", listener.local_addr().unwrap());
            tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
            Self { base, requests }
        }

        async fn client(&self, token: Option<&str>) -> Client {
            let document = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pets.json");
            let mut command = Command::new(env!("CARGO_BIN_EXE_rest_api"));
            if let Some(token) = token {
                command = command.env("API_TOKEN", token);
            }
            connect(command.args([document, &self.base])).await
        }
    }

    async fn answer(State(seen): State<Arc<Mutex<Vec<String>>>>, request: Request) -> Response {
        let field = request.headers().get(header::AUTHORIZATION);
        let token = field.map_or("", |token| token.to_str().unwrap()).to_owned();
        let (method, uri) = (request.method().to_string(), request.uri().to_string());
        let body = axum::body::to_bytes(request.into_body(), 10_000).await.unwrap();
        let asked = format!("{method} {uri} {token} {}", String::from_utf8_lossy(&body));
        seen.lock().unwrap().push(asked.clone());
        match (&*method, &*uri) {
            ("DELETE", _) => (StatusCode::NOT_FOUND, "no such pet").into_response(),
            (_, "/v1/pets/elsewhere") => {
                (StatusCode::FOUND, [(header::LOCATION, "/v1/pets/7")]).into_response()
            }
            (_, "/v1/pets/big") => "x".repeat(300_000).into_response(),
            _ => asked.into_response(),
        }
    }
}

mod sqlite_notes {
    use super::*;

    #[tokio::test]
    async fn notes_are_found_by_all_processes_and_after_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.db");
        let (one, other) = (open(&file).await, open(&file).await);
        let note = json!({"title": "Shopping", "text": "buy milk and bread"});
        let uri = added(&one, note).await;
        added(&other, json!({"title": "Work", "text": "call Ada"})).await;
        for client in [&one, &other] {
            assert_eq!(found(client, "milk").await, ["Shopping"]);
            assert_eq!(found(client, "ada call").await, ["Work"]);
            assert_eq!(found(client, "milk ada").await, [""; 0]);
        }
        assert_eq!(read(&other, &uri).await.unwrap(), "buy milk and bread");
        one.close().await;
        other.close().await;
        let later = open(&file).await;
        assert_eq!(read(&later, &uri).await.unwrap(), "buy milk and bread");
        assert!(read(&later, "note:///999").await.is_err());
        assert!(read(&later, "note:///1%20OR%201").await.is_err());
    }

    #[tokio::test]
    async fn words_are_words_and_no_queries() {
        let folder = tempfile::tempdir().unwrap();
        let client = open(&folder.path().join("notes.db")).await;
        let text = "'); DROP TABLE notes; --";
        let uri = added(&client, json!({"title": "a\"b", "text": text})).await;
        for words in ["a\"b", "drop table", "\"", "notes OR", "title: notes", "* NEAR(", "'", ""] {
            let result = client.call_tool("search_notes", &json!({"words": words})).await.unwrap();
            assert!(!result.is_error, "{words}: {result:?}");
        }
        assert_eq!(found(&client, "OR").await, [""; 0]);
        assert_eq!(found(&client, "drop").await, ["a\"b"]);
        assert_eq!(read(&client, &uri).await.unwrap(), text);
    }

    #[tokio::test]
    async fn processes_that_write_at_once_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.db");
        let (one, other) = (open(&file).await, open(&file).await);
        let writes = (0..200).map(|number| {
            let client = [&one, &other][number % 2].clone();
            tokio::spawn(async move {
                added(&client, json!({"title": number.to_string(), "text": "many"})).await
            })
        });
        let mut uris = Vec::new();
        for write in writes.collect::<Vec<_>>() {
            uris.push(write.await.unwrap());
        }
        uris.sort();
        uris.dedup();
        assert_eq!(uris.len(), 200);
        assert_eq!(found(&one, "many").await.len(), 20);
    }

    async fn open(file: &Path) -> Client {
        connect(Command::new(env!("CARGO_BIN_EXE_sqlite_notes")).arg(file)).await
    }

    async fn added(client: &Client, note: Value) -> String {
        let result = client.call_tool("add_note", &note).await.unwrap();
        let note: Value = result.structured().unwrap();
        note["uri"].as_str().unwrap().to_owned()
    }

    async fn found(client: &Client, words: &str) -> Vec<String> {
        let result = client.call_tool("search_notes", &json!({"words": words})).await.unwrap();
        let found: Value = result.structured().unwrap();
        let notes = found["notes"].as_array().unwrap().iter();
        notes.map(|note| note["title"].as_str().unwrap().to_owned()).collect()
    }
}

mod watch_folder {
    use super::*;

    #[tokio::test]
    async fn clients_hear_of_each_change() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        fs::write(place.join("a b.txt"), "one").unwrap();
        fs::write(place.join(".hidden"), "no").unwrap();
        fs::create_dir(place.join("inner")).unwrap();
        let client = connect(Command::new(env!("CARGO_BIN_EXE_watch_folder")).arg(&place)).await;
        assert_eq!(names(&client).await, ["a b.txt"]);
        let uri = client.list_resources().await.unwrap().resources[0].uri.clone();
        assert!(uri.starts_with("file:///") && uri.ends_with("/a%20b.txt"), "{uri}");
        assert_eq!(read(&client, &uri).await.unwrap(), "one");

        let filter = SubscriptionFilter::new().resources_list_changed().resource(&uri);
        let mut changes = client.subscribe(filter).await.unwrap();
        fs::write(place.join("a b.txt"), "two words").unwrap();
        assert_eq!(next(&mut changes).await, Change::ResourceUpdated(uri.clone()));
        assert_eq!(read(&client, &uri).await.unwrap(), "two words");

        fs::write(place.join("new"), [0xff, 0xfe]).unwrap();
        assert_eq!(next(&mut changes).await, Change::ListChanged(List::Resources));
        assert_eq!(names(&client).await, ["a b.txt", "new"]);
        let bytes = client.read_resource(&uri.replace("a%20b.txt", "new")).await.unwrap();
        assert!(matches!(bytes.contents[0], ResourceContents::Blob(_)));

        fs::remove_file(place.join("a b.txt")).unwrap();
        assert_eq!(next(&mut changes).await, Change::ListChanged(List::Resources));
        assert_eq!(names(&client).await, ["new"]);
        assert!(read(&client, &uri).await.is_err());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_do_not_lead_out_of_the_folder() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret");
        fs::write(&secret, "sesame").unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&secret, folder.path().join("link")).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_watch_folder")).arg(folder.path());
        let client = connect(command).await;
        assert_eq!(names(&client).await, ["file"]);
        let uri = client.list_resources().await.unwrap().resources[0].uri.clone();
        assert!(read(&client, &uri.replace("file", "link")).await.is_err());
        let (name, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::rename(link, name).unwrap();
        let said = read(&client, &uri).await;
        assert!(said.is_err(), "{said:?}");
    }

    async fn names(client: &Client) -> Vec<String> {
        let resources = client.list_resources().await.unwrap().resources;
        resources.into_iter().map(|resource| resource.name).collect()
    }

    async fn next(changes: &mut Subscription) -> Change {
        tokio::time::timeout(SOON, changes.changed()).await.unwrap().unwrap()
    }
}

async fn connect(command: Command) -> Client {
    let client = Client::new(Implementation::new("test", "1.0.0"));
    connect_command(&client, command).await.unwrap();
    client
}

/// Text of a result, or of a failure.
async fn call(client: &Client, tool: &str, arguments: Value) -> Result<String, String> {
    let result = client.call_tool(tool, &arguments).await.unwrap();
    let text = result.content[0].as_text().unwrap().to_owned();
    if result.is_error { Err(text) } else { Ok(text) }
}

/// Text of a resource.
async fn read(client: &Client, uri: &str) -> Result<String, String> {
    let read = client.read_resource(uri).await.map_err(|error| error.to_string())?;
    match read.contents.into_iter().next() {
        Some(ResourceContents::Text(text)) => Ok(text.text),
        other => panic!("{other:?}"),
    }
}
