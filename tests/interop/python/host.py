"""What stands around a client: a user, a model and a workspace, and a log of what the server says.

Both SDKs take the methods of `Host` as their callbacks, and give the same names to the same types.
"""

import logging
from typing import Any

from mcp import types
from pydantic import BaseModel

ROOT = "file:///home/user/project"
MODEL_TEXT = "It is Paris."


class Host:
    def __init__(self) -> None:
        self.asked: list[str] = []
        """The methods of the server's requests, as they came."""
        self.action = "accept"
        """What the user does with every form."""
        self.logs: list[dict[str, Any]] = []
        """The params of every log message."""
        self.changes: list[str] = []
        """The method of every changed list, the URI of every updated resource."""
        self.faults: list[str] = []
        """What the SDK could not place: a line that is no message, an answer to no request."""
        logging.basicConfig(handlers=[logging.StreamHandler(), _Logged(self.faults)])

    async def elicit(self, context: Any, params: BaseModel) -> types.ElicitResult:
        self.asked.append("elicitation/create")
        if self.action != "accept":
            return types.ElicitResult(action=self.action)
        fields = wire(params)["requestedSchema"]["properties"]
        return types.ElicitResult(action="accept", content={name: f"my {name}" for name in fields})

    async def sample(self, context: Any, params: BaseModel) -> types.CreateMessageResult:
        self.asked.append("sampling/createMessage")
        text = types.TextContent(type="text", text=MODEL_TEXT)
        return types.CreateMessageResult(role="assistant", model="model", content=text)

    async def list_roots(self, context: Any) -> types.ListRootsResult:
        self.asked.append("roots/list")
        return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="project")])

    async def log(self, params: BaseModel) -> None:
        self.logs.append(wire(params))

    async def notice(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.faults.append(repr(message))
        elif isinstance(message, BaseModel):
            self._notice_change(**wire(message))

    def _notice_change(self, method: str, params: dict[str, Any] | None = None, **_: Any) -> None:
        if method == "notifications/resources/updated":
            self.changes.append(params["uri"])
        elif method.endswith("/list_changed"):
            self.changes.append(method)


class _Logged(logging.Handler):
    """The SDKs only log what they drop."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__()
        self.faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.exc_info and (kind := record.exc_info[0]):
            message += f": {kind.__name__}"
        self.faults.append(message)


def wire(model: BaseModel) -> dict[str, Any]:
    """What the server said, by the names of the specification: the SDKs differ in those of their fields."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
