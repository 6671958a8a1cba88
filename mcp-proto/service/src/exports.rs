//! Names that every adapter exports at its root, so that applications only depend on the adapter.

pub use mcp_proto;
pub use mcp_proto::client::{
    CacheConfig, CacheLimits, CallError, CallOptions, Config as ClientConfig, ConnectError,
    Negotiation, Restart, ServerInfo, Verdict,
};
pub use mcp_proto::ext;
pub use mcp_proto::headers::PlanError;
pub use mcp_proto::http::{
    Authorization, Config as HttpConfig, ProxyNetwork, RouteResponse, Sessions, Url, UrlError,
};
pub use mcp_proto::resource_server::{
    ClaimRules, Claims, ProtectedResource, Scopes, TokenRefusal, VerifiedToken, Verifier,
};
pub use mcp_proto::server::task::TaskId;
pub use mcp_proto::server::{
    Cacheable, Change, Config, Extensions, InputRequired, List, ListEntry, Outcome, Peer, Progress,
};
pub use mcp_proto::types;
pub use mcp_proto::types::{CallToolResult, ContentBlock, Implementation, Tool, ToolAnnotations};
pub use mcp_proto::{
    Era, EraPolicy, ErrorCode, ErrorData, Json, Limits, ProtocolError, ProtocolVersion,
    TraceContext, UsageError,
};

pub use crate::runtime::BridgeTarget;

#[cfg(feature = "proxy")]
pub use crate::Proxies;
#[cfg(feature = "schemars")]
pub use crate::Structured;
#[cfg(feature = "auth")]
pub use crate::auth;
pub use crate::schema;
#[cfg(feature = "testing")]
pub use crate::testing;
pub use crate::{
    Bridge, BridgeConfig, Call, Catalog, Client, CloseCause, Closed, Command, ConnectFailure,
    Context, Handler, HandlerKind, HandlerRequest, HttpClientConfig, InheritedEnv, Interrupt,
    IntoAnswer, IntoInterrupt, IntoResult, IntoToolError, IntoToolResult, MemoryStore,
    MissingScopes, NewTask, Next, Registry, RemoteTask, RemoteTools, RemoteToolsError,
    ResponseCache, Session, SessionError, Sharing, Started, StateHandler, Stderr, StoreError,
    StoreFuture, Subscription, TaskConfig, TaskError, TaskHost, TaskManager, TaskStore,
    TaskWatcher, Tasks, WithState, limit_concurrency, limit_rate,
};
#[cfg(feature = "jwt")]
pub use crate::{JwtAlgorithm, JwtVerifier, KeySource};
#[cfg(feature = "skills")]
pub use crate::{LoadedSkill, SkillCallError, read_skill_folder};

/// Exports the items behind features once more, by name, in the root of an adapter. A program that
/// misses such an item then gets the name of the feature from the compiler.
#[doc(hidden)]
#[macro_export]
macro_rules! export_behind_features {
    () => {
        #[cfg(feature = "proxy")]
        #[doc(inline)]
        pub use $crate::exports::Proxies;
        #[cfg(feature = "auth")]
        #[doc(inline)]
        pub use $crate::exports::auth;
        #[cfg(feature = "testing")]
        #[doc(inline)]
        pub use $crate::exports::testing;
        #[cfg(feature = "jwt")]
        #[doc(inline)]
        pub use $crate::exports::{JwtAlgorithm, JwtVerifier, KeySource};
        #[cfg(feature = "skills")]
        #[doc(inline)]
        pub use $crate::exports::{LoadedSkill, SkillCallError, read_skill_folder};
    };
}
