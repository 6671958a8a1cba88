//! How far a request has come: servers tell it, clients hear of it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::Json;
use crate::json::write::List;
use crate::message::ProgressToken;

/// How far a request has come.
///
/// [Specification: Progress](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress)
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// In units of the handler's choice; must increase with every notification of a request.
    pub progress: f64,
    /// The value that means done, if it is known.
    pub total: Option<f64>,
    /// One sentence for a human.
    pub message: Option<String>,
}

impl Progress {
    /// As far as `progress`, of nobody knows how much.
    pub fn new(progress: impl Into<f64>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// Sets the value that means done.
    pub fn total(mut self, total: impl Into<f64>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// Sets the sentence for a human.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The `ProgressNotificationParams`.
    pub(crate) fn params(&self, token: &ProgressToken) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.member("progressToken", token.as_str().as_bytes());
        object.member("progress", number(self.progress).as_bytes());
        if let Some(total) = self.total.filter(|total| total.is_finite()) {
            object.member("total", number(total).as_bytes());
        }
        if let Some(message) = &self.message {
            object.text("message", message);
        }
        object.end();
        Json::trusted(out)
    }
}

/// Implements `From` for numbers that are an `f64` without loss.
macro_rules! from_number {
    ($($number:ty)*) => {$(
        impl From<$number> for Progress {
            fn from(progress: $number) -> Self {
                Self::new(progress)
            }
        }
    )*};
}

from_number!(f32 f64 u8 u16 u32 i32);

/// A finite number as JSON; whole ones without a fraction, as clients with integers expect.
fn number(value: f64) -> String {
    alloc::format!("{value}")
}
