"""What a channel of the driver webhook sends."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

TOLERANCE = 300  # seconds: how old or how far ahead a timestamp may be


class SignatureError(Exception):
    """The webhook does not come from who knows the secret, or not now."""


@dataclass
class Message:
    id: str  # the same on every attempt: what was seen before needs nothing but the answer 200
    subject: str
    text: str
    html: str
    facts: dict[str, str]  # organization, project, application, event, notification, occurrence
    unsubscribe: str


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> Message:
    """Checks the signature of a webhook (Standard Webhooks) and returns its message.

    The secret is the channel's, whsec_ and base64; the body is what came, byte for byte. ``now`` is for tests.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("the secret must be whsec_ and base64")
    given = {name.lower(): value for name, value in headers.items()}
    message, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not message or not timestamp.isdecimal() or len(timestamp) > 15:
        raise SignatureError("it has no Webhook-Id and Webhook-Timestamp")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        raise SignatureError("its timestamp is not of now")
    signed = hmac.digest(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256)
    want = b"v1," + base64.b64encode(signed)
    # Several signatures are there while a secret is being replaced.
    if not any(hmac.compare_digest(s.encode(), want) for s in given.get("webhook-signature", "").split()):
        raise SignatureError("it is not signed with this secret")
    said = json.loads(body)
    return Message(
        id=said.get("id", ""),
        subject=said.get("subject", ""),
        text=said.get("text", ""),
        html=said.get("html", ""),
        facts=said.get("facts", {}),
        unsubscribe=said.get("unsubscribe", ""),
    )
