"""bitcaster-django keeps the users of a Django project registered, and triggers events for some of them."""

import logging
import os

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "bitcaster_django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    BITCASTER={"BAE": os.environ["BITCASTER_BAE"], "PROJECT": "shop", "APPLICATION": "web", "DISTRIBUTION_LIST": "web-users",
               "CLIENT": "bitcaster_django.advanced.Client"},
)
django.setup()

from bitcaster_django.client import Client  # noqa: E402
from bitcaster_django.models import EventConfig  # noqa: E402
from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402

# The app swallows what goes wrong while it synchronizes users, and logs it.
failures = []


class Collect(logging.Handler):
    def emit(self, record):
        failures.append(self.format(record))


logging.getLogger("bitcaster_django").addHandler(Collect(logging.ERROR))
call_command("check", fail_level="ERROR")
call_command("migrate", verbosity=0)

ben = User.objects.create_user("ben/office", "ben@example.org", first_name="Ben")
group = Group.objects.create(name="staff")
ben.groups.add(group)
client = Client()
registered = client.register_user("ben/office", custom_fields={})
assert registered["created"] is False
assert registered["membership"]["custom_fields"] == {"groups": [group.pk]}, registered
ben.is_active = False
ben.save()
assert client.register_user("ben/office", active=False)["membership"]["active"] is False
ben.is_active = True
ben.save()

EventConfig.objects.create(local_name="shipped", remote_event_slug="order-shipped")
assert client.trigger_event("shipped", {"order": "1"})["occurrence"] > 0
assert client.sdk.django.trigger_for_users("order-shipped", ["ben/office"], {"order": "1"})["occurrence"] > 0
assert client.sdk.django.trigger_for_groups("order-shipped", [group.pk], {"order": "1"})["occurrence"] > 0

client.add_user("cleo@example.org", "Cleo")
assert client.update_user("cleo@example.org", "Cleo", "Patra")["last_name"] == "Patra"
assert client.delete_user("cleo@example.org").json() == {"deleted": 1}
ben.delete()
assert client.unregister_user("ben/office") == {"deleted": 0}
assert not failures, failures
