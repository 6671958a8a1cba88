//! The side of a transcript that speaks HTTP.

mod line;
mod player;
mod request;
mod response;
mod settings;

pub(super) use line::{Act, act, is_mark, is_report, sent};
pub(super) use player::Player;
pub(super) use settings::Settings;
