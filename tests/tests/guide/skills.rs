//! The code of `docs/guide/skills.md`.

use std::error::Error;

use mcp_tokio::ext::skills::{Skill, SkillFiles};
use mcp_tokio::testing::Pair;
use mcp_tokio::{
    Client, Handler, Implementation, LoadedSkill, Registry, SkillCallError, read_skill_folder,
};

type Tested = Result<(), Box<dyn Error>>;

fn shop() -> Result<Registry<Handler>, Box<dyn Error>> {
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    let text = "---\nname: refunds\ndescription: Refunds a customer\n---\nSee email.md.\n";
    let files = [("SKILL.md", text), ("email.md", "Dear customer,\n")];
    registry.skill(SkillFiles::new("skill://shop/refunds", files)?)?;
    Ok(registry)
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn from_folders(registry: &mut Registry<Handler>) -> Result<(), Box<dyn Error>> {
    for folder in std::fs::read_dir("skills")? {
        registry.skill(read_skill_folder(folder?.path(), "shop")?)?;
    }
    Ok(())
}

async fn load(client: &Client, wanted: &str) -> Result<Option<LoadedSkill>, SkillCallError> {
    let skills = client.list_skills().await?.skills;
    let Some(skill) = skills.iter().find(|skill| skill.name() == wanted) else { return Ok(None) };
    if !is_approved(skill) {
        return Ok(None);
    }
    client.read_skill(skill).await.map(Some)
}

async fn read_letter(skill: &LoadedSkill) -> Result<String, SkillCallError> {
    let file = skill.read("email.md").await?;
    Ok(file.text().unwrap_or_default().to_owned())
}

/// A user would be asked.
fn is_approved(skill: &Skill) -> bool {
    skill.files().is_some_and(|files| files.len() == 2)
}

#[test]
fn a_host_loads_a_skill() -> Tested {
    let mut pair = Pair::new(shop()?);
    let client = pair.client();
    let skill = pair.run(load(&client, "refunds"))?.ok_or("it is not there")?;
    assert!(skill.text().ends_with("See email.md.\n"));
    assert_eq!(pair.run(read_letter(&skill))?, "Dear customer,\n");
    assert!(pair.run(load(&client, "credit"))?.is_none());
    let error = pair.run(skill.read("../../secret")).unwrap_err();
    assert_eq!(error.to_string(), "the skill does not list \"../../secret\"");
    Ok(())
}
