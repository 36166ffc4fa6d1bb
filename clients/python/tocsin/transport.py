"""How requests are sent."""

from __future__ import annotations

import asyncio
import math
import random
import re
import secrets
import ssl
import time
from contextvars import ContextVar

import httpx

from .errors import TocsinError

# The paths of the calls that send a real message each time, whatever their Idempotency-Key.
_CHANNEL_TEST = re.compile("/c/[^/]+/test/$")

# The paths of the calls that make no duplicates by themselves. Without an Idempotency-Key the service
# may do several of them together, and keeps no answer.
_ENROLLMENT = re.compile("/v1/user/[^/]+/(bulk/)?$|/a/[^/]+/register/$")

# The time, by time.monotonic(), at which the calls of a caller that waits must have ended. It
# bounds calls of synchronous code; asyncio.timeout bounds the others.
deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Repeats what failed for the moment, and raises what was refused; for synchronous and asynchronous calls."""

    def __init__(
        self,
        retries: int,
        first_pause: float,
        longest_pause: float,
        proxy: str | None = None,
        verify: bool | ssl.SSLContext = True,
    ) -> None:
        self._retries, self._first, self._longest = retries, first_pause, longest_pause
        self._proxy, self._verify = proxy, verify
        self._sync: httpx.HTTPTransport | None = None
        self._async: httpx.AsyncHTTPTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._sync = self._sync or httpx.HTTPTransport(verify=self._verify, proxy=self._proxy)
        _name(request)
        for attempt in range(self._retries + 1):
            _bound(request)
            try:
                response = self._sync.handle_request(request)
                if response.status_code < 300 or response.status_code == 304:
                    return response
                response.read()
                response.close()
                error: TocsinError | httpx.TransportError = TocsinError.of(response)
            except httpx.TransportError as e:
                error = e
            pause, left = self._pause(request, attempt, error), deadline.get() - time.monotonic()
            time.sleep(max(min(pause, left), 0))
            if pause >= left:
                raise error
        raise AssertionError("the last attempt returns or raises")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._async = self._async or httpx.AsyncHTTPTransport(verify=self._verify, proxy=self._proxy)
        _name(request)
        for attempt in range(self._retries + 1):
            try:
                response = await self._async.handle_async_request(request)
                if response.status_code < 300 or response.status_code == 304:
                    return response
                await response.aread()
                await response.aclose()
                error: TocsinError | httpx.TransportError = TocsinError.of(response)
            except httpx.TransportError as e:
                error = e
            await asyncio.sleep(self._pause(request, attempt, error))
        raise AssertionError("the last attempt returns or raises")

    def _pause(self, request: httpx.Request, attempt: int, error: TocsinError | httpx.TransportError) -> float:
        """How many seconds to wait before the next attempt; raises the error where there is none."""
        pause: float = min(self._first * 2**attempt, self._longest) * random.uniform(0.5, 1)
        if isinstance(error, TocsinError):
            if not error.temporary:
                raise error
            pause = max(pause, error.retry_after)
        # The service may have done a call whose answer is lost.
        lost = not isinstance(error, TocsinError) or error.status in (502, 504)
        if lost and request.method == "POST" and _CHANNEL_TEST.search(request.url.path):
            raise error
        if attempt == self._retries or pause > self._longest:
            raise error
        return pause

    def close(self) -> None:
        if self._sync:
            self._sync.close()

    async def aclose(self) -> None:
        if self._async:
            await self._async.aclose()


def _name(request: httpx.Request) -> None:
    """Gives all attempts of one call the same key, so that the service does it once, where it needs one for that."""
    if request.method != "POST" or _ENROLLMENT.search(request.url.path):
        return
    if "Idempotency-Key" not in request.headers:
        request.headers["Idempotency-Key"] = secrets.token_hex(16)


def _bound(request: httpx.Request) -> None:
    """Gives no step of an attempt more time than is left."""
    left = deadline.get() - time.monotonic()
    if left < math.inf:
        limits = request.extensions.get("timeout", {})
        steps = ("connect", "read", "write", "pool")
        given = {step: left if limits.get(step) is None else limits[step] for step in steps}
        request.extensions["timeout"] = {step: max(min(left, given[step]), 0.001) for step in steps}
