//! MCP Apps and skills behind a bridge: clients of both eras get what the server gives directly.

use mcp_proto::ext::skills::Skill;
use mcp_proto::ext::ui::{self, AppPage};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Era, Json, http};
use mcp_service::runtime::{BridgeTarget, bridge};
use mcp_service::{BridgeConfig, Catalog, Client, Context, SkillCallError};
use mcp_tests::bridge::world::VirtualRuntime as World;
use mcp_tests::everything;

use super::cells::{SERVER, TRANSPORTS, at, attach, client};
use super::*;

const PAGE: &str = "ui://weather/forecast";

/// The server `everything`, with a tool that has a page.
fn catalog() -> Catalog {
    let mut registry = everything::registry().unwrap();
    let tool = Tool::new("forecast", Json::parse(r#"{"type":"object"}"#).unwrap());
    let shows = |_: Value, context: Context| async move { context.peer().shows_apps().to_string() };
    registry.tool_with(tool, shows).unwrap();
    registry.app("forecast", AppPage::new(PAGE, "<title>Weather</title>")).unwrap();
    registry.into()
}

/// Skills with their files, and the page of a tool.
async fn seen(client: &Client) -> Result<(Vec<Skill>, Vec<String>), SkillCallError> {
    let skills = client.list_skills().await?.skills;
    let mut texts = Vec::new();
    for skill in &skills {
        assert_eq!(client.get_skill(skill.uri()).await?, *skill);
        let loaded = client.read_skill(skill).await?;
        texts.push(loaded.text().to_owned());
    }
    let templates = client.read_directory("skill://refunds/templates").await?;
    texts.extend(templates.into_iter().map(|child| child.uri));
    let tools = client.list_tools().await?.tools;
    let tool = tools.iter().find(|tool| tool.name == "forecast").unwrap();
    let uri = tool.app().unwrap().resource_uri.unwrap();
    let page = client.read_resource(&uri).await?;
    texts.push(serde_json::to_string(&page.contents).unwrap());
    let shown = client.call_tool("forecast", &json!({})).await?;
    texts.push(shown.content[0].as_text().unwrap().to_owned());
    Ok((skills, texts))
}

#[test]
fn skills_and_apps_pass_in_all_pairs_of_eras() {
    let with_apps = |era: Era| {
        let client = client(era);
        let settings = Json::parse(r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#).unwrap();
        client.declare(|it| drop(it.extensions.insert(ui::ID.into(), settings)));
        client
    };
    for (down, up) in pairs() {
        for transport in TRANSPORTS {
            let mut all = Vec::new();
            for is_bridged in [false, true] {
                let world = World::default();
                let client = with_apps(down);
                let mut config = http::Config::default();
                if is_bridged {
                    config.server.era_policy = policy(up);
                    world.serve_http(SERVER, catalog(), config);
                    let target = BridgeTarget::Http(Box::new(at(SERVER)));
                    let info = Implementation::new("bridge", "1.0.0");
                    let bridge = bridge(&world, target, BridgeConfig::new(info));
                    attach(&world, &client, transport, &bridge.catalog());
                } else {
                    attach(&world, &client, transport, &catalog());
                }
                all.push(world.run(seen(&client)).unwrap().unwrap());
            }
            assert_eq!(all[0], all[1], "{down:?} {up:?} {transport:?}");
            assert_eq!(all[0].1.last().unwrap(), "true");
        }
    }
}
