"""Against a real service with the tenants of configs/demo.yaml, which test/interop/run starts."""

import asyncio
import json
import math
import os
import pickle
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import httpx
import pytest

from tocsin import (
    TocsinError,
    WaitError,
    connect,
    expect,
    pages,
    pages_async,
    trigger_and_wait,
    trigger_and_wait_async,
)
from tocsin.generated import AuthenticatedClient
from tocsin.generated.api.applications import register
from tocsin.generated.api.distribution_lists import list_recipients
from tocsin.generated.api.events import cancel_occurrence, list_deliveries, trigger_event
from tocsin.generated.api.management import test_channel, test_channel_of_project
from tocsin.generated.api.service import ping
from tocsin.generated.api.users import enroll_user, enroll_users, list_users, remove_user, update_user
from tocsin.generated.models import (
    AddressInput,
    BulkEnrollment,
    BulkEnrollmentInput,
    ChannelTestInput,
    Deleted,
    EnrolledUser,
    Enrollment,
    EnrollmentCustomFieldsType0,
    Occurrence,
    OccurrenceState,
    Registered,
    Registration,
    Trigger,
    TriggerContextType0,
    TriggerOptionsType0,
    User,
    UserPatch,
    UserPatchCustomFieldsType0,
)

URL, KEY = os.environ["TOCSIN_URL"], os.environ["TOCSIN_KEY"]
SHOP = ("acme", "shop", "web")


PROXIES = [name for proxy in ("http", "https", "all", "no") for name in (f"{proxy}_proxy", f"{proxy.upper()}_PROXY")]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def client_of(url: str) -> AuthenticatedClient:
    return connect(url, KEY, retries=3, first_pause=0.001, longest_pause=2)


@pytest.fixture
def client() -> AuthenticatedClient:
    return client_of(URL)


def enrolled(client: AuthenticatedClient, email: str) -> None:
    """Makes somebody a member and a recipient of the newsletter."""
    body = Registration(
        username=email,
        email=email,
        addresses=[AddressInput(value=email, assign_to_preferred_channel=True)],
        distribution_list="customers",
    )
    made = expect(Registered, register.sync(*SHOP, client=client, body=body))
    assert made.distribution_list is not None and made.distribution_list.recipients_added == 1


def waited(way: str, client: AuthenticatedClient, event: str = "newsletter", **options: object) -> Occurrence:
    """Triggers an event and waits, in synchronous or asynchronous code."""
    if way == "sync":
        return trigger_and_wait(*SHOP, event, client=client, **options)
    return asyncio.run(trigger_and_wait_async(*SHOP, event, client=client, **options))


def newsletter(*to: str, **options: object) -> Trigger:
    context = TriggerContextType0.from_dict({"title": "Hello", "body": "World"})
    return Trigger(context=context, options=TriggerOptionsType0(limit_to=list(to), **options))


def test_calls(client: AuthenticatedClient) -> None:
    fields = EnrollmentCustomFieldsType0.from_dict({"plan": "pro"})
    body = Enrollment(email="python@example.org", custom_fields=fields)
    made = expect(EnrolledUser, enroll_user.sync("acme", client=client, body=body))
    assert made.created and made.custom_fields["plan"] == "pro"
    patch = UserPatch(custom_fields=UserPatchCustomFieldsType0.from_dict({"plan": "free"}))
    changed = expect(User, update_user.sync("acme", made.username, client=client, body=patch))
    assert changed.custom_fields["plan"] == "free"
    assert expect(Deleted, remove_user.sync("acme", made.username, client=client)).deleted == 1
    with pytest.raises(TypeError):
        expect(Deleted, made)


def test_pages(client: AuthenticatedClient) -> None:
    want = [f"python-page-{i}@example.org" for i in range(5)]
    for email in want:
        enroll_user.sync("acme", client=client, body=Enrollment(email=email))
    got = [user.username for user in pages(list_users, "acme", client=client, limit=2)]
    assert [name for name in got if name.startswith("python-page-")] == want
    assert [user.username for user in pages(list_users, "acme", client=client)] == got

    async def all_of_them() -> list[str]:
        return [user.username async for user in pages_async(list_users, "acme", client=client, limit=2)]

    assert asyncio.run(all_of_them()) == got
    with pytest.raises(TocsinError, match="404"):
        list(pages(list_recipients, "acme", "shop", 99_999, client=client))


def test_errors(client: AuthenticatedClient) -> None:
    with pytest.raises(TocsinError, match="email") as caught:
        enroll_user.sync("acme", client=client, body=Enrollment(email="nobody"))
    error = caught.value
    assert error.status == 400 and len(error.fields["email"]) == 1 and error.request_id and error.code
    with pytest.raises(TocsinError) as caught:
        ping.sync(client=connect(URL, "tcs_wrong"))
    assert caught.value.status == 401
    for url in ("", "tocsin.example.org", "ftp://tocsin.example.org"):
        with pytest.raises(ValueError):
            connect(url, KEY)
    with pytest.raises(ValueError):
        connect(URL, " ")


def through_a_proxy(attempt: "Attempt", _: int, body: bytes) -> None:
    assert attempt.path == "http://tocsin.invalid:8000/api/system/ping/", "the service, and not the proxy"
    attempt.path = "/api/system/ping/"
    answer = attempt.passed_on(body)
    attempt.answer(answer.status_code, answer.content, Content_Type="application/json")


def reaches(client: AuthenticatedClient, way: str) -> bool:
    """Whether a ping gets through."""
    try:
        if way == "sync":
            ping.sync(client=client)
        else:
            asyncio.run(ping.asyncio(client=client))
    except httpx.ConnectError:
        return False
    return True


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_proxy(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    def pings(url: str = "http://tocsin.invalid:8000", **options: object) -> bool:
        return reaches(connect(url, KEY, retries=0, **options), way)

    with unreliable(through_a_proxy) as (url, _):
        assert pings(proxy=url)
        for value in (url, url.removeprefix("http://")):
            monkeypatch.setenv("HTTP_PROXY", value)
            assert pings() and pings(URL, proxy="")
        assert not pings(proxy="")
        monkeypatch.setenv("HTTP_PROXY", "socks5://tocsin.invalid:1080")
        assert not pings() and pings(URL)
        monkeypatch.setenv("HTTP_PROXY", url)
        for without in ("localhost,.invalid", "tocsin.invalid:8000", "*"):
            monkeypatch.setenv("NO_PROXY", without)
            assert not pings() and pings(proxy=url)
        monkeypatch.setenv("NO_PROXY", "tocsin.invalid:9000,example.org")
        assert pings()
        monkeypatch.delenv("HTTP_PROXY")
        monkeypatch.setenv("HTTPS_PROXY", url)
        assert not pings(), "it is for URLs with https://"
        monkeypatch.setenv("ALL_PROXY", url)
        assert pings()


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A service whose certificate is from an authority of its own."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=x -addext".split()
    names = ["subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run([*make, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with unreliable(lambda attempt, _, body: attempt.answer(200, attempt.passed_on(body).content), context) as (url, _):

        def pings(**options: object) -> bool:
            return reaches(connect(url, KEY, retries=0, proxy="", **options), way)

        assert not pings()
        assert pings(verify=str(certificate)) and pings(verify=False)
        assert pings(verify=ssl.create_default_context(cafile=certificate))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert pings()


def test_space_around_the_key() -> None:
    """Keys are often read from files, which end in a newline."""
    ping.sync(client=connect(URL, f"\n{KEY}\n", retries=0))


class Attempt(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.keys.append(self.headers["Idempotency-Key"])
        self.server.meddle(self, len(self.server.keys), body)

    do_GET = do_POST = do_DELETE = do

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def passed_on(self, body: bytes) -> httpx.Response:
        headers = {
            n: self.headers[n] for n in ("Authorization", "Content-Type", "Idempotency-Key") if n in self.headers
        }
        return httpx.request(self.command, URL + self.path, content=body, headers=headers, trust_env=False)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def unreliable(
    meddle: Callable[[Attempt, int, bytes], None], context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[str | None]]]:
    """A server in front of the service, which asks a function what to do with each request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Attempt)
    server.keys, server.meddle = [], meddle
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}", server.keys
    finally:
        server.shutdown()
        server.server_close()


def loses_an_answer(attempt: Attempt, n: int, body: bytes) -> None:
    if n == 1:
        attempt.answer(503, b"", Retry_After="1")
        return
    answer = attempt.passed_on(body)
    if n == 2:  # The call was made, and its answer is lost.
        attempt.close_connection = True
        return
    replayed = answer.headers["Idempotency-Replayed"]
    attempt.answer(answer.status_code, answer.content, Content_Type="application/json", Idempotency_Replayed=replayed)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_retries(client: AuthenticatedClient, way: str) -> None:
    enrolled(client, f"python-retry-{way}@example.org")
    body = newsletter(f"python-retry-{way}@example.org")
    with unreliable(loses_an_answer) as (url, keys):
        began = time.monotonic()
        if way == "sync":
            answer = trigger_event.sync_detailed(*SHOP, "newsletter", client=client_of(url), body=body)
        else:
            call = trigger_event.asyncio_detailed(*SHOP, "newsletter", client=client_of(url), body=body)
            answer = asyncio.run(call)
        assert answer.headers["Idempotency-Replayed"] == "true"
        assert time.monotonic() - began >= 1, "it did not wait as long as the service asked for"
        assert len(keys) == 3 and keys[0] and len(set(keys)) == 1


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_retries_of_enrollments(way: str) -> None:
    """They are retried without a key, unless the caller gives one: they make no duplicates."""
    done = []

    def loses_each_first_answer(attempt: Attempt, n: int, body: bytes) -> None:
        answer = attempt.passed_on(body)
        if n % 2:
            done.append(answer.status_code)
            attempt.answer(502, b"")
        else:
            attempt.answer(answer.status_code, answer.content, Content_Type="application/json")

    def called(call: ModuleType, *path: str, **parts: object) -> object:
        if way == "sync":
            return call.sync(*path, client=client_of(url), **parts)
        return asyncio.run(call.asyncio(*path, client=client_of(url), **parts))

    body = Enrollment(email=f"python-enrolled-{way}@example.org")
    with unreliable(loses_each_first_answer) as (url, keys):
        assert not expect(EnrolledUser, called(enroll_user, "acme", body=body)).created
        assert len(expect(BulkEnrollment, called(enroll_users, "acme", body=BulkEnrollmentInput([body]))).results) == 1
        made = called(register, *SHOP, body=Registration(username=f"python-registered-{way}"))
        assert expect(Registered, made).user.username == f"python-registered-{way}"
        assert done == [201, 200, 201] and keys == [None] * 6
        body = Enrollment(email=f"python-named-{way}@example.org")
        assert expect(EnrolledUser, called(enroll_user, "acme", body=body, idempotency_key=f"python-{way}")).created
        assert keys[6:] == [f"python-{way}"] * 2


@pytest.mark.parametrize(
    ("status", "after", "attempts"),
    [
        (502, "0", 4),
        (429, "3600", 1),
        (403, "0", 1),
        (500, "0", 1),
        (429, "9999999999", 1),
        (503, "9" * 400, 1),
        (503, "Sun, 29 Nov 99999999999 12:00:00 GMT", 4),  # A year that no date can have.
    ],
)
def test_retries_end(status: int, after: str, attempts: int) -> None:
    page = b"<html>not from the service"
    with unreliable(lambda attempt, _, __: attempt.answer(status, page, Retry_After=after)) as (url, keys):
        with pytest.raises(TocsinError) as caught:
            ping.sync(client=client_of(url))
        assert caught.value.status == status and caught.value.detail == page.decode()
        assert len(keys) == attempts


@pytest.mark.parametrize(
    "page", ['{"status": "error", "detail": "x"}', '{"status": true}', '{"status": null}', "[400]"]
)
def test_json_that_is_no_problem(page: str) -> None:
    """A proxy may answer with JSON, too."""
    with unreliable(lambda attempt, _, __: attempt.answer(403, page.encode())) as (url, _):
        with pytest.raises(TocsinError) as caught:
            ping.sync(client=client_of(url))
        assert (caught.value.status, caught.value.detail) == (403, page)


@pytest.mark.parametrize(("status", "attempts"), [(0, 1), (502, 1), (504, 1), (429, 4), (503, 4)])
@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_retries_of_channel_tests(status: int, attempts: int, way: str) -> None:
    """The service does one each time that it is asked to, and a lost answer does not say that no message was sent."""

    def fails(attempt: Attempt, _: int, __: bytes) -> None:
        if status:
            attempt.answer(status, b"")
        else:
            attempt.close_connection = True

    body = ChannelTestInput(to="ada@example.org")
    with unreliable(fails) as (url, keys):
        with pytest.raises(TocsinError if status else httpx.TransportError):
            if way == "sync":
                test_channel.sync("acme", 1, client=client_of(url), body=body)
            else:
                asyncio.run(test_channel_of_project.asyncio("acme", "shop", 1, client=client_of(url), body=body))
        assert len(keys) == attempts


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_redirects(status: int, way: str) -> None:
    with unreliable(lambda attempt, _, __: attempt.answer(status, b"", Location=URL + attempt.path)) as (url, keys):
        with pytest.raises(TocsinError) as caught:
            if way == "sync":
                remove_user.sync("acme", "nobody", client=client_of(url))
            else:
                asyncio.run(remove_user.asyncio("acme", "nobody", client=client_of(url)))
        assert caught.value.status == status and len(keys) == 1
        assert caught.value.detail == f"redirected to {URL}/api/v1/user/acme/nobody/: use this URL"


def test_not_modified() -> None:
    with unreliable(lambda attempt, _, __: attempt.answer(304, b"")) as (url, _):
        assert ping.sync_detailed(client=client_of(url)).status_code == 304


def test_no_connection() -> None:
    with unreliable(lambda attempt, _, __: setattr(attempt, "close_connection", True)) as (url, keys):
        with pytest.raises(httpx.TransportError):
            ping.sync(client=client_of(url))
        assert len(keys) == 4


def test_trigger_and_wait(client: AuthenticatedClient) -> None:
    to = "python-wait@example.org"
    enrolled(client, to)
    done = trigger_and_wait(*SHOP, "newsletter", client=client, body=newsletter(to))
    assert (done.state, done.counts.sent, done.counts.failed) == (OccurrenceState.DONE, 1, 0)
    assert [d.address for d in pages(list_deliveries, *SHOP, done.id, client=client)] == [to]
    again = asyncio.run(trigger_and_wait_async(*SHOP, "newsletter", client=client, body=newsletter(to)))
    assert again.id > done.id and again.counts.sent == 1

    later = newsletter(to, send_at=datetime.now(UTC) + timedelta(days=1))
    waiting = trigger_and_wait(*SHOP, "newsletter", client=client, body=later, timeout=0.2)
    assert waiting.state == OccurrenceState.SCHEDULED
    cancel_occurrence.sync(*SHOP, waiting.id, client=client)
    with pytest.raises(ValueError):
        trigger_and_wait(*SHOP, "newsletter", client=client, body=newsletter(to, dry_run=True))


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_for_a_cancelled_occurrence(client: AuthenticatedClient, way: str) -> None:
    """What was being sent when an occurrence was cancelled is waited for."""
    counts = {"pending": 0, "sending": 0, "retrying": 0, "sent": 0, "failed": 0, "skipped": 0}

    def cancelled(attempt: Attempt, n: int, body: bytes) -> None:
        answer = attempt.passed_on(body)
        said = answer.json()
        if n > 1:
            now = ("pending", "sending", "retrying", "sent")[n - 2]
            said = {**said, "state": "cancelled", "counts": {**counts, now: 1}}
        attempt.answer(answer.status_code, json.dumps(said).encode(), Content_Type="application/json")

    to = f"python-cancel-{way}@example.org"
    enrolled(client, to)
    body = newsletter(to)
    with unreliable(cancelled) as (url, keys):
        done = waited(way, client_of(url), body=body)
        assert done.counts.to_dict() == {**counts, "sent": 1}
        assert len(keys) == 5


def hangs(attempt: Attempt) -> None:
    """Does not answer before the caller has gone."""
    attempt.connection.settimeout(10)
    with suppress(OSError):
        attempt.connection.recv(1)
    attempt.close_connection = True


def drops(attempt: Attempt) -> None:
    attempt.close_connection = True


NOT_READ = {
    "forbidden": (lambda attempt: attempt.answer(403, b"<html>a proxy"), TocsinError, 403),
    "an_error_of_a_proxy": (lambda attempt: attempt.answer(502, b"<html>a proxy"), TocsinError, 502),
    "a_page_of_a_proxy": (lambda attempt: attempt.answer(200, b"<html>a proxy"), ValueError, 0),
    "no_content": (lambda attempt: attempt.answer(204, b""), TypeError, 0),
    "a_lost_connection": (drops, httpx.TransportError, 0),
    "no_answer": (hangs, None, 0),
}


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("fault", NOT_READ)
@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_that_cannot_read(client: AuthenticatedClient, way: str, fault: str, seen: bool) -> None:
    """Whoever triggered an event learns which occurrence it is, so that nobody triggers it again."""
    fails, cause, status = NOT_READ[fault]
    to = f"python-{fault}-{seen}-{way}@example.org"
    enrolled(client, to)
    body = newsletter(to, send_at=datetime.now(UTC) + timedelta(days=1))
    triggered: list[int] = []

    def meddle(attempt: Attempt, n: int, body: bytes) -> None:
        if n > 2 or n == 2 and not seen:
            fails(attempt)
            return
        answer = attempt.passed_on(body)
        if n == 1:
            triggered.append(answer.json()["occurrence"])
        attempt.answer(answer.status_code, answer.content, Content_Type="application/json")

    with unreliable(meddle) as (url, _):
        began = time.monotonic()
        try:
            shown = waited(way, client_of(url), body=body, timeout=1)
        except WaitError as error:
            assert not (seen and fault == "no_answer"), "what was seen before the timeout was lost"
            assert (error.occurrence, error.status) == (triggered[0], status)
            assert f"occurrence {triggered[0]}" in str(error) and isinstance(error, TocsinError)
            if cause:
                assert isinstance(error.__cause__, cause)
            if cause is httpx.TransportError:
                assert isinstance(error, httpx.TransportError) and error.request.method == "GET"
            assert pickle.loads(pickle.dumps(error)).occurrence == error.occurrence
        else:
            assert seen and fault == "no_answer" and shown.id == triggered[0]
        took = time.monotonic() - began
        assert took < 5 and (fault != "no_answer" or took >= 1)
    cancel_occurrence.sync(*SHOP, triggered[0], client=client)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_through_a_refusal_that_asks_to_wait(client: AuthenticatedClient, way: str) -> None:
    """A pause between the attempts of a poll ends with the timeout, too."""
    to = f"python-busy-{way}@example.org"
    enrolled(client, to)
    body = newsletter(to, send_at=datetime.now(UTC) + timedelta(days=1))

    def busy(attempt: Attempt, n: int, body: bytes) -> None:
        if n > 1:
            attempt.answer(503, b"", Retry_After="2")
        else:
            attempt.answer(201, attempt.passed_on(body).content, Content_Type="application/json")

    with unreliable(busy) as (url, keys):
        began = time.monotonic()
        with pytest.raises(WaitError) as caught:
            waited(way, client_of(url), body=body, timeout=0.5)
        assert 0.5 <= time.monotonic() - began < 2 and len(keys) == 2
    cancel_occurrence.sync(*SHOP, caught.value.occurrence, client=client)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_for_no_time(client: AuthenticatedClient, way: str) -> None:
    to = f"python-no-time-{way}@example.org"
    enrolled(client, to)
    shown = waited(way, client, body=newsletter(to, send_at=datetime.now(UTC) + timedelta(days=1)), timeout=0)
    assert shown.state == OccurrenceState.SCHEDULED
    cancel_occurrence.sync(*SHOP, shown.id, client=client)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_that_is_refused(client: AuthenticatedClient, way: str) -> None:
    """Nothing was triggered that could be waited for."""
    with pytest.raises(TocsinError) as caught:
        waited(way, client, "nothing", body=newsletter("nobody"))
    assert caught.value.status == 404 and not isinstance(caught.value, WaitError)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_trigger_and_wait_with_an_idempotency_key(client: AuthenticatedClient, way: str) -> None:
    to, key = f"python-key-{way}@example.org", f"python-wait-{way}"
    enrolled(client, to)

    def passes(attempt: Attempt, _: int, body: bytes) -> None:
        answer = attempt.passed_on(body)
        attempt.answer(answer.status_code, answer.content, Content_Type="application/json")

    with unreliable(passes) as (url, keys):
        first = waited(way, client_of(url), body=newsletter(to), idempotency_key=key, timeout=math.inf)
        again = waited(way, client_of(url), body=newsletter(to), idempotency_key=key)
        other = waited(way, client_of(url), body=newsletter(to))  # A key that is made up is another one each time.
        assert again.id == first.id and other.id > first.id
        assert keys[:2] == [key, None]


def test_example() -> None:
    example = Path(__file__).parent.parent / "examples" / "first_message.py"
    ran = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "sent 1, failed 0, skipped 0\n"), ran.stderr
