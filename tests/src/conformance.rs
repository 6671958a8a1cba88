//! Client for the official conformance suite, used by the `conformance_client` examples of the
//! adapters.
//!
//! In: the suite's environment, and the URL that it gives as the last argument. Out: `Ok` if all
//! steps of the scenario were taken. Whether they were right is the suite's to say. Nothing here
//! knows a runtime; `tests/conformance/run` ends a run that hangs.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use mcp_proto::Json;
use mcp_proto::ProtocolVersion;
use mcp_proto::client::{Config, Negotiation};
use mcp_proto::types::{
    CreateMessageResult, ElicitAction, ElicitResult, Implementation, Root,
    SamplingMessageContentBlock,
};
#[cfg(feature = "sign")]
use mcp_service::auth::Es256Key;
use mcp_service::auth::{
    AuthFuture, Consent, ConsentPage, IdentityProvider, MemoryVault, PendingConsent, Secret, SignIn,
};
use mcp_service::runtime::unblock;
use mcp_service::{Client, HttpClientConfig, SkillCallError};
use serde_json::{Value, json};

use crate::auth_site::location;

/// A scenario that the suite wants to see.
pub struct Scenario {
    /// URL of its server.
    pub url: String,
    name: String,
    version: ProtocolVersion,
    context: Value,
}

impl Scenario {
    /// Reads the scenario from the suite's environment variables.
    ///
    /// Fails if it has not said so.
    pub fn of_suite() -> Result<Self, Box<dyn Error>> {
        let said = |name: &str| std::env::var(format!("MCP_CONFORMANCE_{name}"));
        let version = said("PROTOCOL_VERSION")?;
        Ok(Self {
            url: std::env::args().next_back().ok_or("there is no URL")?,
            name: said("SCENARIO")?,
            version: ProtocolVersion::from_name(&version).ok_or("an unknown version")?,
            context: said("CONTEXT").map_or(Ok(Value::Null), |text| serde_json::from_str(&text))?,
        })
    }

    /// A client that can give everything, and speaks the version that the suite wants.
    pub fn client(&self) -> Client {
        let mut config = Config::new(Implementation::new("conformance", "1.0.0"));
        config.negotiation = Negotiation::Pinned(self.version);
        let client = Client::new(config);
        // It is a file URI.
        let _ = client.set_roots(vec![Root::new("file:///conformance")]);
        client.on_form(
            |form| async move { form.accept_defaults().map_err(mcp_proto::ErrorData::from) },
        );
        client.on_url(|_| async { ElicitResult::new(ElicitAction::Accept) });
        client.on_create_message(|_| async {
            CreateMessageResult::new("conformance", SamplingMessageContentBlock::text("hello"))
        });
        client
    }

    /// The server, and what a user would have configured for a sign-in. The suite is the browser:
    /// its page redirects at once.
    ///
    /// Fails if the URL is none.
    pub fn server(&self) -> Result<HttpClientConfig, Box<dyn Error>> {
        let given = |name: &str| self.context.get(name).and_then(Value::as_str).map(String::from);
        let subject = given("valid_jwt").or(given("idp_id_token"));
        let is_workload = given("valid_jwt").is_some();
        let client = given("client_id").filter(|_| !is_workload);
        let client = client.map(|id| (id, given("client_secret")));
        let provider = given("idp_token_endpoint").zip(given("idp_client_id"));
        let guesses = self.version == ProtocolVersion::V2025_03_26;
        let sign_in = self.keys(SignIn::new(MemoryVault::new()).consent(Browser))?;
        let sign_in = sign_in.subject(move |_| {
            let subject = subject.clone().ok_or_else(|| io::Error::other("there is no subject"));
            async { subject.map(Secret::new) }
        });
        let sign_in = sign_in.settings(move |settings| {
            let settings = settings
                .redirect_uri(REDIRECT_URI)
                .client_metadata(CLIENT_METADATA, [REDIRECT_URI]);
            let settings = if guesses { settings.guesses_endpoints() } else { settings };
            let settings = match &client {
                Some((id, secret)) => {
                    settings.client_of_server(id, secret.as_deref()).client_credentials()
                }
                None => settings,
            };
            let settings = if is_workload { settings.workload_of_server() } else { settings };
            match &provider {
                Some((url, id)) => settings.enterprise(IdentityProvider::new(url, id)),
                None => settings,
            }
        });
        Ok(HttpClientConfig::parse(&self.url)?.sign_in(sign_in))
    }

    /// A key for proofs, and the key of the client if the suite gives one.
    #[cfg(feature = "sign")]
    fn keys(&self, sign_in: SignIn) -> Result<SignIn, Box<dyn Error>> {
        let sign_in = sign_in.proof_key(Es256Key::generate()?);
        let pem = self.context.get("private_key_pem").and_then(Value::as_str);
        Ok(match pem {
            Some(pem) => sign_in.client_key(Es256Key::from_pem(pem)?, None),
            None => sign_in,
        })
    }

    #[cfg(not(feature = "sign"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "with the feature it reads keys"
    )]
    fn keys(&self, sign_in: SignIn) -> Result<SignIn, Box<dyn Error>> {
        Ok(sign_in)
    }

    /// Takes the steps, with a client that an adapter connects.
    ///
    /// Fails with what the first failing step came to.
    pub async fn play(&self, client: &Client) -> Result<(), Box<dyn Error>> {
        if self.name.starts_with("sep-2640-client-") {
            return self.load_skills(client).await;
        }
        let tools = client.list_tools().await?.tools;
        match &*self.name {
            "tools_call" => {
                client.call_tool("add_numbers", &json!({ "a": 5, "b": 3 })).await?;
            }
            "json-schema-2020-12-preservation" => {
                let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
                let schema = &tool.ok_or("the tool is not in the list")?.input_schema;
                client.call_tool("json_schema_echo", &json!({ "schema": schema })).await?;
            }
            "http-custom-headers" => {
                let calls = self.context.get("toolCalls").and_then(Value::as_array);
                for call in calls.ok_or("no calls are given")? {
                    let name =
                        call.get("name").and_then(Value::as_str).ok_or("a call has no name")?;
                    client
                        .call_tool(name, &call.get("arguments").cloned().unwrap_or_default())
                        .await?;
                }
            }
            "http-standard-headers" => {
                for tool in &tools {
                    client.call_tool(&tool.name, &json!({})).await?;
                }
                for resource in client.list_resources().await?.resources {
                    client.read_resource(&resource.uri).await?;
                }
                for prompt in client.list_prompts().await?.prompts {
                    client.get_prompt(&prompt.name, &json!({})).await?;
                }
            }
            "initialize" | "json-schema-ref-no-deref" => {}
            _ => {
                for tool in &tools {
                    client.call_tool::<Json>(&tool.name, &Json::EMPTY_OBJECT).await?;
                }
            }
        }
        Ok(())
    }

    /// Loads each skill and reads its other files, as a model might want; nothing of a skill that
    /// does not stand up to its entry. One scenario wants to see nothing loaded.
    async fn load_skills(&self, client: &Client) -> Result<(), Box<dyn Error>> {
        let skills = client.list_skills().await?.skills;
        if self.name == "sep-2640-client-no-prefetch" {
            return Ok(());
        }
        for skill in &skills {
            let loaded = match client.read_skill(skill).await {
                Err(SkillCallError::Refused(error)) => {
                    eprintln!("{}: {error}", skill.uri());
                    continue;
                }
                loaded => loaded?,
            };
            for file in skill.files().unwrap_or_default() {
                loaded.read(&file.uri).await?;
            }
        }
        Ok(())
    }
}

/// The redirect URI and the metadata document that the suite knows.
const REDIRECT_URI: &str = "http://localhost:3000/callback";
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// A browser with a person who consents: it asks for the page, and takes the redirect of the
/// answer.
struct Browser;

impl Consent for Browser {
    fn prepare(&self, _: &str, _: Option<u16>) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn PendingConsent>) })
    }
}

impl PendingConsent for Browser {
    fn redirect_uri(&self) -> String {
        REDIRECT_URI.into()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let redirect = unblock(move || visit(&page));
        Box::pin(async move { redirect.await.map_err(|error| error.to_string()) })
    }
}

/// The `Location` of a page.
fn visit(page: &ConsentPage) -> io::Result<String> {
    let mut socket = TcpStream::connect((page.url.host(), page.url.port()))?;
    let (target, host) = (page.url.target(), page.url.authority());
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    location(&answer).ok_or_else(|| io::Error::other("the page does not redirect"))
}
