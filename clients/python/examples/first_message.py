"""Registers somebody with an application, sends the newsletter of the demo to nobody else, and waits until it is sent."""

import os

from tocsin import connect, trigger_and_wait
from tocsin.generated.api.applications import register
from tocsin.generated.models import AddressInput, Registration, Trigger, TriggerContextType0, TriggerOptionsType0

client = connect(os.environ["TOCSIN_URL"], os.environ["TOCSIN_KEY"])
email = "pythonista@example.org"

registration = Registration(
    username=email,
    email=email,
    addresses=[AddressInput(value=email, assign_to_preferred_channel=True)],
    distribution_list="customers",
)
register.sync("acme", "shop", "web", client=client, body=registration)

trigger = Trigger(
    context=TriggerContextType0.from_dict({"title": "Hello", "body": "New in the shop."}),
    options=TriggerOptionsType0(limit_to=[email]),
)
done = trigger_and_wait("acme", "shop", "web", "newsletter", client=client, body=trigger)
print(f"sent {done.counts.sent}, failed {done.counts.failed}, skipped {done.counts.skipped}")
