//! Skills of a server with files in memory.
//!
//! In: skills. Out: the methods of the extension, and a resource for each file. The methods answer
//! from the current catalog, so that updates apply. They leave out what the caller may not read.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mcp_proto::ext::skills::{self, GetSkillResult, SkillCatalog, SkillFiles};
use mcp_proto::internals::{offered_skills, trusted};
use mcp_proto::types::{CacheHint, PaginatedRequestParams, ReadResourceRequestParams};
use mcp_proto::{Era, ErrorData, Json, UsageError};
use serde::{Deserialize, Serialize};

use crate::catalog::CatalogSnapshot;
use crate::context::Context;
use crate::handler::Handler;
use crate::registry::Registry;

impl Registry {
    /// Adds a skill: lists it, serves its files as resources and its directories by
    /// `resources/directory/read`. Declares the extension.
    ///
    /// ```
    /// use mcp_proto::ext::skills::SkillFiles;
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Registry;
    ///
    /// # let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    /// let text = "---\nname: refunds\ndescription: Refunds a customer\n---\nAsk for the order.\n";
    /// registry.skill(SkillFiles::new("skill://refunds", [("SKILL.md", text)])?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// `read_skill_folder` reads the files of a folder. A caller that may not read the resource of
    /// `SKILL.md` does not see the skill; see [`Registry::only_for`] and [`Registry::disable`].
    ///
    /// Fails, and changes nothing, with [`UsageError::NestedSkill`], and with
    /// [`UsageError::Duplicate`] also if there is a resource with the URI of a file, or a handler
    /// of one of the methods.
    ///
    /// [Specification: Skills](https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx)
    pub fn skill(&mut self, files: SkillFiles) -> Result<&mut Self, UsageError> {
        if self.skills.is_some() {
            self.add_skill(files)?;
            return Ok(self);
        }
        // Only the first skill adds methods, so only this one needs a copy to change nothing.
        let mut changed = self.clone();
        changed.add_skill(files)?;
        changed.add_skill_methods()?;
        *self = changed;
        Ok(self)
    }

    /// Adds a skill and its resources. On an error nothing is added.
    fn add_skill(&mut self, files: SkillFiles) -> Result<(), UsageError> {
        let files = Arc::new(files);
        let mut added: Vec<String> = Vec::new();
        for resource in self.skills.get_or_insert_default().add(files.clone())? {
            let uri = resource.uri.clone();
            let contents = files.clone();
            let read = move |uri: String, _| {
                let contents = contents.contents(&uri);
                async move { contents.ok_or_else(|| ErrorData::resource_not_found(&uri)) }
            };
            if let Err(error) = self.add_resource(resource, Handler::resource(read)) {
                self.skills.as_mut().and_then(|skills| skills.remove(files.skill().uri()));
                for uri in added {
                    self.remove_resource(&uri);
                }
                return Err(error);
            }
            added.push(uri);
        }
        Ok(())
    }

    fn add_skill_methods(&mut self) -> Result<(), UsageError> {
        self.extension(skills::ID, trusted("{\"directoryRead\":true}"))?;
        self.method("skills/list", list)?;
        self.method("skills/get", get)?;
        self.method("resources/directory/read", read_directory)?;
        Ok(())
    }

    /// Removes a skill, by the URI of its `SKILL.md`, with the files that no other skill has;
    /// returns whether there was one.
    pub fn remove_skill(&mut self, uri: &str) -> bool {
        let files = self.skills.as_mut().and_then(|skills| skills.remove(uri));
        let Some(files) = files else { return false };
        for file in files {
            self.remove_resource(&file);
        }
        true
    }
}

async fn list(params: PaginatedRequestParams, context: Context) -> Result<Json, ErrorData> {
    let snapshot = context.catalog().snapshot();
    let skills = offered(&snapshot, &context);
    let page = skills.and_then(|skills| skills.list(params.cursor.as_deref()));
    let mut page = page.ok_or_else(|| ErrorData::invalid_params("no page has this cursor"))?;
    let hint = hint(&context);
    (page.ttl_ms, page.cache_scope) = (hint.map(|it| it.ttl_ms), hint.map(|it| it.scope));
    written(&page)
}

async fn get(params: ReadResourceRequestParams, context: Context) -> Result<Json, ErrorData> {
    let snapshot = context.catalog().snapshot();
    let uri = params.uri;
    let skill = offered(&snapshot, &context).and_then(|skills| skills.get(&uri).cloned());
    let skill =
        skill.ok_or_else(|| ErrorData::invalid_params(format!("there is no skill at {uri:?}")))?;
    let hint = hint(&context);
    let mut result = GetSkillResult::new(skill);
    (result.ttl_ms, result.cache_scope) = (hint.map(|it| it.ttl_ms), hint.map(|it| it.scope));
    written(&result)
}

/// The parameters of `resources/directory/read`.
#[derive(Deserialize)]
struct DirectoryParams {
    uri: String,
    cursor: Option<String>,
}

async fn read_directory(params: DirectoryParams, context: Context) -> Result<Json, ErrorData> {
    let snapshot = context.catalog().snapshot();
    let DirectoryParams { uri, cursor } = params;
    let skills = offered(&snapshot, &context);
    let page = skills.and_then(|skills| skills.directory(&uri, cursor.as_deref()));
    let page = page.ok_or_else(|| {
        ErrorData::invalid_params(format!("{uri:?} is no directory, or has no page at this cursor"))
    })?;
    written(&page)
}

/// The skills of a snapshot that the sender of the request sees; `None` if none was ever added.
fn offered<'a>(snapshot: &'a CatalogSnapshot, context: &Context) -> Option<Cow<'a, SkillCatalog>> {
    let skills = snapshot.registry.skills.as_ref()?;
    Some(offered_skills(&snapshot.declaration, skills, &context.shared_peer()))
}

/// Modern results have a cache hint. Without notifications of changes, they must not be cached.
fn hint(context: &Context) -> Option<CacheHint> {
    (context.peer().version.era() == Era::Modern).then(CacheHint::default)
}

fn written<T: Serialize>(result: &T) -> Result<Json, ErrorData> {
    Json::encode(result).map_err(|error| ErrorData::internal(format!("{error}")))
}
