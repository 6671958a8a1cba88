//! Code that all tests share.

pub mod auth_site;
pub mod base64;
pub mod bridge;
#[cfg(unix)]
pub mod children;
pub mod compatibility;
pub mod conformance;
pub mod everything;
pub mod examples;
pub mod fuzz;
pub mod http;
pub mod http_client;
#[cfg(unix)]
pub mod interop;
pub mod key_source;
mod outside;
pub mod pause;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod runtimes;
pub mod scripted;
pub mod spec;
pub mod stdio_client;
pub mod transcript;
pub mod wrapped_service;
