//! Changes of the server's lists and of a resource, as each era tells of them.

use rmcp::{
    model::{
        ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::Subscription,
};

use crate::steps::{Client, Outcome, expect, until};

pub enum Watch {
    /// The client's handler hears of everything.
    Legacy { uri: &'static str },
    /// The client's handler hears only of what the subscription does not take.
    Modern(Box<Subscription>),
}

impl Watch {
    pub async fn start(client: &Client, is_legacy: bool, uri: &'static str) -> Outcome<Self> {
        if is_legacy {
            client.subscribe(SubscribeRequestParams::new(uri)).await?;
            return Ok(Self::Legacy { uri });
        }
        let filter = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed()
            .resource_subscription(uri)
            .build();
        let subscription = client.listen(filter.clone()).await?;
        expect(subscription.acknowledged(), &filter)?;
        Ok(Self::Modern(Box::new(subscription)))
    }

    /// Waits for one change and nothing else.
    pub async fn expect_change(&mut self, client: &Client, name: &str) -> Outcome {
        match self {
            Self::Legacy { .. } => {
                until(|| !client.service().seen().changes.is_empty()).await;
                expect(client.service().seen().changes.drain(..).collect(), vec![name.to_owned()])
            }
            Self::Modern(subscription) => match subscription.next().await? {
                Some(ServerNotification::ToolListChangedNotification(_)) => {
                    expect("notifications/tools/list_changed", name)
                }
                Some(ServerNotification::PromptListChangedNotification(_)) => {
                    expect("notifications/prompts/list_changed", name)
                }
                Some(ServerNotification::ResourceUpdatedNotification(update)) => {
                    expect(update.params.uri.as_str(), name)
                }
                other => Err(format!("no change but {other:?}").into()),
            },
        }
    }

    pub async fn stop(self, client: &Client) -> Outcome {
        match self {
            Self::Legacy { uri } => client.unsubscribe(UnsubscribeRequestParams::new(uri)).await?,
            Self::Modern(mut subscription) => subscription.cancel().await?,
        }
        Ok(())
    }
}
