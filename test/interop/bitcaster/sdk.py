"""Every call of bitcaster-sdk, synchronous and asynchronous."""

import logging
import os

import bitcaster_sdk
from bitcaster_sdk.async_client import AsyncClient
from bitcaster_sdk.client import Client
from bitcaster_sdk.exceptions import AuthenticationError, AuthorizationError, EventNotFoundError, ValidationError

logging.getLogger("bitcaster_sdk").addHandler(logging.NullHandler())  # Refusals are expected, and it logs them.
BAE = os.environ["BITCASTER_BAE"]


def refused(error, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error:
        return
    raise AssertionError(f"{call.__name__}{arguments} was not refused with {error.__name__}")


def check(call, prefix):
    """Makes every call; `call` turns what a client returns into the answer."""
    client = call.client
    assert call(client.ping())["token"] == "interop"
    assert [p["slug"] for p in call(client.list_projects())] == ["shop"]
    assert [a["slug"] for a in call(client.list_applications("shop"))] == ["web", "backoffice"]
    lists = call(client.list_distribution_lists("shop"))
    assert [x["name"] for x in lists] == ["customers", "web-users", "warehouse"]
    event = call(client.list_events("shop", "web"))[0]
    assert event["slug"] == "order-shipped" and event["active"] is True and event["locked"] is False

    ada = f"{prefix}ada+shop@example.org"
    added = call(client.add_user(ada, "Ada", "", {"plan": "pro"}))
    assert added["username"] == ada and added["is_active"] is True, added
    assert call(client.add_user(ada, "", "", None))["id"] == added["id"]
    for mode, fields in (("merge", {"plan": "pro", "n": 1}), ("override", {"plan": "pro", "n": 1}), ("ignore", {"plan": "pro", "n": 1}),
                         ("remove", {"plan": "pro"}), ("rewrite", {"n": 1})):
        got = call(client.update_user(ada, "Ada", "Byron", {"n": 1}, mode))
        assert got["custom_fields"] == fields, (mode, got)
    assert call(client.update_user(ada, "Grace", ""))["first_name"] == "Grace"
    assert ada in [u["username"] for u in call(client.list_users()) if u["is_active"] and not u["locked"]]

    for username in (f"{prefix}grace", f"{prefix}a/b", f"{prefix}ä 100%"):
        mail = f"{prefix}{len(username)}@example.org"
        done = call(client.register_user("shop", "web", username, "Grace", "", mail, {"plan": "pro"}, True,
                                         [{"value": mail, "assign_to_preferred_channel": True}], "web-users"))
        assert done["created"] and done["membership"]["active"] and done["distribution_list"]["recipients_added"] == 1, done
        assert not call(client.register_user("shop", "web", username))["created"]
        assert username in [m["user"] for m in call(client.list_members("shop", lists[1]["id"]))]
    client.set_domain("shop", "web")
    assert call(client.trigger_event("order-shipped", {"order": "1"}, cid="a"))["occurrence"] > 0
    grace = {"recipient_filter": {"usernames": [f"{prefix}grace"]}}
    assert call(client.trigger_event("order-shipped", {"order": "1"}, grace))["occurrence"] > 0
    for username in (f"{prefix}grace", f"{prefix}a/b", f"{prefix}ä 100%"):
        assert call(client.unregister_user("shop", "web", username)) == {"deleted": 1}

    refused(ValidationError, lambda: call(client.add_user("nobody", "", "")))
    refused(EventNotFoundError, lambda: call(client.trigger_event("no-such-event")))
    refused(EventNotFoundError, lambda: call(client.list_events("shop", "nothing")))


class Now:
    def __init__(self, client):
        self.client = client

    def __call__(self, value):
        return value


class Later(Now):
    def __call__(self, value):
        return value.result(timeout=60)


check(Now(Client(BAE)), "")
check(Later(AsyncClient(BAE)), "async-")
token, rest = BAE.split("@")
refused(AuthenticationError, Client(token[:-1] + "@" + rest).ping)
refused(AuthorizationError, Client(BAE.replace("/acme/", "/globex/")).list_users)

bitcaster_sdk.init(BAE)
bitcaster_sdk.set_domain("shop", "web")
assert bitcaster_sdk.trigger_event("newsletter", {"title": "Hello", "body": "World"})["occurrence"] > 0
