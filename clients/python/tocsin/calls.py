"""What is done with the generated calls."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from .errors import wait_error
from .generated import AuthenticatedClient
from .generated.api.events import get_occurrence, trigger_event
from .generated.models import Occurrence, OccurrenceState, Trigger, Triggered
from .generated.types import UNSET, Unset
from .transport import Transport, deadline

T = TypeVar("T")

PAGE_SIZE = 500

# The first pause between two polls, in seconds. With less time left, no poll follows.
_SHORTEST_PAUSE = 0.05

# The least time for the first poll, in seconds, so that the occurrence is read once.
_FIRST_POLL = 1.0


def connect(
    url: str,
    key: str,
    *,
    retries: int = 4,
    first_pause: float = 0.25,
    longest_pause: float = 60,
    timeout: float = 30,
    proxy: str | None = None,
    verify: bool | str | ssl.SSLContext = True,
) -> AuthenticatedClient:
    """Returns a client of the service at a URL, such as https://tocsin.example.org, for the calls of ``tocsin.generated.api``.

    A redirect and an answer of 400 or more are raised as a TocsinError. A call is repeated ``retries`` times; the first pause doubles each time, and a pause longer
    than the longest that the service asks for is not waited for. Times are in seconds.

    ``proxy`` is the URL of an HTTP proxy; "" is none, and without one HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY of the environment count. ``verify`` is a file
    with the authorities whose certificates are trusted, or a context; without one they are those of SSL_CERT_FILE or SSL_CERT_DIR, or of the package certifi. False
    trusts anybody.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ValueError("the URL of the service must begin with http:// or https://")
    if not key.strip():
        raise ValueError("a key is required")
    if proxy is None:
        proxy = _proxy_of(url)
    if isinstance(verify, str):
        verify = ssl.create_default_context(cafile=verify)
    transport = Transport(retries, first_pause, longest_pause, proxy or None, verify)
    return AuthenticatedClient(
        base_url=url,
        token=key.strip(),
        prefix="Key",
        timeout=httpx.Timeout(timeout),
        httpx_args={"transport": transport},
    )


def _proxy_of(url: str) -> str | None:
    """The HTTP proxy that the environment names for a URL. httpx reads it only for transports of its own."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    return proxy if urlsplit(proxy).scheme in ("http", "https") else None  # SOCKS needs another package.


def expect(kind: type[T], answer: object) -> T:
    """Tells a type checker what a call returned, and fails when it is something else."""
    if not isinstance(answer, kind):
        raise TypeError(f"the answer is {type(answer).__name__}, and not {kind.__name__}")
    return answer


def pages(call: ModuleType, *path: Any, client: AuthenticatedClient, **parameters: Any) -> Iterator[Any]:
    """The items of a list, page by page, as they are asked for: ``for user in pages(list_users, "acme", client=client)``."""
    parameters = {"limit": PAGE_SIZE, **parameters}
    while parameters:
        answer = call.sync_detailed(*path, client=client, **parameters)
        yield from answer.parsed
        parameters = _following(answer.headers, parameters)


async def pages_async(
    call: ModuleType, *path: Any, client: AuthenticatedClient, **parameters: Any
) -> AsyncIterator[Any]:
    """The same in asynchronous code."""
    parameters = {"limit": PAGE_SIZE, **parameters}
    while parameters:
        answer = await call.asyncio_detailed(*path, client=client, **parameters)
        for item in answer.parsed:
            yield item
        parameters = _following(answer.headers, parameters)


def _following(headers: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the next page; empty on the last one."""
    for link in httpx.Response(200, headers=headers).links.values():
        if link.get("rel") == "next":
            return {**parameters, "after": int(parse_qs(urlsplit(link["url"]).query)["after"][0])}
    return {}


def _poll_ends(ends: float, shown: Occurrence | None) -> float:
    """When a poll ends at the latest."""
    return ends if shown else max(ends, time.monotonic() + _FIRST_POLL)


def trigger_and_wait(
    org: str,
    project: str,
    application: str,
    event: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    timeout: float = 60,
    idempotency_key: str | Unset = UNSET,
) -> Occurrence:
    """Triggers an event and returns its occurrence when every delivery has ended: sent, failed or skipped, as ``counts`` says.

    ``timeout`` seconds after the answer to the trigger it returns the occurrence as it was seen
    last; messages go on being sent. When the occurrence cannot be read, or was never read in this
    time, it raises a WaitError with its id. The key of the client needs event:trigger and
    delivery:read.

    Any other error may mean that only the answer to the trigger is lost. To call it again without
    sending twice, give an ``idempotency_key``: with the same key, the same request within 24 hours
    is done once. All attempts of one call have the same key; a call without one gets a random key,
    so that a second call is another request.
    """
    triggered = trigger_event.sync(
        org, project, application, event, client=client, body=body, idempotency_key=idempotency_key
    )
    occurrence, ends = _occurrence(triggered), time.monotonic() + timeout
    shown, pause = None, _SHORTEST_PAUSE
    while True:
        token = deadline.set(_poll_ends(ends, shown))
        try:
            answer = get_occurrence.sync(org, project, application, occurrence, client=client)
            shown = expect(Occurrence, answer)
        except Exception as error:
            if shown is None or time.monotonic() < ends:
                raise wait_error(occurrence, error) from error
            return shown
        finally:
            deadline.reset(token)
        left = ends - time.monotonic()
        if _over(shown) or left < _SHORTEST_PAUSE:
            return shown
        time.sleep(min(pause, left / 2))  # The last poll needs time, too.
        pause = min(2 * pause, 2)


async def trigger_and_wait_async(
    org: str,
    project: str,
    application: str,
    event: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    timeout: float = 60,
    idempotency_key: str | Unset = UNSET,
) -> Occurrence:
    """The same in asynchronous code. A cancellation of the task passes through it as it is."""
    triggered = await trigger_event.asyncio(
        org, project, application, event, client=client, body=body, idempotency_key=idempotency_key
    )
    occurrence, ends = _occurrence(triggered), time.monotonic() + timeout
    shown, pause = None, _SHORTEST_PAUSE
    while True:
        try:
            async with asyncio.timeout(_poll_ends(ends, shown) - time.monotonic()):
                answer = await get_occurrence.asyncio(org, project, application, occurrence, client=client)
            shown = expect(Occurrence, answer)
        except Exception as error:
            if shown is None or time.monotonic() < ends:
                raise wait_error(occurrence, error) from error
            return shown
        left = ends - time.monotonic()
        if _over(shown) or left < _SHORTEST_PAUSE:
            return shown
        await asyncio.sleep(min(pause, left / 2))
        pause = min(2 * pause, 2)


def _occurrence(triggered: object) -> int:
    if not isinstance(triggered, Triggered):
        raise ValueError("a dry run has nothing to wait for")
    return triggered.occurrence


def _over(shown: Occurrence) -> bool:
    """Whether no delivery is open. What is being sent when an occurrence is cancelled ends after that."""
    still_open = shown.counts.pending + shown.counts.sending + shown.counts.retrying
    return shown.state == OccurrenceState.DONE or (shown.state == OccurrenceState.CANCELLED and still_open == 0)
