//! Decision table for the steps of discovery: the next step after an answer.
//!
//! In: the [`MetadataQuestion`], the [`MetadataAnswer`], and whether an earlier URL was
//! unavailable. Out: a [`DiscoveryStep`]. `docs/tables.md` shows [`TABLE`]; a test walks every
//! combination.
//!
//! Invalid metadata at the URL of a challenge is a failure; no other URL is tried. Otherwise
//! somebody who can spoil this metadata could direct the client to another authorization server.

use crate::decision_table::{Cells, Column, Set, Table, row};

/// A question of discovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataQuestion {
    /// Metadata of the server, at the URL of the challenge.
    NamedResource,
    /// Metadata of the server, at the well-known URL with its path.
    PathResource,
    /// Metadata of the server, at the root.
    RootResource,
    /// Metadata of the issuer, at a well-known URL that is not the last one to try.
    Issuer,
    /// Metadata of the issuer, at the last well-known URL.
    LastIssuer,
    /// Metadata of an authorization server at the origin of the server, as in 2025-03-26.
    OriginIssuer,
}

/// An answer to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataAnswer {
    /// A status from 200 to 299 and a document with the required members, of any media type.
    Document,
    /// A status from 400 to 499, including 401 and 403, except 429.
    Missing,
    /// A status from 200 to 299 without a usable document.
    Unusable,
    /// A redirect that is not followed, or any other status.
    Elsewhere,
    /// A status from 500 on, 429, no answer in time, or no connection.
    Unavailable,
    /// The document of another resource or issuer.
    Contradicts,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiscoveryStep {
    /// Ask for the metadata of the issuer.
    AskIssuer,
    /// Ask for the metadata of the server at the root.
    AskRoot,
    /// Ask for metadata at the origin of the server.
    AskOrigin,
    /// Ask at the next URL of the issuer.
    AskNext,
    /// Choose the registration of the client: a configured one, a metadata document, or a new one.
    ChooseClient,
    /// Use `/authorize`, `/token` and `/register`, if the configuration guesses endpoints;
    /// otherwise fail.
    Guess,
    /// Fail: the metadata describes another resource.
    FailResource,
    /// Fail: the metadata that the challenge names could not be fetched.
    FailNamed,
    /// Fail: the metadata describes another issuer.
    FailIssuer,
    /// Fail: no URL has metadata of the issuer.
    FailNoIssuer,
    /// Fail: a URL does not answer.
    FailUnavailable,
}

impl Column for MetadataQuestion {
    const ALL: Set<Self> = &[
        Self::NamedResource,
        Self::PathResource,
        Self::RootResource,
        Self::Issuer,
        Self::LastIssuer,
        Self::OriginIssuer,
    ];
}

impl Column for MetadataAnswer {
    const ALL: Set<Self> = &[
        Self::Document,
        Self::Missing,
        Self::Unusable,
        Self::Elsewhere,
        Self::Unavailable,
        Self::Contradicts,
    ];
}

impl Cells for DiscoveryStep {}

type DiscoveryCase = (Set<MetadataQuestion>, Set<MetadataAnswer>, Set<bool>);

use MetadataAnswer::{Contradicts, Document, Elsewhere, Missing, Unavailable, Unusable};
use MetadataQuestion::{
    Issuer, LastIssuer, NamedResource, OriginIssuer, PathResource, RootResource,
};

const RESOURCES: Set<MetadataQuestion> = &[NamedResource, PathResource, RootResource];
const ISSUERS: Set<MetadataQuestion> = &[Issuer, LastIssuer, OriginIssuer];
const ABSENT: Set<MetadataAnswer> = &[Missing, Unusable, Elsewhere];
const ANY: Set<bool> = bool::ALL;

/// The table; the first row that matches decides.
pub const TABLE: Table<DiscoveryCase, DiscoveryStep> = Table::new(
    &["question", "found", "earlier place unavailable", "next"],
    &[
        row("resource", (RESOURCES, &[Document], ANY), DiscoveryStep::AskIssuer),
        row("resource-of-another", (RESOURCES, &[Contradicts], ANY), DiscoveryStep::FailResource),
        row(
            "named-resource",
            (&[NamedResource], &[Missing, Unusable, Elsewhere, Unavailable], ANY),
            DiscoveryStep::FailNamed,
        ),
        row(
            "resource-unavailable",
            (RESOURCES, &[Unavailable], ANY),
            DiscoveryStep::FailUnavailable,
        ),
        row("resource-at-root", (&[PathResource], ABSENT, ANY), DiscoveryStep::AskRoot),
        row("no-resource", (&[RootResource], ABSENT, ANY), DiscoveryStep::AskOrigin),
        row("issuer", (ISSUERS, &[Document], ANY), DiscoveryStep::ChooseClient),
        row("issuer-of-another", (ISSUERS, &[Contradicts], ANY), DiscoveryStep::FailIssuer),
        row(
            "issuer-elsewhere",
            (&[Issuer], &[Missing, Unusable, Elsewhere, Unavailable], ANY),
            DiscoveryStep::AskNext,
        ),
        row("issuer-unavailable", (ISSUERS, &[Unavailable], ANY), DiscoveryStep::FailUnavailable),
        row(
            "earlier-unavailable",
            (&[LastIssuer], ABSENT, &[true]),
            DiscoveryStep::FailUnavailable,
        ),
        row("no-issuer", (&[LastIssuer], ABSENT, &[false]), DiscoveryStep::FailNoIssuer),
        row("endpoints", (&[OriginIssuer], ABSENT, ANY), DiscoveryStep::Guess),
    ],
);
