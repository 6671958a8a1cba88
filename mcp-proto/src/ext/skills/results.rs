//! The results of the extension's methods.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Skill;
use crate::json::Json;
use crate::types::{CacheScope, Resource, ResultType, ttl_ms};

/// The result of `skills/list`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The skills of this page. An empty list does not mean that there are none: a server need not
    /// list all of its skills.
    pub skills: Vec<Skill>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The milliseconds for which the result is fresh; 0 means never.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the caches that may store the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `skills/get`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The skill.
    pub skill: Skill,
    /// The milliseconds for which the result is fresh; 0 means never.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the caches that may store the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl GetSkillResult {
    /// A result with this skill.
    pub fn new(skill: Skill) -> Self {
        Self { result_type: None, skill, ttl_ms: None, cache_scope: None, meta: None }
    }
}

/// The result of `resources/directory/read`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceDirectoryResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The children of the directory on this page; directories among them have the media type
    /// `inode/directory`.
    pub resources: Vec<Resource>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}
