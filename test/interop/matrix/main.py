import os
import pathlib
import subprocess

from homeserver import Synapse, call, until

HERE = pathlib.Path(__file__).parent
BELL = "/api/o/rooms/p/office/a/bell/"
TEXT = "Ada is at the door. Größe: 17 µm"


def program(*words, **environment):
    """Runs tocsin on the database of the service. What is the client's is no setting."""
    mine = {name: value for name, value in os.environ.items() if name not in ("TOCSIN", "TOCSIN_KEY", "TOCSIN_URL", "TOCSIN_DOCUMENT")}
    return subprocess.run([os.environ["TOCSIN"], *words], env=mine | environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Service:
    def __init__(self):
        self.key = program("key", "create", "--name", "matrix", "--org", "rooms", "--grant", "full_access", "--grant", "channel:write")

    def ask(self, method, path, body=None, status=(200, 201)):
        got, answer = call(method, os.environ["TOCSIN_URL"] + path, body, {"Authorization": "Key " + self.key})
        assert got in status, (method, path, got, answer)
        return answer

    def test(self, to):
        """What the test of the channel says of an address."""
        return self.ask("POST", f"/api/o/rooms/c/{self.channel()}/test/", {"to": to})

    def channel(self):
        return self.ask("GET", "/api/o/rooms/c/?name=matrix")[0]["id"]

    def member(self, username, room):
        self.ask("POST", BELL + "register/", {"username": username, "distribution_list": "everybody",
                                             "addresses": [{"value": room, "assign_to_preferred_channel": True}]})

    def ring(self, username):
        """Triggers for one member."""
        return self.ask("POST", BELL + "e/rings/trigger/", {"context": {"who": "Ada"}, "options": {"limit_to": [username]}})["occurrence"]

    def fate(self, occurrence, *states):
        """The delivery of an occurrence, as soon as it is in one of these states."""
        path = f"{BELL}occurrences/{occurrence}/deliveries/"
        return until(60, f"{' or '.join(states)} of {path}", lambda: [d for d in self.ask("GET", path) if d["state"] in states])[0]


def refused(found, code):
    """Holds that a delivery has failed for good at its first attempt."""
    assert (found["state"], found["attempts"], found["next_attempt"]) == ("failed", 1, None), found
    assert code in found["last_error"], found


def main():
    server = Synapse(os.environ["SCRATCH"])
    try:
        bot, ada = server.user("bot"), server.user("ada")
        program("apply", "-f", str(HERE / "rooms.yaml"),
                MATRIX_CHANNEL=f"matrix://:{bot.token}@127.0.0.1:{server.port}/?rooms={{address}}&disabletls=yes")
        tocsin = Service()

        # A message arrives, once, as text, in a room that is named by its alias or its id.
        lobby = ada.room(preset="public_chat", room_alias_name="lobby")
        for username, room in ("by-alias", "#lobby:localhost"), ("by-id", lobby):
            tocsin.member(username, room)
            before = len(ada.texts(lobby))
            assert tocsin.fate(tocsin.ring(username), "sent", "failed", "retrying")["state"] == "sent"
            texts = ada.texts(lobby)
            assert len(texts) == before + 1 and texts[0][0] == bot.id and TEXT in texts[0][1], texts
        assert tocsin.test("#lobby:localhost") == {"to": "#lobby:localhost", "accepted": True, "reason": "", "temporary": False}

        # Where nobody can ever write, a message fails at once, and the test of the channel says why.
        closed = ada.room(preset="private_chat")
        silent = ada.room(preset="public_chat", room_alias_name="silent", power_level_content_override={"events_default": 50})
        # Of what hosts on its own network answer, tocsin repeats the status only.
        for username, room, code in (
            ("nowhere", "#nosuch:localhost", "404 Not Found"), ("uninvited", closed, "403 Forbidden"), ("unheard", silent, "403 Forbidden"),
            ("unreal", "!nosuch:localhost", "answered 4"), ("nonsense", "no room at all", "400 Bad Request"),
        ):
            tocsin.member(username, room)
            refused(tocsin.fate(tocsin.ring(username), "sent", "failed", "retrying"), code)
            said = tocsin.test(room)
            assert (said["accepted"], said["temporary"]) == (False, False) and code in said["reason"], (username, said)
        assert ada.texts(silent) == []

        # A token that was revoked is the channel's fault: the test says so, and a message waits instead of being lost.
        bot.ask("POST", "/logout", {})
        said = tocsin.test("#lobby:localhost")
        assert not said["accepted"] and said["temporary"] and "401 Unauthorized" in said["reason"], said
        waiting = tocsin.fate(tocsin.ring("by-alias"), "sent", "failed", "retrying")
        assert waiting["state"] == "retrying" and "401 Unauthorized" in waiting["last_error"], waiting
        assert bot.token not in said["reason"] + waiting["last_error"]
    finally:
        server.stop()
    print("Matrix: messages arrive in rooms, and what fails is told apart")


main()
