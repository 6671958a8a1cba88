"""A server made with FastMCP: a tool with structured output, a resource, a template and a prompt."""

from fastmcp import FastMCP

server = FastMCP("calculator", version="1.0.0", instructions="Add numbers.")


@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.resource("numbers://pi")
def pi() -> str:
    """A number."""
    return "3.14"


@server.resource("numbers://{name}")
def number(name: str) -> str:
    """Any number."""
    return name


@server.prompt
def sum(numbers: str) -> str:
    """Asks for a sum."""
    return f"What is the sum of {numbers}?"


server.run(show_banner=False)
