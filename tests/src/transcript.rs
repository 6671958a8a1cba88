//! Golden conversations.
