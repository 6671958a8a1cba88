//! Requests for input in handlers, with `?`.
//!
//! A handler that needs input runs from its beginning in each round. A request returns at once if
//! the client has answered it, in this round or an earlier one: the `requestState` carries the
//! answers of earlier rounds. All answers are untrusted input of the client.

use alloc::string::String;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::lock::Lock;
use super::{Context, Interrupt};
use mcp_proto::Era;
use mcp_proto::ErrorData;
use mcp_proto::Json;
#[cfg(feature = "request-state")]
use mcp_proto::request_state::StateBinding;
use mcp_proto::server::{Input, InputRequired};
use mcp_proto::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    InputRequest, InputRequests, InputResponses, ListRootsResult,
};

/// A round with answers of the client.
#[derive(Debug)]
pub(super) struct Round {
    input: Input,
    /// Requests of the handler that have an answer in this round.
    answered: Lock<InputRequests>,
}

/// The content of the `requestState`: the answers of earlier rounds.
#[derive(Serialize, Deserialize)]
struct CarriedAnswers {
    answers: InputResponses,
}

impl Context {
    /// Requests input from the user. `key` identifies the request among those of this handler, and
    /// its answer: the same key returns the same answer wherever the handler asks. To ask again
    /// after an unusable answer, use another key (`name-2`). Two different requests with one key
    /// are answered with -32603.
    ///
    /// Returns the answer if there is one. Otherwise it fails with an [`Interrupt`], which the
    /// handler must return; the handler is called again once the client has answered. So code
    /// before this call runs again, and must be safe to repeat. This uses the `requestState`: a
    /// handler with its own state returns an [`InputRequired`] itself.
    ///
    /// ```
    /// # use mcp_service::{Context, Interrupt};
    /// # use mcp_proto::types::{ElicitAction, ElicitRequestFormParams, RequestedSchema};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Remove { path: String }
    /// async fn remove(remove: Remove, context: Context) -> Result<String, Interrupt> {
    ///     let question = format!("Remove {}?", remove.path);
    ///     let form = ElicitRequestFormParams::new(question, RequestedSchema::new());
    ///     let answer = context.elicit("sure", form)?;
    ///     Ok(match answer.action {
    ///         ElicitAction::Accept => "removed".into(),
    ///         _ => "kept".into(),
    ///     })
    /// }
    /// ```
    ///
    /// The client must declare the capability: see [`Peer::capabilities`](mcp_proto::server::Peer).
    /// Otherwise a modern client gets error -32021, a legacy client -32603. An answer of another
    /// type than the request also ends the handler with an [`Interrupt`]: the error -32602 for a
    /// modern client, -32603 for a legacy client.
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)
    pub fn elicit(
        &self,
        key: &str,
        params: impl Into<ElicitRequestParams>,
    ) -> Result<ElicitResult, Interrupt> {
        self.ask_one(key, || InputRequest::Elicit(params.into()))
    }

    /// Requests a message of the client's model; see [`Context::elicit`].
    ///
    /// [Specification: Sampling](https://modelcontextprotocol.io/specification/2026-07-28/client/sampling)
    pub fn create_message(
        &self,
        key: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Interrupt> {
        self.ask_one(key, || params.into())
    }

    /// Requests the client's roots; see [`Context::elicit`].
    ///
    /// [Specification: Roots](https://modelcontextprotocol.io/specification/2026-07-28/client/roots)
    pub fn list_roots(&self, key: &str) -> Result<ListRootsResult, Interrupt> {
        self.ask_one(key, InputRequest::list_roots)
    }

    /// Requests several inputs at once; see [`Context::elicit`]. Returns the answers, including
    /// those of earlier rounds, if none is missing.
    pub fn ask(&self, requests: InputRequests) -> Result<InputResponses, Interrupt> {
        let answers = self.answers()?;
        let forms = self.call.checks.forms(&requests);
        let (answered, requests): (InputRequests, InputRequests) =
            requests.into_iter().partition(|(key, _)| answers.contains_key(key));
        if let Some(round) = &self.call.round {
            round.record(answered)?;
        }
        forms.check(&answers, self)?;
        if requests.is_empty() {
            return Ok(answers);
        }
        let state = if answers.is_empty() { None } else { Some(encode_answers(answers)?) };
        let mut required = InputRequired::default();
        (required.requests, required.state) = (requests, state);
        Err(required.into())
    }

    /// The client's input of this round; `None` in the first.
    pub fn input(&self) -> Option<&Input> {
        self.call.round.as_deref().map(|round| &round.input)
    }

    /// The binding of a sealed `requestState` to the method and parameters of this request; add the
    /// principal if there is one. `None` if the return type of the handler cannot request input.
    ///
    /// ```
    /// # use mcp_service::{Context, Interrupt};
    /// # use mcp_proto::server::InputRequired;
    /// # use mcp_proto::types::{ElicitRequestFormParams, RequestedSchema};
    /// # use mcp_proto::request_state::RequestStateCodec;
    /// # use mcp_proto::{ErrorData, UsageError};
    /// # use std::time::Duration;
    /// fn pay(
    ///     codec: &RequestStateCodec,
    ///     now: Duration,
    ///     nonce: [u8; 16],
    ///     context: &Context,
    /// ) -> Result<String, Interrupt> {
    ///     let binding = context.binding().ok_or_else(|| ErrorData::internal("it asks"))?;
    ///     if let Some(state) = context.input().and_then(|input| input.state.as_deref()) {
    ///         let order = codec.verify(now, &binding, state).map_err(ErrorData::from)?;
    ///         return Ok(format!("{} bytes of an order of ours", order.payload.len()));
    ///     }
    ///     let state = codec.mint(now, nonce, &binding, b"order 7");
    ///     let form = ElicitRequestFormParams::new("Pay?", RequestedSchema::new());
    ///     let required = InputRequired::new("pay", form);
    ///     Err(required.state(state.map_err(|_| ErrorData::internal("too long"))?).into())
    /// }
    /// ```
    #[cfg(feature = "request-state")]
    pub fn binding(&self) -> Option<StateBinding> {
        let params = self.call.params.as_ref()?;
        Some(StateBinding::new(self.method(), params))
    }

    fn ask_one<T: DeserializeOwned>(
        &self,
        key: &str,
        request: impl FnOnce() -> InputRequest,
    ) -> Result<T, Interrupt> {
        let mut requests = InputRequests::new();
        requests.insert(key.into(), request());
        let mut answers = self.ask(requests)?;
        let answer = answers.remove(key).and_then(|answer| answer.json().decode_lossy().ok());
        answer.ok_or_else(|| {
            let message = alloc::format!("the input `{key}` is no answer to what was asked");
            // A modern client has sent the input in its parameters.
            match self.peer().version.era() {
                Era::Legacy => ErrorData::internal(message).into(),
                Era::Modern => ErrorData::invalid_params(message).into(),
            }
        })
    }

    /// The answers of all rounds.
    fn answers(&self) -> Result<InputResponses, Interrupt> {
        let Some(Input { responses, state, .. }) = self.input() else {
            return Ok(InputResponses::new());
        };
        let mut answers = match state {
            None => InputResponses::new(),
            Some(state) => {
                let carried = Json::parse(state.clone()).ok().and_then(|state| state.decode().ok());
                let Some(CarriedAnswers { answers }) = carried else {
                    return Err(ErrorData::invalid_params("the `requestState` is not ours").into());
                };
                answers
            }
        };
        answers.extend(responses.clone());
        Ok(answers)
    }
}

impl Round {
    pub(super) fn new(input: Input) -> Self {
        Self { input, answered: Lock::new(InputRequests::new()) }
    }

    /// Fails if the handler has made another request with one of these keys, since both would get
    /// the same answer.
    fn record(&self, requests: InputRequests) -> Result<(), Interrupt> {
        let mut answered = self.answered.lock();
        for (key, request) in requests {
            if answered.get(&key).is_some_and(|first| *first != request) {
                let message = alloc::format!(
                    "the handler asks two questions with the key `{key}`: each needs one of its own"
                );
                return Err(ErrorData::internal(message).into());
            }
            answered.insert(key, request);
        }
        Ok(())
    }
}

fn encode_answers(answers: InputResponses) -> Result<String, Interrupt> {
    let state = Json::encode(&CarriedAnswers { answers });
    let state = state.map_err(|_| ErrorData::internal("the answers cannot be written as JSON"))?;
    Ok(state.as_str().into())
}
