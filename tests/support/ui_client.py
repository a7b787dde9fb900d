"""A client that asks an ASGI application in this process, with cookies, and follows no redirect."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Client:
    def __init__(self, app: Any, base: str) -> None:
        self._app, self._base = app, base
        self._cookies = httpx.Cookies()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._request(method, path, options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        return self.request("PUT", path, **options)

    async def _request(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(
            transport=transport, base_url=self._base, cookies=self._cookies
        ) as client:
            answer = await client.request(method, path, **options)
            self._cookies = client.cookies
            return answer
