"""A streaming route for FastAPI, Starlette and every ASGI server: the answer goes to the client as it
comes, and the thought does not.

    MODEL_SERVER=http://localhost:11434 uvicorn route:app

With FastAPI, ``StreamingResponse(answer(body))`` is all that a route needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any, AsyncIterator, Iterator

import sotto.providers


def events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the model server streams. An SDK gives the same as objects."""
    url = os.environ["MODEL_SERVER"] + "/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps({**body, "stream": True}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        for line in response:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield json.loads(data)


async def in_a_thread(items: Iterator[Any]) -> AsyncIterator[Any]:
    done = object()
    while (item := await asyncio.to_thread(next, items, done)) is not done:
        yield item


async def answer(body: dict[str, Any]) -> AsyncIterator[str]:
    """The visible text of the reply to a request."""
    body = {**body, "messages": sotto.for_next_prompt(body["messages"], body["model"])}
    async for d in sotto.providers.openai_async(in_a_thread(events(body)), model=body["model"]):
        if isinstance(d, sotto.Text):
            yield d.text


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The same as an ASGI application without a framework."""
    if scope["type"] != "http":
        return
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain; charset=utf-8")]})
    async for text in answer(json.loads(b"".join(parts))):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
    await send({"type": "http.response.body"})
