//! The side of a transcript that plays a client over HTTP.

mod line;
mod player;
mod request;
mod settings;

pub(super) use line::{Answer, came, input};
pub(super) use player::Player;
pub(super) use settings::Settings;
