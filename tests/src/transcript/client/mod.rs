//! The side of a transcript that plays a client.

mod act;
mod app;
mod player;
mod settings;
mod show;

pub(super) use act::{Act, act};
pub(super) use app::{Application, refused};
pub(super) use player::Player;
pub(super) use settings::Settings;
