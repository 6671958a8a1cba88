//! Skills of a server, for hosts. A skill is a folder of instructions for a model: `SKILL.md` and
//! other files. Its entry in the list names these files.
//!
//! In: the URI or the entry of a skill. Out: entries, and files that were checked against them.
//! Files are read on demand: `SKILL.md` when the skill is loaded, others by [`LoadedSkill::read`].

use alloc::string::String;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::future::Future;

use mcp_proto::Json;
use mcp_proto::client::CallError;
use mcp_proto::ext::skills::{
    self, GetSkillResult, ListSkillsResult, ReadResourceDirectoryResult, Skill, SkillError,
    VerifiedFile,
};
use mcp_proto::types::{ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

use super::{Call, Client};

/// The most pages of a directory that are fetched.
const MAX_PAGES: usize = 100;

impl Client {
    /// Fetches the entries of all skills that the server lists. The server may have unlisted
    /// skills: see [`Client::get_skill`]. An invalid entry is left out and passed to
    /// [`Client::on_entry_rejected`]. No file is read.
    ///
    /// Fails with [`SkillCallError::Undeclared`] if the server has no skills.
    pub fn list_skills(
        &self,
    ) -> impl Future<Output = Result<ListSkillsResult, SkillCallError>> + Send + use<> {
        let client = self.clone();
        async move {
            client.skills_settings().await?;
            Ok(client.list().await?)
        }
    }

    /// Gets the current entry of a skill, listed or not, by the URI of its `SKILL.md`.
    ///
    /// Fails with [`SkillCallError::Undeclared`], and with [`SkillCallError::OtherResource`] if the
    /// entry is that of another skill.
    pub fn get_skill(
        &self,
        uri: &str,
    ) -> impl Future<Output = Result<Skill, SkillCallError>> + Send + use<> {
        let (client, uri) = (self.clone(), String::from(uri));
        async move {
            client.skills_settings().await?;
            let result: GetSkillResult = client.call("skills/get", &json!({ "uri": uri })).await?;
            if result.skill.uri() == uri {
                Ok(result.skill)
            } else {
                Err(SkillCallError::OtherResource { uri })
            }
        }
    }

    /// Loads a skill: reads its `SKILL.md` and checks the file against the entry. No other file is
    /// read. Get the user's consent before, if your policy requires it.
    ///
    /// ```
    /// # use mcp_service::{Client, SkillCallError};
    /// # async fn example(client: Client) -> Result<(), SkillCallError> {
    /// let skills = client.list_skills().await?.skills;
    /// for skill in skills.iter().filter(|skill| skill.name() == "refunds") {
    ///     let loaded = client.read_skill(skill).await?;
    ///     println!("{}", loaded.text());
    ///     let form = loaded.read("references/FORMS.md").await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`SkillCallError::Refused`] if the file differs from the entry, or if the entry
    /// lists no files. Fails with [`SkillCallError::OtherResource`] if the server returns another
    /// resource, or several.
    pub fn read_skill(
        &self,
        skill: &Skill,
    ) -> impl Future<Output = Result<LoadedSkill, SkillCallError>> + Send + use<> {
        let (client, skill) = (self.clone(), skill.clone());
        async move {
            let file = read(&client, &skill, skill.uri()).await?;
            Ok(LoadedSkill { client, skill, file })
        }
    }

    /// Fetches all children of a directory; directories among them have the media type
    /// `inode/directory`. The listing is current and may differ from the entry of a loaded skill.
    ///
    /// Fails with [`SkillCallError::Undeclared`] unless the server declares `directoryRead`, and
    /// with [`SkillCallError::TooManyPages`] beyond 100 pages.
    pub fn read_directory(
        &self,
        uri: &str,
    ) -> impl Future<Output = Result<Vec<Resource>, SkillCallError>> + Send + use<> {
        let (client, uri) = (self.clone(), String::from(uri));
        async move {
            if !skills::reads_directories(&client.skills_settings().await?) {
                return Err(SkillCallError::Undeclared);
            }
            let mut children = Vec::new();
            let mut params = json!({ "uri": uri });
            for _ in 0..MAX_PAGES {
                let page: ReadResourceDirectoryResult =
                    client.call("resources/directory/read", &params).await?;
                children.extend(page.resources);
                let Some(cursor) = page.next_cursor else { return Ok(children) };
                params = json!({ "uri": uri, "cursor": cursor });
            }
            Err(SkillCallError::TooManyPages)
        }
    }

    /// Waits for the connection, and returns the settings that the server declares for skills.
    async fn skills_settings(&self) -> Result<Json, SkillCallError> {
        let server = self.connected().await.map_err(CallError::Connect)?;
        server.extension(skills::ID).cloned().ok_or(SkillCallError::Undeclared)
    }
}

/// A skill whose `SKILL.md` was read and matches its entry. Its other files are read from the same
/// server.
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    client: Client,
    skill: Skill,
    file: VerifiedFile,
}

impl LoadedSkill {
    /// The entry that the skill was loaded from.
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// The text of `SKILL.md`, with its frontmatter. The text is untrusted input: name the server
    /// to the model.
    pub fn text(&self) -> &str {
        self.file.text().unwrap_or_default()
    }

    /// Reads a file of the skill, by its path in the skill's directory or by its URI, and checks it
    /// against the entry.
    ///
    /// Fails with [`SkillCallError::Refused`]. For a file that the entry does not list, no request
    /// is sent.
    pub fn read(
        &self,
        reference: &str,
    ) -> impl Future<Output = Result<VerifiedFile, SkillCallError>> + Send + use<> {
        let (client, skill) = (self.client.clone(), self.skill.clone());
        let listed = skill.resolve(reference).map(|file| file.uri.clone());
        async move { read(&client, &skill, &listed?).await }
    }
}

/// Reads a file and checks it against the entry. A file that differs and may be from the cache is
/// requested again: entries are never cached, so the skill may have been updated since.
async fn read(client: &Client, skill: &Skill, uri: &str) -> Result<VerifiedFile, SkillCallError> {
    // A file that the entry does not list is refused before any request.
    skill.resolve(uri)?;
    let (bytes, is_cacheable) = fetch(client.read_resource(uri), uri).await?;
    match skill.verify(uri, bytes) {
        Err(SkillError::SizeMismatch { .. } | SkillError::DigestMismatch { .. })
            if is_cacheable =>
        {
            let (bytes, _) = fetch(client.read_resource(uri).refresh(), uri).await?;
            Ok(skill.verify(uri, bytes)?)
        }
        verified => Ok(verified?),
    }
}

/// The bytes of a file, and whether they may be from the cache.
async fn fetch(
    call: Call<ReadResourceResult>,
    uri: &str,
) -> Result<(Vec<u8>, bool), SkillCallError> {
    let result = call.await?;
    let other = || SkillCallError::OtherResource { uri: uri.into() };
    let [contents] = &*result.contents else { return Err(other()) };
    if contents.uri() != uri {
        return Err(other());
    }
    let bytes = match contents {
        ResourceContents::Text(text) => text.text.as_bytes().to_vec(),
        ResourceContents::Blob(blob) => blob.bytes().map_err(|_| other())?,
    };
    Ok((bytes, result.ttl_ms.is_some_and(|ttl_ms| ttl_ms > 0)))
}

/// Errors of the calls for skills and their files.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SkillCallError {
    /// The server does not declare the extension, or the setting that the call needs.
    Undeclared,
    /// The call failed.
    Call(CallError),
    /// A file does not match the skill's entry. Do not use the file; get the entry again.
    Refused(SkillError),
    /// The server returned another resource or skill than the requested one.
    OtherResource {
        /// The requested URI.
        uri: String,
    },
    /// A directory has more than 100 pages.
    TooManyPages,
}

impl fmt::Display for SkillCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undeclared => f.write_str("the server does not declare skills, or directoryRead"),
            Self::Call(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
            Self::OtherResource { uri } => {
                write!(f, "the server answered with something else than {uri:?}")
            }
            Self::TooManyPages => write!(f, "the directory has more than {MAX_PAGES} pages"),
        }
    }
}

impl Error for SkillCallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Call(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::Undeclared | Self::OtherResource { .. } | Self::TooManyPages => None,
        }
    }
}

impl From<CallError> for SkillCallError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<SkillError> for SkillCallError {
    fn from(error: SkillError) -> Self {
        Self::Refused(error)
    }
}
