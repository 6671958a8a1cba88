//! Faults of a connection, and how often which of them happens.
//!
//! In: a link's weather and its random numbers. Out: what the proxy does with a request.

use std::time::Duration;

use crate::random::Random;

/// The faults of a link for one storm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weather {
    /// No faults.
    Clear,
    /// All kinds of faults.
    Mixed,
    /// Mostly statuses of a gateway.
    Refusing,
    /// Mostly connections that break.
    Breaking,
    /// Mostly delays.
    Slow,
    /// Every answer that lasts is cut after a second or two, however quiet it is.
    Impatient,
}

/// Fault of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing.
    None,
    /// The request is forwarded later.
    Delay(Duration),
    /// The gateway answers with a status; the server never sees the request.
    Status(u16),
    /// The server gets the request, and the gateway answers in its place.
    StatusAfter(u16),
    /// The connection is reset; the server never sees the request.
    Refuse,
    /// The server gets the request, and the connection is reset before the answer.
    Lose,
    /// The answer is cut after this many bytes, by a reset or by an ordinary end.
    Cut { bytes: usize, resets: bool },
    /// The answer is cut after this time.
    Expire(Duration),
}

/// The weathers of a storm.
pub const STORMY: [Weather; 6] = [
    Weather::Mixed,
    Weather::Mixed,
    Weather::Refusing,
    Weather::Breaking,
    Weather::Slow,
    Weather::Impatient,
];

impl Weather {
    /// Draws what happens to the next request.
    pub fn draw(self, random: &mut Random) -> Fault {
        // Per cent of requests: delayed, refused by status, refused by reset, lost, cut, expired.
        let [delay, status, refuse, lose, cut, expire] = match self {
            Self::Clear => return Fault::None,
            Self::Mixed => [4, 5, 3, 3, 4, 4],
            Self::Refusing => [1, 25, 2, 1, 1, 1],
            Self::Breaking => [1, 2, 8, 8, 8, 4],
            Self::Slow => [15, 2, 1, 1, 1, 1],
            Self::Impatient => return Fault::Expire(random.millis(500, 2500)),
        };
        let mut drawn = random.below(100);
        let mut is = |percent| {
            let hit = drawn < percent;
            drawn = drawn.wrapping_sub(percent);
            hit
        };
        if is(delay) {
            // Some are longer than a client waits for the answer to a probe.
            Fault::Delay(if random.chance(15) {
                random.millis(4500, 7000)
            } else {
                random.millis(5, 800)
            })
        } else if is(status) {
            let status = *random.pick(&[502, 503, 503, 504]);
            if random.chance(30) { Fault::StatusAfter(status) } else { Fault::Status(status) }
        } else if is(refuse) {
            Fault::Refuse
        } else if is(lose) {
            Fault::Lose
        } else if is(cut) {
            Fault::Cut { bytes: random.below(600) as usize, resets: random.chance(50) }
        } else if is(expire) {
            Fault::Expire(random.millis(100, 3000))
        } else {
            Fault::None
        }
    }
}

impl Fault {
    /// The name of its kind, for the table.
    pub fn kind(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Delay(_) => "delayed",
            Self::Status(_) => "refused with a status",
            Self::StatusAfter(_) => "forwarded, refused with a status",
            Self::Refuse => "reset before the server",
            Self::Lose => "forwarded, reset",
            Self::Cut { .. } => "answer cut after bytes",
            Self::Expire(_) => "answer cut after a time",
        }
    }
}
