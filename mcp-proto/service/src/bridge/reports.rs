//! Callbacks of the application of a bridge.
//!
//! In: functions; failures, and connections to the server. Out: calls of the functions, for
//! failures, and for faults and lines of the connections.

use alloc::sync::Arc;
use std::io;

use crate::Client;
use crate::lock::Lock;
use crate::panics::call_back;
use mcp_proto::ProtocolError;

type ReportFn<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// The functions of the application.
#[derive(Default)]
struct ReportFns {
    failure: Option<ReportFn<io::Error>>,
    fault: Option<ReportFn<ProtocolError>>,
    wire: Option<ReportFn<str>>,
}

/// The reports of a bridge to its application. Clones share the functions.
#[derive(Clone, Default)]
pub(crate) struct Reports(Arc<Lock<ReportFns>>);

impl Reports {
    /// Sets the function for connections that could not be opened, or have ended.
    pub(super) fn on_failure(&self, f: impl Fn(&io::Error) + Send + Sync + 'static) {
        let before = self.0.lock().failure.replace(Arc::new(f));
        // It is dropped without the lock, since it is the application's.
        drop(before);
    }

    /// Sets the function for protocol errors of the server.
    pub(super) fn on_fault(&self, f: impl Fn(&ProtocolError) + Send + Sync + 'static) {
        let before = self.0.lock().fault.replace(Arc::new(f));
        drop(before);
    }

    /// Sets the function for the lines of the conversations on later connections.
    pub(super) fn on_wire(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        let before = self.0.lock().wire.replace(Arc::new(f));
        drop(before);
    }

    /// Reports a failure, if there is a function for it. A panic is ignored.
    pub(crate) fn report_failure(&self, error: &io::Error) {
        let callback = self.0.lock().failure.clone();
        call_back(callback, |f| f(error));
    }

    /// Reports the faults and the lines of a new connection.
    pub(super) fn watch(&self, client: &Client) {
        let reports = self.clone();
        client.on_fault(move |error| {
            let callback = reports.0.lock().fault.clone();
            if let Some(f) = callback {
                f(error);
            }
        });
        let wire = self.0.lock().wire.clone();
        if let Some(wire) = wire {
            client.on_wire(move |line| wire(line));
        }
    }
}
