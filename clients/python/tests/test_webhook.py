import json

import pytest

from tocsin import SignatureError, verify_webhook

# The example of the specification of Standard Webhooks.
SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl"
BODY = b'{"event_type":"ping","data":{"success":true}}'
TIME = 1731705121
SIGNATURE = "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


def headers(signature: str) -> dict[str, str]:
    return {"Webhook-Id": "msg_loFOjxBNrRLzqYUf", "webhook-timestamp": str(TIME), "WEBHOOK-SIGNATURE": signature}


def test_verifies() -> None:
    verify_webhook(SECRET, headers(SIGNATURE), BODY, now=TIME)
    message = verify_webhook(SECRET, headers(f"v1,AAAA v1a,é {SIGNATURE}"), BODY, now=TIME + 300)
    assert message.subject == "" and message.facts == {}


@pytest.mark.parametrize(
    ("secret", "given", "body", "now"),
    [
        (SECRET, headers(SIGNATURE), BODY + b" ", TIME),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers(SIGNATURE), BODY, TIME),
        (SECRET, headers(""), BODY, TIME),
        (SECRET, headers(SIGNATURE), BODY, TIME + 301),
        (SECRET, headers(SIGNATURE), BODY, TIME - 301),
        (SECRET, headers(SIGNATURE), BODY, None),
        (SECRET, {}, BODY, TIME),
        (SECRET, {**headers(SIGNATURE), "webhook-timestamp": "9" * 400}, BODY, None),
        (SECRET, {**headers(SIGNATURE), "webhook-timestamp": "9" * 5000}, BODY, TIME),
    ],
)
def test_refuses(secret: str, given: dict[str, str], body: bytes, now: float | None) -> None:
    with pytest.raises(SignatureError):
        verify_webhook(secret, given, body, now=now)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_in words"])
def test_no_secret(secret: str) -> None:
    with pytest.raises(ValueError):
        verify_webhook(secret, headers(SIGNATURE), json.dumps({}).encode(), now=TIME)
