//! The skills of a server, and the answers to the extension's methods.
//!
//! In: skills, and the parameters of a request. Out: pages of the list, entries, children of
//! directories; `None` for the error -32602.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use super::files::name_of;
use super::{
    DIRECTORY_MIME_TYPE, ListSkillsResult, ReadResourceDirectoryResult, SKILL_FILE, Skill,
    SkillFiles,
};
use crate::error::UsageError;
use crate::types::Resource;

/// The maximum number of skills on a page: an entry has up to 512 files.
const SKILLS_PER_PAGE: usize = 20;

/// The maximum number of children of a directory on a page.
const CHILDREN_PER_PAGE: usize = 200;

/// The skills that a server serves, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct SkillCatalog {
    skills: Vec<Arc<SkillFiles>>,
    /// The same skills, by the URIs of their `SKILL.md`.
    by_uri: BTreeMap<String, Arc<SkillFiles>>,
    /// All files by URI, with the number of skills that contain them: skills may be nested.
    files: BTreeMap<String, (Resource, usize)>,
}

impl SkillCatalog {
    /// Adds a skill, and returns the resources that are new.
    ///
    /// A skill inside the directory of another skill is a part of the other skill: "the enclosing
    /// skill's `resources` lists them too".
    ///
    /// On an error nothing is added. Fails with [`UsageError::NestedSkill`] if the enclosing skill
    /// lists one of the files differently or not at all. Fails with [`UsageError::Duplicate`] if
    /// the catalog has a skill with this URI.
    pub fn add(&mut self, skill: Arc<SkillFiles>) -> Result<Vec<Resource>, UsageError> {
        let entry = skill.skill();
        if self.get(entry.uri()).is_some() {
            return Err(UsageError::Duplicate { kind: "skill", name: entry.uri().into() });
        }
        self.check_nestings(entry)?;
        let mut added = Vec::new();
        for resource in skill.resources() {
            let file = self.files.entry(resource.uri.clone());
            let (_, skills) = file.or_insert_with(|| {
                added.push(resource.clone());
                (resource, 0)
            });
            *skills += 1;
        }
        self.by_uri.insert(skill.skill().uri().into(), skill.clone());
        self.skills.push(skill);
        Ok(added)
    }

    /// Checks a skill that is added, with the skills around it and within it. The URIs of the
    /// latter are neighbours in the map.
    fn check_nestings(&self, entry: &Skill) -> Result<(), UsageError> {
        let directory = entry.directory();
        let outer = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
        for outer in outer.filter_map(|outer| self.get(&alloc::format!("{outer}/{SKILL_FILE}"))) {
            check_nesting(entry, outer)?;
        }
        let prefix = alloc::format!("{directory}/");
        let inner = self.by_uri.range(prefix.clone()..);
        for (_, inner) in inner.take_while(|(uri, _)| uri.starts_with(&*prefix)) {
            check_nesting(inner.skill(), entry)?;
        }
        Ok(())
    }

    /// Removes a skill, and returns the URIs of the files that no other skill contains.
    pub fn remove(&mut self, uri: &str) -> Option<Vec<String>> {
        let skill = self.by_uri.remove(uri)?;
        self.skills.retain(|other| !Arc::ptr_eq(other, &skill));
        let mut removed = Vec::new();
        for file in skill.skill().files().unwrap_or_default() {
            if let Some((_, skills)) = self.files.get_mut(&file.uri) {
                *skills -= 1;
                if *skills == 0 {
                    self.files.remove(&file.uri);
                    removed.push(file.uri.clone());
                }
            }
        }
        Some(removed)
    }

    /// The skills whose `SKILL.md` may be read, and the files that may be read, by their URIs.
    pub(crate) fn offered(&self, may_read: impl Fn(&str) -> bool) -> Self {
        let skills = self.skills.iter().filter(|files| may_read(files.skill().uri()));
        let skills: Vec<Arc<SkillFiles>> = skills.cloned().collect();
        let by_uri = skills.iter().map(|files| (files.skill().uri().into(), files.clone()));
        let files = self.files.iter().filter(|(uri, _)| may_read(uri));
        Self {
            by_uri: by_uri.collect(),
            files: files.map(|(uri, file)| (uri.clone(), file.clone())).collect(),
            skills,
        }
    }

    /// The entry of the skill whose `SKILL.md` has this URI.
    pub fn get(&self, uri: &str) -> Option<&Skill> {
        self.by_uri.get(uri).map(|files| files.skill())
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// A page of all entries; `None` for an invalid cursor.
    pub fn list(&self, cursor: Option<&str>) -> Option<ListSkillsResult> {
        let (page, next_cursor) = page(&self.skills, cursor, SKILLS_PER_PAGE)?;
        let skills = page.iter().map(|files| files.skill().clone()).collect();
        Some(ListSkillsResult {
            result_type: None,
            skills,
            next_cursor,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
        })
    }

    /// A page of the children of a directory, ordered by URI; `None` for an unknown directory or an
    /// invalid cursor.
    pub fn directory(
        &self,
        uri: &str,
        cursor: Option<&str>,
    ) -> Option<ReadResourceDirectoryResult> {
        let children = self.children(uri)?;
        let (page, next_cursor) = page(&children, cursor, CHILDREN_PER_PAGE)?;
        let resources = page.to_vec();
        Some(ReadResourceDirectoryResult { result_type: None, resources, next_cursor, meta: None })
    }

    /// The children of a directory. The files within a child are neighbours in the map, so that one
    /// step skips them all.
    fn children(&self, directory: &str) -> Option<Vec<Resource>> {
        // A scheme alone is not a directory, and the URI of a directory has no slash at its end.
        if directory.ends_with(['/', ':']) || !directory.contains("://") {
            return None;
        }
        let prefix = alloc::format!("{directory}/");
        let mut children = Vec::new();
        let mut from = Bound::Excluded(prefix.clone());
        while let Some((uri, (resource, _))) = self.files.range((from, Bound::Unbounded)).next() {
            let Some(path) = uri.strip_prefix(&*prefix) else { break };
            from = match path.split_once('/') {
                None => {
                    children.push(resource.clone());
                    Bound::Excluded(uri.clone())
                }
                Some((name, _)) => {
                    let child = alloc::format!("{prefix}{name}");
                    // `0` is the character after `/`, so this comes after all files of the child.
                    let after = alloc::format!("{child}0");
                    let directory = Resource::new(&*child, name_of(&child));
                    children.push(directory.mime_type(DIRECTORY_MIME_TYPE));
                    Bound::Included(after)
                }
            };
        }
        (!children.is_empty()).then_some(children)
    }
}

/// Fails if `inner` is within the directory of `outer`, and `outer` lists one of its files
/// differently or not at all.
fn check_nesting(inner: &Skill, outer: &Skill) -> Result<(), UsageError> {
    let is_within =
        inner.directory().strip_prefix(outer.directory()).is_some_and(|rest| rest.starts_with('/'));
    if !is_within {
        return Ok(());
    }
    let has = |file| outer.files().unwrap_or_default().contains(file);
    match inner.files().unwrap_or_default().iter().find(|file| !has(file)) {
        Some(file) => {
            let (file, enclosing) = (file.uri.clone(), outer.uri().into());
            Err(UsageError::NestedSkill { file, enclosing })
        }
        None => Ok(()),
    }
}

/// A page of a list, and the cursor of the next page: the number of entries before it, in decimal.
fn page<'a, T>(
    list: &'a [T],
    cursor: Option<&str>,
    size: usize,
) -> Option<(&'a [T], Option<String>)> {
    let before = match cursor {
        None | Some("") => 0,
        Some(digits) => {
            let number: usize = digits.parse().ok()?;
            let is_cursor = number > 0
                && number < list.len()
                && number.is_multiple_of(size)
                && digits == alloc::format!("{number}");
            is_cursor.then_some(number)?
        }
    };
    let rest = list.get(before..)?;
    let (page, rest) = rest.split_at_checked(size).unwrap_or((rest, &[]));
    let next = (!rest.is_empty()).then(|| alloc::format!("{}", before + size));
    Some((page, next))
}
