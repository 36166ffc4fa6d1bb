"""A client of the Tocsin API.

Calls, bodies and answers are generated from its OpenAPI document and live in ``tocsin.generated``. This package adds what every program needs
around them: the key, repetition of what failed for the moment, errors, pages, a trigger that waits, and verification of webhooks.
"""

from .calls import connect, expect, pages, pages_async, trigger_and_wait, trigger_and_wait_async
from .errors import TocsinError, WaitError
from .webhook import Message, SignatureError, verify_webhook

__all__ = [
    "Message",
    "SignatureError",
    "TocsinError",
    "WaitError",
    "connect",
    "expect",
    "pages",
    "pages_async",
    "trigger_and_wait",
    "trigger_and_wait_async",
    "verify_webhook",
]
