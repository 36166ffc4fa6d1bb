"""A Synapse on a free port of 127.0.0.1, with SQLite, that talks to no other server, and a client of it."""

import hashlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SECRET = secrets.token_hex(16)


def call(method, url, body=None, headers=None):
    """The status of an answer, and its JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def until(seconds, what, ask):
    """What ask returns as soon as that is true; a failure after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := ask():
            return found
        time.sleep(0.2)
    raise TimeoutError(f"{what} did not happen within {seconds} s")


class Synapse:
    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, "synapse.log")
        config = os.path.join(folder, "homeserver.yaml")
        fast = {"per_second": 1000, "burst_count": 1000}
        with open(config, "w") as file:  # JSON is YAML.
            json.dump({
                "server_name": "localhost",
                "listeners": [{"port": self.port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client"]}]}],
                "database": {"name": "sqlite3", "args": {"database": os.path.join(folder, "synapse.db")}},
                "pid_file": os.path.join(folder, "synapse.pid"),
                "media_store_path": os.path.join(folder, "media"),
                "signing_key_path": os.path.join(folder, "signing.key"),
                "macaroon_secret_key": secrets.token_hex(16),
                "form_secret": secrets.token_hex(16),
                "registration_shared_secret": SECRET,
                "report_stats": False,
                "trusted_key_servers": [],
                "federation_domain_whitelist": [],
                "rc_message": fast, "rc_joins": {"local": fast, "remote": fast},
                "rc_login": {"address": fast, "account": fast, "failed_attempts": fast},
            }, file)
        server = [sys.executable, "-m", "synapse.app.homeserver", "--config-path", config]
        made = subprocess.run([*server, "--generate-keys"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert made.returncode == 0, made.stdout
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(server, stdout=log, stderr=log, cwd=folder)
        until(120, "Synapse starting", self.ready)

    def ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("Synapse ended:\n" + open(self.log).read()[-4000:])
        try:
            return call("GET", self.url + "/_matrix/client/versions")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def user(self, name):
        """A new user, by the shared secret."""
        path = self.url + "/_synapse/admin/v1/register"
        nonce = call("GET", path)[1]["nonce"]
        password = secrets.token_hex(8)
        mac = hmac.new(SECRET.encode(), "\0".join([nonce, name, password, "notadmin"]).encode(), hashlib.sha1).hexdigest()
        status, made = call("POST", path, {"nonce": nonce, "username": name, "password": password, "admin": False, "mac": mac})
        assert status == 200, made
        return User(self, made["user_id"], made["access_token"])


class User:
    def __init__(self, server, id, token):
        self.server, self.id, self.token = server, id, token

    def ask(self, method, path, body=None):
        status, answer = call(method, self.server.url + "/_matrix/client/v3" + path, body, {"Authorization": "Bearer " + self.token})
        assert status == 200, (path, answer)
        return answer

    def room(self, **options):
        return self.ask("POST", "/createRoom", options)["room_id"]

    def texts(self, room):
        """The texts in a room by others, the newest first, with who wrote them."""
        events = self.ask("GET", f"/rooms/{urllib.parse.quote(room)}/messages?dir=b&limit=100")["chunk"]
        return [(e["sender"], e["content"]["body"]) for e in events if e["type"] == "m.room.message"]
