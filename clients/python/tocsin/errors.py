"""What the service refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import responses

import httpx

TEMPORARY = frozenset({429, 502, 503, 504})


@dataclass(eq=False)
class TocsinError(Exception):
    """A refusal by the service, or by something between it and the client."""

    status: int
    code: str = ""  # what it is, for programs; empty where the answer has none
    type: str = ""  # URL of a page about it
    title: str = ""  # the meaning of the status
    detail: str = ""  # what went wrong, for people
    param: str = ""  # the part of the request that is wrong, where it is one
    request_id: str = ""  # to quote in a report
    quota: str = ""  # the limit that would be exceeded
    fields: dict[str, list[str]] = field(default_factory=dict)  # of a 400: field → messages
    retry_after: float = 0  # how many seconds the service asks to wait

    def __str__(self) -> str:
        text = f"{self.status} {responses.get(self.status, '')}"
        if self.detail:
            text += f": {self.detail}"
        return f"{text} (request {self.request_id})" if self.request_id else text

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in TEMPORARY

    @classmethod
    def of(cls, response: httpx.Response) -> TocsinError:
        """Reads an answer whose body is there."""
        try:
            said = json.loads(response.content)
        except ValueError:
            said = None
        error = cls(response.status_code, retry_after=_retry_after(response.headers.get("Retry-After", "")))
        if isinstance(said, dict) and type(said.get("status")) is int:
            for name in ("code", "type", "title", "detail", "param", "request_id", "quota"):
                setattr(error, name, str(said.get(name) or ""))
            error.fields = said.get("errors") or {}
        else:  # Not from the service: a proxy's page. Its beginning may help.
            error.detail = response.text[:200].strip()
        location = response.headers.get("Location")
        if location and response.status_code < 400:
            error.detail = f"redirected to {location}: use this URL"
        error.request_id = error.request_id or response.headers.get("X-Request-ID", "")
        return error


class WaitError(TocsinError):
    """An error after an event was triggered: its occurrence could not be read.

    Its messages go on being sent, and another trigger would send them again. ``occurrence`` is its
    id, as the trigger answered it, and ``__cause__`` is what went wrong. The status and the other
    attributes are those of a refusal; without one the status is 0. After a lost connection it is
    an httpx.TransportError as well.
    """

    def __init__(self, occurrence: int, cause: Exception) -> None:
        refusal = cause if isinstance(cause, TocsinError) else TocsinError(0)
        super().__init__(**{f.name: getattr(refusal, f.name) for f in fields(TocsinError)})
        self.occurrence = occurrence
        self.__cause__ = cause

    def __str__(self) -> str:
        what = str(self.__cause__) or type(self.__cause__).__name__
        return f"occurrence {self.occurrence} was triggered, and waiting for it failed: {what}"


class _LostWaitError(WaitError, httpx.TransportError):
    """The connection was lost: handlers of errors of httpx find it as well."""

    def __init__(self, occurrence: int, cause: httpx.TransportError) -> None:
        super().__init__(occurrence, cause)
        self._request = cause._request  # Of httpx.HTTPError, whose constructor is not called.


def wait_error(occurrence: int, cause: Exception) -> WaitError:
    """The error for what went wrong."""
    if isinstance(cause, httpx.TransportError):
        return _LostWaitError(occurrence, cause)
    return WaitError(occurrence, cause)


def _retry_after(value: str) -> float:
    """Reads the header, which holds seconds or a date."""
    if value.isdecimal():
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0)
    except (TypeError, ValueError, OverflowError):
        return 0
